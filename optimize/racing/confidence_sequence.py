"""Evidence that one candidate costs more than another over all rows, valid whenever one looks.

For an ordered pair (c, a) the claim is that c costs no more than a over all rows. They come in
random order without replacement, so that under the claim the next one's difference has a mean of at
most mu = -(sum so far) / (rows left). A stake on "more than mu"
that cannot be lost wholly makes a wealth that is a nonnegative supermartingale from 1: with
probability at least 1 - alpha it never reaches 1 / alpha (Ville 1939). Betting against a mean
without replacement is from Waudby-Smith and Ramdas (2020; 2024, "Estimating means of bounded random
variables by betting", section 5). Here the wealth is split evenly over stakes that are fixed shares
of the highest one allowed.
"""

from __future__ import annotations

import numpy as np

from ...judges import BoolArray, FloatArray

STAKES: FloatArray = np.array([0.01, 0.02, 0.04, 0.07, 0.11, 0.16, 0.24, 0.35, 0.5, 0.7, 0.9])
"""Shares of the highest stake."""
ROUNDING = 1e-9


class ConfidenceSequence:
    """An e-process against every ordered pair of candidates: the wealth of a bet.

    Args:
        candidates: How many there are.
        rows: How many rows there are to see.
    """

    def __init__(self, candidates: int, rows: int) -> None:
        shape = (candidates, candidates)
        self.rows = rows
        self.seen = 0
        self.peak: FloatArray = np.zeros(shape)
        """Log of the highest wealth so far against "row costs no more than column"; shape (K, K).
        """
        self._sum: FloatArray = np.zeros(shape)
        self._wealth: FloatArray = np.zeros((*shape, len(STAKES)))

    def watch(self, costs: FloatArray, running: BoolArray) -> None:
        """See the next row.

        Args:
            costs: For row c and column a, what c cost more than a in it, in [-1, 1]; shape (K, K).
            running: Which candidates are looked at; bets on the others stand still. Shape (K,).
        """
        pairs = np.outer(running, running)
        mean = -self._sum / (self.rows - self.seen)
        # The difference is at least -1: a stake of 1 / (1 + mean) loses all there, and only there.
        room = 1.0 + mean
        # Where room is gone, only -1 on every row that is left makes up for what was seen.
        spent = room <= ROUNDING
        certain = pairs & spent & (costs - mean > ROUNDING)
        share = (costs - mean) / np.where(spent, 1.0, room)
        gain = STAKES * np.where(spent, 0.0, np.maximum(share, -1.0))[..., None]
        self._wealth = np.where(pairs[..., None], self._wealth + np.log1p(gain), self._wealth)
        self._wealth[certain] = np.inf
        self._sum = np.where(pairs, self._sum + costs, self._sum)
        self.seen += 1
        self.peak = np.maximum(self.peak, log_mean(self._wealth))


def log_mean(logs: FloatArray) -> FloatArray:
    """Return the log of the mean over the last axis of what has these logs; an infinite one stays
    infinite.
    """
    top = logs.max(-1)
    finite = np.where(np.isinf(top), 0.0, top)
    with np.errstate(over="ignore"):  # an infinite wealth stays infinite
        return finite + np.log(np.exp(logs - finite[..., None]).mean(-1))
