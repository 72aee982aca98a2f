"""How much each row moves a metric: the paired test of the gate, and standard errors without resampling.

The standard deviation of the rows' influence over sqrt(n) is the metric's standard error, and the difference of two
prompts' influence on the same rows is the paired test of the gate. The functions stand in `agreement.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray
from .catalog import BINARY_METRICS, METRICS, NO_ROWS, PAIRED_METRICS

Values = BoolArray | FloatArray | npt.NDArray[np.integer]


def point(metric: str, label: Values, predicted: Values) -> float | None:
    """Return the metric on these rows; None where it is undefined.

    Args:
        metric: A name of `PAIRED_METRICS`.
        label: What people say; booleans, or grades for `off_by_one`. Shape (n,).
        predicted: What the judge says, likewise.

    Raises:
        InputError: No such metric, or the arrays do not fit it.
    """
    if metric not in PAIRED_METRICS:
        raise InputError(f"no influence function is known for {metric!r}; there is one for {', '.join(PAIRED_METRICS)}")
    if label.shape != predicted.shape:
        raise InputError(f"{len(label)} labels for {len(predicted)} verdicts")
    if metric != "off_by_one" and (label.dtype != np.bool_ or predicted.dtype != np.bool_):
        raise InputError(
            f"{metric} compares booleans, got {label.dtype} and {predicted.dtype}; apply the threshold first"
        )
    if len(label) == 0:
        return None
    if metric == "off_by_one":
        return float(_within_one(label, predicted).mean())
    value = float(BINARY_METRICS[metric](_shares(label, predicted)))
    return value if np.isfinite(value) else None


def influence(metric: str, label: Values, predicted: Values) -> FloatArray:
    """Return the influence of each row on the metric; shape (n,), mean 0.

    Args:
        metric: A name of `PAIRED_METRICS`.
        label: What people say; booleans, or grades for `off_by_one`. Shape (n,).
        predicted: What the judge says, likewise.

    Raises:
        InputError: No such metric, the arrays do not fit it, or the metric is undefined on these rows.
    """
    value = point(metric, label, predicted)
    if value is None:
        reason = METRICS[metric].undefined if len(label) else NO_ROWS
        raise InputError(f"{metric} is undefined on these rows: {reason}")
    if metric == "off_by_one":
        return _within_one(label, predicted) - value
    by_cell = METRICS[metric].influence
    assert by_cell is not None, metric
    cells = by_cell(_shares(label, predicted), value)
    return cells[label.astype(np.int64), predicted.astype(np.int64)]


def cell_influence(metric: str, counts: npt.NDArray[np.integer]) -> tuple[float, FloatArray] | None:
    """Return a metric of decisions, and the influence of a row of each cell on it, from a table alone.

    Args:
        metric: One of the metrics of decisions.
        counts: Rows by label and verdict: no and no, no and yes, yes and no, yes and yes; shape (4,).

    Returns:
        The value and the influences, shape (4,); None where the metric is undefined.
    """
    # An empty table has no metric; dividing by 1 says so without a warning.
    shares = counts.reshape(2, 2) / max(int(counts.sum()), 1)
    value = float(BINARY_METRICS[metric](shares))
    by_cell = METRICS[metric].influence
    if by_cell is None or not np.isfinite(value):
        return None
    return value, by_cell(shares, value).reshape(4)


def _within_one(label: Values, predicted: Values) -> FloatArray:
    distance = np.abs(label.astype(np.float64) - predicted.astype(np.float64))
    return (distance <= 1).astype(np.float64)


def _shares(label: Values, predicted: Values) -> FloatArray:
    pairs = 2 * label.astype(np.int64) + predicted.astype(np.int64)
    return np.bincount(pairs, minlength=4).reshape(2, 2) / len(label)
