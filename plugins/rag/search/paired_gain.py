"""The gain of one ranking over another, query by query, with its interval and a paired test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ....judges.judged_dataset import FloatArray
from ....judges.metrics import Estimate, left_out_se, t_quantile

EXACT_QUERIES = 15
"""Up to this many queries that changed, every way to swap the two rankings is tried."""
DRAWS = 100_000
"""Ways that are drawn where there are more."""
SLACK = 1e-12
"""Sums that differ by less are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """The mean difference over queries."""

    mean: Estimate
    """With Student's 95 % interval over queries."""
    p: float
    """Two-sided, of the randomisation test (Fisher 1935; Smucker, Allan and Carterette 2007)."""
    better: int
    """Queries on which the first is better."""
    worse: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0."""
        low, high = self.mean.low, self.mean.high
        return low is not None and high is not None and (low > 0 or high < 0)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the mean with its interval, p, and the queries that are better and worse."""
        return {
            "mean": self.mean.to_json(),
            "p": self.p,
            "better": self.better,
            "worse": self.worse,
        }


def paired_gain(after: FloatArray, before: FloatArray, *, seed: int = 0) -> Gain:
    """Compare two values of each query.

    Args:
        after: Of the new ranking; shape (Q,).
        before: Of the old one, queries in the same order.
        seed: Of the swaps that are drawn, where there are too many to try all.
    """
    change = after - before
    mean = float(change.mean()) if len(change) else math.nan
    if len(change) < 2:
        few = "fewer than two queries cannot show the spread"
        estimate = (
            Estimate.of(mean, None, len(change), missing=few)
            if len(change)
            else Estimate.undefined(0, few)
        )
        return Gain(
            mean=estimate, p=1.0, better=int((change > 0).sum()), worse=int((change < 0).sum())
        )
    half = t_quantile(len(change) - 1) * left_out_se(change - mean)[0]
    return Gain(
        mean=Estimate(value=mean, low=mean - half, high=mean + half, n=len(change)),
        p=_randomisation_p(change[np.abs(change) > SLACK], seed),
        better=int((change > SLACK).sum()),
        worse=int((change < -SLACK).sum()),
    )


def _randomisation_p(change: FloatArray, seed: int) -> float:
    """Return how often random signs give a sum as far from 0 as the one seen."""
    if len(change) == 0:
        return 1.0
    seen = abs(float(change.sum())) - SLACK
    if len(change) <= EXACT_QUERIES:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(change))))
        return float((np.abs(signs @ change) >= seen).mean())
    rng = np.random.default_rng(seed)
    extreme = 0
    for _ in range(10):
        signs = rng.integers(0, 2, (DRAWS // 10, len(change))) * 2.0 - 1.0
        extreme += int((np.abs(signs @ change) >= seen).sum())
    # The order seen is one of the ways.
    return (extreme + 1) / (DRAWS + 1)
