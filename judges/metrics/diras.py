"""The four groups of figures by which DIRAS compares relevance judges, and their mean (Ni et al.
2025).

    binary       F1 of the verdict.
    calibration  mean of AUROC (does a surer verdict tend to be right), 1 - ECE and 1 - Brier score, the last two on
                 the probability of relevance; ECE in ten bins that end at tenths.
    ranking      mean of nDCG and MAP over queries, documents ranked by that probability, partial relevance graded
                 0.5; for MAP it is relevant.
    uncertainty  average precision of 1 - confidence against the rows that people found hard.

The published table holds them times 100. Its ranking figures follow from two accidents, which
`as_published` repeats: the ranking library keeps grades as whole numbers, so that nDCG counts
partial relevance as none, and it sorts each query by a quicksort that leaves equal probabilities in
an order of its own. With both, GPT-4's 88.48 with and 87.57 without definition and GPT-3.5's 74.16
come out to the printed digits; without, they are 92.80, 92.80 and 77.01.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray
from . import calibration
from .agreement import confusion
from .delta import ONE_UNIT
from .estimate import Estimate
from .intervals import Cells, Statistic
from .jackknife import jackknife_intervals
from .ranking import Ranking, average_precision, ndcg
from .table_intervals import table_value

DIRAS_METRICS = (
    "diras_binary",
    "diras_calibration",
    "diras_ranking",
    "diras_uncertainty",
    "diras_mean",
)
BINS = 10
SHORT_SORT = 16
"""Stretches below this length are sorted by insertion."""
Figure = Callable[[BoolArray], float]
"""A figure of the rows that are kept, shape (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceRows:
    """Rows of queries and documents with people's relevance and a judge's verdict; every array has
    shape (n,).
    """

    grade: FloatArray
    """People's relevance in [0, 1], partial relevance between."""
    relevant: BoolArray
    """Whether people call the document relevant, partly relevant ones included."""
    predicted: BoolArray
    confidence: FloatArray
    """In the verdict, in [0, 1]."""
    probability: FloatArray
    """Of relevance, in [0, 1]."""
    uncertain: BoolArray
    """Whether people found the row hard to decide."""
    query: IntArray
    """0..Q-1, every code in use."""

    def __post_init__(self) -> None:
        people = (self.grade, self.relevant, self.uncertain, self.query)
        lengths = [
            len(side) for side in (*people, self.predicted, self.confidence, self.probability)
        ]
        if len(set(lengths)) > 1:
            raise InputError(f"the arrays of relevance rows differ in length: {lengths!r}")
        calibration.require_probabilities(self.confidence)
        calibration.require_probabilities(self.probability)


def diras(rows: RelevanceRows, *, as_published: bool = False) -> dict[str, Estimate]:
    """Return `DIRAS_METRICS` with intervals over queries, as shares of 1; the mean exists where all
    four groups do.

    Args:
        rows: Rows of at least one query.
        as_published: Compute the ranking as the published table has it, accidents included.

    Raises:
        InputError: A confidence is outside [0, 1] or not finite.
    """
    n, reasons = len(rows.query), _reasons(rows)
    groups: tuple[Figure, ...] = (
        partial(_binary, rows),
        partial(_calibration, rows),
        partial(_mean_over_queries, *_ranking(rows, as_published)),
        partial(_uncertainty, rows),
    )
    figures = dict(zip(DIRAS_METRICS, (*groups, partial(_mean, groups)), strict=True))
    statistics: dict[str, Statistic] = {
        name: partial(_of_each, figure) for name, figure in figures.items() if not reasons[name]
    }
    cells = Cells(code=np.arange(n), size=n, groups=rows.query)
    intervals = jackknife_intervals(statistics, cells)
    every = np.ones(n, np.bool_)
    return {
        name: Estimate.undefined(n, reasons[name])
        if reasons[name]
        else Estimate.of(figure(every), intervals[name], n, missing=ONE_UNIT)
        for name, figure in figures.items()
    }


def _reasons(rows: RelevanceRows) -> dict[str, str]:
    """Return why a figure does not exist, empty where it does."""
    right = rows.relevant == rows.predicted
    reasons: dict[str, str] = dict.fromkeys(DIRAS_METRICS, "")
    reasons["diras_binary"] = table_value("f1", confusion(rows.relevant, rows.predicted))[1]
    if right.all() or not right.any():
        reasons["diras_calibration"] = (
            "every verdict is right, or every one wrong, so that confidence has nothing to tell"
            " apart"
        )
    if np.bincount(rows.query).max(initial=0) < 2:
        reasons["diras_ranking"] = "no two rows share a query, so that nothing is ranked"
    if not rows.uncertain.any():
        reasons["diras_uncertainty"] = "no row is marked uncertain"
    if missing := [name for name, reason in reasons.items() if reason]:
        reasons["diras_mean"] = f"there is no {' and no '.join(missing)}"
    return reasons


def _of_each(figure: Figure, counts: FloatArray) -> FloatArray:
    return np.array([figure(kept > 0) for kept in counts], np.float64)


def _mean(groups: Sequence[Figure], kept: BoolArray) -> float:
    return sum(group(kept) for group in groups) / len(groups)


def _binary(rows: RelevanceRows, kept: BoolArray) -> float:
    value, _ = table_value("f1", confusion(rows.relevant[kept], rows.predicted[kept]))
    return math.nan if value is None else value


def _calibration(rows: RelevanceRows, kept: BoolArray) -> float:
    relevant, probability = rows.relevant[kept], rows.probability[kept]
    right = relevant == rows.predicted[kept]
    area = calibration.value_of("auroc", right, rows.confidence[kept])
    gap = probability - relevant
    return (area + (1 - _ece(gap, probability)) + (1 - float((gap**2).mean()))) / 3


def _uncertainty(rows: RelevanceRows, kept: BoolArray) -> float:
    unsure = 1.0 - rows.confidence[kept]
    return calibration.value_of("average_precision", rows.uncertain[kept], unsure)


def _ranking(rows: RelevanceRows, as_published: bool) -> tuple[FloatArray, FloatArray]:
    """Return, for each row, what its query scores and what the row counts, which is one for a query
    in all; shapes (n,).
    """
    relevant, grade = rows.relevant.astype(np.float64), rows.grade
    score = _published_order(rows) if as_published else rows.probability
    binary = Ranking(query=rows.query, grade=relevant, score=score)
    graded = replace(binary, grade=np.floor(grade) if as_published else grade)
    values = (ndcg(graded) + average_precision(binary)) / 2
    return values[rows.query], 1 / np.bincount(rows.query)[rows.query]


def _mean_over_queries(values: FloatArray, share: FloatArray, kept: BoolArray) -> float:
    return float(values[kept] @ share[kept] / share[kept].sum())


def _ece(gap: FloatArray, probability: FloatArray) -> float:
    """Return ECE in ten bins that end at tenths; gap is probability less label."""
    member = np.searchsorted(np.arange(1, BINS) / BINS, probability, side="left")
    return float(np.abs(np.bincount(member, gap)).sum() / len(gap))


def _published_order(rows: RelevanceRows) -> FloatArray:
    """Return scores without ties, in the order in which the published table ranks each query's
    documents.
    """
    score = np.empty(len(rows.query))
    for code in range(int(rows.query.max()) + 1):
        members = np.flatnonzero(rows.query == code)
        score[members[_quicksort(rows.probability[members].tolist())]] = np.arange(len(members))
    return score


def _quicksort(values: Sequence[float]) -> list[int]:
    """Return the positions of the values in ascending order, equal ones as the published table's
    sort leaves them.

    Hoare's quicksort around the median of the first, the middle and the last value, which waits at
    the end meanwhile, and insertion below `SHORT_SORT`: what equal values suffer depends on each of
    these choices.
    """
    order = list(range(len(values)))
    waiting = [(0, len(values) - 1)]
    while waiting:
        low, high = waiting.pop()
        if high - low < SHORT_SORT - 1:
            order[low : high + 1] = sorted(order[low : high + 1], key=values.__getitem__)
            continue
        middle = _split(values, order, low, high)
        waiting += [(low, middle - 1), (middle + 1, high)]
    return order


def _split(values: Sequence[float], order: list[int], low: int, high: int) -> int:
    """Put the median of three in its place among order[low..high], smaller values before it; return
    that place.
    """
    middle = (low + high) // 2
    for left, right in ((low, middle), (middle, high), (low, middle)):
        if values[order[right]] < values[order[left]]:
            order[left], order[right] = order[right], order[left]
    pivot = values[order[middle]]
    order[middle], order[high] = order[high], order[middle]
    left, right = low, high - 1
    while True:
        while left < high and values[order[left]] < pivot:
            left += 1
        while right >= low and pivot < values[order[right]]:
            right -= 1
        if left >= right:
            break
        order[left], order[right] = order[right], order[left]
        left, right = left + 1, right - 1
    order[left], order[high] = order[high], order[left]
    return left
