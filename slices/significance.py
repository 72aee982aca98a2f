"""Whether a gap between a slice and the rest is more than chance, when rows come in groups.

Rows of one document or query err together. Treating them as independent finds slices in pure noise,
so standard errors sum over groups first and are never below those of independent rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from ..judges.metrics import wilson
from ..judges.metrics.intervals import effective_groups
from .outcomes import count_groups

ALPHA = 0.05
LIKELY = 0.25
"""Under this a slice that is not confirmed is called likely: one search in four gives one by chance
alone.
"""
MIN_GROUPS = 5
"""Groups a slice must have on the rows that test it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The mean loss inside a slice against the rest; of bad rows, their share."""

    n: int
    inside: float
    rest: float
    se: float
    """Standard error of the gap under the hypothesis of no gap, clustered by group."""
    p: float
    """One-sided, for a greater loss inside; 1 where the slice is too small to say."""
    design: float
    """How many times the variance exceeds that of independent rows; at least 1."""

    @property
    def gap(self) -> float:
        """Mean loss inside minus mean loss outside."""
        return self.inside - self.rest


def compare(loss: BoolArray | FloatArray, member: BoolArray, groups: IntArray) -> Comparison | None:
    """Test whether rows lose more inside a slice; None where slice or rest is empty.

    A score test with the pooled variance, multiplied by the design effect of the groups, referred
    to Student's t with as many degrees of freedom as the side with fewer groups has groups of equal
    size in effect, less one; for bad rows never below the p-value of Fisher's exact test, whose
    z-value is divided by the root of the design effect.

    Args:
        loss: What each row costs; booleans mark bad rows. Shape (n,).
        member: Whether each row is in the slice; shape (n,).
        groups: Group code of each row; shape (n,).
    """
    from scipy.special import ndtr, ndtri, stdtr

    n, total = int(member.sum()), len(loss)
    if not 0 < n < total:
        return None
    pooled = float(loss.var())
    inside, rest = float(loss[member].mean()), float(loss[~member].mean())
    freedom = degrees_of_freedom(member, groups)
    design = Clustered.of(loss, groups).design(np.flatnonzero(member))
    se = math.sqrt(pooled * (1 / n + 1 / (total - n)) * design)
    p = 1.0
    if se > 0 and freedom is not None:
        p = float(stdtr(freedom, -(inside - rest) / se))
        if loss.dtype == np.bool_:
            # The exact tail takes over where the slice is small and errors are rare, which
            # Student's t flatters.
            exact = _exact_tail(int(loss[member].sum()), n, int(loss.sum()), total)
            p = max(p, float(ndtr(ndtri(exact) / math.sqrt(design))) if exact < 0.5 else exact)
    return Comparison(n=n, inside=inside, rest=rest, se=se, p=p, design=design)


def degrees_of_freedom(member: BoolArray, groups: IntArray) -> float | None:
    """Return how many groups of equal size the side with fewer is worth, less one; at least 1.

    None where either side has too few groups to say anything. A few large groups among many small
    ones decide alone, however many there are.

    Args:
        member: Whether each row is in the slice; shape (n,).
        groups: Group code of each row; shape (n,).
    """
    sizes = [np.bincount(groups[side]) for side in (member, ~member)]
    if min(np.count_nonzero(rows) for rows in sizes) < MIN_GROUPS:
        return None
    return max(1.0, min(map(effective_groups, sizes)) - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """Losses summed by group once, so that the design effect of each of many slices costs only its
    own rows.
    """

    loss: BoolArray | FloatArray
    groups: IntArray
    rows_of: FloatArray
    """Rows of each group; shape (G,)."""
    loss_of: FloatArray
    square: float
    """Sum of all squared losses."""

    @classmethod
    def of(cls, loss: BoolArray | FloatArray, groups: IntArray) -> Clustered:
        """Sum up; groups are codes, shape (n,)."""
        summed = np.bincount(groups, loss).astype(np.float64)
        square = float(loss.sum() if loss.dtype == np.bool_ else loss @ loss)
        rows = np.bincount(groups).astype(np.float64)
        return cls(loss=loss, groups=groups, rows_of=rows, loss_of=summed, square=square)

    def groups_in(self, rows: IntArray) -> int:
        """Return how many groups some rows belong to."""
        if self.rows_of.max() <= 1:
            return len(rows)
        return count_groups(self.groups[rows])

    def design(self, rows: IntArray) -> float:
        """Return how many times the gap's variance exceeds that of independent rows; at least 1.

        Residuals summed by group over those of single rows; the slice is neither empty nor
        everything.

        Args:
            rows: Positions of the slice's rows.
        """
        if self.rows_of.max() <= 1:
            return 1.0
        groups, loss = self.groups[rows], self.loss[rows].astype(np.float64)
        rows_in = np.bincount(groups, minlength=len(self.rows_of))
        loss_in = np.bincount(groups, loss, len(self.rows_of))
        pooled = float(self.loss_of.sum() / self.rows_of.sum())
        square_in = float(loss @ loss)
        single, residual = 0.0, np.zeros(len(self.rows_of))
        sides = (
            (1.0, rows_in.astype(np.float64), loss_in, square_in),
            (-1.0, self.rows_of - rows_in, self.loss_of - loss_in, self.square - square_in),
        )
        for sign, n_of, sum_of, square in sides:
            n, total = float(n_of.sum()), float(sum_of.sum())
            # One group's worth of pooled rows: a slice whose rows all err is not without spread.
            prior = n / np.count_nonzero(n_of)
            centre = (total + prior * pooled) / (n + prior)
            residual += sign * (sum_of - centre * n_of) / n
            single += max(0.0, square - 2 * centre * total + n * centre**2) / n**2
        if single <= 1e-15:
            return 1.0
        return max(1.0, _spread_of(residual, int(np.count_nonzero(self.rows_of))) / single)


def _exact_tail(hits: int, n: int, bad: int, total: int) -> float:
    """Chance of at least so many bad rows among n drawn without replacement (hypergeometric)."""
    from scipy.special import gammaln

    def ways(of: int, taken: IntArray | int) -> FloatArray:
        return gammaln(of + 1) - gammaln(np.add(taken, 1)) - gammaln(np.subtract(of, taken) + 1)

    more = np.arange(max(hits, n + bad - total), min(n, bad) + 1)
    return min(
        1.0, float(np.exp(ways(bad, more) + ways(total - bad, n - more) - ways(total, n)).sum())
    )


def one_direction(fp: BoolArray, fn: BoolArray, groups: IntArray) -> tuple[float | None, float]:
    """Return the share of false positives among errors, and the two-sided p that it is one half.

    A sign test over errors, summed by group, never less variable than independent signs.
    """
    from scipy.special import stdtr

    sign = fp.astype(np.float64) - fn.astype(np.float64)
    errors = int(np.abs(sign).sum())
    if not errors:
        return None, 1.0
    by_group = np.bincount(groups, sign)
    # Degrees of freedom come from groups with errors: the others say nothing about a direction.
    touched = int((np.bincount(groups, np.abs(sign)) > 0).sum())
    share = float(fp.sum() / errors)
    if touched < MIN_GROUPS:
        return share, 1.0
    spread = math.sqrt(max(float(errors), float((by_group**2).sum())))
    return share, min(1.0, 2 * float(stdtr(touched - 1, -abs(sign.sum()) / spread)))


def share_interval(good: BoolArray, groups: IntArray) -> tuple[float, float] | None:
    """Return Wilson's interval for a share, on the number of independent rows that the groups are
    worth.

    The rows are divided by the design effect (Kish 1965); groups count where all rows agree.
    """
    n = len(good)
    if n == 0:
        return None
    share = float(good.mean())
    present = count_groups(groups)
    independent = share * (1 - share) / n
    if independent:
        by_group = np.bincount(groups, (good - share) / n).astype(np.float64)
        design = max(1.0, _spread_of(by_group, present) / independent)
    else:
        design = n / present
    return wilson(float(good.sum()) / design, n / design)


@dataclass(frozen=True, slots=True)
class LossScan:
    """How the rows and losses of a cell become a log-likelihood ratio against all rows."""

    total: float
    """All rows."""
    loss: float
    """Their summed loss."""
    variance: float | None
    """Of one row's loss; None where losses are bad rows."""

    @classmethod
    def of(cls, loss: BoolArray | FloatArray) -> LossScan:
        """Take the losses of all rows, shape (n,); booleans mark bad rows."""
        variance = None
        if loss.dtype != np.bool_:
            variance = float(loss.var()) if len(loss) else 0.0
        return cls(float(len(loss)), float(loss.sum()), variance)

    @property
    def possible(self) -> bool:
        """Whether rows differ at all."""
        if self.variance is None:
            return 0 < self.loss < self.total
        return self.variance > 0

    def llr(self, n: FloatArray, loss: FloatArray) -> FloatArray:
        """Return the one-sided log-likelihood ratio of each cell, 0 where it is not worse; shape
        (cells,).

        Of bad rows it is the Bernoulli scan (Kulldorff 1997), else that of a shifted mean of known
        variance.

        Args:
            n: Rows in each cell; shape (cells,).
            loss: Their summed loss; shape (cells,).
        """
        rest, rest_loss = self.total - n, self.loss - loss
        if self.variance is not None:
            rest = np.maximum(rest, 1.0)
            gap = (loss / np.maximum(n, 1.0) - self.loss / self.total) * self.total / rest
            return np.where(gap > 0, gap**2 * n * rest / (2 * self.total * self.variance), 0.0)
        worse = loss * rest > rest_loss * n
        everything = _log_likelihood(self.total, self.loss)
        ratio = _log_likelihood(n, loss) + _log_likelihood(rest, rest_loss) - everything
        return np.where(worse, np.maximum(ratio, 0.0), 0.0)

    def signed_llr(self, n: FloatArray, loss: FloatArray) -> FloatArray:
        """Return the log-likelihood ratio, negative where a cell is better; 0 where rows do not
        differ at all.

        Args:
            n: Rows in each cell; shape (cells,).
            loss: Their summed loss; shape (cells,).
        """
        if not self.possible:
            return np.zeros(len(n))
        return self.llr(n, loss) - self.llr(self.total - n, self.loss - loss)


def rows_to_find(share: float, base: float, candidates: int) -> float:
    """Return how many rows a slice with this share of bad rows needs to stand out among the
    candidates.

    From n * KL(share || base) >= ln(candidates) + 3; infinite where the shares are equal.
    """
    if not 0 < base < 1 or share <= base:
        return math.inf
    divergence = share * math.log(share / base)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - base))
    return (math.log(max(candidates, 1)) + 3.0) / divergence


def effect_without_selection(z: float, chance: float) -> float:
    """Return the z-value expected of a candidate that is seen at z because it exceeds what chance
    gives the best.

    The mean of a normal variable whose part above `chance` averages z (conditional likelihood:
    Zhong and Prentice 2008): near z where z is far above it, and 0 where it is not.

    Args:
        z: What was seen.
        chance: What the best of all candidates comes to where there is no slice.
    """
    from scipy.special import log_ndtr

    low, high = 0.0, z
    for _ in range(40):
        mean = (low + high) / 2
        beyond = chance - mean
        hazard = math.exp(-(beyond**2) / 2 - math.log(2 * math.pi) / 2 - float(log_ndtr(-beyond)))
        if mean + hazard < z:
            low = mean
        else:
            high = mean
    return low


def _log_likelihood(n: FloatArray | float, bad: FloatArray | float) -> FloatArray:
    from scipy.special import xlogy

    good = np.subtract(n, bad)
    safe = np.maximum(n, 1.0)
    return xlogy(bad, np.divide(bad, safe)) + xlogy(good, np.divide(good, safe))


def _spread_of(sums: FloatArray, present: int) -> float:
    """Return the variance of a sum of residuals from its sums by group, with the small-sample
    factor G / (G - 1).
    """
    if present < 2:
        return math.inf
    return float((sums**2).sum() * present / (present - 1))
