"""The families of metrics that a benchmark holds: at the threshold, on grades, of probabilities, of rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..judged import FloatArray, IntArray, JudgedDataset
from ..rows import Scalar
from ..scale import OutputScale
from . import agreement, calibration
from .agreement import BINARY_METRICS, CHOICE_METRICS, GRADE_METRICS, Metric
from .correlation import correlations
from .diras import DIRAS_METRICS, RelevanceRows, diras
from .estimate import Estimate
from .intervals import Cells, Interval
from .ranking import Ranking, ranking_metrics
from .rater_agreement import alpha_of_tables
from .table_intervals import table_intervals

QUERY_WORDS = ("query", "question", "prompt")
"""What the name of an input holds whose group of rows can be ranked."""
NOMINAL: Mapping[str, Metric] = {"krippendorff_alpha": partial(alpha_of_tables, level="nominal")}
ORDINAL: Mapping[str, Metric] = {"krippendorff_alpha": partial(alpha_of_tables, level="ordinal")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `measure` was asked for beside the rows; see there."""

    at: tuple[int, ...]
    uncertain: str | None
    resamples: int
    seed: int


def measure_choice(judged: JudgedDataset, asked: Asked) -> dict[str, Estimate]:
    """Return `CHOICE_METRICS` and alpha over the classes; nothing where people chose among other labels."""
    if not judged.same_scale:
        return {}
    return _agreement(
        {**CHOICE_METRICS, **NOMINAL}, grade_codes(judged), len(judged.scale.levels), _sampling(judged, asked)
    )


def measure_ordered(judged: JudgedDataset, asked: Asked) -> dict[str, Estimate]:
    """Return the metrics of labels and scores that have an order, each family where it applies; see `measure`."""
    sampling = _sampling(judged, asked)
    k = len(judged.scale.levels)
    shares_grades = judged.on_grades and k > 2
    at_threshold = BINARY_METRICS if shares_grades else {**BINARY_METRICS, **NOMINAL}
    metrics = _agreement(at_threshold, decision_codes(judged), 2, sampling)
    if shares_grades:
        metrics |= _agreement({**GRADE_METRICS, **ORDINAL}, grade_codes(judged), k, sampling)
    metrics |= _calibration(judged, sampling)
    if _many_grades(judged.scale) or _many_grades(judged.dataset.labels):
        metrics |= correlations(judged.label, judged.score, sampling.groups)
    if sampling.groups is not None and _may_be_ranked(judged):
        metrics |= _ranking(judged, asked.at)
    if asked.uncertain is not None:
        groups = measure_diras(judged, asked.uncertain)
        metrics |= {"uncertainty_ap": groups["diras_uncertainty"], **groups}
    return metrics


def measure_diras(judged: JudgedDataset, uncertain: str, *, as_published: bool = False) -> dict[str, Estimate]:
    """Return `DIRAS_METRICS` of the rows with a confidence; None with the reason where nothing carries one.

    The group is the query, and the label over the range of its scale is the relevance: labels 0, 0.5 and 1 are taken
    as they stand, 0..3 become thirds.

    Args:
        judged: Rows with their answers.
        uncertain: As `measure`.
        as_published: Repeat the published table's own way of ranking; see `judges/metrics/diras.py`.
    """
    sure = _confidence(judged)
    rows = np.flatnonzero(np.isfinite(sure))
    if len(rows) == 0:
        reason = "no verdict carries a confidence" if len(judged.scored) else agreement.NO_ROWS
        return {name: Estimate.undefined(len(rows), reason) for name in DIRAS_METRICS}
    hard = np.array([_is_marked(row.meta.get(uncertain)) for row in judged.rows], np.bool_)
    labels = judged.dataset.labels
    table = RelevanceRows(
        grade=((judged.label - labels.low) / (labels.high - labels.low))[rows],
        relevant=judged.positive[rows],
        predicted=judged.predicted[rows],
        confidence=sure[rows],
        probability=judged.probability[rows],
        uncertain=hard[rows],
        query=np.unique(judged.groups[rows], return_inverse=True)[1].astype(np.int64),
    )
    return diras(table, as_published=as_published)


def shared_groups(judged: JudgedDataset) -> IntArray | None:
    """Return the groups of the scored rows, None where every row is its own."""
    groups = judged.groups
    return groups if int(groups.max(initial=-1)) + 1 < len(groups) else None


def decision_codes(judged: JudgedDataset) -> IntArray:
    """Return each scored row's cell in the (2, 2) table at the threshold, labels in rows; shape (n,)."""
    return 2 * judged.positive.astype(np.int64) + judged.predicted


def grade_codes(judged: JudgedDataset) -> IntArray:
    """Return each scored row's cell in the (K, K) table of the shared grades; shape (n,).

    Raises:
        InputError: A grade is not on the scale.
    """
    levels = judged.scale.levels
    return agreement.codes(judged.label, levels) * len(levels) + agreement.codes(judged.score, levels)


def estimate_of(value: float | None, reason: str, interval: Interval | None, cells: Cells) -> Estimate:
    """Return a value with its interval and its rows, saying why where the interval is missing."""
    n = len(cells.code)
    if value is None:
        return Estimate.undefined(n, reason)
    low, high = interval or (None, None)
    if interval is None and not reason:
        one = "one row" if cells.groups is None else "the rows of one group"
        reason = f"{one} cannot show the spread"
    return Estimate(value=value, low=low, high=high, n=n, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampling:
    """What an interval supposes to have been drawn."""

    groups: IntArray | None
    """None where every row is its own group."""
    resamples: int
    seed: int

    def only(self, rows: IntArray) -> _Sampling:
        """Return the sampling of some of the rows, the groups numbered afresh."""
        if self.groups is None:
            return self
        return replace(self, groups=np.unique(self.groups[rows], return_inverse=True)[1].astype(np.int64))


def _sampling(judged: JudgedDataset, asked: Asked) -> _Sampling:
    return _Sampling(groups=shared_groups(judged), resamples=asked.resamples, seed=asked.seed)


def _many_grades(scale: OutputScale) -> bool:
    return scale.kind == "probability" or len(scale.levels) > 2


def _agreement(functions: Mapping[str, Metric], code: IntArray, k: int, sampling: _Sampling) -> dict[str, Estimate]:
    cells = Cells(code=code, size=k * k, groups=sampling.groups)
    table = cells.counts.reshape(k, k)
    points = {name: agreement.point_of(name, function, table) for name, function in functions.items()}
    wanted = {name: functions[name] for name, (value, reason) in points.items() if value is not None and not reason}
    intervals = table_intervals(wanted, cells, k)
    return {name: estimate_of(*points[name], intervals.get(name), cells) for name in functions}


def _calibration(judged: JudgedDataset, sampling: _Sampling) -> dict[str, Estimate]:
    rows = np.flatnonzero(np.isfinite(judged.probability))
    if len(rows) == 0:
        return {}
    kept = sampling.only(rows)
    label, probability = judged.positive[rows], judged.probability[rows]
    found = calibration.calibration_intervals(label, probability, kept.groups, resamples=kept.resamples, seed=kept.seed)
    cells = Cells(code=np.zeros(len(rows), np.int64), size=1, groups=kept.groups)
    return {
        name: estimate_of(value, calibration.UNDEFINED[name] if value is None else "", interval, cells)
        for name, (value, interval) in found.items()
    }


def _may_be_ranked(judged: JudgedDataset) -> bool:
    """Whether a group may be a query with its documents: some input is a query, or the inputs are not known."""
    inputs = judged.rows[0].inputs if judged.rows else {}
    return not inputs or any(word in name.lower() for name in inputs for word in QUERY_WORDS)


def _ranking(judged: JudgedDataset, at: tuple[int, ...]) -> dict[str, Estimate]:
    by_probability = len(judged.scale.levels) == 2 and bool(np.isfinite(judged.probability).all())
    labels = judged.dataset.labels
    ranking = Ranking(
        query=judged.groups,
        # The lowest grade of the scale is no gain.
        grade=judged.label - labels.low,
        score=judged.probability if by_probability else judged.score,
    )
    return ranking_metrics(ranking, at=at, threshold=labels.threshold - labels.low)


def _confidence(judged: JudgedDataset) -> FloatArray:
    """Return the confidence in each verdict, NaN where there is none; on a probability scale the score holds it."""
    from_probability = np.where(judged.predicted, judged.probability, 1.0 - judged.probability)
    return np.where(np.isfinite(judged.confidence), judged.confidence, from_probability)


def _is_marked(value: Scalar) -> bool:
    # A table read from CSV holds words.
    return value.strip().casefold() not in ("", "0", "0.0", "false", "no") if isinstance(value, str) else bool(value)
