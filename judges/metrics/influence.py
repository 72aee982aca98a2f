"""How much each row moves a metric: the paired test of the gate, and standard errors without
resampling.

The standard deviation of the rows' influence over sqrt(n) is the metric's standard error, and the
difference of two prompts' influence on the same rows is the paired test of the gate. The functions
stand in `agreement.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray
from .catalog import NO_ROWS, Metric, metric_of

Values = BoolArray | FloatArray | npt.NDArray[np.integer]
Counts = npt.NDArray[np.integer | np.floating]
"""Numbers of rows, or what they sum to."""


def point(metric: str, label: Values, predicted: Values) -> float | None:
    """Return the metric on these rows; None where it is undefined.

    Args:
        metric: A name of `PAIRED_METRICS`, or one of decisions of one class, such as
            `recall[billing]`.
        label: What people say; booleans, or grades or classes where the metric compares those.
            Shape (n,).
        predicted: What the judge says, likewise.

    Raises:
        InputError: No such metric, or the arrays do not fit it.
    """
    entry = metric_of(metric)
    if label.shape != predicted.shape:
        raise InputError(f"{len(label)} labels for {len(predicted)} verdicts")
    if "decisions" in entry.needs and (label.dtype != np.bool_ or predicted.dtype != np.bool_):
        raise InputError(
            f"{metric} compares booleans, got {label.dtype} and {predicted.dtype}; apply the"
            " threshold first"
        )
    if len(label) == 0:
        return None
    if entry.of_rows is not None:
        return float(entry.of_rows(label.astype(np.float64), predicted.astype(np.float64)).mean())
    assert entry.formula is not None, metric
    value = float(entry.formula(_shares(entry, label, predicted)[0]))
    return value if np.isfinite(value) else None


def influence(metric: str, label: Values, predicted: Values) -> FloatArray:
    """Return the influence of each row on the metric; shape (n,), mean 0.

    Args:
        metric: A name of `PAIRED_METRICS`, or one of decisions of one class, such as
            `recall[billing]`.
        label: What people say; booleans, or grades or classes where the metric compares those.
            Shape (n,).
        predicted: What the judge says, likewise.

    Raises:
        InputError: No such metric, the arrays do not fit it, or the metric is undefined on these
            rows.
    """
    value = point(metric, label, predicted)
    entry = metric_of(metric)
    if value is None:
        reason = entry.undefined if len(label) else NO_ROWS
        raise InputError(f"{metric} is undefined on these rows: {reason}")
    if entry.of_rows is not None:
        return entry.of_rows(label.astype(np.float64), predicted.astype(np.float64)) - value
    assert entry.influence is not None, metric
    shares, cell = _shares(entry, label, predicted)
    return entry.influence(shares, value).ravel()[cell]


def cell_influence(metric: str, counts: Counts) -> tuple[float, FloatArray] | None:
    """Return a metric and the influence of a row of each cell on it, from counts as `count_cells`
    has them alone.

    Args:
        metric: A name of `PAIRED_METRICS`, or one of decisions of one class.
        counts: Rows by label and verdict, such as no and no, no and yes, yes and no, yes and yes;
            shape (K * K,). Of a mean over rows what they count, and what they lack of 1 each; shape
            (2,).

    Returns:
        The value and the influences, of the shape of the counts; None where the metric is
        undefined.
    """
    entry, size = metric_of(metric), round(len(counts) ** 0.5)
    if entry.of_rows is not None:
        total = float(counts.sum())
        return (
            (value := float(counts[0]) / total, np.array([1.0 - value, -value])) if total else None
        )
    assert entry.formula is not None, metric
    # An empty table has no metric; dividing by 1 says so without a warning.
    shares = counts.reshape(size, size) / (counts.sum() or 1)
    value = float(entry.formula(shares))
    if entry.influence is None or not np.isfinite(value):
        return None
    return value, entry.influence(shares, value).ravel()


def _shares(entry: Metric, label: Values, predicted: Values) -> tuple[FloatArray, IntArray]:
    """Return the shares of rows by label and verdict, and the cell of each row in that table,
    counted along its rows.

    The shape is (2, 2) for decisions, else (K, K) for the grades or classes that occur.
    """
    if "decisions" in entry.needs:
        size, cell = 2, 2 * label.astype(np.int64) + predicted.astype(np.int64)
    else:
        levels, codes = np.unique(np.concatenate([label, predicted]), return_inverse=True)
        size = len(levels)
        cell = (size * codes[: len(label)] + codes[len(label) :]).astype(np.int64)
    return np.bincount(cell, minlength=size * size).reshape(size, size) / len(label), cell
