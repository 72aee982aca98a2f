"""The schedule of a race: the rows in an order that is the same for all, and where to stop and
look.

Rows are drawn one by one, also from groups whose rows depend on each other: the race asks which
candidate costs least on these very rows, and for that a draw of rows is fair whatever depends on
what. Were groups kept whole, the bound would have one observation a group, on the scale of the
largest, and hardly ever drop anyone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...judges import Dataset, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceSettings:
    """How carefully to race, and how much may be spent."""

    alpha: float = 0.05
    """The chance that the bound drops the candidate that full validation would pick."""
    share: float | None = 1 / 3
    """Share of a full validation's calls that may be spent; None lets only the bound drop any."""
    first: int = 20
    """Rows of the first batch, the fewest to decide on; each batch doubles the rows seen."""
    coarse: bool = False
    """Whether to look as seldom as may be, because each look takes an exchange of batches or files.
    """
    seed: int = 0
    """Of the order of the rows."""

    def __post_init__(self) -> None:
        if (
            not 0 < self.alpha < 1
            or self.first < 1
            or (self.share is not None and not 0 < self.share <= 1)
        ):
            raise InputError(
                f"alpha {self.alpha!r}, share {self.share!r}, first {self.first!r}: alpha lies"
                " between 0 and 1, a share in (0, 1], and batches have rows"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A place to look."""

    rows: int
    """Rows seen by then."""
    survivors: int
    """How many candidates may go on."""


def lay_out(rows: Dataset, settings: RaceSettings) -> Dataset:
    """Put the rows in an order drawn by the seed; those without a label are left out.

    Raises:
        InputError: No row has a label.
    """
    labelled = [row for row in rows.rows if row.label is not None]
    if not labelled:
        raise InputError("no row has a label: there is nothing to race on")
    order = np.random.default_rng(settings.seed).permutation(len(labelled))
    return replace(rows, rows=tuple(labelled[i] for i in order))


def plan_stops(n: int, entrants: int, settings: RaceSettings) -> list[Stop]:
    """Return where to look at `n` rows.

    The batches double. Where a share of the calls is set, the candidates are halved until one is
    left, every round spending an equal part: the fewer run in it, the more rows it sees.
    """
    if settings.coarse:
        return _coarse_stops(n, entrants, settings)
    looks: dict[int, int] = {}
    if settings.share is not None:
        left, reached, running = settings.share * n * entrants, 0, entrants
        for rounds in range(math.ceil(math.log2(entrants)), 0, -1):
            wanted = max(reached + left / rounds / running, settings.first)
            stop = max(reached, min(n, int(wanted + 1e-9)))
            left = max(0.0, left - (stop - reached) * running)
            reached, running = stop, math.ceil(running / 2)
            looks[stop] = running
    last = max(looks, default=n)
    rows = settings.first
    while rows < last:
        looks.setdefault(rows, entrants)
        rows *= 2
    looks.setdefault(last, entrants)
    return [Stop(rows=rows, survivors=survivors) for rows, survivors in sorted(looks.items())]


def _coarse_stops(n: int, entrants: int, settings: RaceSettings) -> list[Stop]:
    """Return as few stops as may be: one that decides, or a look half-way and the end."""
    if settings.share is not None:
        return [Stop(rows=min(n, max(int(settings.share * n), settings.first)), survivors=1)]
    end = Stop(rows=n, survivors=entrants)
    half = min(n, max(n // 2, settings.first))
    return [end] if half == n else [Stop(rows=half, survivors=entrants), end]
