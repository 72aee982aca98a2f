"""How many labels it may take: what prompts usually do, corrected step by step by what the labels showed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..racing import STAKES
from .wealth import Wealth

USUAL_WINS = (0.6, 0.85)
"""Share of flips that a better prompt usually wins."""
SPREAD = 1.28
"""Standard errors from the middle pace to the quick and the slow one: four in five lie between them."""
SMALLEST = 1e-6
"""Half of the narrowest range; one of no width would outweigh whatever was seen."""
MOST_STEPS = 1e9
"""What would take more is never reached."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What one step brings a claim: its share of the stake, and the labels it takes."""

    mean: float
    square: float
    """Mean of the squared share."""
    labels: float

    def labels_for(self, wealth: Wealth, level: float) -> float:
        """Return how many labels bring a wealth to a level, both as logs; infinite where none do.

        Each stake's wealth is taken to grow at the rate it has to second order, so the stakes that lost so far count
        less, and which is best need not be known.
        """
        growth = STAKES * self.mean - STAKES**2 * self.square / 2
        if float(growth.max()) <= 0:
            return math.inf
        low, high = 0.0, 1.0
        while wealth.after(high * growth) < level:
            low, high = high, 2 * high
            if high > MOST_STEPS:
                return math.inf
        while high - low > max(0.01 * high, 0.1):
            middle = (low + high) / 2
            low, high = (middle, high) if wealth.after(middle * growth) < level else (low, middle)
        return high * self.labels


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

    def paces(self, usual: tuple[Pace, Pace]) -> tuple[Pace, Pace]:
        """Return a quick and a slow pace: the usual ones before the first step, and then ever more what was seen."""
        one, other = usual
        square, half = (one.square + other.square) / 2, abs(one.mean - other.mean) / 2
        # The usual range counts as so many steps as would have left it open.
        worth = square * (SPREAD / max(half, SMALLEST)) ** 2
        steps = worth + self.steps
        mean = (worth * (one.mean + other.mean) / 2 + self.total) / steps
        square = (worth * square + self.squares) / steps
        labels = (worth * (one.labels + other.labels) / 2 + self.labels) / steps
        error = SPREAD * math.sqrt(square / steps)
        return Pace(mean + error, square, labels), Pace(mean - error, square, labels)
