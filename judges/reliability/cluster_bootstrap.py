"""Estimates whose intervals draw groups of rows: a share of rows, and whatever sums over groups
give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ..judged_dataset import FloatArray, IntArray
from ..metrics import Cells, Estimate, bootstrap, wilson

ONE_GROUP = "fewer than two independent groups cannot show the spread"


def mean_over_rows(values: FloatArray, groups: IntArray, *, missing: str) -> Estimate:
    """Return the mean of one value a row, such as whether two sides agree, with an interval that
    draws groups.

    Independent rows of zeros and ones get Wilson's interval.

    Args:
        values: Finite, of few distinct values; shape (n,).
        groups: Their codes; shape (n,).
        missing: The reason to give for no rows.
    """
    n = len(values)
    if n == 0:
        return Estimate.undefined(0, missing)
    levels, code = np.unique(values, return_inverse=True)
    cells = cells_of(code, len(levels), np.unique(groups, return_inverse=True)[1])
    value = float(values.mean())
    if cells.groups is None and set(levels.tolist()) <= {0.0, 1.0}:
        return Estimate.of(value, wilson(float(values.sum()), n), n, missing=ONE_GROUP)
    interval = bootstrap({"mean": lambda counts: counts @ levels / counts.sum(-1)}, cells)["mean"]
    return Estimate.of(value, interval, n, missing=ONE_GROUP)


def bootstrap_groups(
    statistics: Mapping[str, Callable[[FloatArray], FloatArray]],
    groups: int,
    *,
    n: int,
    missing: str,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Return each statistic of the groups, all intervals from the same draws.

    Args:
        statistics: Each maps how often every group was drawn, shape (b, groups), to values of shape
            (b,), NaN where undefined.
        groups: How many there are.
        n: Rows behind the estimates.
        missing: The reason to give for an undefined one.
        seed: Of the draws.
    """
    # Each group is a cell of its own: its count is how often it was drawn.
    by_group = Cells(code=np.arange(groups, dtype=np.int64), size=groups)
    once = np.ones((1, groups))
    points = {name: float(statistic(once)[0]) for name, statistic in statistics.items()}
    defined = {
        name: statistic for name, statistic in statistics.items() if math.isfinite(points[name])
    }
    intervals = bootstrap(defined, by_group, seed=seed)
    estimates = {}
    for name in statistics:
        if name in defined:
            estimates[name] = Estimate.of(points[name], intervals[name], n, missing=ONE_GROUP)
        else:
            estimates[name] = Estimate.undefined(n, missing)
    return estimates


def cells_of(code: IntArray, size: int, groups: IntArray) -> Cells:
    """Return the rows' cells; groups of one row each count as independent rows."""
    independent = len(groups) == int(groups.max(initial=-1)) + 1
    return Cells(code=code.astype(np.int64), size=size, groups=None if independent else groups)
