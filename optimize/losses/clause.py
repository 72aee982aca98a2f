"""What one clause of an objective says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .lexicon import Token
from .objective import Direction, Floor

Order = Literal["first", "second", ""]
NO_POLARITY = "the judge does not say which class is its positive one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A metric to raise, or a kind of error to fight."""

    metric: str
    direction: Direction | None
    named: bool
    """Whether the metric itself was named."""
    order: Order = ""


@dataclass(slots=True)
class Clause:
    """What one clause says."""

    wishes: list[Wish] = field(default_factory=list)
    guards: list[tuple[str, float | None]] = field(default_factory=list)
    """Metric and margin; None where no amount was named."""
    floors: list[Floor] = field(default_factory=list)
    amount: float | None = None
    """An amount by itself, which belongs to the guard before it."""
    missing_is_fine: bool = False
    notes: list[str] = field(default_factory=list)
    errors: str = ""
    """`F`, `E` or `A` where it names a kind of error that another clause has to explain."""


class NotRead(Exception):
    """The clause is not understood; the message says why, where that is known."""


def share_of(token: Token) -> float:
    """Return an amount as a fraction; without a unit, 3 is three points and 0.03 is a fraction."""
    return token.number / 100.0 if token.unit or token.number >= 1.0 else token.number


def order_of(marks: str) -> Order:
    """Return which of two wishes the symbols of a clause call it."""
    return "second" if "2" in marks else "first" if "1" in marks else ""
