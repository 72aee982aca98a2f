"""Agreement of two or more raters beyond chance, with gaps: Krippendorff's alpha.

Alpha is computed from the coincidence matrix: each unit with m ratings gives the pairs of its
ratings, each pair weighing 1 / (m - 1), so that a unit counts with as many values as it has
ratings. Units with one rating drop out.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray
from .delta import ONE_UNIT, SIGNED
from .estimate import Estimate
from .intervals import Cells
from .jackknife import jackknife_intervals

Level = Literal["nominal", "ordinal"]
"""What the distance between two values means: 1 for any two that differ, or the square of the
ratings between them, half of each end included.
"""

MOST_VALUES = 1001
"""Distinct ratings whose table of all pairs still fits into memory."""
MOST_NUMBERS = 1 << 25
"""Numbers held at once for the interval of alpha: distinct units, times pairs of values."""
NO_UNITS = "no unit has two ratings"
ONE_VALUE = "all ratings are one and the same value"


def alpha_of_tables(table: FloatArray, *, level: Level = "nominal") -> FloatArray:
    """Return Krippendorff's alpha of two raters from tables of shape (..., K, K); see
    `krippendorff_alpha`.

    Args:
        table: Units by the value of the first rater (rows) and of the second (columns).
        level: What the distance between two values means.
    """
    counts = np.asarray(table, np.float64)
    return _alpha(counts + np.swapaxes(counts, -1, -2), level)


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    level: Level = "nominal",
    *,
    groups: IntArray | None = None,
) -> Estimate:
    """Return alpha = 1 - observed / expected disagreement (Krippendorff 2004), with the jackknife's
    interval over units or groups of them.

    None where no unit has two ratings or all ratings are the same; n is the number of units with
    two or more.

    Args:
        ratings: NaN or None for a gap; shape (raters, units).
        level: What the distance between two values means.
        groups: Codes 0..G-1 of units that belong together; shape (units,). None where units are
            independent.

    Raises:
        InputError: Not a table, or more than `MOST_VALUES` distinct ratings.
    """
    numbers = np.asarray(ratings, np.float64)
    if numbers.ndim != 2:
        raise InputError(
            f"the ratings are a table of raters and units, got shape {numbers.shape!r}"
        )
    if np.isinf(numbers).any():
        raise InputError("a rating is infinite")
    paired = np.isfinite(numbers).sum(0) >= 2
    if not paired.any():
        return Estimate.undefined(0, NO_UNITS)
    values, code = np.unique(numbers[:, paired], return_inverse=True)
    values, code = values[np.isfinite(values)], code.reshape(-1, int(paired.sum()))
    if len(values) > MOST_VALUES:
        raise InputError(
            f"alpha takes at most {MOST_VALUES:,} different ratings, got {len(values):,}",
            hint="round them",
        )
    patterns, member = _patterns(code, len(values))
    n = code.shape[1]
    counts = np.bincount(member, minlength=len(patterns))
    together = _coincidences(patterns, len(values), counts, np.zeros_like(counts))
    point = float(_alpha(together.reshape(len(values), len(values)), level))
    if not np.isfinite(point):
        return Estimate.undefined(n, ONE_VALUE)
    if len(patterns) * len(values) ** 2 > MOST_NUMBERS:
        return Estimate.of(point, None, n, missing="too many different ratings for an interval")
    if groups is not None:
        groups = np.unique(groups[paired], return_inverse=True)[1].astype(np.int64)
    cells = Cells(code=member, size=len(patterns), groups=groups)
    each = np.arange(len(patterns))
    units = _coincidences(patterns, len(values), np.ones_like(each), each)
    statistics = {"alpha": partial(_alpha_of_units, units, len(values), level)}
    share = together.reshape(len(values), len(values)).sum(0) / together.sum()
    intervals = jackknife_intervals(
        statistics,
        cells,
        bounds={"alpha": SIGNED},
        # As for kappa (`table_intervals.py`): one error costs more where one value prevails.
        certain=min(1.0, 2 * (1 - float(share @ share))),
    )
    return Estimate.of(point, intervals["alpha"], n, missing=ONE_UNIT)


def _coincidences(patterns: IntArray, size: int, counts: IntArray, rows: IntArray) -> FloatArray:
    """Return the pairs of ratings, each in both orders and weighing 1 / (m - 1) for m ratings of
    the unit; shape (rows, V * V).

    Args:
        patterns: The distinct units of `_patterns`.
        size: V.
        counts: How often each occurs; shape (p,).
        rows: The row of the table that each is added to; shape (p,).
    """
    ratings = (patterns < size).sum(1)
    table = np.zeros((int(rows.max()) + 1, size**2))
    for later in range(1, int(ratings.max())):
        rated = np.flatnonzero(patterns[:, later] < size)
        weight = counts[rated] / (ratings[rated] - 1)
        for earlier in range(later):
            one, other = patterns[rated, earlier], patterns[rated, later]
            np.add.at(table, (rows[rated], one * size + other), weight)
            np.add.at(table, (rows[rated], other * size + one), weight)
    return table


def _alpha_of_units(units: FloatArray, size: int, level: Level, counts: FloatArray) -> FloatArray:
    """Return alpha of each line of counts of the distinct units, a few at a time."""
    step = max(1, MOST_NUMBERS // size**2)
    parts = (counts[start : start + step] @ units for start in range(0, len(counts), step))
    return np.concatenate([_alpha(part.reshape(-1, size, size), level) for part in parts])


def _alpha(coincidence: FloatArray, level: Level) -> FloatArray:
    """Return alpha of symmetric coincidence matrices (..., V, V); NaN where all ratings are the
    same.
    """
    totals = coincidence.sum(-1)
    n = totals.sum(-1)
    if level == "nominal":
        observed = n - np.trace(coincidence, axis1=-2, axis2=-1)
        expected = n**2 - (totals**2).sum(-1)
    else:
        # The ratings up to a value's middle stand for it.
        position = np.cumsum(totals, axis=-1) - totals / 2
        middle = np.divide((totals * position).sum(-1), n, out=np.zeros_like(n), where=n > 0)
        position = position - middle[..., None]
        squares = (totals * position**2).sum(-1)
        observed = 2 * (
            squares - np.einsum("...i,...ij,...j->...", position, coincidence, position)
        )
        expected = 2 * n * squares
    return 1.0 - np.divide(
        (n - 1) * observed, expected, out=np.full_like(n, np.nan), where=expected > 0
    )


def _patterns(code: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct sets of ratings, sorted, `size` standing for a gap, shape (p, raters);
    and each unit's.
    """
    patterns, member = np.unique(
        np.sort(np.minimum(code, size), axis=0).T, axis=0, return_inverse=True
    )
    return patterns, member.reshape(-1).astype(np.int64)
