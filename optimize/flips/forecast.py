"""How many labels it may take: from how fast the wealth has grown, and before that from what prompts usually do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..racing import STAKES

FEW_STEPS = 5
"""Steps that say something before which the usual range is given."""
SHRINK = 2.0
"""Steps without a gain that are added to those seen."""
MIXTURE = math.log(len(STAKES) / 2)
"""About what it costs, in log wealth, that the best stake is not known beforehand."""
USUAL_WINS = (0.6, 0.75)
"""Share of flips that a better prompt usually wins, for the range before the first labels."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What one step brings a claim: its share of the stake, and the labels it takes."""

    mean: float
    square: float
    """Mean of the squared share."""
    labels: float

    def labels_for(self, log_wealth: float) -> float:
        """Return how many labels bring so much; infinite where the mean does not grow."""
        # The growth that a fixed stake has, to second order.
        growth = float(np.max(STAKES * self.mean - STAKES**2 * self.square / 2))
        if growth <= 0:
            return math.inf
        return max(log_wealth, 0.0) / growth * self.labels


@dataclass(slots=True)
class Growth:
    """Shares of the stake that a claim won so far."""

    steps: int = 0
    total: float = 0.0
    squares: float = 0.0
    labels: int = 0

    def add(self, value: float, lowest: float, labels: int) -> None:
        """Count one step; one that could not lose tells nothing."""
        self.labels += labels
        if lowest < 0:
            share = max(value / -lowest, -1.0)
            self.steps += 1
            self.total += share
            self.squares += share**2

    def paces(self) -> tuple[Pace, Pace] | None:
        """Return a quick and a slow pace, one standard error to either side; None where too little was seen."""
        if self.steps < FEW_STEPS or self.labels == 0:
            return None
        mean, square = self.total / (self.steps + SHRINK), self.squares / self.steps
        error = math.sqrt(square / self.steps)
        each = self.labels / self.steps
        return Pace(mean + error, square, each), Pace(mean - error, square, each)
