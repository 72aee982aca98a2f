"""Which way a slice's errors go, and whether it is poor everywhere: in both halves, and for each
origin of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray
from .column import Column
from .effect import Direction
from .outcomes import Outcomes
from .significance import ALPHA, one_direction

ORIGIN_NAMES = frozenset(
    {"dataset", "source", "model", "generator", "task_type", "domain", "language", "topic"}
)
"""Last parts of the names of columns that say where rows come from."""
ORIGIN_ERRORS = 5
"""Errors that an origin must have in the slice to count."""
AGREEING = 0.8
"""Share of origins that must agree with the slice's direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """How widely a slice is poor, and by the same errors."""

    halves: bool
    """Whether it is so in both halves."""
    origin: str | None
    """The column of origins on which the fewest agree; None where there is no such column."""
    origins: int
    """How many of its values have enough errors."""
    agreeing: float | None
    """Share of those in which it is so."""

    @property
    def holds(self) -> bool:
        """Whether both halves agree, and four origins in five."""
        return self.halves and (self.agreeing is None or self.agreeing >= AGREEING)


def is_origin(column: str) -> bool:
    """Whether a column's name says that it tells where rows come from."""
    return column.lower().rsplit(".", 1)[-1] in ORIGIN_NAMES


def prevailing_errors(
    outcomes: Outcomes, rows: BoolArray
) -> tuple[Direction | None, float | None, float]:
    """Return which errors prevail among some rows, the share of false positives among errors, and
    p.

    The direction is None unless one kind prevails with p < .05; the share is None without errors.

    Args:
        outcomes: What people and judge decided; n rows.
        rows: Which rows count; shape (n,).
    """
    fp = outcomes.predicted & ~outcomes.positive & rows
    fn = ~outcomes.predicted & outcomes.positive & rows
    share, p = one_direction(fp, fn, outcomes.groups)
    if share is None or p >= ALPHA:
        return None, share, p
    return ("fp" if share > 0.5 else "fn"), share, p


def check_consistency(
    outcomes: Outcomes,
    inside: BoolArray,
    rest: BoolArray,
    loss: BoolArray | FloatArray,
    direction: Direction,
    half: BoolArray,
    origins: Sequence[Column],
) -> Consistency:
    """Look for halves and origins in which the slice is no poorer, or its errors go the other way.

    Args:
        outcomes: What people and judge decided; n rows.
        inside: Which rows of the metric's denominator are in the slice; shape (n,).
        rest: Which of them are not; shape (n,).
        loss: What each row costs; shape (n,).
        direction: Which errors prevail in the slice.
        half: In which half each row lies; shape (n,).
        origins: The columns of origins.
    """
    sign = outcomes.predicted.astype(np.float64) - outcomes.positive
    if direction == "fn":
        sign = -sign
    sign = np.where(inside, sign, 0.0)
    halves = all(
        sign[part].sum() > 0 and _mean(loss[inside & part]) > _mean(loss[rest & part])
        for part in (half, ~half)
    )
    worst = Consistency(halves=halves, origin=None, origins=0, agreeing=None)
    excess = np.where(inside, loss - _mean(loss[rest]), 0.0)
    for column in origins:
        enough = np.bincount(column.codes, np.abs(sign)) >= ORIGIN_ERRORS
        # One origin alone has nothing to agree with.
        if enough.sum() < 2:
            continue
        agree = (np.bincount(column.codes, sign) >= 0) & (np.bincount(column.codes, excess) >= 0)
        agreeing = float(agree[enough].mean())
        if worst.agreeing is None or agreeing < worst.agreeing:
            worst = Consistency(
                halves=worst.halves,
                origin=column.name,
                origins=int(enough.sum()),
                agreeing=agreeing,
            )
    return worst


def _mean(loss: BoolArray | FloatArray) -> float:
    """Return the mean loss; 0 of no rows."""
    return float(loss.mean()) if len(loss) else 0.0
