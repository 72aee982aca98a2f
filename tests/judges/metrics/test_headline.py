"""What a benchmark says first: four metrics, each with its own n, and a sentence where the judge
tells little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
    hint_threshold,
)
from judgewright.judges.metrics import Benchmark, headline_metrics, measure

GRADED = OutputScale()
CHOICE = OutputScale(kind="choice", labels=("billing", "orders", "other"))


def table(
    people: Sequence[float] | np.ndarray,
    judge: Sequence[float] | np.ndarray,
    scale: OutputScale = BINARY,
) -> JudgedDataset:
    """Make rows with people's labels and a judge's scores."""
    rows = tuple(Row(id=f"r{i}", inputs={}, label=float(label)) for i, label in enumerate(people))
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(score), positive=score >= scale.threshold)
        for i, score in enumerate(judge)
    )
    return JudgedDataset(dataset=Dataset.of(rows, labels=scale), scale=scale, answers=answers)


def of(people: Sequence[float] | np.ndarray, judge: Sequence[float] | np.ndarray) -> Benchmark:
    """Measure yes and no."""
    return measure(table(people, judge))


def test_four_metrics_come_first_whatever_the_scale() -> None:
    """Of yes and no, of grades, and of a choice with the label that is recognized worst."""
    rng = np.random.default_rng(0)
    yes = of(rng.integers(0, 2, 90), rng.integers(0, 2, 90))
    assert headline_metrics(yes.metrics) == ("precision", "recall", "accuracy", "kappa")
    people, judge = rng.integers(0, 4, 90), rng.integers(0, 4, 90)
    graded = measure(table(people, judge, GRADED))
    assert headline_metrics(graded.metrics) == ("accuracy_grades", "off_by_one", "kappa", "recall")
    assert graded.metrics["accuracy_grades"].value == pytest.approx(np.mean(people == judge))


def test_the_poorest_label_of_a_choice_has_its_recall_and_n() -> None:
    """Of ten orders the judge finds three: that is the poorest, and scikit-learn agrees."""
    from sklearn.metrics import recall_score

    people = [0] * 30 + [1] * 10 + [2] * 20
    judge = [0] * 27 + [2] * 3 + [1] * 3 + [0] * 7 + [2] * 18 + [0] * 2
    found = measure(table(people, judge, CHOICE))
    assert headline_metrics(found.metrics)[-1] == "recall[orders]"
    poorest = found.metrics["recall[orders]"]
    assert poorest.value == pytest.approx(recall_score(people, judge, average=None)[1])
    assert poorest.n == 10
    assert poorest.low is not None
    assert poorest.low < 0.3


def test_a_judge_that_answers_alike_is_told_so() -> None:
    """No for 59 of 60 rows: sixteen figures to three digits would hide it."""
    found = of([1] * 20 + [0] * 40, [1] + [0] * 59)
    assert found.warning.startswith("the judge answers no for 59 of 60 rows")
    assert found.to_json()["warning"] == found.warning


def test_labels_the_other_way_round_are_told() -> None:
    """Kappa far under 0 is no bad judge: somebody swapped 0 and 1."""
    labels = np.arange(100) % 2
    found = of(labels, np.where(np.arange(100) < 90, 1 - labels, labels))
    assert "the other way round" in found.warning
    assert "kappa -0.80" in found.warning


def test_a_judge_no_better_than_a_constant_is_told_so() -> None:
    """It agrees on 50 rows of 100, always yes would on 70."""
    labels = np.array([1] * 70 + [0] * 30)
    judge = np.array([1] * 35 + [0] * 35 + [1] * 15 + [0] * 15)
    found = of(labels, judge)
    assert found.warning.startswith(
        "the judge is no better than a constant: always answering yes would agree"
    )
    assert "70 of 100 rows, it does on 50" in found.warning


def test_a_good_judge_of_skewed_rows_is_not_called_useless() -> None:
    """Where nearly all rows are positive a good judge answers alike, too; kappa shows that it sees
    the others.
    """
    labels = np.array([1] * 380 + [0] * 20)
    judge = labels.copy()
    judge[:4] = 0
    assert of(labels, judge).warning == ""
    # A judge that sees the rare rows, and pays for it with more errors than it mends.
    judge[:24] = 0
    warning = of(labels, judge).warning
    assert warning.startswith("always answering yes would agree with people on 380 of 400 rows")
    assert "still agrees beyond chance" in warning


def test_agreement_within_chance_is_told_and_one_label_is_no_evidence() -> None:
    """Ten rows agree a little, which chance does, too; where people gave one label only nothing is
    said.
    """
    found = of([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0, 1, 1])
    assert "do not show that the judge agrees with people beyond chance" in found.warning
    assert of([1] * 30, [1] * 30).warning == ""


def test_a_choice_answered_alike_names_the_label() -> None:
    """The same sentence about a choice, by its label."""
    found = measure(table([0] * 20 + [1] * 20 + [2] * 20, [2] * 59 + [0], CHOICE))
    assert found.warning.startswith("the judge answers 'other' for 59 of 60 rows")


def test_another_threshold_is_hinted_with_its_interval() -> None:
    """A lenient judge whose grade 2 is mostly wrong: 3 serves these rows better, and by how much is
    cross-fitted.
    """
    rng = np.random.default_rng(4)
    people = rng.integers(0, 2, 400) * 3
    judge = np.where(
        people == 3,
        rng.choice([2, 3], 400, p=[0.2, 0.8]),
        rng.choice([0, 2, 3], 400, p=[0.3, 0.6, 0.1]),
    )
    hint = hint_threshold(table(people, judge, GRADED))
    assert hint.startswith("on these rows a threshold of 3 instead of 2 would raise kappa from ")
    assert "95 % +" in hint
    assert hint.endswith("cross-fitted)")


def test_no_threshold_is_hinted_where_none_serves_better_or_there_is_none() -> None:
    """A judge at its best threshold, a choice, and rows too few to choose by."""
    rng = np.random.default_rng(5)
    people = rng.integers(0, 2, 300) * 3
    judge = np.where(rng.random(300) < 0.9, people, 3 - people)
    assert hint_threshold(table(people, judge, GRADED)) == ""
    assert hint_threshold(table([0, 1, 2] * 20, [0, 1, 1] * 20, CHOICE)) == ""
    assert hint_threshold(table([0, 3] * 5, [2, 3] * 5, GRADED)) == ""
