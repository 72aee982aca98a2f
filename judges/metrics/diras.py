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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray
from . import calibration
from .agreement import confusion
from .delta import ONE_UNIT, share_interval
from .estimate import Estimate
from .influence import influence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A value with the influence of each row on it, or the reason why there is none."""

    value: float | None
    influences: FloatArray
    reason: str = ""


def diras(rows: RelevanceRows, *, as_published: bool = False) -> dict[str, Estimate]:
    """Return `DIRAS_METRICS` with intervals over queries, as shares of 1; the mean exists where all
    four groups do.

    Args:
        rows: Rows of at least one query.
        as_published: Compute the ranking as the published table has it, accidents included.

    Raises:
        InputError: A confidence is outside [0, 1] or not finite.
    """
    parts: dict[str, _Part] = {
        "diras_binary": _binary(rows),
        "diras_calibration": _calibration(rows),
        "diras_ranking": _ranking(rows, as_published),
        "diras_uncertainty": _uncertainty(rows),
    }
    parts["diras_mean"] = _mean(parts)
    return {name: _estimate(part, rows) for name, part in parts.items()}


def _estimate(part: _Part, rows: RelevanceRows) -> Estimate:
    n = len(rows.query)
    if part.value is None:
        return Estimate.undefined(n, part.reason)
    interval = None if part.reason else share_interval(part.value, part.influences, rows.query)
    return Estimate.of(part.value, interval, n, missing=part.reason or ONE_UNIT)


def _mean(parts: Mapping[str, _Part]) -> _Part:
    values = [part.value for part in parts.values() if part.value is not None]
    missing = [name for name, part in parts.items() if part.value is None]
    if missing:
        return _undefined(f"there is no {' and no '.join(missing)}")
    reason = "; ".join(dict.fromkeys(part.reason for part in parts.values() if part.reason))
    influences = sum((part.influences for part in parts.values()), np.zeros(1)) / len(parts)
    return _Part(value=sum(values) / len(parts), influences=influences, reason=reason)


def _binary(rows: RelevanceRows) -> _Part:
    value, reason = table_value("f1", confusion(rows.relevant, rows.predicted))
    if value is None:
        return _undefined(reason)
    return _Part(value=value, influences=influence("f1", rows.relevant, rows.predicted))


def _calibration(rows: RelevanceRows) -> _Part:
    right = rows.relevant == rows.predicted
    if len(right) == 0 or right.all() or not right.any():
        return _undefined(
            "every verdict is right, or every one wrong, so that confidence has nothing to tell"
            " apart"
        )
    area, area_influence = _auroc(right, rows.confidence)
    gap = rows.probability - rows.relevant
    error, error_influence = _ece(gap, rows.probability)
    brier = float((gap**2).mean())
    influences = (area_influence - error_influence - (gap**2 - brier)) / 3
    return _Part(value=(area + (1 - error) + (1 - brier)) / 3, influences=influences)


def _uncertainty(rows: RelevanceRows) -> _Part:
    if not rows.uncertain.any():
        return _undefined("no row is marked uncertain")
    value, influences = _average_precision(rows.uncertain, 1.0 - rows.confidence)
    return _Part(value=value, influences=influences)


def _ranking(rows: RelevanceRows, as_published: bool) -> _Part:
    size = np.bincount(rows.query)
    if len(size) == 0 or size.max() < 2:
        return _undefined("no two rows share a query, so that nothing is ranked")
    binary = Ranking(
        query=rows.query, grade=rows.relevant.astype(np.float64), score=rows.probability
    )
    grade = rows.grade
    if as_published:
        binary = replace(binary, score=_published_order(rows))
        grade = np.floor(rows.grade)
    values = (ndcg(replace(binary, grade=grade)) + average_precision(binary)) / 2
    mean = float(values.mean())
    # A query's influence is shared by its rows, so that sums over queries are what they are
    # elsewhere.
    influences = (values - mean) / size * (len(rows.query) / len(size))
    return _Part(value=mean, influences=influences[rows.query])


def _undefined(reason: str) -> _Part:
    return _Part(value=None, influences=np.zeros(0), reason=reason)


def _auroc(right: BoolArray, score: FloatArray) -> tuple[float, FloatArray]:
    """Return AUROC and its influences, the placement values of DeLong et al. (1988)."""
    level, positive, negative = _levels(right, score)
    below = np.cumsum(negative) - negative / 2
    above = positive.sum() - np.cumsum(positive) + positive / 2
    value = float((positive * below).sum() / (positive.sum() * negative.sum()))
    placement = np.where(right, (below / negative.sum())[level], (above / positive.sum())[level])
    return value, (placement - value) * len(right) / np.where(right, positive.sum(), negative.sum())


def _average_precision(label: BoolArray, score: FloatArray) -> tuple[float, FloatArray]:
    """Return average precision and its influences: a row changes the precision at every threshold
    it passes.
    """
    level, positive, negative = _levels(label, score)
    hits = np.cumsum(positive[::-1])[::-1]
    retrieved = np.cumsum((positive + negative)[::-1])[::-1]
    precision, total = hits / retrieved, positive.sum()
    value = float((positive * precision).sum() / total)
    if_positive = (
        np.cumsum(positive * (1 - precision) / retrieved)[level] + precision[level] - value
    )
    if_negative = -np.cumsum(positive * precision / retrieved)[level]
    return value, np.where(label, if_positive, if_negative) * len(label) / total


def _ece(gap: FloatArray, probability: FloatArray) -> tuple[float, FloatArray]:
    """Return ECE in ten bins that end at tenths, and its influences; gap is probability less
    label.
    """
    member = np.searchsorted(np.arange(1, BINS) / BINS, probability, side="left")
    total = np.bincount(member, gap, BINS)
    value = float(np.abs(total).sum() / len(gap))
    return value, np.sign(total)[member] * gap - value


def _levels(label: BoolArray, score: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return each row's score as a level, ascending, and the positive and negative rows of each
    level.
    """
    values, cell = calibration.tally(label, score)
    counts = np.bincount(cell, minlength=2 * len(values)).reshape(-1, 2).astype(np.float64)
    return cell // 2, counts[:, 1], counts[:, 0]


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
