"""The families of metrics that a benchmark holds: at the threshold, on grades, of probabilities, of
rankings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ..judged_arrays import IntArray, JudgedArrays
from ..rows import QUERY_WORDS
from . import agreement, calibration
from .agreement import Formula
from .catalog import BINARY_METRICS, CHOICE_METRICS, GRADE_METRICS, METRICS
from .correlation import correlations
from .estimate import Estimate
from .intervals import Cells, Interval, count_rows
from .rater_agreement import alpha_of_tables
from .table_intervals import formula_value, table_intervals

NOMINAL: Mapping[str, Formula] = {"krippendorff_alpha": partial(alpha_of_tables, level="nominal")}
ORDINAL: Mapping[str, Formula] = {"krippendorff_alpha": partial(alpha_of_tables, level="ordinal")}


def measure_choice(predictions: JudgedArrays) -> dict[str, Estimate]:
    """Return `CHOICE_METRICS` and alpha over the classes, and recall of the label that is
    recognized worst.

    Nothing where people chose among other labels.
    """
    if not predictions.same_scale:
        return {}
    formulas = {**CHOICE_METRICS, **NOMINAL}
    metrics = _agreement(
        formulas, grade_codes(predictions), len(predictions.scale.levels), predictions
    )
    return metrics | _poorest_label(predictions)


def _poorest_label(predictions: JudgedArrays) -> dict[str, Estimate]:
    """Return `recall[label]` of the label that the judge finds least often where people gave it."""
    labels = predictions.scale.labels
    counts = count_rows(grade_codes(predictions), predictions.weight, len(labels) ** 2).reshape(
        -1, len(labels)
    )
    people = counts.sum(1)
    if not people.any():
        return {}
    # Only the poorest gets an interval; a label that nobody gave has no recall.
    level = int(np.where(people > 0, np.diagonal(counts) / np.maximum(people, 1), np.inf).argmin())
    code = 2 * (predictions.label == level).astype(np.int64) + (predictions.score == level)
    estimates = _agreement({"recall": BINARY_METRICS["recall"]}, code, 2, predictions)
    return {f"recall[{labels[level]}]": estimates["recall"]}


def measure_ordered(predictions: JudgedArrays, at: Sequence[int]) -> dict[str, Estimate]:
    """Return the metrics of labels and scores that have an order, each family where it applies; see
    `measure`.
    """
    k = len(predictions.scale.levels)
    shares_grades = predictions.on_grades and k > 2
    if shares_grades:
        metrics = _agreement(BINARY_METRICS, decision_codes(predictions), 2, predictions)
        metrics |= _agreement(
            {**GRADE_METRICS, **ORDINAL}, grade_codes(predictions), k, predictions
        )
    else:
        metrics = _agreement(
            {**BINARY_METRICS, **NOMINAL}, decision_codes(predictions), 2, predictions
        )
    metrics |= _calibration(predictions)
    groups = predictions.shared_groups
    scales = predictions.scale, predictions.dataset.labels
    if any(scale.kind == "probability" or len(scale.levels) > 2 for scale in scales):
        metrics |= correlations(
            predictions.label, predictions.score, groups, weight=predictions.weight
        )
    # A group may be a query with its documents where some input is a query, or the inputs are not
    # known; rows that share a source are no ranking.
    inputs = predictions.input_names or (predictions.dataset.group_text,)
    names_query = any(word in name.lower() for name in inputs for word in QUERY_WORDS)
    if groups is not None and (names_query or not any(inputs)):
        from .ranking import Ranking, ranking_metrics

        labels, score = predictions.dataset.labels, predictions.score
        # Two grades rank next to nothing; the probabilities behind them do.
        if len(predictions.scale.levels) == 2 and np.isfinite(predictions.probability).all():
            score = predictions.probability
        # The lowest grade of the scale is no gain.
        document = np.arange(len(score))
        if predictions.weight is not None:
            document = np.repeat(document, predictions.weight)
        grade = predictions.label[document] - labels.low
        ranking = Ranking(query=groups[document], grade=grade, score=score[document])
        metrics |= ranking_metrics(ranking, at=tuple(at), threshold=labels.threshold - labels.low)
    return metrics


def decision_codes(predictions: JudgedArrays) -> IntArray:
    """Return each scored row's cell in the (2, 2) table at the threshold, labels in rows; shape
    (n,).
    """
    return 2 * predictions.positive.astype(np.int64) + predictions.predicted


def grade_codes(predictions: JudgedArrays) -> IntArray:
    """Return each scored row's cell in the (K, K) table of the shared grades; shape (n,).

    Raises:
        InputError: A grade is not on the scale.
    """
    levels = predictions.scale.levels
    label = agreement.codes(predictions.label, levels)
    return label * len(levels) + agreement.codes(predictions.score, levels)


def estimate_of(
    value: float | None, reason: str, interval: Interval | None, cells: Cells, n: int | None = None
) -> Estimate:
    """Return a value with its interval and its rows, saying why where the interval is missing.

    Args:
        value: None where it does not exist.
        reason: Why it does not.
        interval: None where nothing shows the spread.
        cells: The rows.
        n: How many of them are in the metric's denominator; all unless given.
    """
    if n is None:
        n = int(cells.counts.sum())
    if value is None:
        return Estimate.undefined(n, reason)
    unit = "one row" if cells.groups is None else "the rows of one group"
    # A reason already says why.
    missing = "" if reason else f"{unit} cannot show the spread"
    return Estimate.of(value, interval, n, missing=missing, reason=reason)


def _agreement(
    formulas: Mapping[str, Formula], code: IntArray, k: int, predictions: JudgedArrays
) -> dict[str, Estimate]:
    cells = Cells(
        code=code, size=k * k, groups=predictions.shared_groups, weight=predictions.weight
    )
    table = cells.counts.reshape(k, k)
    values = {name: formula_value(name, formula, table) for name, formula in formulas.items()}
    defined = {name: formula for name, formula in formulas.items() if values[name][0] is not None}
    intervals = table_intervals(defined, cells, k)
    return {
        name: estimate_of(*values[name], intervals.get(name), cells, _denominator(name, cells, k))
        for name in formulas
    }


def _denominator(metric: str, cells: Cells, k: int) -> int:
    """Return how many rows are in a metric's denominator; of a table of grades that is every
    row.
    """
    if k > 2:
        return int(cells.counts.sum())
    return int(cells.counts[list(METRICS[metric].cells)].sum())


def _calibration(predictions: JudgedArrays) -> dict[str, Estimate]:
    rows = np.flatnonzero(np.isfinite(predictions.probability))
    if len(rows) == 0:
        return {}
    groups = predictions.shared_groups
    if groups is not None:
        groups = _renumbered(groups[rows])
    weight = None if predictions.weight is None else predictions.weight[rows]
    label, probability = predictions.positive[rows], predictions.probability[rows]
    intervals = calibration.calibration_intervals(label, probability, groups, weight=weight)
    cells = Cells(code=np.zeros(len(rows), np.int64), size=1, groups=groups, weight=weight)
    estimates = {}
    for name, (value, interval) in intervals.items():
        reason = METRICS[name].undefined if value is None else ""
        estimates[name] = estimate_of(value, reason, interval, cells)
    return estimates


def _renumbered(groups: IntArray) -> IntArray:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
