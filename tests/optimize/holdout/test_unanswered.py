"""Rows without a verdict: who is asked again, whose answer counts, and what silence costs."""

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from judgewright.judges import (
    BINARY,
    Answer,
    Dataset,
    JudgedDataset,
    OutputScale,
    Row,
    Unscored,
    Verdict,
    compare,
)
from judgewright.optimize.holdout import ROUNDS, AskedAgain, ask_again, count_against

SILENT = "-"
"""A reply that cannot be read; `yes` and `no` are 1 and 0."""


def answer(row: Row, reply: str) -> Verdict | Unscored:
    """What was read of a reply."""
    if reply == SILENT:
        return Unscored(row_id=row.id, reason="parse")
    if reply == "long":
        return Unscored(row_id=row.id, reason="oversized")
    return Verdict(row_id=row.id, score=float(reply), positive=reply == "1")


def judged(labels: Iterable[float | None], replies: Iterable[str]) -> JudgedDataset:
    """Replies to binary rows."""
    rows = tuple(Row(id=f"r{i}", inputs={}, label=label) for i, label in enumerate(labels))
    answers = tuple(answer(row, reply) for row, reply in zip(rows, replies, strict=True))
    return JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


class Endpoint:
    """Replies to each row by round; what was asked is noted."""

    def __init__(self, replies: dict[str, str]) -> None:
        self.replies = replies
        self.asked: list[tuple[int, tuple[str, ...]]] = []

    def __call__(self, dataset: Dataset, repeat: int) -> JudgedDataset:
        """Answer the rows for this round."""
        self.asked.append((repeat, tuple(row.id for row in dataset.rows)))
        answers = tuple(answer(row, self.replies[row.id][repeat - 1]) for row in dataset.rows)
        return JudgedDataset(dataset=dataset, answers=answers, scale=BINARY)


def said(side: JudgedDataset) -> str:
    """The side's answers in a word."""
    return "".join(str(int(a.positive)) if isinstance(a, Verdict) else SILENT for a in side.answers)


def test_rows_that_either_left_unanswered_are_asked_again_on_both_sides() -> None:
    """A round in which both answer stands for both; one's answer alone stands only where there was
    none.
    """
    before = judged([1, 1, 1, 0], "101-")
    after = judged([1, 1, 1, 0], "1--0")
    old, new = (
        Endpoint({"r1": "1--", "r2": "---", "r3": "-1-"}),
        Endpoint({"r1": "0--", "r2": "-0-", "r3": "11-"}),
    )
    sides = ask_again(before, after, old, new)
    rounds = (
        AskedAgain(repeat=1, rows=3, left=2),
        AskedAgain(repeat=2, rows=2, left=0),
    )
    assert sides[2] == rounds
    assert old.asked == new.asked == [(1, ("r1", "r2", "r3")), (2, ("r2", "r3"))]
    # r1 is both sides' first round; r2 keeps the old prompt's first verdict; r3 is the second
    # round's on both.
    assert (said(sides[0]), said(sides[1])) == ("1111", "1001")


def test_nobody_is_asked_who_answered_or_cannot_or_need_not() -> None:
    """Complete rows, rows without a label and rows too long to send are left alone; three rounds
    and no more.
    """
    before, after = (
        judged([1, 0, None, 1], ["1", "-", "-", "long"]),
        judged([1, 0, None, 1], ["0", "1", "1", "long"]),
    )
    old, new = Endpoint({"r1": "---"}), Endpoint({"r1": "000"})
    first, second, rounds = ask_again(before, after, old, new)
    assert [asked for _, asked in old.asked] == [("r1",)] * ROUNDS
    assert [(one.rows, one.left) for one in rounds] == [(1, 1)] * ROUNDS
    assert (said(first), said(second)) == ("1---", "011-")
    whole = judged([1, 0], "10")
    assert ask_again(whole, whole, old, new) == (whole, whole, ())


def test_what_stays_unanswered_is_wrong_for_the_new_prompt_and_right_for_the_old_one() -> None:
    """Rows that neither answered say nothing; where all are answered there is no worst case."""
    before, after = judged([1, 0, 1, 0, 1], "10---"), judged([1, 0, 1, 0, 1], "--10-")
    worst = count_against(before, after)
    assert worst is not None
    assert (said(worst.before), said(worst.after), worst.rows) == ("1010-", "0110-", 4)
    assert count_against(before, before) is None


def test_a_grade_that_is_counted_against_is_wrong_in_the_grade_too() -> None:
    """With off_by_one the old prompt's missing grade is the label, the new one's the far end of the
    scale.
    """
    scale = OutputScale(low=0, high=3, threshold=2)
    rows = tuple(
        Row(id=f"r{i}", inputs={}, label=float(label), group=f"g{i}")
        for i, label in enumerate((0, 1, 2, 3))
    )
    full = tuple(
        Verdict(row_id=row.id, score=row.label or 0.0, positive=(row.label or 0) >= 2)
        for row in rows
    )
    none = tuple(Unscored(row_id=row.id, reason="parse") for row in rows)
    data = Dataset(rows=rows, labels=scale)
    old, new = (
        JudgedDataset(dataset=data, answers=answers, scale=scale) for answers in (full, none)
    )
    for before, after, value in ((old, new, -1.0), (new, old, 0.0)):
        worst = count_against(before, after)
        assert worst is not None
        change = compare("off_by_one", worst.before, worst.after)
        assert change is not None
        assert change.difference == value


@pytest.mark.parametrize(
    "metric", ["precision", "recall", "specificity", "f1", "accuracy", "balanced_accuracy", "kappa"]
)
def test_no_way_to_fill_the_gaps_is_worse_for_the_new_prompt(metric: str) -> None:
    """Against every way in which the missing verdicts could have been."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        labels = (rng.random(30) < 0.5).astype(float).tolist()
        replies = [["01"[int(yes)] for yes in rng.random(30) < 0.5] for _ in range(2)]
        gaps = [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)]
        for side, i in gaps:
            replies[side][i] = SILENT
        before, after = (judged(labels, side) for side in replies)
        worst = count_against(before, after)
        assert worst is not None
        change = compare(metric, worst.before, worst.after)
        assert change is not None
        for bits in range(2 ** len(gaps)):
            filled = [list(side) for side in replies]
            for k, (side, i) in enumerate(gaps):
                filled[side][i] = "01"[bits >> k & 1]
            other = compare(metric, *(judged(labels, side) for side in filled))
            assert other is not None
            assert change.difference <= other.difference + 1e-12


@pytest.mark.parametrize(
    "metric", ["accuracy_grades", "f1_macro_grades", "recall[a]", "precision[b]", "f1[c]"]
)
def test_no_way_to_fill_the_gaps_of_a_choice_is_worse_for_the_new_prompt(metric: str) -> None:
    """Against every class that the missing verdicts could have named."""
    rng = np.random.default_rng(4)
    scale = OutputScale(kind="choice", labels=("a", "b", "c"))

    def chosen(labels: list[int], classes: list[int | None]) -> JudgedDataset:
        rows = tuple(
            Row(id=str(i), inputs={}, label=float(label)) for i, label in enumerate(labels)
        )
        answers: list[Answer] = []
        for row, code in zip(rows, classes, strict=True):
            if code is None:
                answers.append(Unscored(row_id=row.id, reason="parse"))
            else:
                answers.append(Verdict(row_id=row.id, score=float(code), positive=code >= 1))
        return JudgedDataset(
            dataset=Dataset(rows=rows, labels=scale), answers=tuple(answers), scale=scale
        )

    for _ in range(2):
        labels = rng.choice(3, 40, p=(0.6, 0.3, 0.1)).tolist()
        sides = [
            np.where(rng.random(40) < 0.7, labels, rng.integers(0, 3, 40)).tolist()
            for _ in range(2)
        ]
        gaps = [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)]
        before, after = (
            chosen(labels, [None if (k, i) in gaps else code for i, code in enumerate(side)])
            for k, side in enumerate(sides)
        )
        worst = count_against(before, after, metric)
        assert worst is not None
        change = compare(metric, worst.before, worst.after)
        assert change is not None
        for classes in product(range(3), repeat=len(gaps)):
            filled = [list(side) for side in sides]
            for (k, i), code in zip(gaps, classes, strict=True):
                filled[k][i] = code
            other = compare(metric, *(chosen(labels, side) for side in filled))
            assert other is not None
            assert change.difference <= other.difference + 1e-12
