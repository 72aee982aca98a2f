"""The chance of acceptance: it passes what the gate passes, and the best of many is not believed
whole.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Unscored, Verdict
from judgewright.optimize import (
    Belief,
    Changes,
    Floor,
    Guard,
    Objective,
    chance_of,
    decide,
    read_objective,
)
from judgewright.optimize.belief import expected_largest

GUARDED = read_objective("", target="precision", guards=("recall:-0.05",))
ALPHA = 0.03


def make_rows(count: int, rng: np.random.Generator, *, each: int = 1) -> Dataset:
    rows = (
        Row(id=str(i), inputs={}, label=float(label), group=f"g{i // each}")
        for i, label in enumerate(rng.random(count) < 0.5)
    )
    return Dataset(rows=tuple(rows), labels=BINARY)


def judge(dataset: Dataset, decisions: np.ndarray) -> JudgedDataset:
    pairs = zip(dataset.rows, decisions.tolist(), strict=True)
    answers = tuple(Verdict(row_id=row.id, score=float(yes), positive=yes) for row, yes in pairs)
    return JudgedDataset(dataset=dataset, answers=answers, scale=BINARY)


def pair(
    count: int, mended: float, lost: float, rng: np.random.Generator, *, each: int = 1
) -> tuple[JudgedDataset, JudgedDataset]:
    """A judge with false positives, and an edit that mends a share of them and loses a share of the
    true ones.
    """
    dataset = make_rows(count, rng, each=each)
    labels = np.array([row.label for row in dataset.rows]) > 0
    first = judge(dataset, labels ^ (rng.random(count) < np.where(labels, 0.15, 0.3)))
    flips = np.array([0.01, mended, 0.01, lost])[
        2 * labels.astype(int) + first.predicted.astype(int)
    ]
    return first, judge(dataset, first.predicted ^ (rng.random(count) < flips))


def certain(changes: Changes) -> Belief:
    """A belief that what was measured is true."""
    return Belief(mean=changes.measured, covariance=1e-8 * np.eye(len(changes.measured)))


@pytest.mark.parametrize(
    "objective", [GUARDED, read_objective("", target="f1"), read_objective("", target="accuracy")]
)
@pytest.mark.parametrize(("groups", "each"), [(120, 1), (300, 1), (100, 3)])
@pytest.mark.parametrize(("mended", "lost"), [(0.35, 0.02), (0.3, 0.06)])
def test_the_rules_of_the_gate_pass_as_often_as_the_gate_itself(
    objective: Objective, groups: int, each: int, mended: float, lost: float
) -> None:
    rng = np.random.default_rng(7)
    before, after = pair(4_000 * each, mended, lost, rng, each=each)
    changes = Changes.of(before, after, objective)
    assert changes is not None
    chance = chance_of(changes, objective, certain(changes), alpha=ALPHA, groups=groups)
    accepted = 0
    for _ in range(60):
        drawn = rng.choice(4_000, groups, replace=False)
        rows = (drawn[:, None] * each + np.arange(each)).ravel()
        accepted += decide(before.only(rows), after.only(rows), objective, alpha=ALPHA).accepted
    assert chance.accepted == pytest.approx(
        accepted / 60, abs=0.19
    )  # three standard errors of sixty holdouts


def test_a_floor_counts() -> None:
    rng = np.random.default_rng(1)
    before, after = pair(2_000, 0.5, 0.0, rng)
    high, low = (
        Objective(
            text="", target="f1", direction=None, floors=(Floor(metric="precision", value=0.95),)
        ),
        Objective(
            text="", target="f1", direction=None, floors=(Floor(metric="precision", value=0.6),)
        ),
    )
    chances = []
    for objective in (high, low):
        changes = Changes.of(before, after, objective)
        assert changes is not None
        chances.append(chance_of(changes, objective, certain(changes), alpha=ALPHA, groups=400))
    assert chances[0].accepted == 0.0
    assert chances[1].accepted > 0.9
    assert chances[0].guards == {"precision>=0.95": 0.0}


def test_a_slice_that_falls_lowers_the_chance() -> None:
    rng = np.random.default_rng(1)
    before, after = pair(2_000, 0.5, 0.0, rng)
    inside = np.arange(2_000) < 400
    worse = after.predicted.copy()
    flip = inside & before.positive & (rng.random(2_000) < 0.4)
    worse[inside] = before.predicted[inside]
    worse[flip] = False
    worse[inside & ~before.positive & (rng.random(2_000) < 0.4)] = True
    changes = Changes.of(before, judge(before.dataset, worse), GUARDED, in_slice=inside)
    assert changes is not None
    plain = Objective(text="", target="precision", direction=None)
    with_slice = chance_of(changes, plain, certain(changes), alpha=ALPHA, groups=1_000)
    assert with_slice.accepted < with_slice.target


def test_too_few_groups_or_too_small_a_guard_cannot_be_accepted() -> None:
    before, after = pair(400, 0.5, 0.0, np.random.default_rng(0))
    changes = Changes.of(before, after, GUARDED)
    assert changes is not None
    assert chance_of(changes, GUARDED, certain(changes), alpha=ALPHA, groups=19).accepted == 0.0
    tight = Objective(
        text="", target="precision", direction=None, guards=(Guard(metric="recall", margin=0.001),)
    )
    assert chance_of(changes, tight, certain(changes), alpha=ALPHA, groups=100).accepted == 0.0


def test_unread_replies_are_counted_against_the_new_prompt() -> None:
    rng = np.random.default_rng(3)
    before, after = pair(600, 0.35, 0.0, rng)
    silent = rng.permutation(np.flatnonzero(after.positive & after.predicted))[:20]
    answers = list(after.answers)
    for i in silent:
        answers[i] = Unscored(row_id=answers[i].row_id, reason="unparseable")
    unread = JudgedDataset(dataset=after.dataset, answers=tuple(answers), scale=BINARY)
    whole, less = Changes.of(before, after, GUARDED), Changes.of(before, unread, GUARDED)
    assert whole is not None
    assert less is not None
    assert less.measured[1] < whole.measured[1]
    for i in range(120):
        answers[i] = Unscored(row_id=answers[i].row_id, reason="unparseable")
    mute = JudgedDataset(dataset=after.dataset, answers=tuple(answers), scale=BINARY)
    assert Changes.of(before, mute, GUARDED) is None


def test_the_best_of_many_is_believed_less_and_the_less_so_on_few_rows() -> None:
    """Target and guard alike; the expected largest of draws is what drawing gives."""
    off = []
    for count in (60, 300, 3_000):
        changes = Changes.of(*pair(count, 0.4, 0.02, np.random.default_rng(5)), GUARDED)
        assert changes is not None
        taken = [changes.measured - Belief.of(changes, tried=tried).mean for tried in (0, 1, 4)]
        assert (taken[0] == 0.0).all()
        assert (taken[1] > 0.0).all()
        assert (taken[1] < taken[2]).all()
        off.append(taken[2][0])
    assert off == sorted(off, reverse=True)
    rng = np.random.default_rng(0)
    for count in (1, 2, 5, 12):
        drawn = rng.standard_normal((40_000, count)).max(axis=1)
        assert expected_largest(count) == pytest.approx(drawn.mean(), abs=0.04)


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(2, 80),
    each=st.integers(1, 4),
    mended=st.floats(0, 1),
    lost=st.floats(0, 1),
    groups=st.integers(1, 300),
    seed=st.integers(0, 1_000),
)
def test_it_is_a_probability_whatever_the_rows(
    count: int, each: int, mended: float, lost: float, groups: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    changes = Changes.of(*pair(count, mended, lost, rng, each=each), GUARDED)
    if changes is None:
        return
    chance = chance_of(changes, GUARDED, Belief.of(changes, tried=3), alpha=ALPHA, groups=groups)
    assert 0.0 <= chance.accepted <= min(chance.target, *chance.guards.values()) <= 1.0
