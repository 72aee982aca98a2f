"""The test: the wealth of a bet against "the mean is at most 0", valid wherever one stops.

Each bet stakes a share of what can be lost at worst. If the mean is at most 0, given all that was
known before the bet, the wealth is a nonnegative supermartingale from 1 and reaches 1 / alpha with
probability at most alpha, however often one looks and whenever one stops (Ville 1939; Waudby-Smith
and Ramdas 2024, "Estimating means of bounded random variables by betting"; Howard, Ramdas,
McAuliffe and Sekhon 2021 on time-uniform bounds). It is split evenly over fixed stakes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...judges import FloatArray

ROUNDING = 1e-9
STAKES: FloatArray = np.array([0.01, 0.02, 0.04, 0.07, 0.11, 0.16, 0.24, 0.35, 0.5, 0.7, 0.9])
"""Shares of the highest stake."""


@dataclass(frozen=True, slots=True)
class Wealth:
    """What is left of 1 after some bets."""

    logs: FloatArray
    """By stake; shape (stakes,)."""
    peak: float = 0.0
    """Log of the highest wealth so far."""

    @classmethod
    def start(cls) -> Wealth:
        """Return the wealth before the first bet."""
        return cls(np.zeros(len(STAKES)))

    @property
    def now(self) -> float:
        """Log of the wealth."""
        return float(log_mean(self.logs))

    def after(self, gained: FloatArray) -> float:
        """Log of the wealth once each stake has gained so much more."""
        return float(log_mean(self.logs + gained))

    def bet(self, value: float, lowest: float) -> Wealth:
        """Return the wealth after one value whose mean is at most 0 unless the claim is true.

        Args:
            value: What came.
            lowest: What it could be at worst, fixed before it came. Where that is above 0 the claim
                is certain.
        """
        if lowest > ROUNDING:
            return Wealth(np.full(len(STAKES), math.inf), math.inf)
        if lowest > -ROUNDING or value == 0.0:
            return self
        share = max(value / -lowest, -1.0)
        logs = self.logs + np.log1p(STAKES * share)
        return Wealth(logs, max(self.peak, float(log_mean(logs))))


def log_mean(logs: FloatArray) -> FloatArray:
    """Return the log of the mean over the last axis of what has these logs; an infinite one stays
    infinite.
    """
    top = logs.max(-1)
    finite = np.where(np.isinf(top), 0.0, top)
    with np.errstate(over="ignore"):  # an infinite wealth stays infinite
        return finite + np.log(np.exp(logs - finite[..., None]).mean(-1))
