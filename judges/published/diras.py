"""The four groups of figures by which DIRAS compares relevance judges, and their mean (Ni et al.
2025), as `score --expected` computes them again.

    binary       F1 of the verdict.
    calibration  mean of AUROC (does a surer verdict tend to be right), 1 - ECE and 1 - Brier score,
                 the last two on the probability of relevance; ECE in ten bins that end at tenths.
    ranking      mean of nDCG and MAP over queries, documents ranked by that probability, partial
                 relevance graded 0.5; for MAP it is relevant.
    uncertainty  average precision of 1 - confidence against the rows that people found hard.

The published table holds them times 100. Its ranking figures follow from two accidents, which
`as_published` repeats: the ranking library keeps grades as whole numbers, so that nDCG counts
partial relevance as none, and it sorts each query by a quicksort that leaves equal probabilities in
an order of its own. With both, GPT-4's 88.48 with and 87.57 without definition and GPT-3.5's 74.16
come out to the printed digits; without, they are 92.80, 92.80 and 77.01.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray, JudgedDataset
from ..metrics.agreement import confusion
from ..metrics.benchmark import require_column
from ..metrics.calibration import require_probabilities, value_of
from ..metrics.ranking import Ranking, average_precision, ndcg
from ..metrics.table_intervals import table_value
from ..rows import Scalar

DIRAS = ("diras_binary", "diras_calibration", "diras_ranking", "uncertainty_ap", "diras_mean")
"""The groups, and their mean; `diras_uncertainty` is another name of `uncertainty_ap`."""
SHORT_SORT = 16
"""Stretches below this length are sorted by insertion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
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


def diras(judged: JudgedDataset, name: str, uncertain: str, *, as_published: bool = False) -> float:
    """Return one of `DIRAS` on the rows with a confidence, as a share of 1.

    The group is the query, and the label over the range of its scale is the relevance: labels 0,
    0.5 and 1 are taken as they stand, 0..3 become thirds.

    Args:
        judged: Rows with their answers.
        name: Which figure.
        uncertain: The metadata column that says whether people found a row hard; empty, 0, false
            and no mean they did not.
        as_published: Compute the ranking as the published table has it, accidents included.

    Raises:
        InputError: No row has the column, no verdict has a confidence, or the figure does not exist
            on these rows.
    """
    require_column(judged.dataset, uncertain)
    rows = _rows_of(judged, uncertain)
    if name == "diras_mean":
        return sum(_group(rows, group, as_published) for group in DIRAS[:-1]) / 4
    return _group(rows, name, as_published)


def _rows_of(judged: JudgedDataset, uncertain: str) -> _Rows:
    probability = judged.probability
    confidence = np.where(judged.predicted, probability, 1.0 - probability)
    confidence = np.where(np.isfinite(judged.confidence), judged.confidence, confidence)
    rows = np.flatnonzero(np.isfinite(confidence))
    if len(rows) == 0:
        raise InputError("no verdict carries a confidence")
    require_probabilities(confidence[rows])
    hard = np.array([_is_marked(row.meta.get(uncertain)) for row in judged.rows], np.bool_)
    labels = judged.dataset.labels
    return _Rows(
        grade=((judged.label - labels.low) / (labels.high - labels.low))[rows],
        relevant=judged.positive[rows],
        predicted=judged.predicted[rows],
        confidence=confidence[rows],
        probability=probability[rows],
        uncertain=hard[rows],
        query=np.unique(judged.groups[rows], return_inverse=True)[1].astype(np.int64),
    )


def _is_marked(value: Scalar) -> bool:
    # A table read from CSV holds words.
    if isinstance(value, str):
        return value.strip().casefold() not in ("", "0", "0.0", "false", "no")
    return bool(value)


def _group(rows: _Rows, name: str, as_published: bool) -> float:
    if name == "diras_binary":
        value, reason = table_value("f1", confusion(rows.relevant, rows.predicted))
        if value is None:
            raise InputError(f"{name} is undefined: {reason}")
        return value
    if name == "diras_calibration":
        return _calibration(rows)
    if name == "diras_ranking":
        return _ranking(rows, as_published)
    if not rows.uncertain.any():
        raise InputError(f"{name} is undefined: no row is marked uncertain")
    return value_of("average_precision", rows.uncertain, 1.0 - rows.confidence)


def _calibration(rows: _Rows) -> float:
    right = rows.relevant == rows.predicted
    if right.all() or not right.any():
        raise InputError(
            "every verdict is right, or every one wrong, so that confidence has nothing to tell"
            " apart"
        )
    area = value_of("auroc", right, rows.confidence)
    gap = rows.probability - rows.relevant
    member = np.searchsorted(np.arange(1, 10) / 10, rows.probability, side="left")
    error = float(np.abs(np.bincount(member, gap)).sum() / len(gap))
    return (area + (1 - error) + (1 - float((gap**2).mean()))) / 3


def _ranking(rows: _Rows, as_published: bool) -> float:
    if np.bincount(rows.query).max() < 2:
        raise InputError("no two rows share a query, so that nothing is ranked")
    score = _published_order(rows) if as_published else rows.probability
    relevant = Ranking(query=rows.query, grade=rows.relevant.astype(np.float64), score=score)
    grade = np.floor(rows.grade) if as_published else rows.grade
    graded = Ranking(query=rows.query, grade=grade, score=score)
    return float((ndcg(graded) + average_precision(relevant)).mean()) / 2


def _published_order(rows: _Rows) -> FloatArray:
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
