"""Floors: values that a metric of the new prompt must reach, tested by a one-sided 95 % lower
bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...judges import JudgedDataset, influence, point
from ...judges.metrics import denominator, left_out_se, wilson
from ...judges.metrics.catalog import metric_of
from ..losses.objective import Floor
from .guards import GUARD_ALPHA, MIN_GROUPS, GuardState
from .unanswered import count_against


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorResult:
    """How one floor came out."""

    metric: str
    floor: float
    """What the metric must reach."""
    value: float | None
    """Of the new prompt; None where it is undefined."""
    low: float | None
    """One-sided 95 % lower bound of the value; it must be at or above the floor."""
    state: GuardState
    high: float | None = None
    """One-sided 95 % upper bound of the value; under the floor it is broken."""
    worst_low: float | None = None
    """The bound with every row that one side alone answered counted against the new prompt; None
    without such rows.
    """


def hold_floor(floor: Floor, before: JudgedDataset, after: JudgedDataset) -> FloorResult:
    """Test whether the new prompt's metric is at or above a floor.

    Where rows were left unanswered, it must be so as well with those counted against the new
    prompt.

    Args:
        floor: The metric and the least it must be.
        before, after: Answers to the same dataset.
    """
    value, low, high, bearing = value_bounds(floor.metric, after)
    worst = count_against(before, after, floor.metric)
    worst_low = None if worst is None else value_bounds(floor.metric, worst.after)[1]
    bounds = [low] if worst is None else [low, worst_low]
    enough = bearing >= MIN_GROUPS
    state = "undecided"
    if enough and all(bound is not None and bound >= floor.value for bound in bounds):
        state = "held"
    if enough and high is not None and high < floor.value:
        state = "broken"
    return FloorResult(
        metric=floor.metric,
        floor=floor.value,
        value=value,
        low=low,
        high=high,
        state=state,
        worst_low=worst_low,
    )


def value_bounds(
    metric: str, judged: JudgedDataset, *, rows: int | None = None
) -> tuple[float | None, float | None, float | None, int]:
    """Return a metric, its one-sided 95 % lower and upper bounds, and the groups in its
    denominator.

    The bounds are Wilson's for as many rows as would give the metric its clustered standard error,
    with Student's t.

    Args:
        metric: A metric that has an influence function.
        judged: The answers.
        rows: As if there were so many rows like these; as many as there are unless given.
    """
    answered = judged.only(judged.scored)
    value = point(metric, *answered.compared(metric)) if len(answered.scored) else None
    if value is None:
        return None, None, None, 0
    moved = influence(metric, *answered.compared(metric))
    se, units = left_out_se(moved, answered.groups)
    bearing = len(np.unique(answered.groups[denominator(metric, answered)]))
    if not math.isfinite(se):
        return value, None, None, bearing
    from scipy.stats import t as student

    more = 1.0 if rows is None else rows / max(len(answered.scored), 1)
    lowest, highest = metric_of(metric).bounds(2)
    width = highest - lowest
    share = min(1.0, max(0.0, (value - lowest) / width))
    spread = share * (1.0 - share)
    scaled = se / width / math.sqrt(more)
    # Without a spread, as many rows as there are groups that bear on it stand for the evidence.
    n = spread / scaled**2 if scaled > 0 and spread > 0 else bearing * more
    quantile = float(student.isf(GUARD_ALPHA, max(1.0, units * more - 1.0)))
    bounds = wilson(share * n, n, quantile=quantile)
    low, high = (None, None) if bounds is None else (lowest + width * bound for bound in bounds)
    return value, low, high, round(bearing * more)


def floor_could_hold(floor: Floor, judged: JudgedDataset, *, rows: int) -> bool:
    """Whether a judge like this would pass its floor's test on `rows` rows."""
    _, low, _, _ = value_bounds(floor.metric, judged, rows=rows)
    return low is not None and low >= floor.value


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorNeed:
    """The rows that a floor wants of a judge like the one at hand."""

    metric: str
    floor: float
    value: float | None
    """Of the judge at hand."""
    rows: int | None
    """Rows on which its bound would be at the floor; None where it is under the floor."""


def floor_needs(floors: Sequence[Floor], judged: JudgedDataset) -> tuple[FloorNeed, ...]:
    """Say how many rows each floor wants, by the judge as it is on open rows."""
    needs: list[FloorNeed] = []
    for floor in floors:
        value, *_ = value_bounds(floor.metric, judged)
        rows = None if value is None or value <= floor.value else _rows_needed(floor, judged)
        needs.append(FloorNeed(metric=floor.metric, floor=floor.value, value=value, rows=rows))
    return tuple(needs)


def _rows_needed(floor: Floor, judged: JudgedDataset) -> int | None:
    n = len(judged.scored)
    few, many = 0, n
    while not floor_could_hold(floor, judged, rows=many):
        few, many = many, 2 * many
        if many > 1_000_000:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (
            (few, middle) if floor_could_hold(floor, judged, rows=middle) else (middle, many)
        )
    return many
