"""The cells that rows fall into and the units they were drawn in, and Wilson's interval for one
proportion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..judged_dataset import BoolArray, FloatArray, IntArray

Statistic = Callable[[FloatArray], FloatArray]
"""Maps cell counts of shape (b, size) to values of shape (b,), NaN where undefined."""
Interval = tuple[float, float]

_Z = 1.959963984540054
BLOCK = 1 << 16
"""Tables made at once: few enough to stay in the processor's cache, which halves the time."""
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
