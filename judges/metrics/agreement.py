"""Agreement between judge and people, computed from the confusion cells alone.

A confusion table has the human label in rows and the judge's verdict in columns, negative before
positive: `[[tn, fp], [fn, tp]]`. Every metric takes tables of shape (..., K, K), counts or weights, and
returns shape (...), NaN where the metric does not exist. So the function that gives the point also gives
two thousand resamples in one call. `point` turns one table into a number a person may read, or into the reason why
there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged import BoolArray, FloatArray, IntArray

Metric = Callable[[FloatArray], FloatArray]
Parts = tuple[FloatArray, FloatArray]
Grades = npt.NDArray[np.number] | BoolArray | Sequence[float]


def codes(values: Grades, levels: Sequence[float]) -> IntArray:
    """Return the position of each value among the levels; shape (n,).

    Raises:
        InputError: A value is none of the levels.
    """
    known = np.asarray(levels, np.float64)
    given = np.asarray(values, np.float64)
    order = np.argsort(known)
    found = np.searchsorted(known, given, sorter=order).clip(max=len(known) - 1)
    position = order[found]
    strange = given[known[position] != given]
    if strange.size:
        shown = [float(v) for v in strange[:5]]
        raise InputError(
            f"{strange.size} grades are not on the scale {[float(v) for v in levels]!r}, such as {shown!r}",
            hint="give the right scale, or leave these rows out",
        )
    return position.astype(np.int64)


def confusion(label: Grades, predicted: Grades, levels: Sequence[float] = (0, 1)) -> IntArray:
    """Count the rows of each (label, verdict) pair; shape (K, K), labels in rows.

    Raises:
        InputError: The two differ in length, or a value is none of the levels.
    """
    if len(label) != len(predicted):
        raise InputError(f"{len(label)} labels for {len(predicted)} verdicts")
    k = len(levels)
    pairs = codes(label, levels) * k + codes(predicted, levels)
    return np.bincount(pairs, minlength=k * k).reshape(k, k)


def _split(table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    t = np.asarray(table, np.float64)
    return t[..., 0, 0], t[..., 0, 1], t[..., 1, 0], t[..., 1, 1]


def _ratio(parts: Parts) -> FloatArray:
    top, bottom = parts
    return np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=bottom != 0)


def _precision_parts(table: FloatArray) -> Parts:
    _, fp, _, tp = _split(table)
    return tp, tp + fp


def _recall_parts(table: FloatArray) -> Parts:
    _, _, fn, tp = _split(table)
    return tp, tp + fn


def _specificity_parts(table: FloatArray) -> Parts:
    tn, fp, _, _ = _split(table)
    return tn, tn + fp


def _accuracy_parts(table: FloatArray) -> Parts:
    t = np.asarray(table, np.float64)
    return np.trace(t, axis1=-2, axis2=-1), t.sum((-2, -1))


def _off_by_one_parts(table: FloatArray) -> Parts:
    t = np.asarray(table, np.float64)
    return (t * (_distance(t.shape[-1]) <= 1)).sum((-2, -1)), t.sum((-2, -1))


PROPORTIONS: Mapping[str, Callable[[FloatArray], Parts]] = {
    "precision": _precision_parts,
    "recall": _recall_parts,
    "specificity": _specificity_parts,
    "accuracy": _accuracy_parts,
    "off_by_one": _off_by_one_parts,
    "accuracy_grades": _accuracy_parts,
}
"""Metrics that are one proportion: name -> (hits, rows in the denominator), each of shape (...)."""


def precision(table: FloatArray) -> FloatArray:
    """Return TP / (TP + FP): the share of the judge's positives that people call positive."""
    return _ratio(_precision_parts(table))


def recall(table: FloatArray) -> FloatArray:
    """Return TP / (TP + FN): the share of people's positives that the judge finds."""
    return _ratio(_recall_parts(table))


def specificity(table: FloatArray) -> FloatArray:
    """Return TN / (TN + FP): the share of people's negatives that the judge leaves negative."""
    return _ratio(_specificity_parts(table))


def accuracy(table: FloatArray) -> FloatArray:
    """Return the share of rows on which judge and people agree; any K."""
    return _ratio(_accuracy_parts(table))


def f1(table: FloatArray) -> FloatArray:
    """Return 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall (van Rijsbergen 1979)."""
    _, fp, fn, tp = _split(table)
    return _ratio((2 * tp, 2 * tp + fp + fn))


def balanced_accuracy(table: FloatArray) -> FloatArray:
    """Return the mean of recall and specificity (Brodersen et al. 2010); NaN unless both classes are labelled."""
    return (recall(table) + specificity(table)) / 2


def mcc(table: FloatArray) -> FloatArray:
    """Return the phi coefficient of labels and verdicts (Matthews 1975); NaN where either holds one class."""
    tn, fp, fn, tp = _split(table)
    spread = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return np.clip(_ratio((tp * tn - fp * fn, spread)), -1.0, 1.0)


def kappa(table: FloatArray) -> FloatArray:
    """Return agreement beyond chance, (po - pe) / (1 - pe) (Cohen 1960); any K.

    NaN where judge and people use one and the same class throughout, so that chance explains everything.
    """
    k = np.shape(table)[-1]
    return _weighted_kappa(table, 1.0 - np.eye(k))


def kappa_linear(table: FloatArray) -> FloatArray:
    """Return Cohen's weighted kappa with disagreement |i - j| between levels i and j (Cohen 1968)."""
    return _weighted_kappa(table, _distance(np.shape(table)[-1]))


def kappa_quadratic(table: FloatArray) -> FloatArray:
    """Return Cohen's weighted kappa with disagreement (i - j)^2 between levels i and j (Cohen 1968)."""
    return _weighted_kappa(table, _distance(np.shape(table)[-1]) ** 2)


def off_by_one(table: FloatArray) -> FloatArray:
    """Return the share of rows whose verdict is at most one level from the label."""
    return _ratio(_off_by_one_parts(table))


def mae(table: FloatArray) -> FloatArray:
    """Return the mean distance between verdict and label, in levels of the scale."""
    t = np.asarray(table, np.float64)
    return _ratio(((t * _distance(t.shape[-1])).sum((-2, -1)), t.sum((-2, -1))))


def f1_macro(table: FloatArray) -> FloatArray:
    """Return the unweighted mean of each class's F1, over the classes that occur as label or as verdict; any K."""
    hits, taken = _class_parts(table)
    return _ratio((_ratio_or_zero(2 * hits, taken).sum(-1), (taken > 0).sum(-1).astype(np.float64)))


def f1_micro(table: FloatArray) -> FloatArray:
    """Return F1 over the pooled decisions for every class; with one label a row it is the accuracy; any K."""
    hits, taken = _class_parts(table)
    return _ratio((2 * hits.sum(-1), taken.sum(-1)))


def f1_weighted(table: FloatArray) -> FloatArray:
    """Return the mean of each class's F1, weighted by how many labels the class has; any K."""
    hits, taken = _class_parts(table)
    labels = np.asarray(table, np.float64).sum(-1)
    return _ratio(((_ratio_or_zero(2 * hits, taken) * labels).sum(-1), labels.sum(-1)))


def _class_parts(table: FloatArray) -> Parts:
    """Return each class's agreements, and its labels and verdicts together; shape (..., K)."""
    t = np.asarray(table, np.float64)
    return np.diagonal(t, axis1=-2, axis2=-1), t.sum(-1) + t.sum(-2)


def _ratio_or_zero(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros(np.shape(bottom)), where=bottom != 0)


def _distance(k: int) -> FloatArray:
    level = np.arange(k, dtype=np.float64)
    return np.abs(level[:, None] - level[None, :])


def _weighted_kappa(table: FloatArray, weight: FloatArray) -> FloatArray:
    t = np.asarray(table, np.float64)
    n = t.sum((-2, -1))
    observed = (t * weight).sum((-2, -1)) * n
    by_chance = np.einsum("...i,ij,...j->...", t.sum(-1), weight, t.sum(-2))
    return 1.0 - _ratio((observed, by_chance))


BINARY_METRICS: Mapping[str, Metric] = {
    "precision": precision,
    "recall": recall,
    "specificity": specificity,
    "f1": f1,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "mcc": mcc,
    "kappa": kappa,
}
"""Metrics of the (2, 2) table at the threshold."""

GRADE_METRICS: Mapping[str, Metric] = {
    "kappa_grades": kappa,
    "kappa_linear": kappa_linear,
    "kappa_quadratic": kappa_quadratic,
    "off_by_one": off_by_one,
    "mae": mae,
    "f1_macro_grades": f1_macro,
}
"""Metrics of the (K, K) table of grades."""

CHOICE_METRICS: Mapping[str, Metric] = {
    "accuracy_grades": accuracy,
    "f1_macro_grades": f1_macro,
    "kappa_grades": kappa,
}
"""Metrics of the (K, K) table of labels without order."""

ONE_LABEL = "the labels hold only one class"
BEYOND_CHANCE = frozenset({"kappa", "kappa_grades", "kappa_linear", "kappa_quadratic"})
"""Metrics that are 0 whatever the judge says where all labels are the same, and so say nothing about it."""

UNDEFINED: Mapping[str, str] = {
    "precision": "the judge calls no row positive",
    "recall": "no row is labelled positive",
    "specificity": "no row is labelled negative",
    "f1": "no row is positive, neither by label nor by verdict",
    "balanced_accuracy": ONE_LABEL,
    "mcc": "the labels or the verdicts hold only one class",
    "kappa": "labels and verdicts hold one and the same class",
    "kappa_grades": "labels and verdicts hold one and the same grade",
    "kappa_linear": "labels and verdicts hold one and the same grade",
    "kappa_quadratic": "labels and verdicts hold one and the same grade",
    "krippendorff_alpha": "labels and verdicts hold one and the same value",
}
"""Why a metric does not exist on a table that holds rows."""

ZERO_BY_CONVENTION = frozenset({"precision", "recall", "f1", "mcc"})
"""Metrics that count as 0 where they do not exist while a threshold is chosen; nothing reports them so."""

NO_ROWS = "no row has both a label and a verdict"


def point(metric: str, table: FloatArray | IntArray) -> tuple[float | None, str]:
    """Return a metric on one table, and the reason where it is missing; see `point_of`.

    Raises:
        InputError: No metric has this name.
    """
    function = {**BINARY_METRICS, **GRADE_METRICS, **CHOICE_METRICS}.get(metric)
    if function is None:
        raise InputError(f"no agreement metric is called {metric!r}")
    return point_of(metric, function, table)


def point_of(metric: str, function: Metric, table: FloatArray | IntArray) -> tuple[float | None, str]:
    """Return what a function of tables says about one table, or None and the reason why it says nothing.

    A metric whose denominator is empty is None, as with scikit-learn's `zero_division=nan`, and so is every metric of
    an empty table. Kappa is None too where all labels are the same.

    Args:
        metric: The name by which `UNDEFINED` gives the reason.
        function: Maps tables of shape (..., K, K) to values of shape (...).
        table: Shape (K, K).
    """
    cells = np.asarray(table, np.float64)
    if cells.sum() == 0:
        return None, NO_ROWS
    value = float(function(cells))
    if not np.isfinite(value):
        return None, UNDEFINED[metric]
    if metric in BEYOND_CHANCE and np.count_nonzero(cells.sum(1)) == 1:
        return None, ONE_LABEL
    return value, ""
