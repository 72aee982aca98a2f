"""Whether a slice's errors go one way everywhere: in both halves, and for each origin of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray
from .column import Column
from .effect import Direction
from .outcomes import Outcomes

ORIGIN_NAMES = frozenset({"dataset", "source", "model", "generator", "task_type", "domain", "language", "topic"})
"""Last parts of the names of columns that say where rows come from."""
ORIGIN_ERRORS = 5
"""Errors that an origin must have in the slice to be heard."""
AGREEING = 0.8
"""Share of origins that must agree with the slice's direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """How widely a slice's direction holds."""

    halves: bool
    """Whether the same errors prevail in both halves."""
    origin: str | None
    """The column of origins on which the fewest agree; None where there is no such column."""
    origins: int
    """How many of its values have enough errors."""
    agreeing: float | None
    """Share of those in which the same errors prevail."""

    @property
    def holds(self) -> bool:
        """Whether both halves agree, and four origins in five."""
        return self.halves and (self.agreeing is None or self.agreeing >= AGREEING)


def is_origin(column: str) -> bool:
    """Whether a column's name says that it tells where rows come from."""
    return column.lower().rsplit(".", 1)[-1] in ORIGIN_NAMES


def check_consistency(
    outcomes: Outcomes, member: BoolArray, direction: Direction, half: BoolArray, origins: Sequence[Column]
) -> Consistency:
    """Look for halves and origins in which the slice's errors go the other way.

    Args:
        outcomes: What people and judge said; n rows.
        member: Which rows are in the slice; shape (n,).
        direction: Which errors prevail in it.
        half: In which half each row lies; shape (n,).
        origins: The columns of origins.
    """
    sign = outcomes.predicted.astype(np.float64) - outcomes.positive
    sign = np.where(member, sign if direction == "fp" else -sign, 0.0)
    halves = all(sign[half == side].sum() > 0 for side in (False, True))
    worst: tuple[float, str, int] | None = None
    for column in origins:
        errors = np.bincount(column.codes, np.abs(sign))
        heard = errors >= ORIGIN_ERRORS
        if heard.sum() < 2:
            continue
        agreeing = float((np.bincount(column.codes, sign)[heard] >= 0).mean())
        if worst is None or agreeing < worst[0]:
            worst = (agreeing, column.name, int(heard.sum()))
    if worst is None:
        return Consistency(halves=halves, origin=None, origins=0, agreeing=None)
    return Consistency(halves=halves, origin=worst[1], origins=worst[2], agreeing=worst[0])
