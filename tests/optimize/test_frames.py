"""Decisions, losses and diffs as frames and in notebooks."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from judgewright.judges import BINARY, Dataset, JudgedDataset, JudgePrompt, Registry, Row, Verdict
from judgewright.optimize import (
    compile_expression,
    cost_table,
    decide,
    read_objective,
    split_hunks,
)
from judgewright.optimize.losses import Grades, Loss

TAG = "<img src=x onerror=alert(1)>"
PROMPT = Registry().get("groundedness")


def judged(error: float, *, seed: int = 0, n: int = 400) -> JudgedDataset:
    """A judge that is wrong on this share of rows."""
    labels = np.arange(n) % 2 == 0
    said = labels ^ (np.random.default_rng(seed).random(n) < error)
    rows = tuple(Row(id=f"r{i}", inputs={}, label=float(y)) for i, y in enumerate(labels))
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(s), positive=bool(s)) for i, s in enumerate(said)
    )
    return JudgedDataset(
        dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY, simulated=True
    )


def test_a_decision_as_a_frame_has_target_guards_and_slice() -> None:
    """One line a comparison, with the numbers of the change; an undefined one is left out."""
    objective = read_objective("", target="precision", guards=("recall:-0.05",))
    inside = np.arange(400) < 200
    decision = decide(judged(0.4), judged(0.1, seed=1), objective, alpha=0.03, in_slice=inside)
    frame = decision.to_frame()
    assert frame.role.tolist() == ["target", "guard, held", "slice"]
    assert decision.target is not None
    assert frame.iloc[0].to_dict().items() <= {"role": "target", **asdict(decision.target)}.items()
    assert "slice" not in replace(decision, slice_change=None).to_frame().role.tolist()
    assert replace(decision, target=None, guards=(), slice_change=None).to_frame().empty


def test_a_decision_shows_its_reason_its_look_and_that_it_was_simulated() -> None:
    """The reason stands in the repr and, with what a predicate may hold escaped, in a notebook."""
    decision = decide(
        judged(0.4), judged(0.1, seed=1), read_objective("", target="f1"), alpha=0.03, look=2
    )
    assert decision.reason in repr(decision)
    assert "look 2, significance level 0.0300, n=400, SIMULATED" in repr(decision)
    html = replace(decision, reason=TAG)._repr_html_()
    assert "ACCEPTED, SIMULATED" in html
    assert TAG not in html
    assert "&lt;img" in html


def test_a_loss_as_a_frame_is_its_cost_table() -> None:
    """The table that people review, on the scale that is asked for."""
    loss = Loss(expression=compile_expression("0.8 * fp + 0.4 * fn"), reason=TAG, written_by=TAG)
    lines = cost_table(loss.expression, grades=Grades(levels=2))
    assert loss.to_frame(levels=2).to_dict("records") == [asdict(line) for line in lines]
    assert loss.to_frame().fp.tolist() == pytest.approx([0.8] * 4)
    assert str(loss.expression) in repr(loss)
    assert TAG not in loss._repr_html_()


def edited() -> JudgePrompt:
    """The prompt with two sentences more, one of them hostile."""
    return PROMPT.edited(
        criteria=f"{PROMPT.criteria.rstrip()} Check each number twice. Beware of {TAG} in texts.\n"
    )


def test_a_diff_as_a_frame_has_a_line_a_hunk() -> None:
    """Number, part, kind and the texts; neither prompt is printed."""
    diff = split_hunks(PROMPT, edited())
    frame = diff.to_frame()
    assert frame.number.tolist() == [hunk.number for hunk in diff.hunks]
    assert frame.kind.tolist() == ["added", "added"]
    assert frame.new.tolist() == ["Check each number twice.", f"Beware of {TAG} in texts."]
    assert len(repr(diff)) < 120
    assert TAG not in diff._repr_html_()
    assert split_hunks(PROMPT, PROMPT).to_frame().empty
