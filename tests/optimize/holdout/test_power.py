"""The detectable gain: the closed form where there is one, groups that make it larger, and None
where there is none.
"""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
    point,
)
from judgewright.optimize import Guard, Objective, decide, read_objective
from judgewright.optimize.holdout import guard_needs, hold_guard, perfect_gain, smallest_gain


def table(labels: list[int], said: list[int]) -> JudgedDataset:
    """Answers to independent binary rows."""
    rows = tuple(Row(id=str(i), inputs={}, label=label) for i, label in enumerate(labels))
    answers = tuple(
        Verdict(row_id=row.id, score=s, positive=bool(s)) for row, s in zip(rows, said, strict=True)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


@pytest.mark.parametrize(("rows", "churn"), [(500, 0.25), (2000, 0.25), (2000, 0.5), (600, 0.1)])
def test_the_gain_of_accuracy_agrees_with_the_closed_form(rows: int, churn: float) -> None:
    """Independent rows: the flips of churn and gain scatter by 2ce + d - d squared, and d is z
    standard errors.

    (With fewer than thirty flips the exact test by swaps wants more.)
    """
    labels = [1, 0] * 1000
    judged = table(labels, [1 - label if i % 5 == 0 else label for i, label in enumerate(labels)])
    z = NormalDist().inv_cdf(1 - 0.03) + NormalDist().inv_cdf(0.8)
    gain = 0.1
    for _ in range(200):
        gain = z * math.sqrt((2 * churn * 0.2 + gain - gain**2) / rows)
    found = smallest_gain("accuracy", judged, churn=churn, alpha=0.03, rows=rows)
    assert found == pytest.approx(
        gain, rel=0.08
    )  # 400 holdouts are drawn, and the gate's t is a little stricter


def test_a_gain_that_no_edit_could_show_is_none() -> None:
    """Four errors in a hundred rows: mending all of them would not be told from none on thirty."""
    labels = [1, 0] * 50
    judged = table(labels, [1 - label if i < 4 else label for i, label in enumerate(labels)])
    assert smallest_gain("accuracy", judged, churn=0.25, alpha=0.03, rows=30) is None
    assert (
        smallest_gain("accuracy", table(labels, labels), churn=0.25, alpha=0.03, rows=3000) is None
    )
    with pytest.raises(InputError, match="off_by_one"):
        smallest_gain("off_by_one", judged, churn=0.25, alpha=0.03, rows=3000)


def skilled(n: int, seed: int = 0) -> JudgedDataset:
    """Labels half positive, a fifth of the verdicts wrong."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.5).astype(int)
    return table(labels.tolist(), (labels ^ (rng.random(n) < 0.2)).tolist())


def flipped(
    before: JudgedDataset, mends: float, breaks: float, rng: np.random.Generator
) -> JudgedDataset:
    """An edit that mends a share of the wrong verdicts and breaks a share of the right ones."""
    right = before.predicted == before.positive
    said = before.predicted ^ (rng.random(len(right)) < np.where(right, breaks, mends))
    return table([int(yes) for yes in before.positive], [int(yes) for yes in said])


def test_an_edit_that_mends_everything_is_shown_where_the_gate_accepts_it() -> None:
    """At 104 rows the churn drowns the gain, but the gate accepts a perfect edit: the plan says
    both.
    """
    judged, rng = skilled(173), np.random.default_rng(0)
    sealed = {"rows": 104, "groups": 104}
    assert smallest_gain("precision", judged, churn=0.45, alpha=0.0304, **sealed) is None
    perfect = perfect_gain("precision", judged, alpha=0.0304, **sealed)
    assert perfect == pytest.approx(
        1 - float(point("precision", judged.positive, judged.predicted) or 0)
    )
    objective = read_objective("", target="precision", guards=("recall:-0.10",))
    sides = [
        (before := skilled(104, seed), flipped(before, 1.0, 0.0, rng)) for seed in range(1, 21)
    ]
    assert sum(decide(*pair, objective, alpha=0.0304).accepted for pair in sides) >= 16
    assert perfect_gain("precision", judged, alpha=0.0304, rows=24, groups=24) is None
    assert (
        perfect_gain("precision", judged, alpha=0.0304, rows=104, groups=19) is None
    )  # the gate wants twenty groups


def test_the_gate_accepts_four_of_five_edits_of_the_gain_that_is_promised() -> None:
    """A hundred holdouts of fresh rows, with an edit of the promised size by the same recipe; few
    groups change.
    """
    gain = smallest_gain("accuracy", skilled(600), churn=0.1, alpha=0.0304, rows=150)
    assert gain is not None
    rng, objective = np.random.default_rng(8), read_objective("", target="accuracy")
    sides = [
        (before := skilled(150, seed), flipped(before, 0.1 + gain / 0.2, 0.025, rng))
        for seed in range(100)
    ]
    accepted = sum(decide(*pair, objective, alpha=0.0304).accepted for pair in sides)
    assert 66 <= accepted <= 94


def test_the_rows_that_a_guard_wants_let_it_hold_in_four_of_five() -> None:
    """Where nothing is lost the gate holds the guard on so many rows; where half of the margin is,
    on four times.
    """
    guard = Guard(metric="recall", margin=0.08)
    (need,) = guard_needs(
        [guard, Guard(metric="off_by_one", margin=0.05)], skilled(2000), churn=0.25
    )
    assert need.rows is not None
    assert need.rows_at_half == pytest.approx(4 * need.rows, rel=0.02)
    rng = np.random.default_rng(9)
    sides = [
        (before := skilled(need.rows, seed), flipped(before, 0.25, 0.0625, rng))
        for seed in range(100)
    ]
    held = sum(hold_guard(guard, *pair).state == "held" for pair in sides)
    assert 66 <= held <= 94


def test_rows_that_come_in_groups_show_less() -> None:
    """The same verdicts in groups of four show a larger gain only, and more rows a smaller one."""
    labels = [1, 0] * 300
    judged = table(labels, [1 - label if i % 20 < 4 else label for i, label in enumerate(labels)])
    grouped = replace(
        judged,
        dataset=Dataset(
            rows=tuple(replace(row, group=str(int(row.id) // 4)) for row in judged.dataset.rows),
            labels=BINARY,
        ),
    )
    alone, together, more = (
        smallest_gain("f1", one, churn=0.25, alpha=0.03, rows=rows)
        for one, rows in ((judged, 600), (grouped, 600), (judged, 2400))
    )
    assert alone is not None
    assert together is not None
    assert more is not None
    assert more < alone
    assert together > 1.05 * alone


CHOICE = OutputScale(kind="choice", labels=("billing", "tech", "staff", "other"))


def chosen(labels: list[int], said: list[int]) -> JudgedDataset:
    """Answers to independent rows of four classes."""
    rows = tuple(Row(id=str(i), inputs={}, label=label) for i, label in enumerate(labels))
    answers = tuple(
        Verdict(row_id=row.id, score=s, positive=False) for row, s in zip(rows, said, strict=True)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=CHOICE), answers=answers, scale=CHOICE)


def choosing(n: int, seed: int = 0) -> JudgedDataset:
    """Labels of four classes, the rarest of one row in ten; a quarter of the verdicts name another
    class.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    other = (labels + rng.integers(1, 4, n)) % 4
    return chosen(labels.tolist(), np.where(rng.random(n) < 0.25, other, labels).tolist())


def renamed(
    before: JudgedDataset, mends: float, breaks: float, rng: np.random.Generator
) -> JudgedDataset:
    """An edit that mends a share of the wrong verdicts and breaks a share of the right ones."""
    label, said = before.label.astype(int), before.score.astype(int)
    draw = rng.random(len(label))
    said = np.where((label != said) & (draw < mends), label, said)
    said = np.where(
        (label == before.score) & (draw < breaks),
        (label + rng.integers(1, 4, len(label))) % 4,
        said,
    )
    return chosen(label.tolist(), said.tolist())


@pytest.mark.parametrize("metric", ["accuracy_grades", "f1_macro_grades"])
def test_the_gain_of_classes_that_is_promised_is_what_the_gate_accepts(metric: str) -> None:
    """Fifty holdouts of fresh rows, with an edit of the promised size by the same recipe."""
    judged = choosing(500)
    gain = smallest_gain(metric, judged, churn=0.25, alpha=0.0304, rows=300)
    assert gain is not None
    assert 0.02 < gain < 0.12
    rng = np.random.default_rng(8)
    objective = Objective(text="", target=metric, direction=None)
    # Of accuracy a share of the wrong verdicts is worth a quarter of it; macro F1 moves nearly
    # alike.
    sides = [
        (before := choosing(300, seed), renamed(before, 0.25 + gain / 0.25, 0.25 / 3, rng))
        for seed in range(1, 51)
    ]
    accepted = sum(decide(*pair, objective, alpha=0.0304).accepted for pair in sides)
    assert 30 <= accepted <= 48


def test_the_gain_of_one_class_and_the_rows_of_its_guard_are_known() -> None:
    """More rows show a smaller gain; the order of grades has none for a choice."""
    judged = choosing(2000)
    few, many = (
        smallest_gain("recall[billing]", judged, churn=0.25, alpha=0.03, rows=rows)
        for rows in (400, 2000)
    )
    assert few is not None
    assert many is not None
    assert many < 0.7 * few
    assert perfect_gain("recall[staff]", judged, alpha=0.03, rows=400) is not None
    guards = (
        Guard(metric="recall[billing]", margin=0.08),
        Guard(metric="f1_macro_grades", margin=0.05),
    )
    need, overall = guard_needs(guards, judged, churn=0.25)
    assert need.rows is not None
    assert overall.rows is not None
    rng = np.random.default_rng(9)
    sides = [
        (before := choosing(need.rows, seed), renamed(before, 0.25, 0.25 / 3, rng))
        for seed in range(60)
    ]
    held = sum(hold_guard(guards[0], *pair).state == "held" for pair in sides)
    assert 38 <= held <= 57
    with pytest.raises(InputError, match="precision"):
        smallest_gain("precision", judged, churn=0.25, alpha=0.03, rows=400)
