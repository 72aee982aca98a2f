"""Slices of a judge that chooses among classes: where rows of one class are called a certain other.

An error among classes has no side of a threshold; its direction is the pair of people's class and
the judge's. The pairs that the metric counts most are searched one by one, each as a judge that
decides whether a row of the one class is kept from the other, so that all of the search for slices
applies to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..judges import (
    BINARY,
    Answer,
    Estimate,
    InputError,
    JudgedDataset,
    Verdict,
    influence,
    point,
    split_class_metric,
)
from ..judges.metrics import share_interval
from .find import find_slices
from .search_result import FoundSlice, SliceReport

MOST_PAIRS = 6
"""The most confused pairs that are searched."""
LEAST_ERRORS = 10
"""Rows of a pair that it takes to look for where they gather."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusedPair:
    """Rows that people put in one class and the judge in another."""

    label: str
    verdict: str
    rows: int
    weight: float
    """How much of the metric the rows of the class are, so that gains of different pairs can be
    compared.
    """

    @property
    def name(self) -> str:
        """The direction of such errors, as reports write it."""
        return f"{self.label} -> {self.verdict}"


def confused_pairs(judged: JudgedDataset, metric: str) -> tuple[ConfusedPair, ...]:
    """Return the pairs of classes whose errors a metric counts, those that cost it most first.

    Args:
        judged: Rows of a choice.
        metric: One of classes, or one of a class such as `recall[billing]`, which counts only that
            one's errors.
    """
    names = judged.scale.labels
    family, chosen = split_class_metric(metric)
    labels = np.bincount(judged.label.astype(np.int64), minlength=len(names))
    pairs: list[ConfusedPair] = []
    for t, label in enumerate(names):
        # Macro F1 gives each class the same weight, however many rows it has.
        weight = (
            1.0 / len(names)
            if metric == "f1_macro_grades"
            else labels[t] / max(len(judged.rows), 1)
        )
        for v, verdict in enumerate(names):
            counts = chosen is None
            if chosen is not None and family != "recall":
                counts = chosen == verdict
            if chosen is not None and family not in ("precision", "specificity"):
                counts |= chosen == label
            rows = int(((judged.label == t) & (judged.score == v)).sum())
            if t != v and rows and counts:
                pairs.append(ConfusedPair(label=label, verdict=verdict, rows=rows, weight=weight))
    pairs.sort(key=lambda pair: -pair.rows * pair.weight / labels[names.index(pair.label)])
    return tuple(pairs)


def find_confusions(
    judged: JudgedDataset,
    *,
    metric: str = "accuracy_grades",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    seed: int = 0,
) -> SliceReport:
    """Find the slices on which rows of one class are called a certain other more often than
    elsewhere.

    The p-values of the slices are corrected for the pairs that were searched, too.

    Args:
        judged: Rows of a choice; unscored ones are left out.
        metric: Which errors count, see `confused_pairs`.
        columns, exclude, keep, seed: As `find_slices` takes them.

    Raises:
        InputError: The judge does not choose, or a column or the metric cannot be used.
    """
    if judged.scale.kind != "choice":
        raise InputError(
            f"{judged.judge or 'the judge'} gives {judged.scale.describe()}; it has no classes to"
            " confuse"
        )
    scored = judged.only(judged.scored)
    pairs = confused_pairs(scored, metric)
    searched = [pair for pair in pairs if pair.rows >= LEAST_ERRORS][:MOST_PAIRS]
    ranked: list[tuple[float, FoundSlice]] = []
    left_out: dict[str, str] = {}
    for pair in searched:
        table = _kept_apart(scored, pair)
        report = find_slices(
            table, metric="recall", columns=columns, exclude=exclude, keep=keep, seed=seed
        )
        left_out |= report.left_out
        for one in report.slices:
            named = replace(
                one,
                metric=f"{pair.label} not called {pair.verdict}",
                confusion=pair.name,
                p=min(1.0, one.p * len(searched)),
            )
            ranked.append((pair.weight * one.expected_gain, named))
    ranked.sort(
        key=lambda item: (not item[1].prompt_target, not item[1].confirmed, -item[0], item[1].p)
    )
    counts = ", ".join(f"{pair.name} ({pair.rows})" for pair in pairs[:MOST_PAIRS]) or "none"
    notes = [f"confused pairs, people's class -> the judge's: {counts}"]
    if len(searched) < len(pairs):
        notes.append(
            f"searched are those of {LEAST_ERRORS} rows and more, {MOST_PAIRS} at most:"
            f" {len(searched)}"
        )
    return SliceReport(
        slices=tuple(one for _, one in ranked),
        left_out=left_out,
        notes=tuple(notes),
        metric=metric,
        overall=_overall(scored, metric),
    )


def _kept_apart(judged: JudgedDataset, pair: ConfusedPair) -> JudgedDataset:
    """Return the rows as of a judge that says which rows of the one class are not of the other.

    Rows of other classes are negatives that it gets right: recall does not count them.
    """
    names = judged.scale.labels
    mine = judged.label == names.index(pair.label)
    called = judged.score == names.index(pair.verdict)
    rows = tuple(
        replace(row, label=float(own)) for row, own in zip(judged.rows, mine.tolist(), strict=True)
    )
    answers: list[Answer] = []
    for verdict, yes in zip(judged.verdicts, (mine & ~called).tolist(), strict=True):
        answers.append(
            Verdict(
                row_id=verdict.row_id, score=float(yes), positive=yes, confidence=verdict.confidence
            )
        )
    return replace(
        judged,
        dataset=replace(judged.dataset, rows=rows, labels=BINARY),
        answers=tuple(answers),
        scale=BINARY,
    )


def _overall(judged: JudgedDataset, metric: str) -> Estimate:
    n = len(judged.rows)
    value = point(metric, *judged.compared(metric))
    if value is None:
        return Estimate.undefined(n, "it has no value on these rows")
    # Kappa may be negative, which an interval of a share may not.
    interval = (
        share_interval(value, influence(metric, *judged.compared(metric)), judged.groups)
        if value >= 0
        else None
    )
    return Estimate.of(value, interval, n)
