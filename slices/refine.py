"""Narrow a slice: further conditions under which it is poorer still.

The p-values are corrected for every condition looked at, but not for the slice itself, which was
often found on the same rows; so a refinement is a hint where to look, not a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..judges import BoolArray, Estimate, FloatArray, JudgedDataset
from .candidates import neighbouring_spans
from .column import Column
from .inspect_slice import MeasuredSlice, measure_slice, members
from .outcomes import Outcomes
from .significance import LossScan
from .slice import Condition, Predicate, join
from .target import Target, estimate_on, target_of

MIN_ROWS = 10
"""Rows of the metric's denominator that a refinement needs unless the caller says otherwise."""
REFINEMENTS = 10
"""Refinements that are listed."""


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
        texts = {"condition": str(self.condition), "predicate": str(self.predicate)}
        return asdict(self) | texts | {"value": self.value.to_json()}


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


def refine_slice(
    judged: JudgedDataset,
    predicate: Predicate,
    columns: Sequence[Column],
    *,
    metric: str,
    min_rows: int | None = None,
) -> Tree:
    """Find the next conditions that make a slice poorer than its other rows: any value, one
    interval a column.

    Args:
        judged: The table.
        predicate: The slice.
        columns: What to narrow it by, encoded on the scored rows; the slice's own are passed over.
        metric: A name of `TARGETS`.
        min_rows: The fewest rows of the metric's denominator inside a refinement and outside.

    Raises:
        InputError: No scored row is inside, a column does not exist, or the metric cannot be used.
    """
    target, outcomes = target_of(metric), Outcomes.of(judged)
    member = members(judged.rows, predicate)
    part = outcomes.only(member)
    inside, loss = target.losses(part)
    least = max(1, MIN_ROWS if min_rows is None else min_rows)
    candidates: list[tuple[Condition, BoolArray]] = []
    looked_at = 0
    for column in columns:
        if column.name not in predicate.columns:
            poorer, count = _poorer(column.only(member), inside, loss, least)
            candidates += poorer
            looked_at += count
    refinements: list[Refinement] = []
    for condition, chosen in candidates:
        refinement = _refined(target, part, predicate, condition, chosen, looked_at)
        if refinement is not None:
            refinements.append(refinement)
    refinements.sort(key=lambda one: (one.p, one.value.value, str(one.condition)))
    return Tree(
        root=measure_slice(judged, predicate, metric=metric),
        refinements=tuple(refinements[:REFINEMENTS]),
        looked_at=looked_at,
    )


def _poorer(
    column: Column, inside: BoolArray, loss: BoolArray | FloatArray, least: int
) -> tuple[list[tuple[Condition, BoolArray]], int]:
    """Return the conditions of one column under which losses gather, with their rows, and how many
    were looked at.
    """
    size = len(column.conditions)
    n = np.bincount(column.codes[inside], minlength=size).astype(np.float64)
    lost = np.bincount(column.codes[inside], loss[inside].astype(np.float64), size)
    total, variance = float(n.sum()), float(loss[inside].var()) if inside.any() else 0.0
    if variance == 0:
        return [], 0
    spans = [
        span
        for span in neighbouring_spans(column.ordered, size)
        if column.conditions[span[0]] is not None
    ]
    starts, stops = np.array(spans, np.int64).reshape(-1, 2).T
    # Sums over neighbours are differences of running sums.
    n_below, lost_below = np.append(0.0, np.cumsum(n)), np.append(0.0, np.cumsum(lost))
    rows, losses = n_below[stops] - n_below[starts], lost_below[stops] - lost_below[starts]
    enough = (rows >= least) & (total - rows >= least)
    scan = LossScan(total, float(lost.sum()), None if loss.dtype == np.bool_ else variance)
    score = np.where(enough, np.round(scan.llr(rows, losses), 9), 0.0)
    ordered = stops <= column.ordered
    best = int(np.argmax(np.where(ordered, score, 0.0))) if ordered.any() else -1
    poorer = []
    for i in np.flatnonzero(score > 0).tolist():
        first, last = column.conditions[starts[i]], column.conditions[stops[i] - 1]
        # Overlapping intervals tell of one weakness: only the strongest of a column is listed.
        if first is not None and last is not None and (not ordered[i] or i == best):
            poorer.append(
                (join(first, last), (column.codes >= starts[i]) & (column.codes < stops[i]))
            )
    return poorer, int(enough.sum())


def _refined(
    target: Target,
    part: Outcomes,
    slice_: Predicate,
    condition: Condition,
    chosen: BoolArray,
    looked_at: int,
) -> Refinement | None:
    """Test one more condition against the slice's other rows; None where the metric is no poorer
    under it.
    """
    tested, rest = target.test(part, chosen), target.value(part, ~chosen)
    inside, _ = target.losses(part)
    value = estimate_on(target, part, chosen, n=int((chosen & inside).sum()))
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
