"""The slice to read errors from where none stands out by the target metric: by its false positive
or negative rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judges import JudgedDataset
from .candidates import Counter, Rows
from .effect import ERRORS, Direction
from .features import read_features
from .limits import Limits, narrow
from .outcomes import Outcomes, compress, count_groups
from .significance import ALPHA, MIN_GROUPS, compare
from .slice import UNTESTED, Predicate
from .target import target_of

FEWEST_ERRORS = 15
"""Errors of its kind that a slice must have, so that there is something to read."""
RATES: dict[Direction, tuple[str, str]] = {
    "fp": ("specificity", "false positive rate"),
    "fn": ("recall", "false negative rate"),
}
"""The metric that falls as the rate rises, and the rate's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSlice:
    """A slice with a higher false positive or false negative rate than elsewhere."""

    predicate: Predicate
    direction: Direction
    errors: int
    n: int
    """Rows that could be such errors: those that people call negative, or positive."""
    rate: float
    rest: float
    p: float | None
    """One-sided, of this slice alone; None of the poorest of all, which was picked for being so."""

    @property
    def evidence(self) -> str:
        """How sure it is."""
        return UNTESTED if self.p is None else f"poorer by its {RATES[self.direction][1]}"

    def describe(self) -> str:
        """Describe it in words."""
        tested = "" if self.p is None else f", p = {self.p:.2g} alone"
        return (
            f"{self.evidence}: {self.predicate}, {RATES[self.direction][1]} {self.rate:.3f} against"
            f" {self.rest:.3f} elsewhere ({self.errors} {ERRORS[self.direction]} in {self.n}"
            f" rows{tested})"
        )


def find_by_rate(
    judged: JudgedDataset,
    direction: Direction | None,
    first: Sequence[Predicate] = (),
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> RateSlice | None:
    """Find a slice whose rate of one kind of error is higher than elsewhere; None where none has
    errors enough.

    The slices to try first need a p-value under .05 by themselves. Else it is the slice of one
    condition with the highest rate, whether or not that is chance.

    Args:
        judged: The table, of decisions.
        direction: Which errors; the more frequent ones unless given.
        first: Slices to try first: those that a search by another metric put down to the base rate.
        columns, exclude, keep: As `find_slices`.
    """
    if direction is None:
        false_positives = np.count_nonzero(judged.predicted & ~judged.positive)
        direction = "fp" if 2 * false_positives >= np.count_nonzero(judged.wrong) else "fn"
    outcomes = Outcomes.of(judged)
    inside, loss = target_of(RATES[direction][0]).losses(outcomes)
    errors, groups = loss[inside].astype(np.bool_), outcomes.groups[inside]
    features = read_features(judged, columns=columns, exclude=exclude, keep=keep)
    limits = Limits(max_depth=1, min_support=None, seed=0, named=columns is not None)
    scope = narrow(features, inside, FEWEST_ERRORS, limits)
    rows = Rows(columns=scope.columns, loss=loss, groups=outcomes.groups).only(inside)
    tested = ((predicate, predicate.mask(judged.rows)[inside], True) for predicate in first)
    untested = ((predicate, rows.member(predicate), False) for predicate in _by_rate(rows))
    for predicate, member, by_itself in itertools.chain(tested, untested):
        count, comparison = int(errors[member].sum()), compare(errors, member, compress(groups))
        if count < FEWEST_ERRORS or count_groups(groups[member]) < MIN_GROUPS or comparison is None:
            continue
        if comparison.gap > 0 and (comparison.p < ALPHA or not by_itself):
            return RateSlice(
                predicate=predicate,
                direction=direction,
                errors=count,
                n=comparison.n,
                rate=comparison.inside,
                rest=comparison.rest,
                p=comparison.p if by_itself else None,
            )
    return None


def _by_rate(rows: Rows) -> list[Predicate]:
    """Return the slices of one condition with errors enough, the highest share of them first."""
    slices: list[tuple[float, str, Predicate]] = []
    for cube in Counter.of(rows, FEWEST_ERRORS).cubes(1, of_words=False):
        for at in np.flatnonzero(cube.loss >= FEWEST_ERRORS).tolist():
            predicate = cube.predicate(at)
            slices.append((-float(cube.loss[at] / cube.n[at]), str(predicate), predicate))
    return [predicate for _, _, predicate in sorted(slices, key=lambda one: one[:2])]
