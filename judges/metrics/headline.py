"""What a reader looks at first: four metrics, and one sentence where a judge tells little about the
rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ..judged_arrays import IntArray, JudgedArrays
from .estimate import Estimate
from .intervals import count_rows

ALIKE = 0.95
"""Share of the rows with one and the same answer from which a judge answers alike."""
LEAST_ROWS = 5
"""Rows under which nothing is said of a judge as a whole."""


def headline_metrics(names: Collection[str]) -> tuple[str, ...]:
    """Return the four metrics that are shown first, of those that a benchmark has.

    Of a choice accuracy, macro F1, kappa and the label that is recognized worst; of grades how
    often the grade is exact, how often at most one off, kappa and recall at the threshold; else
    precision, recall, accuracy and kappa.
    """
    if "precision" not in names:
        poorest = tuple(name for name in names if name.startswith("recall["))
        headline = ("accuracy_grades", "f1_macro_grades", "kappa_grades", *poorest)
    elif "off_by_one" in names:
        headline = ("accuracy_grades", "off_by_one", "kappa", "recall")
    else:
        headline = ("precision", "recall", "accuracy", "kappa")
    return tuple(name for name in headline if name in names)


def judge_warning(predictions: JudgedArrays, metrics: Mapping[str, Estimate]) -> str:
    """Say in one sentence that a judge answers alike, agrees the wrong way round, or is no better
    than a constant.

    Empty where none of it is so, and where people gave one label only, which shows nothing of it.

    Args:
        predictions: Rows with their answers.
        metrics: Kappa and accuracy of these rows, as `measure` has them.
    """
    is_choice = predictions.scale.kind == "choice"
    kappa = metrics.get("kappa_grades" if is_choice else "kappa")
    if predictions.n < LEAST_ROWS or kappa is None or kappa.value is None:
        return ""
    names, people, judge = _answers(predictions)
    if np.count_nonzero(people) < 2:
        return ""
    kappa_text = f"kappa {kappa.value:.2f}"
    if kappa.low is not None and kappa.high is not None:
        kappa_text += f", 95 % {kappa.low:.2f} .. {kappa.high:.2f}"
    if kappa.high is not None and kappa.high < 0:
        return (
            f"the judge agrees with people less than chance would ({kappa_text}): the labels, or"
            " its scale, may be the other way round"
        )
    n, most = predictions.n, int(judge.argmax())
    beyond_chance = kappa.low is not None and kappa.low > 0
    if judge[most] >= ALIKE * n and not beyond_chance:
        return (
            f"the judge answers {names[most]} for {judge[most]:,} of {n:,} rows, so that its"
            f" figures say next to nothing about single rows ({kappa_text})"
        )
    usual = int(people.argmax())
    agreed = predictions.n - predictions.count(predictions.wrong)
    constant = (
        f"always answering {names[usual]} would agree with people on {people[usual]:,} of {n:,}"
        " rows"
    )
    if agreed <= people[usual]:
        if beyond_chance:
            return (
                f"{constant}, the judge does on {agreed:,}; it still agrees beyond chance"
                f" ({kappa_text})"
            )
        return (
            f"the judge is no better than a constant: {constant}, it does on {agreed:,}"
            f" ({kappa_text})"
        )
    if not beyond_chance:
        return (
            f"these rows do not show that the judge agrees with people beyond chance ({kappa_text})"
        )
    return ""


def _answers(predictions: JudgedArrays) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """Return the possible answers, and how many rows people and the judge gave each; shape
    (answers,).
    """
    if predictions.scale.kind == "choice":
        names = tuple(repr(label) for label in predictions.scale.labels)
        people, judge = predictions.label.astype(np.int64), predictions.score.astype(np.int64)
    else:
        names = ("no", "yes")
        people, judge = (
            predictions.positive.astype(np.int64),
            predictions.predicted.astype(np.int64),
        )
    weight, size = predictions.weight, len(names)
    return names, count_rows(people, weight, size), count_rows(judge, weight, size)
