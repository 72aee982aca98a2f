"""Intervals without resampling, from the influence of each row on a number (the delta method).

A smooth statistic moves, to first order, by the mean of the rows' influences (`influence.py`); so
their sums over groups, which are independent, give its standard error, and Student's t with one
degree of freedom fewer than there are groups gives the interval. It costs one pass over the rows
and needs no seed.
"""

from __future__ import annotations

import math

import numpy as np

from ..judged_dataset import FloatArray, IntArray
from .estimate import Estimate
from .intervals import Interval, effective_groups, t_quantile, wilson

ONE_UNIT = "the figure rests on one unit, which cannot show the spread"
SIGNED: Interval = (-1.0, 1.0)
"""Between which a difference of two shares lies."""
ROUNDING = 1e-12
"""A spread below this is rounding."""


def influence_se(influences: FloatArray, groups: IntArray | None = None) -> tuple[float, int]:
    """Return the standard error of a number and how many independent units stand behind it.

    Args:
        influences: One a row, centred; shape (n,).
        groups: Codes 0..G-1 of rows that belong together; None where rows are independent.
    """
    by_unit = influences if groups is None else np.bincount(groups, weights=influences)
    units = len(by_unit)
    if units < 2:
        return math.inf, units
    spread = by_unit - by_unit.mean()
    return math.sqrt(units / (units - 1) * float(spread @ spread)) / len(influences), units


def left_out_se(
    influences: FloatArray, groups: IntArray | None = None, weight: IntArray | None = None
) -> tuple[float, float]:
    """Return the jackknife's standard error of a mean, and the effective number of units; as
    `influence_se`.

    A unit that is left out takes its rows along, so that large groups count for more than in
    `influence_se`, whose interval is too narrow where groups are few and unequal (MacKinnon,
    Nielsen and Webb 2023). Infinite for fewer than two units.

    Args:
        influences: As `influence_se`.
        groups: As `influence_se`.
        weight: How many rows each position stands for; None where each is one. Shape (n,).
    """
    rows = np.ones(len(influences)) if weight is None else weight
    n = int(rows.sum())
    spread = influences - float(rows @ influences) / max(n, 1)
    if groups is None:
        if n < 2:
            return math.inf, float(n)
        return math.sqrt(n / (n - 1) * float(rows @ spread**2)) / n, float(n)
    sizes = np.bincount(groups, rows)
    if len(sizes) < 2:
        return math.inf, float(len(sizes))
    moved = np.bincount(groups, rows * spread) / (n - sizes)
    return math.sqrt((len(sizes) - 1) / len(sizes) * float(moved @ moved)), effective_groups(sizes)


def score_interval(
    value: float,
    se: float | None,
    units: float,
    *,
    bounds: Interval = (0.0, 1.0),
    certain: float | None = None,
) -> Interval:
    """Return the 95 % interval of a number that lies between two bounds.

    The number, as a share of its range, is taken for a proportion of as many rows as would give it
    this standard error, and gets Wilson's interval for them with Student's t (Kott and Carr 1997;
    Dean and Pagano 2015 compare such intervals). It leans away from the bounds as the number's own
    distribution does, and never leaves them. Where no spread is seen (a perfect score), Wilson's
    interval for as many rows as there are units stands in: no number in [0, 1] spreads more than a
    proportion does, so it is the cautious answer.

    Args:
        value: Between the bounds.
        se: Its standard error; None where it is not known.
        units: Units of equal size that would weigh as much; t has one degree of freedom less.
        bounds: The least and the most it can be.
        certain: Rows to count where no spread is seen; `units` unless given.
    """
    lowest, highest = bounds
    # Rounding may carry the value past its bounds.
    share = min(1.0, max(0.0, (value - lowest) / (highest - lowest)))
    scaled = 0.0 if se is None else se / (highest - lowest)
    spread = share * (1.0 - share)
    if scaled <= ROUNDING or spread <= ROUNDING:
        rows, quantile = max(1.0, units if certain is None else certain), t_quantile(math.inf)
    else:
        rows, quantile = spread / scaled**2, t_quantile(max(1.0, units - 1.0))
    low, high = wilson(share * rows, rows, quantile=quantile) or (0.0, 1.0)
    return lowest + (highest - lowest) * low, lowest + (highest - lowest) * high


def share_interval(
    value: float,
    influences: FloatArray,
    groups: IntArray | None = None,
    *,
    bounds: Interval = (0.0, 1.0),
) -> Interval | None:
    """Return the 95 % interval of a number between two bounds from the rows' influences; None for
    fewer than two units.
    """
    se, units = left_out_se(influences, groups)
    return None if units <= 1 else score_interval(value, se, units, bounds=bounds)


def mean_share(
    values: FloatArray,
    groups: IntArray | None = None,
    *,
    n: int | None = None,
    reason: str = "",
    bounds: Interval = (0.0, 1.0),
) -> Estimate:
    """Return the mean of numbers between two bounds with its interval.

    Args:
        values: One a unit; shape (m,), at least one.
        groups: Codes 0..G-1 of values that belong together; None where they are independent.
        n: The rows behind the values, where they are not one a row.
        reason: A convention that the reader must know.
        bounds: The least and the most that a value can be.
    """
    mean = float(values.mean())
    rows = len(values) if n is None else n
    interval = share_interval(mean, values - mean, groups, bounds=bounds)
    return Estimate.of(mean, interval, rows, missing=ONE_UNIT, reason=reason)


def mean_over_rows(
    values: FloatArray, groups: IntArray, *, missing: str, bounds: Interval = (0.0, 1.0)
) -> Estimate:
    """Return the mean of one value a row, such as whether two sides agree.

    Independent rows of zeros and ones get Wilson's interval, unless values may be negative.

    Args:
        values: Finite; shape (n,).
        groups: Their codes, not necessarily all in use; shape (n,).
        missing: The reason to give for no rows.
        bounds: As `mean_share`.
    """
    if not len(values):
        return Estimate.undefined(0, missing)
    shared = shared_codes(groups)
    if shared is None and bounds == (0.0, 1.0) and np.isin(values, (0.0, 1.0)).all():
        interval = wilson(float(values.sum()), len(values))
        return Estimate.of(float(values.mean()), interval, len(values))
    return mean_share(values, shared, bounds=bounds)


def shared_codes(groups: IntArray) -> IntArray | None:
    """Return codes of groups numbered anew, 0..G-1; None where each has one row, which is then
    independent.
    """
    codes = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    return None if len(codes) == int(codes.max(initial=-1)) + 1 else codes
