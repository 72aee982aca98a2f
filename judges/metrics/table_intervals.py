"""Intervals of metrics that are functions of a confusion table, from the jackknife over rows or groups.

What bears on a metric decides how far its standard error can be trusted: recall on nine positive rows has t with
eight degrees of freedom, however many negative rows there are. A metric that needs both classes has those of the
class that stands in fewer units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from ..judged import BoolArray, FloatArray
from .agreement import PROPORTIONS, Metric
from .delta import score_interval
from .intervals import Cells, Interval, wilson
from .jackknife import jackknife

_LABEL = np.array([[False, False], [True, True]])
_VERDICT = np.array([[False, True], [False, True]])
_EITHER = (_LABEL | _VERDICT, ~_LABEL | ~_VERDICT)

BEARING: Mapping[str, tuple[BoolArray, ...]] = {
    "precision": (_VERDICT,),
    "recall": (_LABEL,),
    "specificity": (~_LABEL,),
    "f1": (_LABEL | _VERDICT,),
    "balanced_accuracy": (_LABEL, ~_LABEL),
    "mcc": _EITHER,
    "kappa": _EITHER,
    "krippendorff_alpha": _EITHER,
}
"""Which cells of the (2, 2) table bear on a metric; each entry must hold rows. Every cell on metrics not named here."""

SIGNED = frozenset({"mcc", "kappa", "krippendorff_alpha", "kappa_grades", "kappa_linear", "kappa_quadratic"})
"""Metrics from -1 to 1."""


def table_intervals(functions: Mapping[str, Metric], cells: Cells, k: int) -> dict[str, Interval | None]:
    """Return the 95 % interval of each metric, None for fewer than two units.

    Proportions of independent rows have Wilson's interval, all else the jackknife's standard error and
    `score_interval`.

    Args:
        functions: Metrics that are defined on these rows, by name; each maps tables of shape (..., k, k) to (...).
        cells: The rows; a row's cell is k times its label's level and its verdict's.
        k: Levels.
    """
    by_formula = set(PROPORTIONS) & set(functions) if cells.groups is None else set()
    table = cells.counts.reshape(k, k).astype(np.float64)
    found: dict[str, Interval | None] = dict.fromkeys(functions)
    for name in by_formula:
        hits, rows = PROPORTIONS[name](table)
        found[name] = wilson(float(hits), float(rows))
    if cells.units < 2:
        return found
    rest = {name: function for name, function in functions.items() if name not in by_formula}
    errors = jackknife({name: partial(_on_tables, function, k) for name, function in rest.items()}, cells)
    for name, function in rest.items():
        value, se = float(function(table)), errors[name]
        if name == "balanced_accuracy" and se is not None:
            se = max(se, _least_balanced(table))
        bearing = [cells.effective(mask.ravel()) for mask in _bearing(name, k)]
        bounds = _bounds(name, k)
        found[name] = score_interval(value, se, min(bearing), bounds=bounds, certain=_certain(name, bearing))
    return found


def _bearing(metric: str, k: int) -> tuple[BoolArray, ...]:
    everything = (np.ones((k, k), np.bool_),)
    return BEARING.get(metric, everything) if k == 2 else everything


def _bounds(metric: str, k: int) -> Interval:
    if metric == "mae":
        return 0.0, k - 1.0
    return (-1.0, 1.0) if metric in SIGNED else (0.0, 1.0)


def _certain(metric: str, bearing: list[float]) -> float:
    """Return how many rows a perfect value is worth: twice the harmonic mean of the classes for one beyond chance.

    One error among n rows, a share q of them positive, takes 1 / (2 q (1 - q) n) off kappa.
    """
    if metric in SIGNED and len(bearing) == 2 and min(bearing) > 0:
        return 4 / sum(1 / units for units in bearing)
    return min(bearing)


def _least_balanced(table: FloatArray) -> float:
    """Return the standard error of balanced accuracy on independent rows, each class with half a hit and a miss more.

    A class without a miss is not certain of its share.
    """
    rows = table.sum(1) + 1
    share = (np.diagonal(table) + 0.5) / rows
    return math.sqrt(float((share * (1 - share) / rows).sum())) / 2


def _on_tables(function: Metric, k: int, counts: FloatArray) -> FloatArray:
    return function(counts.reshape(-1, k, k))
