"""Narrow a slice: the next conditions under which it is poorer still.

The p-values are corrected for every condition looked at, but not for the slice itself, which was often found on the
same rows; so a refinement is a hint where to look, not a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..judges import BoolArray, Estimate, FloatArray, JudgedDataset
from .column import Column
from .inspect_slice import MeasuredSlice, estimate_inside, measure_slice, members
from .outcomes import Outcomes
from .significance import gaussian_llr, scan_llr
from .slice import Condition, Interval, Predicate
from .target import Target, target_of

MIN_ROWS = 10
"""Rows of the metric's denominator that a refinement needs, unless told otherwise."""
REFINEMENTS = 10
"""Refinements that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """One more condition on a slice, compared with the slice's other rows."""

    condition: Condition
    predicate: Predicate
    """The slice with the condition."""
    value: Estimate
    rest: float
    """The metric on the slice's other rows."""
    p: float
    """One-sided and clustered, times the number of conditions looked at."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the refinement."""
        return {
            "condition": str(self.condition),
            "predicate": str(self.predicate),
            "value": self.value.to_json(),
            "rest": self.rest,
            "p": self.p,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A slice and the conditions under which it is poorer still, the surest first."""

    root: MeasuredSlice
    refinements: tuple[Refinement, ...]
    looked_at: int
    """Conditions that had rows enough to be compared."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the slice and its refinements."""
        return {
            "slice": self.root.to_json(),
            "refinements": [refinement.to_json() for refinement in self.refinements],
            "looked_at": self.looked_at,
        }


def refine(
    judged: JudgedDataset, predicate: Predicate, columns: Sequence[Column], *, metric: str, min_rows: int | None = None
) -> Tree:
    """Find the next conditions that make a slice poorer than its other rows: any value, one interval a column.

    Args:
        judged: The table.
        predicate: The slice.
        columns: What to narrow it by, encoded on the scored rows; those the slice names are passed over.
        metric: A name of `TARGETS`.
        min_rows: The fewest rows of the metric's denominator that a refinement keeps, and leaves behind.

    Raises:
        InputError: No scored row is inside, a column does not exist, or the metric cannot be used.
    """
    target, outcomes = target_of(metric), Outcomes.of(judged)
    member = members(judged.rows, predicate)
    part = outcomes.only(member)
    inside, loss = target.losses(part)
    least = max(1, MIN_ROWS if min_rows is None else min_rows)
    named = set(predicate.columns)
    narrower = [replace(c, codes=c.codes[member]) for c in columns if c.name not in named]
    found: list[tuple[Condition, BoolArray]] = []
    looked_at = 0
    for column in narrower:
        poorer, count = _poorer(column, inside, loss, least)
        found += poorer
        looked_at += count
    tested = [_refined(target, part, predicate, condition, chosen, looked_at) for condition, chosen in found]
    ranked = sorted((r for r in tested if r is not None), key=lambda r: (r.p, r.value.value, str(r.condition)))
    return Tree(
        root=measure_slice(judged, predicate, metric=metric),
        refinements=tuple(ranked[:REFINEMENTS]),
        looked_at=looked_at,
    )


def _poorer(
    column: Column, inside: BoolArray, loss: BoolArray | FloatArray, least: int
) -> tuple[list[tuple[Condition, BoolArray]], int]:
    """The conditions of one column under which losses gather, with their rows, and how many were looked at."""
    size = len(column.conditions)
    n = np.bincount(column.codes[inside], minlength=size).astype(np.float64)
    lost = np.bincount(column.codes[inside], loss[inside].astype(np.float64), size)
    total, spread = float(n.sum()), float(loss[inside].var()) if inside.any() else 0.0
    if spread == 0:
        return [], 0
    runs = [(a, b) for a in range(column.ordered) for b in range(a + 1, column.ordered + 1)]
    runs += [(code, code + 1) for code in range(column.ordered, size) if column.conditions[code] is not None]
    starts, stops = np.array(runs, np.int64).reshape(-1, 2).T
    rows, losses = (np.concatenate([[0.0], np.cumsum(counts)]) for counts in (n, lost))
    rows, losses = rows[stops] - rows[starts], losses[stops] - losses[starts]
    enough = (rows >= least) & (total - rows >= least)
    if loss.dtype == np.bool_:
        score = scan_llr(rows, losses, total, float(lost.sum()))
    else:
        score = gaussian_llr(rows, losses, total, float(lost.sum()) / total, spread)
    score = np.where(enough, np.round(score, 9), 0.0)
    ordered = stops <= column.ordered
    best = int(np.argmax(np.where(ordered, score, 0.0))) if ordered.any() else -1
    kept = [i for i in np.flatnonzero(score > 0).tolist() if not ordered[i] or i == best]
    found = []
    for i in kept:
        condition = _joined(column.conditions[starts[i]], column.conditions[stops[i] - 1])
        if condition is not None:
            found.append((condition, (column.codes >= starts[i]) & (column.codes < stops[i])))
    return found, int(enough.sum())


def _joined(first: Condition | None, last: Condition | None) -> Condition | None:
    if isinstance(first, Interval) and isinstance(last, Interval):
        return Interval(column=first.column, low=first.low, high=last.high)
    return first


def _refined(
    target: Target, part: Outcomes, slice_: Predicate, condition: Condition, chosen: BoolArray, looked_at: int
) -> Refinement | None:
    tested, rest = target.test(part, chosen), target.value(part, ~chosen)
    value = estimate_inside(target, part, chosen, target.losses(part)[0])
    if tested is None or rest is None or value.value is None:
        return None
    if (value.value >= rest) == target.lower_is_worse:
        return None
    return Refinement(
        condition=condition,
        predicate=Predicate([*slice_.conditions, condition]),
        value=value,
        rest=rest,
        p=min(1.0, tested.p * looked_at),
    )
