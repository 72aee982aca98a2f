"""Intervals without resampling, from how far each row pulls a number (the delta method).

A smooth statistic moves, to first order, by the mean of the rows' pulls (`influence`); so the sums of the
pulls over groups, which are independent, give its standard error, and Student's t with one degree of freedom
fewer than there are groups gives the interval. It costs one pass over the rows and needs no seed.
"""

from __future__ import annotations

import math

import numpy as np

from ..judged import FloatArray, IntArray
from .estimate import Estimate
from .intervals import Interval, wilson

ONE_UNIT = "one unit cannot show the spread"
_Z = 1.959963984540054


def pull_se(pull: FloatArray, groups: IntArray | None = None) -> tuple[float, int]:
    """Return the standard error of a number and how many independent units stand behind it.

    Args:
        pull: Influence of each row, centred; shape (n,).
        groups: Codes 0..G-1 of rows that belong together; None where rows are independent.
    """
    by_unit = pull if groups is None else np.bincount(groups, weights=pull)
    units = len(by_unit)
    if units < 2:
        return math.inf, units
    spread = by_unit - by_unit.mean()
    return math.sqrt(units / (units - 1) * float(spread @ spread)) / len(pull), units


def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, within 0.2 % of the true one.

    Exact for one and two degrees of freedom, above by the expansion of Fisher and Cornish (1960): importing
    SciPy would cost more than everything that is measured with it.
    """
    if freedom < 1:
        return math.inf
    if freedom == 1:
        return math.tan(0.475 * math.pi)
    if freedom == 2:
        return 0.95 * math.sqrt(2 / (1 - 0.95**2))
    z, total = _Z, _Z
    total += (z**3 + z) / (4 * freedom)
    total += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    total += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return total + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * freedom**4)


def share_interval(value: float, pull: FloatArray, groups: IntArray | None = None) -> Interval | None:
    """Return the 95 % interval of a number that lies in [0, 1]; None for fewer than two units.

    Where no unit pulls at all (a perfect score), Wilson's interval for as many units stands in: no number in
    [0, 1] spreads more than a proportion does, so it is the cautious answer.
    """
    se, units = pull_se(pull, groups)
    if units < 2:
        return None
    if se <= 1e-12:
        return wilson(value * units, units)
    half = t_quantile(units - 1) * se
    return max(0.0, value - half), min(1.0, value + half)


def mean_share(
    values: FloatArray, groups: IntArray | None = None, *, n: int | None = None, reason: str = ""
) -> Estimate:
    """Return the mean of numbers in [0, 1] with its interval.

    Args:
        values: One a unit; shape (m,), at least one.
        groups: Codes 0..G-1 of values that belong together; None where they are independent.
        n: The rows behind the values, where they are not one a row.
        reason: A convention that the reader must know.
    """
    mean = float(values.mean())
    rows = len(values) if n is None else n
    interval = share_interval(mean, values - mean, groups)
    if interval is None:
        reason = "; ".join(filter(None, (reason, ONE_UNIT)))
        return Estimate(value=mean, low=None, high=None, n=rows, reason=reason)
    return Estimate(value=mean, low=interval[0], high=interval[1], n=rows, reason=reason)
