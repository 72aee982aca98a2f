"""How well the judge's probability of the positive label orders the rows, and how far it can be
believed.

Like agreement, everything is computed from cells: for each distinct probability, the weight of
negative and of positive rows. A cell table has shape (..., T, 2) for T distinct probabilities in
ascending order, so that a whole jackknife is one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray
from .calibration_error import BINS, bins_of, ece_interval
from .delta import score_interval
from .intervals import Cells, Interval, Statistic, count_rows
from .jackknife import jackknife

MOST_CELLS = 64
"""Distinct probabilities above which standard errors, though never values, are taken from cells of
equal size.
"""


def tally(label: BoolArray, probability: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the T distinct probabilities in ascending order and each row's cell, 2 * rank + label;
    shape (n,).

    Raises:
        InputError: The two differ in length, or a probability is not a finite number.
    """
    if len(label) != len(probability):
        raise InputError(f"{len(label)} labels for {len(probability)} probabilities")
    if not np.isfinite(probability).all():
        raise InputError("a probability is missing or not finite; leave such rows out")
    values, rank = np.unique(np.asarray(probability, np.float64), return_inverse=True)
    return values, 2 * rank.astype(np.int64) + np.asarray(label, np.int64)


def cell_auroc(table: FloatArray, values: FloatArray) -> FloatArray:
    """Return the chance that a positive row is ranked above a negative one, ties counting half.

    The area under the ROC curve (Hanley and McNeil 1982); NaN for one class.
    """
    negative, positive = table[..., 0], table[..., 1]
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = positive.sum(-1) * negative.sum(-1)
    return _ratio((positive * below).sum(-1), pairs)


def cell_average_precision(table: FloatArray, values: FloatArray) -> FloatArray:
    """Return the precision at each distinct score, weighted by the recall it adds; NaN without
    positive rows.

    Equal scores form one threshold and nothing is interpolated, as in scikit-learn.
    """
    positive = table[..., ::-1, 1]
    retrieved = np.cumsum(table[..., ::-1, :].sum(-1), axis=-1)
    hits = np.cumsum(positive, axis=-1)
    precision = np.divide(hits, retrieved, out=np.zeros_like(hits), where=retrieved > 0)
    return _ratio((positive * precision).sum(-1), positive.sum(-1))


def cell_brier(table: FloatArray, values: FloatArray) -> FloatArray:
    """Return the mean squared difference between probability and label (Brier 1950)."""
    loss = table[..., 0] @ values**2 + table[..., 1] @ (1.0 - values) ** 2
    return _ratio(loss, table.sum((-2, -1)))


def cell_ece(table: FloatArray, values: FloatArray) -> FloatArray:
    """Return expected calibration error of cell tables (..., T, 2); see `ece`."""
    member = (bins_of(values)[:, None] == np.arange(BINS)).astype(np.float64)
    positive = table[..., 1] @ member
    expected = (table.sum(-1) * values) @ member
    return _ratio(np.abs(positive - expected).sum(-1), table.sum((-2, -1)))


CALIBRATION_METRICS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "auroc": cell_auroc,
    "average_precision": cell_average_precision,
    "brier": cell_brier,
    "ece": cell_ece,
}
"""Metrics of a cell table (..., T, 2) and its T probabilities; each returns shape (...)."""
SMOOTH = ("auroc", "average_precision", "brier")
"""Those that one row can only move a little, so that leaving it out tells their error."""


def calibration_intervals(
    label: BoolArray,
    probability: FloatArray,
    groups: IntArray | None,
    *,
    weight: IntArray | None = None,
) -> dict[str, tuple[float | None, Interval | None]]:
    """Return each of `CALIBRATION_METRICS` with its 95 % interval, None for what is undefined.

    Values are exact. The standard errors of AUROC, average precision and the Brier score are the
    jackknife's, on cells of rows with neighbouring probabilities where nearly every row has one of
    its own; that of AUROC is never less than by Hanley and McNeil (1982), that of average precision
    never less than a proportion's of the positive rows (Boyd, Eng and Page 2013): with few errors
    among few rows the jackknife's can be small by chance. For ECE see `ece_interval`.

    Args:
        label: Whether people call the row positive; shape (n,), at least one row.
        probability: Of the positive label; shape (n,).
        groups: Codes 0..G-1 of rows that belong together; None where rows are independent.
        weight: How many rows each position stands for; None where each is one. Shape (n,).

    Raises:
        InputError: A probability is outside [0, 1] or not finite.
    """
    require_probabilities(probability)
    values, code = tally(label, probability)
    table = count_rows(code, weight, 2 * len(values)).reshape(-1, 2).astype(np.float64)
    exact = {name: float(metric(table, values)) for name, metric in CALIBRATION_METRICS.items()}
    # One cell a row would make the jackknife quadratic in rows.
    values, code = _coarse(values, code, weight)
    cells = Cells(code=code, size=2 * len(values), groups=groups, weight=weight)
    estimates: dict[str, tuple[float | None, Interval | None]] = {}
    for name, value in exact.items():
        estimates[name] = (value if np.isfinite(value) else None, None)
    if cells.units < 2:
        return estimates
    smooth = [name for name in SMOOTH if np.isfinite(exact[name])]
    statistics: dict[str, Statistic] = {name: partial(_on_cells, name, values) for name in smooth}
    errors = jackknife(statistics, cells)
    positive = np.arange(cells.size) % 2 == 1
    scarcer_class = min(cells.effective(positive), cells.effective(~positive))
    for name in smooth:
        value, se = exact[name], errors[name]
        if se is not None:
            se = max(se, _least_error(name, value, table))
        # Every row has a squared error; the other two compare positive rows with negative ones.
        units = cells.effective(positive | ~positive) if name == "brier" else scarcer_class
        estimates[name] = value, score_interval(value, se, units)
    estimates["ece"] = (
        exact["ece"],
        ece_interval(label, probability, groups, weight=weight),
    )
    return estimates


def _least_error(name: str, value: float, table: FloatArray) -> float:
    """Return the least standard error that so few rows of a class allow."""
    negative, positive = map(int, table.sum(0))
    if name == "auroc":
        pairs = (positive - 1) * (value / (2 - value) - value**2)
        pairs += (negative - 1) * (2 * value**2 / (1 + value) - value**2)
        return math.sqrt(max(0.0, value * (1 - value) + pairs) / (positive * negative))
    if name == "average_precision":
        return math.sqrt(value * (1 - value) / positive)
    return 0.0


def _on_cells(name: str, values: FloatArray, counts: FloatArray) -> FloatArray:
    return CALIBRATION_METRICS[name](counts.reshape(-1, len(values), 2), values)


def _coarse(
    values: FloatArray, code: IntArray, rows: IntArray | None
) -> tuple[FloatArray, IntArray]:
    """Merge neighbouring probabilities into about `MOST_CELLS` cells of equal weight, each with its
    rows' mean.
    """
    if len(values) <= MOST_CELLS:
        return values, code
    rank, label = np.divmod(code, 2)
    weight = count_rows(rank, rows, len(values)).astype(np.float64)
    before = np.cumsum(weight) - weight
    share = (before * MOST_CELLS / weight.sum()).astype(np.int64)
    cell = np.unique(share * 10 + bins_of(values), return_inverse=True)[1]
    mean = np.bincount(cell, weight * values) / np.bincount(cell, weight)
    return mean, 2 * cell[rank].astype(np.int64) + label


def ece(label: BoolArray, probability: FloatArray) -> float:
    """Return expected calibration error: |mean label - mean probability| per bin, weighted by the
    bin's share; NaN of no rows.

    Ten bins of equal width on the probability of the positive label (Naeini et al. 2015), open
    below and closed above, the first closed on both sides. The plug-in value is biased upwards: a
    perfectly calibrated judge scores above 0 on few rows.

    Raises:
        InputError: A probability is outside [0, 1].
    """
    require_probabilities(probability)
    return value_of("ece", label, probability)


def value_of(metric: str, label: BoolArray, score: FloatArray) -> float:
    """Return one of `CALIBRATION_METRICS`, NaN where it is undefined; for the two that rank any
    finite score will do.
    """
    values, code = tally(label, score)
    table = np.bincount(code, minlength=2 * len(values)).reshape(-1, 2).astype(np.float64)
    return float(CALIBRATION_METRICS[metric](table, values))


def require_probabilities(values: FloatArray) -> None:
    """Refuse numbers that are not probabilities.

    Raises:
        InputError: A value is outside [0, 1].
    """
    outside = values[(values < 0) | (values > 1)]
    if outside.size:
        raise InputError(
            f"{outside.size} probabilities are outside [0, 1], such as {float(outside[0])!r}",
            hint="divide percentages by 100",
        )


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(
        top, bottom, out=np.full(np.shape(bottom), np.nan), where=np.asarray(bottom) != 0
    )
