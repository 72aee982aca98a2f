"""The value of a metric on one confusion table, or the reason why it has none there."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray
from .agreement import Formula
from .catalog import METRICS, NO_ROWS, ONE_LABEL


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
