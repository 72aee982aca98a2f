"""Correlation of two columns of numbers: Pearson, Spearman and Kendall, with ties.

Everything is computed on the distinct pairs of values and their counts, of which grades have few.
Intervals come from the influence function, summed by group and taken on Fisher's scale atanh(r), so
that they stay within [-1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray
from .delta import left_out_se
from .estimate import Estimate
from .intervals import count_rows, t_quantile

Numbers = npt.NDArray[np.number] | Sequence[float]
CONSTANT = "every {side} is the same"
PERFECT = "a perfect correlation shows no spread"
FEWEST_UNITS = 4
"""On Fisher's scale the standard error of a correlation is 1 / sqrt(n - 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """The distinct pairs of values, each with its rows."""

    x: FloatArray
    """Distinct values, ascending; shape (a,)."""
    y: FloatArray
    """Likewise; shape (b,)."""
    i: IntArray
    """Which x each pair has; shape (m,)."""
    j: IntArray
    weight: FloatArray
    """Rows of each pair; shape (m,)."""
    member: IntArray
    """The pair of each position; shape (n,)."""
    rows: IntArray | None
    """How many rows each position stands for; None where each is one. Shape (n,)."""

    @property
    def n(self) -> int:
        return len(self.member) if self.rows is None else int(self.rows.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Correlation:
    value: float
    influence: FloatArray
    """Of one row of each pair; shape (m,)."""


def kendall_tau(x: Numbers, y: Numbers, groups: IntArray | None = None) -> Estimate:
    """Return Kendall's tau-b: concordant less discordant pairs of rows, as a share of the pairs, of
    which those tied on a side are left out on that side (Kendall 1945).

    Use it also for two rankings of the same systems, x and y being each system's score.
    """
    return correlations(x, y, groups)["kendall_tau"]


def correlations(
    x: Numbers, y: Numbers, groups: IntArray | None = None, *, weight: IntArray | None = None
) -> dict[str, Estimate]:
    """Return `pearson`, `spearman` and `kendall_tau` of the same rows.

    Args:
        x: One side; shape (n,).
        y: The other, likewise.
        groups: Codes 0..G-1 of rows that belong together; None where rows are independent.
        weight: How many rows each position stands for; None where each is one. Shape (n,).

    Raises:
        InputError: The sides differ in length, or hold a number that is not finite.
    """
    pairs = _pairs(x, y, weight)
    constant = _constant(pairs)
    if constant is not None:
        return dict.fromkeys(("pearson", "spearman", "kendall_tau"), constant)
    zx, zy = _standard(pairs.x, pairs.i, pairs.weight), _standard(pairs.y, pairs.j, pairs.weight)
    value = float(np.average(zx * zy, weights=pairs.weight))
    pearson = _Correlation(value=value, influence=zx * zy - value / 2 * (zx**2 + zy**2))
    return {
        "pearson": _estimate(pearson, pairs, groups),
        "spearman": _estimate(_spearman(pairs), pairs, groups),
        "kendall_tau": _estimate(_kendall(pairs), pairs, groups),
    }


def _pairs(x: Numbers, y: Numbers, rows: IntArray | None = None) -> _Pairs:
    left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if left.shape != right.shape:
        raise InputError(
            f"{len(left)} numbers against {len(right)}; a correlation compares row by row"
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise InputError("a number to correlate is missing or not finite; leave such rows out")
    levels_x, i = np.unique(left, return_inverse=True)
    levels_y, j = np.unique(right, return_inverse=True)
    width = max(1, len(levels_y))
    code, member = np.unique(i * width + j, return_inverse=True)
    weight = count_rows(member, rows, len(code)).astype(np.float64)
    return _Pairs(
        x=levels_x,
        y=levels_y,
        i=code // width,
        j=code % width,
        weight=weight,
        member=member,
        rows=rows,
    )


def _constant(pairs: _Pairs) -> Estimate | None:
    if pairs.n == 0:
        return Estimate.undefined(0, "there are no rows to correlate")
    sides = []
    if len(pairs.x) == 1:
        sides.append("first number")
    if len(pairs.y) == 1:
        sides.append("second number")
    if not sides:
        return None
    return Estimate.undefined(pairs.n, CONSTANT.format(side=" and every ".join(sides)))


def _estimate(correlation: _Correlation, pairs: _Pairs, groups: IntArray | None) -> Estimate:
    value = min(1.0, max(-1.0, correlation.value))
    se, units = left_out_se(correlation.influence[pairs.member], groups, pairs.rows)
    reason = ""
    if units < FEWEST_UNITS:
        unit = "rows" if groups is None else "groups"
        reason = f"fewer than {FEWEST_UNITS} {unit} cannot show the spread"
    elif 1.0 - abs(value) < 1e-12:
        reason = PERFECT
    if reason:
        return Estimate.of(value, None, pairs.n, missing=reason)
    # The derivative of atanh carries the error to Fisher's scale.
    half = t_quantile(units - 1) * se / (1.0 - value * value)
    centre = math.atanh(value)
    interval = math.tanh(centre - half), math.tanh(centre + half)
    return Estimate.of(value, interval, pairs.n)


def _standard(levels: FloatArray, of: IntArray, weight: FloatArray) -> FloatArray:
    # Over the largest first: squares of very large or very small numbers leave the range of floats.
    scaled = levels / np.abs(levels).max()
    centred = (scaled - np.average(scaled[of], weights=weight))[of]
    return centred / math.sqrt(float(np.average(centred**2, weights=weight)))


def _spearman(pairs: _Pairs) -> _Correlation:
    n = pairs.n
    share_x, share_y = (
        np.bincount(pairs.i, pairs.weight) / n,
        np.bincount(pairs.j, pairs.weight) / n,
    )
    # Mid-distribution functions about their mean, which is 1/2 whatever the ties.
    u, v = (
        (np.cumsum(share_x) - share_x / 2 - 0.5)[pairs.i],
        (np.cumsum(share_y) - share_y / 2 - 0.5)[pairs.j],
    )
    covariance = float(np.average(u * v, weights=pairs.weight))
    # A row moves the ranks of all rows above it, on both sides.
    moved = (
        _above(pairs.i, pairs.weight * v / n)[pairs.i]
        + _above(pairs.j, pairs.weight * u / n)[pairs.j]
    )
    influence = u * v + moved - 3 * covariance
    variance_x, influence_x = _rank_variance(share_x)
    variance_y, influence_y = _rank_variance(share_y)
    value = covariance / math.sqrt(variance_x * variance_y)
    spread = influence_x[pairs.i] / variance_x + influence_y[pairs.j] / variance_y
    return _Correlation(
        value=value, influence=influence / math.sqrt(variance_x * variance_y) - value / 2 * spread
    )


def _above(level: IntArray, mass: FloatArray) -> FloatArray:
    """Return the mass above each level, and half of that on it; shape (levels,)."""
    on = np.bincount(level, mass)
    return np.cumsum(on[::-1])[::-1] - on / 2


def _rank_variance(share: FloatArray) -> tuple[float, FloatArray]:
    cubes = float((share**3).sum())
    return (1 - cubes) / 12, (cubes - share**2) / 4


def _kendall(pairs: _Pairs) -> _Correlation:
    surplus = _concordance(pairs) / pairs.n
    agreed = float(np.average(surplus, weights=pairs.weight))
    influence = 2 * (surplus - agreed)
    untied_x, influence_x = _untied(pairs.i, pairs.weight)
    untied_y, influence_y = _untied(pairs.j, pairs.weight)
    spread = math.sqrt(untied_x * untied_y)
    value = agreed / spread
    on_spread = influence_x / untied_x + influence_y / untied_y
    return _Correlation(value=value, influence=influence / spread - value / 2 * on_spread)


def _untied(level: IntArray, weight: FloatArray) -> tuple[float, FloatArray]:
    """Return the chance that two rows differ on a side, and the influence of a row of each pair on
    it.
    """
    share = np.bincount(level, weight) / weight.sum()
    squares = float((share**2).sum())
    return 1 - squares, 2 * (squares - share)[level]


def _concordance(pairs: _Pairs) -> FloatArray:
    """Return, for a row of each pair, how many rows are concordant with it less those discordant;
    shape (m,).
    """
    i, j, weight = pairs.i, pairs.j, pairs.weight
    on_x, on_y = np.bincount(i, weight), np.bincount(j, weight)
    less_x, less_y = (np.cumsum(on_x) - on_x)[i], (np.cumsum(on_y) - on_y)[j]
    more_x, same_y = pairs.n - less_x - on_x[i], on_y[j]
    both_less = _both_less(i, j, weight)
    same_y_less_x, same_x_less_y = _within(j, i, weight), _within(i, j, weight)
    less_x_more_y = less_x - both_less - same_y_less_x
    more_x_less_y = less_y - both_less - same_x_less_y
    both_more = more_x - more_x_less_y - (same_y - weight - same_y_less_x)
    return both_less + both_more - less_x_more_y - more_x_less_y


def _within(block: IntArray, level: IntArray, weight: FloatArray) -> FloatArray:
    """Return the weight of lower levels in the same block; shape (m,)."""
    order = np.lexsort((level, block))
    before = np.cumsum(weight[order]) - weight[order]
    opens = np.ones(len(order), np.bool_)
    opens[1:] = block[order][1:] != block[order][:-1]
    lower = np.empty_like(before)
    lower[order] = before - np.maximum.accumulate(np.where(opens, before, 0.0))
    return lower


def _both_less(i: IntArray, j: IntArray, weight: FloatArray) -> FloatArray:
    """Return the weight of the pairs that are lower on both sides, in O(m log m); shape (m,).

    The pairs stand in order of x. A block of them, taken in order of y, is split into its lower and
    its upper half; each pair of the upper half has below it the pairs of the lower half that came
    earlier. Then each half is a block.
    """
    order = np.lexsort((-j, i))
    ordered = weight[order]
    # Equal y: the later in x first, so that it does not count the earlier, which is not lower on y.
    by_y = np.lexsort((-np.arange(len(order)), j[order]))
    below = np.zeros(len(order))
    for bit in reversed(range(int(len(order) - 1).bit_length())):
        upper = (by_y >> bit) & 1 == 1
        lower = np.concatenate(([0.0], np.cumsum(np.where(upper, 0.0, ordered[by_y]))))
        start = (by_y >> (bit + 1)) << (bit + 1)
        below[by_y[upper]] += (lower[:-1] - lower[start])[upper]
        by_y = by_y[np.argsort(by_y >> bit, kind="stable")]
    both_less = np.empty_like(below)
    both_less[order] = below
    return both_less
