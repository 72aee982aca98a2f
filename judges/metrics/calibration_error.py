"""The bins of expected calibration error, and its interval.

The plug-in value adds up the absolute gaps of ten bins, each of which chance moves away from 0: on
few rows a perfectly calibrated judge shows an error, and intervals that resample the rows show it
twice. Here the interval is the set of true errors under which the value seen would be no surprise
(a test-inversion interval, Carpenter 1999).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..judged_dataset import BoolArray, FloatArray, IntArray
from .intervals import Interval, effective_groups, t_quantile

BINS = 10
STEPS = 16
"""Halvings in the search for an end of the interval, which find it within a thousandth of a
standard error.
"""


def bins_of(values: FloatArray) -> IntArray:
    """Return the bin of each probability as `ece` has it, 0..9, upper edges closed; shape (n,).

    The edges are those of scikit-learn's calibration_curve, numpy.linspace(0, 1, 11): the third is
    0.30000000000000004, so that a probability of 1 - 0.7 counts as 0.3.
    """
    return np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], values, side="left")


def ece_interval(
    label: BoolArray,
    probability: FloatArray,
    groups: IntArray | None,
    *,
    weight: IntArray | None = None,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return a 95 % interval of the error over ten bins; it always holds the observed value.

    A bin's gap, the sum of label less probability over the number of all rows, is seen with a
    normal error: that of its rows or groups, but no less than that of independent labels, and for
    groups widened to Student's t. The low end is the error under which 2.5 % of the draws lie above
    the value seen, the high end that under which 2.5 % lie below. How the true error is spread over
    the bins is not known, and chance adds most to one in few bins, least to one in all: the low end
    supposes the gaps seen, each taken towards 0 by as many standard errors; the high end gaps of as
    many standard errors in every bin.

    Args:
        label: Whether people call the row positive; shape (n,).
        probability: Of the positive label; shape (n,).
        groups: Codes 0..G-1 of rows that belong together; None where rows are independent.
        weight: How many rows each position stands for; None where each is one. Shape (n,).
        draws: Of the gaps' errors.
        seed: Of the draws.
    """
    gaps, own, root = _gaps(label, probability, groups, weight)
    noise = root @ np.random.default_rng(seed).standard_normal((BINS, draws))
    seen = float(np.abs(gaps).sum())
    low, high = _low(gaps, own, noise, seen), _high(gaps, own, noise, seen)
    return min(low, seen), min(1.0, max(high, seen))


def ece_by_chance(
    label: BoolArray,
    probability: FloatArray,
    groups: IntArray | None,
    weight: IntArray | None = None,
) -> tuple[float, float]:
    """Return the error over ten bins, and what chance would make of one that is 0 on as many rows.

    Args:
        label: Whether people call the row positive; shape (n,), at least one row.
        probability: Of the positive label; shape (n,).
        groups: Codes of rows that belong together, not necessarily all in use; None where rows are
            independent.
        weight: How many rows each position stands for; None where each is one. Shape (n,).
    """
    codes = None
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        if (len(codes) if weight is None else weight.sum()) == codes.max() + 1:
            codes = None
    gaps, _, root = _gaps(label, probability, codes, weight)
    # The mean of |N(0, s^2)| is s sqrt(2 / pi).
    return float(np.abs(gaps).sum()), float(np.sqrt((root**2).sum(1) * 2 / np.pi).sum())


def _gaps(
    label: BoolArray, probability: FloatArray, groups: IntArray | None, weight: IntArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the bins' gaps, their standard errors as if rows were independent, and a root of their
    covariance.
    """
    rows = np.ones(len(label)) if weight is None else weight.astype(np.float64)
    n = float(rows.sum())
    member = bins_of(probability)
    in_bin = np.bincount(member, rows, BINS)
    off = label - probability
    gaps = np.bincount(member, off * rows, BINS) / n
    # Half a row of each label: a bin in which all rows agree is not certain of its share.
    share = (np.bincount(member, label * rows, BINS) + 0.5) / (in_bin + 1)
    own = np.sqrt(in_bin * share * (1 - share)) / n
    freedom = np.inf
    # How rows, or groups of rows, differ from each other.
    if groups is None:
        scattered = np.diag(np.bincount(member, off**2 * rows, BINS)) / n**2
        scattered -= np.outer(gaps, gaps) / n
    else:
        sizes = np.bincount(groups, rows)
        units = len(sizes)
        freedom = max(1.0, effective_groups(sizes) - 1)
        by_group = np.bincount(groups * BINS + member, off * rows, units * BINS)
        moved = (by_group.reshape(units, BINS) - sizes[:, None] * gaps) / n
        scattered = moved.T @ moved * units / max(1, units - 1)
    covariance = scattered + np.diag(np.maximum(0.0, own**2 - np.diag(scattered)))
    size, axes = np.linalg.eigh(covariance)
    root = t_quantile(freedom) / t_quantile(np.inf) * axes * np.sqrt(np.maximum(size, 0.0))
    return gaps, own, root


def _low(gaps: FloatArray, own: FloatArray, noise: FloatArray, seen: float) -> float:
    """Return the error under which 2.5 % of what is drawn exceeds the value seen, its gaps in as
    few bins as may be.
    """
    rank = round(0.975 * (noise.shape[1] - 1))
    if _ranked(np.zeros(BINS), noise, rank) >= seen:
        return 0.0

    def true(by: float) -> FloatArray:
        return np.sign(gaps) * np.maximum(np.abs(gaps) - by * own, 0.0)

    # By so many standard errors every gap is 0.
    limit = float(np.max(np.abs(gaps) / np.where(own > 0, own, np.inf)))
    by = _bisect(limit, lambda by: _ranked(true(by), noise, rank) < seen)
    return float(np.abs(true(by)).sum())


def _high(gaps: FloatArray, own: FloatArray, noise: FloatArray, seen: float) -> float:
    """Return the error under which 2.5 % of what is drawn falls short of the value seen, its gaps
    in all bins.
    """
    rank = round(0.025 * (noise.shape[1] - 1))
    spread = np.where(gaps < 0, -own, own)
    by = _bisect(float(1.0 / own.sum()), lambda by: _ranked(by * spread, noise, rank) > seen)
    return by * float(own.sum())


def _bisect(high: float, beyond: Callable[[float], bool]) -> float:
    """Return the lowest number up to `high` that is beyond."""
    low = 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if beyond(middle):
            high = middle
        else:
            low = middle
    return high


def _ranked(true: FloatArray, noise: FloatArray, rank: int) -> float:
    """Return the value of this rank that is drawn where the bins' true gaps are these."""
    return float(np.partition(np.abs(true[:, None] + noise).sum(0), rank)[rank])
