"""Values and intervals of metrics that are functions of a confusion table; the latter from the
jackknife over rows or groups.

The rows in a metric's denominator decide how far its standard error can be trusted: recall on nine
positive rows has t with eight degrees of freedom, however many negative rows there are. A metric
that needs both classes has those of the class that stands in fewer units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray
from .agreement import Formula
from .catalog import METRICS, NO_ROWS, ONE_LABEL
from .delta import score_interval
from .intervals import Cells, Interval, wilson
from .jackknife import jackknife


def table_intervals(
    formulas: Mapping[str, Formula], cells: Cells, k: int
) -> dict[str, Interval | None]:
    """Return the 95 % interval of each metric, None for fewer than two units.

    Proportions of independent rows have Wilson's interval, all else the jackknife's standard error
    and `score_interval`.

    Args:
        formulas: Metrics that are defined on these rows, by their name in the catalog; each maps
            tables of shape (..., k, k) to (...).
        cells: The rows; a row's cell is k times its label's level and its verdict's.
        k: Levels.
    """
    table = cells.counts.reshape(k, k).astype(np.float64)
    intervals: dict[str, Interval | None] = dict.fromkeys(formulas)
    by_jackknife: dict[str, Formula] = {}
    for name, formula in formulas.items():
        proportion = METRICS[name].proportion
        if proportion is None or cells.groups is not None:
            by_jackknife[name] = formula
        else:
            hits, rows = proportion(table)
            intervals[name] = wilson(float(hits), float(rows))
    if cells.units < 2:
        return intervals
    errors = jackknife(
        {name: partial(_on_tables, formula, k) for name, formula in by_jackknife.items()}, cells
    )
    for name, formula in by_jackknife.items():
        se = errors[name]
        if name == "balanced_accuracy" and se is not None:
            se = max(se, _least_balanced(table))
        # The effective units in each denominator; of a table of grades that is every row.
        units = [cells.effective(np.ones(cells.size, np.bool_))]
        if k == 2:
            units = [
                cells.effective(np.isin(np.arange(4), cell_set))
                for cell_set in METRICS[name].denominators
            ]
        intervals[name] = score_interval(
            float(formula(table)),
            se,
            min(units),
            bounds=METRICS[name].bounds(k),
            certain=_certain(name, units),
        )
    return intervals


def _certain(metric: str, units: list[float]) -> float:
    """Return how many rows a perfect value is worth: twice the harmonic mean of the classes for one
    beyond chance.

    One error among n rows, a share q of them positive, takes 1 / (2 q (1 - q) n) off kappa.
    """
    signed = METRICS[metric].bounds(2)[0] < 0
    if signed and len(units) == 2 and min(units) > 0:
        return 4 / sum(1 / count for count in units)
    return min(units)


def _least_balanced(table: FloatArray) -> float:
    """Return the standard error of balanced accuracy on independent rows, each class with half a
    hit and a miss more.

    A class without a miss is not certain of its share.
    """
    rows = table.sum(1) + 1
    share = (np.diagonal(table) + 0.5) / rows
    return math.sqrt(float((share * (1 - share) / rows).sum())) / 2


def _on_tables(formula: Formula, k: int, counts: FloatArray) -> FloatArray:
    return formula(counts.reshape(-1, k, k))


def table_value(metric: str, table: FloatArray | IntArray) -> tuple[float | None, str]:
    """Return a metric on one table, and the reason where it is missing; see `formula_value`.

    Raises:
        InputError: No metric of tables has this name.
    """
    formula = METRICS[metric].formula if metric in METRICS else None
    if formula is None:
        raise InputError(f"no agreement metric is called {metric!r}")
    return formula_value(metric, formula, table)


def formula_value(
    metric: str, formula: Formula, table: FloatArray | IntArray
) -> tuple[float | None, str]:
    """Return what a formula gives on one table, or None and the reason why it gives nothing.

    A metric whose denominator is empty is None, as with scikit-learn's `zero_division=nan`, and so
    is every metric of an empty table. Kappa is None too where all labels are the same.

    Args:
        metric: The name under which the catalog gives the reason.
        formula: Maps tables of shape (..., K, K) to values of shape (...).
        table: Shape (K, K).
    """
    cells = np.asarray(table, np.float64)
    if cells.sum() == 0:
        return None, NO_ROWS
    value = float(formula(cells))
    if not np.isfinite(value):
        return None, METRICS[metric].undefined
    # It would be 0 whatever the judge answers, which reads like a bad judge.
    if METRICS[metric].beyond_chance and np.count_nonzero(cells.sum(1)) == 1:
        return None, ONE_LABEL
    return value, ""
