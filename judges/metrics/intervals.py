"""Intervals from resampled cell counts, and Wilson's interval for one proportion.

A metric that depends on the rows only through counts of cells has the same bootstrap distribution
whether rows or counts are resampled, and counts are few: the 2,000 resamples of 30,000 rows are one
multinomial draw of 4 cells. Where rows share a group (a document, a query), groups are drawn
instead of rows, each with its own cell counts (the cluster bootstrap, Davison and Hinkley 1997,
section 3.8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from ..judged_dataset import BoolArray, FloatArray, IntArray

Statistic = Callable[[FloatArray], FloatArray]
"""Maps cell counts of shape (b, size) to values of shape (b,), NaN where undefined."""
Interval = tuple[float, float]

_Z = 1.959963984540054
BLOCK = 1 << 16
"""Draws made at once: few enough to stay in the processor's cache, which halves the time."""
DENSE = 1 << 22
"""Numbers of the largest table of groups and cells that is held in full: 32 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Which cell each row falls into, and which rows were drawn together."""

    code: IntArray
    """0..size-1; shape (n,)."""
    size: int
    groups: IntArray | None = None
    """0..G-1, every code in use; shape (n,). None where rows are independent."""
    weight: IntArray | None = None
    """How many rows each position stands for; None where each is one. Shape (n,)."""

    @property
    def counts(self) -> IntArray:
        """Rows per cell; shape (size,)."""
        return count_rows(self.code, self.weight, self.size)

    @property
    def units(self) -> int:
        """How many independent things were drawn: rows, or groups of rows."""
        if self.groups is None:
            return len(self.code) if self.weight is None else int(self.weight.sum())
        return int(self.groups.max(initial=-1)) + 1

    def effective(self, cells: BoolArray) -> float:
        """Return how many units of equal size weigh as much as those with rows in some of the
        cells.

        (sum n)^2 / sum n^2 over the units' rows in these cells (Kish 1965); 0 where there are none.

        Args:
            cells: Which cells a number is computed from; shape (size,).
        """
        rows = cells[self.code]
        if self.groups is None:
            return float(self.counts[cells].sum())
        return effective_groups(
            count_rows(self.groups[rows], None if self.weight is None else self.weight[rows])
        )


def count_rows(code: IntArray, weight: IntArray | None, size: int = 0) -> IntArray:
    """Return the rows of each code, where a position stands for one row, or for as many as its
    weight.
    """
    counts = np.bincount(code, weight, size)
    # Sums of floats that are whole numbers below 2^53 are exact.
    return counts if weight is None else counts.astype(np.int64)


def effective_groups(sizes: IntArray | FloatArray) -> float:
    """Return how many groups of equal size or weight count as much, (sum n)^2 / sum n^2 (Kish
    1965); 0 for no rows.
    """
    squares = float((sizes.astype(np.float64) ** 2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else 0.0


def bootstrap(
    statistics: Mapping[str, Statistic],
    cells: Cells,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Interval | None]:
    """Return a percentile interval for each statistic, all from the same resamples.

    Percentiles of few units lie too near each other; they are taken as far out as Student's t with
    the effective number of units reaches beyond the normal distribution (the expanded percentile
    interval, Hesterberg 2015). Resamples on which a statistic is undefined are left out. Where all
    resamples agree (a perfect score), the percentile interval is a point however few the rows; then
    the cells are smoothed by two rows spread evenly over them and drawn again, one draw a unit,
    which is conservative when rows are grouped.

    Args:
        statistics: Each maps cell counts of shape (b, size) to values of shape (b,).
        cells: The rows.
        resamples: How many to draw.
        seed: Of the draws.

    Returns:
        None for a statistic that is undefined in more than half of the resamples, and for all of
        them when there are fewer than two units to resample.
    """
    if cells.units < 2:
        return dict.fromkeys(statistics)
    values = _replicates(statistics, _draws(cells, resamples, seed))
    stuck = {name: statistics[name] for name, v in values.items() if _agree(v)}
    if stuck:
        smoothed = cells.counts * (cells.units / len(cells.code)) + 2.0 / cells.size
        draw = partial(_multinomial, cells.units, smoothed / smoothed.sum())
        values |= _replicates(stuck, _chunked(draw, cells.size, resamples, seed))
    # One heavy group among light ones would leave less than one degree of freedom.
    units = max(2.0, cells.effective(np.ones(cells.size, np.bool_)))
    reach = math.sqrt(units / (units - 1)) * t_quantile(units - 1)
    level = 2 * NormalDist().cdf(reach) - 1
    return {name: percentile_interval(v, level) for name, v in values.items()}


def percentile_interval(values: FloatArray, level: float = 0.95) -> Interval | None:
    """Return the central interval of the defined values; None where fewer than half are defined."""
    defined = values[np.isfinite(values)]
    if 2 * len(defined) < len(values) or len(defined) == 0:
        return None
    tail = (1.0 - level) / 2
    low, high = np.quantile(defined, (tail, 1.0 - tail))
    return float(low), float(high)


def wilson(hits: float, n: float, *, quantile: float | None = None) -> Interval | None:
    """Return Wilson's score interval for a proportion of independent rows (Wilson 1927); None for
    no rows.

    Args:
        hits: Of the n.
        n: Rows; need not be whole.
        quantile: To use in place of the normal one for 95 %, where n was estimated.
    """
    if n <= 0:
        return None
    z = NormalDist().inv_cdf(0.975) if quantile is None else quantile
    share = hits / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1.0 + z * z / n
    # Exactly 0 and 1 at the ends, which rounding would miss by a digit.
    low = 0.0 if hits == 0 else (centre - half) / scale
    high = 1.0 if hits == n else (centre + half) / scale
    return low, high


def _replicates(
    statistics: Mapping[str, Statistic], draws: Iterator[FloatArray]
) -> dict[str, FloatArray]:
    parts: dict[str, list[FloatArray]] = {name: [] for name in statistics}
    for counts in draws:
        for name, statistic in statistics.items():
            parts[name].append(statistic(counts))
    return {name: np.concatenate(values) for name, values in parts.items()}


def _agree(values: FloatArray) -> bool:
    defined = values[np.isfinite(values)]
    # Equal resamples differ in the last bits where the statistic sums floats.
    return len(defined) > 0 and float(np.ptp(defined)) <= 1e-12


Draw = Callable[[np.random.Generator, int], FloatArray]


def _draws(cells: Cells, resamples: int, seed: int) -> Iterator[FloatArray]:
    if cells.groups is not None:
        return _chunked(
            _group_draw(cells, cells.groups), max(cells.units, cells.size), resamples, seed
        )
    # A multinomial costs per cell, drawing rows costs per row and is some eight times cheaper for
    # each.
    if 8 * cells.size <= cells.units:
        share = cells.counts / cells.units
        return _chunked(partial(_multinomial, cells.units, share), cells.size, resamples, seed)
    return _chunked(partial(_row_draw, cells), max(cells.units, cells.size), resamples, seed)


def _chunked(draw: Draw, width: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, resamples, step):
        yield draw(rng, min(step, resamples - start))


def _multinomial(units: int, share: FloatArray, rng: np.random.Generator, b: int) -> FloatArray:
    return rng.multinomial(units, share, size=b).astype(np.float64)


def _row_draw(cells: Cells, rng: np.random.Generator, b: int) -> FloatArray:
    drawn = cells.code[rng.integers(0, cells.units, (b, cells.units))]
    return _count_rows(drawn, cells.size)


def _group_draw(cells: Cells, groups: IntArray) -> Draw:
    units, size = cells.units, cells.size
    counts = np.bincount(groups * size + cells.code, minlength=units * size)
    table = counts.reshape(units, size).astype(np.float64)
    return lambda rng, b: _count_rows(rng.integers(0, units, (b, units)), units) @ table


def _count_rows(drawn: IntArray, size: int) -> FloatArray:
    b = len(drawn)
    offset = drawn + np.arange(b)[:, None] * size
    return np.bincount(offset.ravel(), minlength=b * size).reshape(b, size).astype(np.float64)


def t_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t, within 0.2 % of the true one; freedom is rounded
    down.

    Exact for one and two degrees of freedom, above by the expansion of Fisher and Cornish (1960):
    importing SciPy would cost more than everything that is measured with it.
    """
    if freedom < 1:
        return math.inf
    if freedom == math.inf:
        return _Z
    freedom = math.floor(freedom)
    if freedom == 1:
        return math.tan(0.475 * math.pi)
    if freedom == 2:
        return 0.95 * math.sqrt(2 / (1 - 0.95**2))
    z, total = _Z, _Z
    total += (z**3 + z) / (4 * freedom)
    total += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    total += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return total + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (
        92160 * freedom**4
    )
