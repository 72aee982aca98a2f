"""Formulas of agreement between judge and people, computed from the cells of a confusion table
alone.

A confusion table has the human label in rows and the judge's verdict in columns, negative before
positive: `[[tn, fp], [fn, tp]]`. Every formula takes tables of shape (..., K, K), counts or
weights, and returns shape (...), NaN where the metric does not exist. So the function that gives
the value also gives those of all tables that lack one unit in one call. `catalog.py` says what each
formula is called in reports.

Beside a formula of decisions stands its influence function: how much one row of each cell moves the
metric. With row weights w around 1, the metric is M + sum((w_i - 1) * phi_i) / n to first order; so
phi has mean 0. The derivations are the delta method on means over rows (Hampel 1974).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray

Formula = Callable[[FloatArray], FloatArray]
"""Maps tables of shape (..., K, K) to values of shape (...)."""
Influence = Callable[[FloatArray, float], FloatArray]
"""Maps a (K, K) table of shares and the metric's value on it to the influence of a row of each
cell, shape (K, K).

K is 2 for a metric of decisions.
"""
Proportion = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Maps tables to hits and to the rows they are counted among, each of shape (...)."""
OfRows = Callable[[FloatArray, FloatArray], FloatArray]
"""Maps what people and judge say of each row to what the row counts, from 0 to 1; shapes (n,)."""
Grades = npt.NDArray[np.number] | BoolArray | Sequence[float]

# The four cells of a table: what the label says, what the judge says.
_LABEL = np.array([[0.0, 0.0], [1.0, 1.0]])
_VERDICT = np.array([[0.0, 1.0], [0.0, 1.0]])


def codes(values: Grades, levels: Sequence[float]) -> IntArray:
    """Return the position of each value among the levels; shape (n,).

    Raises:
        InputError: A value is none of the levels.
    """
    scale = np.asarray(levels, np.float64)
    grades = np.asarray(values, np.float64)
    order = np.argsort(scale)
    position = order[np.searchsorted(scale, grades, sorter=order).clip(max=len(scale) - 1)]
    unknown = grades[scale[position] != grades]
    if unknown.size:
        raise InputError(
            f"{unknown.size} grades are not on the scale {scale.tolist()!r}, such as"
            f" {unknown[:5].tolist()!r}",
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


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric that is one weighted sum of the cells over another; both take K."""

    top: Callable[[int], FloatArray]
    """How much a row of each cell counts as a hit; returns shape (K, K)."""
    bottom: Callable[[int], FloatArray]
    """How much it counts among the rows."""

    def parts(self, table: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the hits, and the rows they are counted among."""
        t = np.asarray(table, np.float64)
        k = t.shape[-1]
        hits, rows = (np.einsum("...ij,ij->...", t, of(k)) for of in (self.top, self.bottom))
        return hits, rows

    def value(self, table: FloatArray) -> FloatArray:
        """Return hits over rows."""
        return _ratio(*self.parts(table))

    def influence(self, share: FloatArray, value: float) -> FloatArray:
        """Return the influence of a row of each cell."""
        top, bottom = self.top(len(share)), self.bottom(len(share))
        return (top - value * bottom) / (share * bottom).sum()


def _every(k: int) -> FloatArray:
    return np.ones((k, k))


def _distance(k: int) -> FloatArray:
    level = np.arange(k, dtype=np.float64)
    return np.abs(level[:, None] - level[None, :])


PRECISION = Ratio(lambda _: _LABEL * _VERDICT, lambda _: _VERDICT)
"""TP / (TP + FP): the share of the judge's positives that people call positive."""
RECALL = Ratio(lambda _: _LABEL * _VERDICT, lambda _: _LABEL)
"""TP / (TP + FN): the share of people's positives that the judge finds."""
SPECIFICITY = Ratio(lambda _: (1 - _LABEL) * (1 - _VERDICT), lambda _: 1 - _LABEL)
"""TN / (TN + FP): the share of people's negatives that the judge leaves negative."""
F1 = Ratio(lambda _: 2 * _LABEL * _VERDICT, lambda _: _LABEL + _VERDICT)
"""2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall (van Rijsbergen 1979)."""
ACCURACY = Ratio(lambda k: np.eye(k), _every)
"""The share of rows on which judge and people agree; any K."""
OFF_BY_ONE = Ratio(lambda k: (_distance(k) <= 1).astype(np.float64), _every)
"""The share of rows whose verdict is at most one level from the label."""
MAE = Ratio(_distance, _every)
"""The mean distance between verdict and label, in levels of the scale."""


def balanced_accuracy(table: FloatArray) -> FloatArray:
    """Return the mean of recall and specificity (Brodersen et al. 2010); NaN unless both classes
    are labelled.
    """
    return (RECALL.value(table) + SPECIFICITY.value(table)) / 2


def balanced_accuracy_influence(share: FloatArray, value: float) -> FloatArray:
    """Return the influence of a row of each cell on balanced accuracy."""
    of_classes = (each.influence(share, float(each.value(share))) for each in (RECALL, SPECIFICITY))
    return sum(of_classes, np.zeros((2, 2))) / 2


def mcc(table: FloatArray) -> FloatArray:
    """Return the phi coefficient of labels and verdicts (Matthews 1975); NaN where either holds one
    class.
    """
    tn, fp, fn, tp = _cells(table)
    spread = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return np.clip(_ratio(tp * tn - fp * fn, spread), -1.0, 1.0)


def mcc_influence(share: FloatArray, value: float) -> FloatArray:
    """Return the influence of a row of each cell on the Matthews correlation."""
    y, p = share[1].sum(), share[:, 1].sum()
    spread = y * (1 - y) * p * (1 - p)
    covariance = (_LABEL * _VERDICT - share[1, 1]) - (_LABEL - y) * p - (_VERDICT - p) * y
    log_spread = (_LABEL - y) * (1 - 2 * y) / (y * (1 - y)) + (_VERDICT - p) * (1 - 2 * p) / (
        p * (1 - p)
    )
    return covariance / np.sqrt(spread) - value / 2 * log_spread


def kappa(table: FloatArray) -> FloatArray:
    """Return agreement beyond chance, (po - pe) / (1 - pe) (Cohen 1960); any K.

    NaN where judge and people use one and the same class throughout, so that chance explains
    everything.
    """
    k = np.shape(table)[-1]
    return _weighted_kappa(table, 1.0 - np.eye(k))


def kappa_influence(share: FloatArray, value: float) -> FloatArray:
    """Return the influence of a row of each cell on Cohen's kappa; any K."""
    labels, verdicts = share.sum(1), share.sum(0)
    agreed, chance = np.trace(share), labels @ verdicts
    # A row moves chance agreement through both margins: the judge's at its label, the labels' at
    # its verdict.
    on_chance = verdicts[:, None] + labels[None, :] - 2 * chance
    return (np.eye(len(share)) - agreed - (1 - value) * on_chance) / (1 - chance)


def kappa_linear(table: FloatArray) -> FloatArray:
    """Return Cohen's weighted kappa with disagreement |i - j| between levels i and j (Cohen
    1968).
    """
    return _weighted_kappa(table, _distance(np.shape(table)[-1]))


def kappa_quadratic(table: FloatArray) -> FloatArray:
    """Return Cohen's weighted kappa with disagreement (i - j)^2 between levels i and j (Cohen
    1968).
    """
    return _weighted_kappa(table, _distance(np.shape(table)[-1]) ** 2)


def within_one(label: FloatArray, verdict: FloatArray) -> FloatArray:
    """Return 1 for a verdict at most one level from its label, else 0; shape (n,)."""
    return (np.abs(label - verdict) <= 1).astype(np.float64)


def squared_error(label: FloatArray, probability: FloatArray) -> FloatArray:
    """Return the squared difference of each label, 0 or 1, and its probability; shape (n,)."""
    return (probability - label) ** 2


def f1_macro(table: FloatArray) -> FloatArray:
    """Return the unweighted mean of each class's F1, over the classes that occur as label or as
    verdict; any K.
    """
    hits, members = _class_parts(table)
    return _ratio(
        _ratio_or_zero(2 * hits, members).sum(-1), (members > 0).sum(-1).astype(np.float64)
    )


def f1_macro_influence(share: FloatArray, value: float) -> FloatArray:
    """Return the influence of a row of each cell on macro F1; any K.

    A row moves the F1 of its label's class and that of its verdict's class, each with the weight of
    one class among those that occur.
    """
    hits, members = _class_parts(share)
    by_class = _ratio_or_zero(2 * hits, members)
    # One row more in a class, as label or as verdict, lowers its F1; a hit raises it as well.
    lowered = _ratio_or_zero(by_class, members)
    raised = _ratio_or_zero(np.full(len(share), 2.0), members)
    return (np.diag(raised) - lowered[:, None] - lowered[None, :]) / (members > 0).sum()


def _cells(table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    t = np.asarray(table, np.float64)
    return t[..., 0, 0], t[..., 0, 1], t[..., 1, 0], t[..., 1, 1]


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=bottom != 0)


def _ratio_or_zero(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros(np.shape(bottom)), where=bottom != 0)


def _class_parts(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each class's agreements, and its labels and verdicts together; shape (..., K)."""
    t = np.asarray(table, np.float64)
    return np.diagonal(t, axis1=-2, axis2=-1), t.sum(-1) + t.sum(-2)


def _weighted_kappa(table: FloatArray, weight: FloatArray) -> FloatArray:
    t = np.asarray(table, np.float64)
    n = t.sum((-2, -1))
    observed = (t * weight).sum((-2, -1)) * n
    by_chance = np.einsum("...i,ij,...j->...", t.sum(-1), weight, t.sum(-2))
    return 1.0 - _ratio(observed, by_chance)
