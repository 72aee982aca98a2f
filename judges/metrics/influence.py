"""Influence functions: how far each row pulls a metric.

With row weights w around 1, the metric is M + sum((w_i - 1) * phi_i) / n to first order; so phi has mean 0,
std(phi) / sqrt(n) is the metric's standard error, and the difference of two prompts' phi on the same rows
is the paired test of the gate. The derivations are the delta method on means over rows (Hampel 1974).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged import BoolArray, FloatArray
from . import agreement

Values = BoolArray | FloatArray | npt.NDArray[np.integer]

# The four cells of a table, labels in rows: what the label says, what the judge says.
_Y = np.array([[0.0, 0.0], [1.0, 1.0]])
_P = np.array([[0.0, 1.0], [0.0, 1.0]])


def point(metric: str, label: Values, predicted: Values) -> float | None:
    """Return the metric on these rows; None where it is undefined.

    Args:
        metric: A name of `METRICS`.
        label: What people say; booleans, or grades for `off_by_one`. Shape (n,).
        predicted: What the judge says, likewise.

    Raises:
        InputError: No such metric, or the arrays do not fit it.
    """
    _check(metric, label, predicted)
    if len(label) == 0:
        return None
    if metric == "off_by_one":
        return float(_within_one(label, predicted).mean())
    value = float(agreement.BINARY_METRICS[metric](_shares(label, predicted)))
    return value if np.isfinite(value) else None


def influence(metric: str, label: Values, predicted: Values) -> FloatArray:
    """Return each row's pull on the metric; shape (n,), mean 0.

    Args:
        metric: A name of `METRICS`.
        label: What people say; booleans, or grades for `off_by_one`. Shape (n,).
        predicted: What the judge says, likewise.

    Raises:
        InputError: No such metric, the arrays do not fit it, or the metric is undefined on these rows.
    """
    value = point(metric, label, predicted)
    if value is None:
        why = agreement.UNDEFINED.get(metric, agreement.NO_ROWS) if len(label) else agreement.NO_ROWS
        raise InputError(f"{metric} is undefined on these rows: {why}")
    if metric == "off_by_one":
        return _within_one(label, predicted) - value
    cells = _BY_CELL[metric](_shares(label, predicted), value)
    return cells[label.astype(np.int64), predicted.astype(np.int64)]


def cell_influence(metric: str, counts: npt.NDArray[np.integer]) -> tuple[float, FloatArray] | None:
    """Return a metric of decisions, and what a row of each cell pulls on it, from a table alone.

    Args:
        metric: One of the metrics of decisions.
        counts: Rows by label and verdict: no and no, no and yes, yes and no, yes and yes; shape (4,).

    Returns:
        The value and the pulls, shape (4,); None where the metric is undefined.
    """
    shares = counts.reshape(2, 2) / max(int(counts.sum()), 1)
    value = float(agreement.BINARY_METRICS[metric](shares))
    return (value, _BY_CELL[metric](shares, value).reshape(4)) if np.isfinite(value) else None


def _check(metric: str, label: Values, predicted: Values) -> None:
    if metric not in METRICS:
        raise InputError(f"no influence function is known for {metric!r}; there is one for {', '.join(METRICS)}")
    if label.shape != predicted.shape:
        raise InputError(f"{len(label)} labels for {len(predicted)} verdicts")
    if metric != "off_by_one" and (label.dtype != np.bool_ or predicted.dtype != np.bool_):
        raise InputError(
            f"{metric} compares booleans, got {label.dtype} and {predicted.dtype}; apply the threshold first"
        )


def _within_one(label: Values, predicted: Values) -> FloatArray:
    return (np.abs(label.astype(np.float64) - predicted.astype(np.float64)) <= 1).astype(np.float64)


def _shares(label: Values, predicted: Values) -> FloatArray:
    pairs = 2 * label.astype(np.int64) + predicted.astype(np.int64)
    return np.bincount(pairs, minlength=4).reshape(2, 2) / len(label)


def _precision(share: FloatArray, value: float) -> FloatArray:
    return (_Y * _P - value * _P) / share[:, 1].sum()


def _recall(share: FloatArray, value: float) -> FloatArray:
    return (_Y * _P - value * _Y) / share[1].sum()


def _specificity(share: FloatArray, value: float) -> FloatArray:
    return ((1 - _Y) * (1 - _P) - value * (1 - _Y)) / share[0].sum()


def _f1(share: FloatArray, value: float) -> FloatArray:
    return (2 * _Y * _P - value * (_Y + _P)) / (share[1].sum() + share[:, 1].sum())


def _accuracy(share: FloatArray, value: float) -> FloatArray:
    return (_Y == _P) - value


def _balanced_accuracy(share: FloatArray, value: float) -> FloatArray:
    tpr, tnr = float(agreement.recall(share)), float(agreement.specificity(share))
    return (_recall(share, tpr) + _specificity(share, tnr)) / 2


def _kappa(share: FloatArray, value: float) -> FloatArray:
    gold, judged = share.sum(1), share.sum(0)
    agreed, chance = np.trace(share), gold @ judged
    # A row moves chance agreement through both margins: the judge's at its label, the labels' at its verdict.
    pull = judged[:, None] + gold[None, :] - 2 * chance
    return ((_Y == _P) - agreed - (1 - value) * pull) / (1 - chance)


def _mcc(share: FloatArray, value: float) -> FloatArray:
    y, p = share[1].sum(), share[:, 1].sum()
    spread = y * (1 - y) * p * (1 - p)
    covariance = (_Y * _P - share[1, 1]) - (_Y - y) * p - (_P - p) * y
    log_spread = (_Y - y) * (1 - 2 * y) / (y * (1 - y)) + (_P - p) * (1 - 2 * p) / (p * (1 - p))
    return covariance / np.sqrt(spread) - value / 2 * log_spread


_BY_CELL: Mapping[str, Callable[[FloatArray, float], FloatArray]] = {
    "precision": _precision,
    "recall": _recall,
    "specificity": _specificity,
    "f1": _f1,
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "kappa": _kappa,
    "mcc": _mcc,
}

METRICS: tuple[str, ...] = (*_BY_CELL, "off_by_one")
"""Metrics that have an influence function."""
