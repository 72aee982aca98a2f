"""Standard errors without resampling: each unit is left out once, and the statistic is taken anew.

Units are rows, or groups of rows that were drawn together. The sum of squares is taken about the
value on all units, as in the variance CV3 of MacKinnon, Nielsen and Webb (2023), which serves few
and unequal groups; on average it errs upwards (Efron and Stein 1981). Of independent rows those in
one cell are alike, so that there are as many tables as cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..judged_dataset import FloatArray
from .delta import score_interval
from .intervals import BLOCK, DENSE, Cells, Interval, Statistic

FEWEST_BUNDLES = 100
"""Bundles of units below which the error that they show would itself be unsure."""


def jackknife(statistics: Mapping[str, Statistic], cells: Cells) -> dict[str, float | None]:
    """Return the standard error of each statistic; None where it is undefined without some unit.

    Args:
        statistics: Each maps cell counts of shape (b, size) to values of shape (b,), NaN where
            undefined.
        cells: The rows; at least two units.
    """
    cells = _bundled(cells)
    counts = cells.counts.astype(np.float64)
    values = {name: float(statistic(counts[None])[0]) for name, statistic in statistics.items()}
    squares = dict.fromkeys(statistics, 0.0)
    for without, times in _without_one(cells, counts):
        for name, statistic in statistics.items():
            squares[name] += float((times * (statistic(without) - values[name]) ** 2).sum())
    # Leaving out one unit moves the statistic n - 1 times less than the unit itself would.
    factor = (cells.units - 1) / cells.units
    return {
        name: math.sqrt(factor * s) if math.isfinite(s) else None for name, s in squares.items()
    }


def jackknife_intervals(
    statistics: Mapping[str, Statistic],
    cells: Cells,
    *,
    bounds: Mapping[str, Interval] | None = None,
    certain: float = 1.0,
) -> dict[str, Interval | None]:
    """Return the 95 % interval of each statistic (`score_interval`); None where it is undefined on
    all units or without one of them, and of one unit.

    Args:
        statistics: As `jackknife`.
        cells: The rows; every statistic is computed from all units.
        bounds: Between which numbers a statistic lies that is not in [0, 1].
        certain: How many units each unit counts for where no spread is seen.
    """
    intervals: dict[str, Interval | None] = dict.fromkeys(statistics)
    if cells.units < 2:
        return intervals
    units = cells.effective(np.ones(cells.size, np.bool_))
    for name, se in jackknife(statistics, cells).items():
        if se is None:
            continue
        value = float(statistics[name](cells.counts[None].astype(np.float64))[0])
        intervals[name] = score_interval(
            value,
            se,
            units,
            bounds=(bounds or {}).get(name, (0.0, 1.0)),
            certain=certain * units,
        )
    return intervals


def _bundled(cells: Cells) -> Cells:
    """Return cells whose units are bundles of units where those are too many for so many cells.

    Leaving out bundles of equal numbers of units estimates the same error (Kott 2001, the
    delete-a-group jackknife).
    """
    units = cells.units if cells.groups is not None else np.count_nonzero(cells.counts)
    if units * cells.size <= DENSE or cells.units <= FEWEST_BUNDLES:
        return cells
    bundles = max(FEWEST_BUNDLES, DENSE // cells.size)
    if cells.groups is None and cells.weight is not None:
        cells = replace(cells, code=np.repeat(cells.code, cells.weight), weight=None)
    # Dealt out in order, a sorted file would give bundles more alike than chance makes them.
    bundle = np.random.default_rng(0).permutation(cells.units) % bundles
    return replace(cells, groups=bundle if cells.groups is None else bundle[cells.groups])


def _without_one(cells: Cells, counts: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield tables that each lack one unit, shape (b, size), and how many units leave that table,
    shape (b,).
    """
    step = max(1, BLOCK // cells.size)
    if cells.groups is None:
        occupied = np.flatnonzero(counts)
        for start in range(0, len(occupied), step):
            block = occupied[start : start + step]
            without = np.repeat(counts[None], len(block), axis=0)
            without[np.arange(len(block)), block] -= 1.0
            yield without, counts[block]
        return
    order = np.argsort(cells.groups, kind="stable")
    groups, code = cells.groups[order], cells.code[order]
    weight = None if cells.weight is None else cells.weight[order]
    bounds = np.searchsorted(groups, np.arange(0, cells.units + step, step))
    for block, (first, last) in enumerate(pairwise(bounds.tolist())):
        units = min(step, cells.units - block * step)
        local = (groups[first:last] - block * step) * cells.size + code[first:last]
        rows = None if weight is None else weight[first:last]
        left_out = np.bincount(local, rows, units * cells.size).reshape(units, cells.size)
        yield counts - left_out, np.ones(units)
