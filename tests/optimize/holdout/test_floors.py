"""Floors: what the new prompt must reach is shown by a lower bound, or the gate does not accept."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from judgewright.judges import BINARY, Dataset, JudgedDataset, OutputScale, Row, Unscored, Verdict
from judgewright.optimize import decide, read_objective
from judgewright.optimize.events import GateDecided, read_as
from judgewright.optimize.holdout.floors import floor_needs, hold_floor, value_bounds
from judgewright.optimize.losses import Floor
from judgewright.optimize.run_event import write_event

ROWS = 600


def judged(false_positives: float, misses: float) -> JudgedDataset:
    """Answers to rows of which half are positive, with these shares of errors."""
    half = ROWS // 2
    label = np.arange(ROWS) % 2
    said = label.copy()
    said[np.flatnonzero(label == 0)[: round(false_positives * half)]] = 1
    said[np.flatnonzero(label == 1)[: round(misses * half)]] = 0
    rows = tuple(Row(id=f"r{i}", inputs={"x": f"t{i}"}, label=float(label[i])) for i in range(ROWS))
    answers = tuple(
        Verdict(row_id=f"r{i}", score=3.0 * s, positive=bool(s))
        for i, s in enumerate(said.tolist())
    )
    return JudgedDataset(
        dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=OutputScale()
    )


def test_the_bound_is_wilsons_one_sided() -> None:
    """For independent rows and a proportion it is the textbook's, but for Student's t."""
    value, low, _, groups = value_bounds("recall", judged(0.1, 0.2))
    n, share, z = 300, 0.8, float(norm.isf(0.05))
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    wilson = (share + z * z / (2 * n) - half) / (1 + z * z / n)
    assert value == pytest.approx(0.8)
    assert low == pytest.approx(wilson, abs=0.002)
    assert groups == 300


@pytest.mark.parametrize(
    ("floor", "outcome", "state"),
    [
        (0.80, "accepted", "held"),
        (0.90, "undecided", "undecided"),
        (0.92, "undecided", "undecided"),
        (0.95, "refused", "broken"),
    ],
)
def test_the_gate_wants_the_floor_shown(floor: float, outcome: str, state: str) -> None:
    """Recall rises in each case; precision is .91 after it, with a lower bound of about .88."""
    objective = read_objective(f"raise recall; precision at least {floor}")
    decision = decide(judged(0.08, 0.4), judged(0.08, 0.2), objective, alpha=0.03)
    assert (decision.outcome, decision.floors[0].state) == (outcome, state), decision.reason
    assert "precision" in decision.reason


def test_a_decision_without_floors_is_written_as_it_always_was() -> None:
    """With them the record has them, and reads back as it was."""
    before, after = judged(0.08, 0.4), judged(0.08, 0.2)
    plain = decide(before, after, read_objective("raise recall"), alpha=0.03).to_json()
    assert "floors" not in plain
    floored = decide(
        before, after, read_objective("raise recall; precision at least 0.8"), alpha=0.03
    ).to_json()
    for body in (plain, floored):
        assert write_event(read_as(GateDecided, body)).keys() == body.keys()
    assert floored["floors"][0]["metric"] == "precision"


def test_unanswered_rows_count_against_the_floor() -> None:
    """The bound must be at the floor with every such row counted against the new prompt as well."""
    before, after = judged(0.08, 0.4), judged(0.08, 0.2)
    floor = Floor(metric="precision", value=0.87)
    whole = hold_floor(floor, before, after)
    answers = tuple(
        Unscored(row_id=answer.row_id, reason="parse") if i > ROWS - 25 and i % 2 == 0 else answer
        for i, answer in enumerate(after.answers)
    )
    partly = hold_floor(floor, before, replace(after, answers=answers))
    assert (whole.state, whole.worst_low) == ("held", None)
    assert partly.state == "undecided"
    assert partly.low is not None
    assert partly.worst_low is not None
    assert partly.worst_low < 0.87 < partly.low


def test_a_plan_says_how_many_rows_a_floor_wants() -> None:
    """Fewer for a lower floor, none where the judge is under it."""
    low, high, above = floor_needs(
        [Floor(metric="recall", value=value) for value in (0.7, 0.78, 0.85)], judged(0.1, 0.2)
    )
    assert low.rows is not None
    assert high.rows is not None
    assert low.rows < high.rows
    assert (above.value, above.rows) == (pytest.approx(0.8), None)
