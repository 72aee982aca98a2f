"""Whether a gap between a slice and the rest is more than chance, when rows come in groups.

Rows of one document or query err together. Treating them as independent finds slices in pure noise, so every
standard error here sums over groups first and is never smaller than that of independent rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from ..judges.metrics import wilson

ALPHA = 0.05
MIN_GROUPS = 5
"""Groups a slice must have on the rows that test it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The share of bad rows inside a slice against the rest."""

    n: int
    inside: float
    rest: float
    se: float
    """Standard error of the gap under the hypothesis of no gap, clustered by group."""
    p: float
    """One-sided, for more bad rows inside; 1 where the slice is too small to say."""
    design: float
    """How many times the variance exceeds that of independent rows; at least 1."""

    @property
    def gap(self) -> float:
        """Share of bad rows inside minus share outside."""
        return self.inside - self.rest


def compare(bad: BoolArray, member: BoolArray, groups: IntArray) -> Comparison | None:
    """Test whether bad rows are more frequent inside a slice; None where slice or rest is empty.

    A score test with the pooled share, its variance multiplied by the design effect of the groups, referred to
    Student's t with as many degrees of freedom as the side with fewer groups has groups, less one; never below the
    p-value of Fisher's exact test, which knows no groups.

    Args:
        bad: Whether each row is an error of the metric; shape (n,).
        member: Whether each row is in the slice; shape (n,).
        groups: Group code of each row; shape (n,).
    """
    from scipy.special import stdtr

    n, total = int(member.sum()), len(bad)
    if not 0 < n < total:
        return None
    pooled = float(bad.mean())
    inside, rest = float(bad[member].mean()), float(bad[~member].mean())
    fewest = min(len(np.unique(groups[member])), len(np.unique(groups[~member])))
    design = design_effect(bad, member, groups)
    se = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / (total - n)) * design)
    p = 1.0
    if se > 0 and fewest >= MIN_GROUPS:
        # The exact tail takes over where the slice is small and errors are rare, which Student's t flatters.
        p = max(
            float(stdtr(fewest - 1, -(inside - rest) / se)),
            _exact_tail(int(bad[member].sum()), n, int(bad.sum()), total),
        )
    return Comparison(n=n, inside=inside, rest=rest, se=se, p=p, design=design)


def design_effect(bad: BoolArray, member: BoolArray, groups: IntArray) -> float:
    """Return how many times the gap's variance exceeds that of independent rows; at least 1.

    Sums of residuals by group over residuals of single rows, for a slice that is neither empty nor everything.
    """
    pooled = float(bad.mean())
    centre = np.empty(len(bad))
    for side in (member, ~member):
        rows = int(side.sum())
        # One group's worth of pooled rows, so that a slice whose rows all err is not taken to have no spread.
        prior = rows / len(np.unique(groups[side]))
        centre[side] = (bad[side].sum() + prior * pooled) / (rows + prior)
    weight = np.where(member, 1.0 / member.sum(), -1.0 / (~member).sum())
    residual = (bad - centre) * weight
    single = float((residual**2).sum())
    return max(1.0, _group_variance(residual, groups) / single) if single else 1.0


def _exact_tail(hits: int, n: int, bad: int, total: int) -> float:
    """Chance of at least so many bad rows among n drawn without replacement (hypergeometric)."""
    from scipy.special import gammaln

    def ways(of: int, taken: IntArray | int) -> FloatArray:
        return gammaln(of + 1) - gammaln(np.add(taken, 1)) - gammaln(np.subtract(of, taken) + 1)

    more = np.arange(max(hits, n + bad - total), min(n, bad) + 1)
    return min(1.0, float(np.exp(ways(bad, more) + ways(total - bad, n - more) - ways(total, n)).sum()))


def one_direction(fp: BoolArray, fn: BoolArray, groups: IntArray) -> tuple[float | None, float]:
    """Return the share of false positives among errors, and the two-sided p that it is one half.

    A sign test over errors, with the sum of signs by group, never less variable than independent signs.
    """
    from scipy.special import stdtr

    sign = fp.astype(np.float64) - fn.astype(np.float64)
    errors = int(np.abs(sign).sum())
    if not errors:
        return None, 1.0
    by_group = np.bincount(groups, sign)
    touched = int((np.bincount(groups, np.abs(sign)) > 0).sum())
    share = float(fp.sum() / errors)
    if touched < MIN_GROUPS:
        return share, 1.0
    spread = math.sqrt(max(float(errors), float((by_group**2).sum())))
    return share, min(1.0, 2 * float(stdtr(touched - 1, -abs(sign.sum()) / spread)))


def share_interval(good: BoolArray, groups: IntArray, level: float = 0.95) -> tuple[float, float] | None:
    """Return Wilson's interval for a share, on the number of independent rows that the groups are worth.

    The rows are divided by the design effect (Kish 1965); where all rows agree, groups are counted instead of rows.
    """
    n = len(good)
    if n == 0:
        return None
    share = float(good.mean())
    present = len(np.unique(groups))
    independent = share * (1 - share) / n
    design = max(1.0, _group_variance((good - share) / n, groups) / independent) if independent else n / present
    return wilson(float(good.sum()) / design, n / design, level)


def holm(p: FloatArray) -> FloatArray:
    """Return p-values adjusted for looking at all of them (Holm 1979); shape as given."""
    count = len(p)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (count - np.arange(count))) if count else p
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def scan_llr(n: FloatArray, bad: FloatArray, total: float, total_bad: float) -> FloatArray:
    """Return the one-sided Bernoulli scan log-likelihood ratio (Kulldorff 1997) of each cell; 0 where not worse.

    Args:
        n: Rows in each cell; shape (cells,).
        bad: Bad rows in each cell; shape (cells,).
        total: All rows.
        total_bad: All bad rows.
    """
    rest, rest_bad = total - n, total_bad - bad
    with np.errstate(invalid="ignore", divide="ignore"):
        worse = bad * rest > rest_bad * n
    ratio = _log_likelihood(n, bad) + _log_likelihood(rest, rest_bad) - _log_likelihood(total, total_bad)
    return np.where(worse, np.maximum(ratio, 0.0), 0.0)


def rows_to_find(share: float, base: float, candidates: int) -> float:
    """Return how many rows a slice with this share of bad rows needs to stand out among the candidates.

    From n * KL(share || base) >= ln(candidates) + 3; infinite where the shares are equal.
    """
    if not 0 < base < 1 or share <= base:
        return math.inf
    other = 0.0 if share >= 1 else (1 - share) * math.log((1 - share) / (1 - base))
    return (math.log(max(candidates, 1)) + 3.0) / (share * math.log(share / base) + other)


def _log_likelihood(n: FloatArray | float, bad: FloatArray | float) -> FloatArray:
    from scipy.special import xlogy

    good = np.subtract(n, bad)
    safe = np.maximum(n, 1.0)
    return xlogy(bad, np.divide(bad, safe)) + xlogy(good, np.divide(good, safe))


def _group_variance(residual: FloatArray, groups: IntArray) -> float:
    """Variance of the sum of residuals, summed by group, with the small-sample factor G / (G - 1)."""
    present = len(np.unique(groups))
    if present < 2:
        return math.inf
    sums = np.bincount(groups, residual)
    return float((sums**2).sum() * present / (present - 1))
