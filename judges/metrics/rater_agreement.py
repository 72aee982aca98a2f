"""Agreement of two or more raters beyond chance, with gaps: Krippendorff's alpha.

Alpha is computed from the coincidence matrix: each unit with m ratings gives the pairs of its
ratings, each pair weighing 1 / (m - 1), so that a unit counts with as many values as it has
ratings. Units with one rating drop out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray
from .delta import ONE_UNIT
from .estimate import Estimate
from .intervals import Cells, bootstrap

Level = Literal["nominal", "ordinal", "interval", "ratio"]
"""What the distance between two values means.

`nominal`: 1 for any two that differ. `ordinal`: the square of the ratings between them, half of
each end included. `interval`: the square of their difference. `ratio`: the square of difference
over sum.
"""

MOST_VALUES = 1001
"""Distinct ratings whose table of all pairs still fits into memory."""
MOST_NUMBERS = 1 << 25
"""Numbers held at once for the interval of alpha: resamples or distinct units, times pairs of
values.
"""
NO_UNITS = "no unit has two ratings"
RARELY_DEFINED = "undefined in most resamples"
ONE_VALUE = "all ratings are one and the same value"


def alpha_of_tables(
    table: FloatArray, *, level: Level = "nominal", values: FloatArray | None = None
) -> FloatArray:
    """Return Krippendorff's alpha of two raters from tables of shape (..., K, K); see
    `krippendorff_alpha`.

    Args:
        table: Units by the value of the first rater (rows) and of the second (columns).
        level: What the distance between two values means.
        values: The K values; None for 0..K-1.
    """
    counts = np.asarray(table, np.float64)
    levels = np.arange(counts.shape[-1], dtype=np.float64) if values is None else values
    return _alpha(counts + np.swapaxes(counts, -1, -2), levels, level)


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    level: Level = "nominal",
    *,
    groups: IntArray | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return alpha = 1 - observed / expected disagreement, with an interval from resampled units
    (Krippendorff 2004).

    None where no unit has two ratings or all ratings are the same; n is the number of units with
    two or more.

    Args:
        ratings: NaN or None for a gap; shape (raters, units).
        level: What the distance between two values means.
        groups: Codes 0..G-1 of units that belong together; shape (units,). None where units are
            independent.
        resamples: How many to draw.
        seed: Of the draws.

    Raises:
        InputError: Not a table, more than `MOST_VALUES` distinct ratings, or a rating below 0 on a
            ratio scale.
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
    if level == "ratio" and (values < 0).any():
        raise InputError(f"a ratio scale has no {float(values.min())!r}", hint="take interval")
    patterns, member = _patterns(code, len(values))
    units = _Units.of(patterns, len(values))
    n = code.shape[1]
    point = float(
        _alpha(units.together(np.bincount(member, minlength=len(patterns))), values, level)
    )
    if not np.isfinite(point):
        return Estimate.undefined(n, ONE_VALUE)
    if max(len(patterns), resamples) * len(values) ** 2 > MOST_NUMBERS:
        return Estimate.of(point, None, n, missing="too many different ratings for an interval")
    if groups is not None:
        groups = np.unique(groups[paired], return_inverse=True)[1].astype(np.int64)
    cells = Cells(code=member, size=len(patterns), groups=groups)
    statistic = partial(_resampled_alpha, units.apart(), values, level)
    drawn = bootstrap({"alpha": statistic}, cells, resamples=resamples, seed=seed)["alpha"]
    return Estimate.of(point, drawn, n, missing=ONE_UNIT if cells.units < 2 else RARELY_DEFINED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Units:
    """The pairs of ratings of every distinct unit, each pair in both orders."""

    unit: IntArray
    """Which distinct unit the pair is of; shape (e,)."""
    cell: IntArray
    """V * one value + the other; shape (e,)."""
    weight: FloatArray
    """1 / (m - 1) for m ratings of the unit; shape (e,)."""
    units: int
    size: int

    @classmethod
    def of(cls, patterns: IntArray, size: int) -> _Units:
        """Build the pairs from the distinct units of `_patterns`."""
        ratings = (patterns < size).sum(1)
        units: list[IntArray] = []
        pairs: list[IntArray] = []
        for later in range(1, int(ratings.max())):
            rated = np.flatnonzero(patterns[:, later] < size)
            for earlier in range(later):
                one, other = patterns[rated, earlier], patterns[rated, later]
                units += [rated, rated]
                pairs += [one * size + other, other * size + one]
        unit, cell = np.concatenate(units), np.concatenate(pairs)
        return cls(
            unit=unit, cell=cell, weight=1.0 / (ratings[unit] - 1), units=len(patterns), size=size
        )

    def together(self, counts: IntArray) -> FloatArray:
        """Return the coincidences of all units, each distinct one as often as counted; shape (V,
        V).
        """
        weight = self.weight * counts[self.unit]
        return (
            np.bincount(self.cell, weight, self.size**2)
            .astype(np.float64)
            .reshape(self.size, self.size)
        )

    def apart(self) -> FloatArray:
        """Return the coincidences of each distinct unit; shape (p, V * V)."""
        cells = self.size**2
        coincidences = np.bincount(self.unit * cells + self.cell, self.weight, self.units * cells)
        return coincidences.astype(np.float64).reshape(self.units, cells)


def _resampled_alpha(
    units: FloatArray, values: FloatArray, level: Level, counts: FloatArray
) -> FloatArray:
    return _alpha((counts @ units).reshape(-1, len(values), len(values)), values, level)


def _alpha(coincidence: FloatArray, values: FloatArray, level: Level) -> FloatArray:
    """Return alpha of symmetric coincidence matrices (..., V, V); NaN where all ratings are the
    same.
    """
    totals = coincidence.sum(-1)
    n = totals.sum(-1)
    if level == "nominal":
        observed = n - np.trace(coincidence, axis1=-2, axis2=-1)
        expected = n**2 - (totals**2).sum(-1)
    elif level == "ratio":
        over = values[:, None] + values[None, :]
        distance = (
            np.divide(
                values[:, None] - values[None, :], over, out=np.zeros_like(over), where=over > 0
            )
            ** 2
        )
        observed = (coincidence * distance).sum((-2, -1))
        expected = np.einsum("...i,ij,...j->...", totals, distance, totals)
    else:
        position = np.broadcast_to(values, totals.shape)
        if level == "ordinal":
            # The ratings up to a value's middle stand for it; then both levels are squared
            # differences.
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

    Behind them stand units that nobody saw, with one rating on each of two neighbouring values:
    without them, resamples of perfect agreement could not differ, and its interval would be a
    point.
    """
    patterns, member = np.unique(
        np.sort(np.minimum(code, size), axis=0).T, axis=0, return_inverse=True
    )
    unseen = np.full((size - 1, code.shape[0]), size)
    unseen[:, 0], unseen[:, 1] = np.arange(size - 1), np.arange(1, size)
    return np.concatenate([patterns, unseen]), member.reshape(-1).astype(np.int64)
