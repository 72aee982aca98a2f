"""What a loss charges, as a table people can review: every slice x kind of outcome x distance x
confidence band.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...judges import BoolArray, FloatArray, LossError
from .classes import ClassCosts, Classes, ClassGrid
from .expression import Expression
from .grid import Grades, Grid, confidences_of
from .outcomes import PLACES

BANDS: tuple[tuple[float, float], ...] = (
    (0.0, 0.2),
    (0.2, 0.4),
    (0.4, 0.6),
    (0.6, 0.8),
    (0.8, 1.0),
)
"""The confidence bands; each holds its lower end, the last both."""
MAX_DISTANCES = 6
"""Distances with a line of their own; where there are more, four bands of distance share them."""
_CONFIDENCES = 501


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """What one kind of outcome costs inside or outside a slice, from cheapest to dearest, for each
    confidence band.
    """

    place: str
    """`in slice target`, or `in no slice`."""
    outcome: str
    """`right`, `right, other grade`, `false positive`, `false negative` or `no verdict`."""
    distance: tuple[float, float] | None
    """Least and most ranks between the two grades; None for no verdict, and where only two exist.
    """
    costs: tuple[tuple[float, float], ...]
    """The least and the most it costs, in the order of `BANDS`."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the line; `costs` names its bands."""
        bands = [
            {"confidence": list(band), "least": low, "most": high}
            for band, (low, high) in zip(BANDS, self.costs, strict=True)
        ]
        distance = list(self.distance) if self.distance else None
        return {"place": self.place, "outcome": self.outcome, "distance": distance, "costs": bands}

    def cells(self) -> tuple[str, ...]:
        """Return the line as text: place, outcome, distance, then a cost a band."""
        distance = _span(self.distance, "g") if self.distance else ""
        return self.place, self.outcome, distance, *map(_span, self.costs)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What each outcome costs inside or outside a slice: the 2x2 table people review, at one
    confidence.
    """

    place: str
    """`in slice target`, or `in no slice`."""
    confidence: float
    tp: float
    fp: float
    """A false positive between the outermost grades."""
    fn: float
    tn: float
    fp_near: float
    """A false positive between the two grades beside the threshold."""
    fn_near: float


def cost_table(expression: Expression, grades: Grades) -> list[CostRow]:
    """Return what each outcome costs inside and outside the slice at confidence 0.5 and 0.9, for
    people to review.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    axis = grades.judge_axes()[-1]
    grid = Grid(confidences=np.array([0.5, 0.9]), people=axis, judge=axis, levels=grades.levels)
    last = len(axis.ranks) - 1
    over = int(np.argmax(axis.positive))
    near = over - 1
    table: list[CostRow] = []
    for place, m, given in _places(expression):
        costs = given.evaluate(grid.outcomes()).reshape(grid.shape)
        for c, confidence in enumerate(grid.confidences.tolist()):
            cost = costs[c, m]
            table.append(
                CostRow(
                    place=place,
                    confidence=confidence,
                    tp=float(cost[last, last]),
                    fp=float(cost[0, last]),
                    fn=float(cost[last, 0]),
                    tn=float(cost[0, 0]),
                    fp_near=float(cost[near, over]),
                    fn_near=float(cost[over, near]),
                )
            )
    return table


def _places(expression: Expression) -> list[tuple[str, int, Expression]]:
    """Return each kind of place: its name, whether it is in the slice under repair (0 or 1), what
    is charged there.
    """
    places = [(place, m, expression.given()) for m, place in enumerate(PLACES)]
    return places + [
        (f"in slice {name}", 0, expression.given([name])) for name in expression.slices
    ]


def class_costs(expression: Expression, classes: Classes) -> list[ClassCosts]:
    """Return what each class costs by what it is called, inside and outside the slice at confidence
    0.5 and 0.9.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    grid = ClassGrid(confidences=np.array([0.5, 0.9]), classes=classes)
    table: list[ClassCosts] = []
    for place, m, given in _places(expression):
        costs = given.evaluate(grid.outcomes()).reshape(grid.shape)
        for c, confidence in enumerate(grid.confidences.tolist()):
            for label, name in enumerate(classes.names):
                by_verdict = dict(zip(classes.names, costs[c, m, label].tolist(), strict=True))
                table.append(
                    ClassCosts(place=place, confidence=confidence, label=name, costs=by_verdict)
                )
    return table


def cost_lines(expression: Expression, grades: Grades) -> tuple[CostLine, ...]:
    """Return what every outcome costs on the grades of judge and people.

    Raises:
        LossError: Some cost is not a number in [0, 1], or a scale leaves no right and wrong.
    """
    judge = grades.judge_axes()[-1]
    confidences = confidences_of(expression.constants, _CONFIDENCES)
    grid = Grid(
        confidences=confidences, people=grades.people_axis(), judge=judge, levels=grades.levels
    )
    lines: list[CostLine] = []
    for place, m, given in _places(expression):
        costs = given.evaluate(grid.outcomes()).reshape(grid.shape)
        abstained = given.evaluate(grid.abstentions()).reshape((*grid.shape[:2], 2))
        for outcome, distance, cells in _outcomes(grid):
            bands = _by_band(costs[:, m][:, cells], confidences)
            lines.append(CostLine(place=place, outcome=outcome, distance=distance, costs=bands))
        bands = _by_band(abstained[:, m], confidences)
        lines.append(CostLine(place=place, outcome="no verdict", distance=None, costs=bands))
    return tuple(lines)


def _outcomes(grid: Grid) -> Iterator[tuple[str, tuple[float, float] | None, BoolArray]]:
    """Yield each kind of outcome at each distance, with its cells of shape (P, J)."""
    binary = len(grid.people.ranks) == len(grid.judge.ranks) == 2
    kinds = {"right": grid.perfect, "right, other grade": grid.right & ~grid.perfect, **grid.errors}
    for outcome, cells in kinds.items():
        if binary and cells.any():
            yield outcome, None, cells
            continue
        for low, high in _distances(grid.distance[cells]):
            within = (grid.distance >= low) & (grid.distance <= high)
            yield outcome, (low, high), cells & within


def _distances(distances: FloatArray) -> list[tuple[float, float]]:
    """Return each distance that occurs, or the ends of those that fall into four bands of equal
    width.
    """
    each = np.unique(distances)
    if len(each) <= MAX_DISTANCES:
        return [(float(d), float(d)) for d in each]
    edges = np.linspace(each[0], each[-1], 5)
    edges[0] = -np.inf
    bands = [each[(each > low) & (each <= high)] for low, high in pairwise(edges)]
    return [(float(band[0]), float(band[-1])) for band in bands if len(band)]


def _by_band(costs: FloatArray, confidences: FloatArray) -> tuple[tuple[float, float], ...]:
    """Return the least and the most of costs, shape (C, cells), in each band."""
    spans = []
    for low, high in BANDS:
        # The last band is closed: a confidence of 1 has to be in one.
        below = confidences < high if high < 1.0 else confidences <= high
        inside = (confidences >= low) & below
        if not inside.any():
            raise LossError(f"no confidence between {low:g} and {high:g} was tried")
        spans.append((float(costs[inside].min()), float(costs[inside].max())))
    return tuple(spans)


def _span(ends: tuple[float, float], form: str = ".2f") -> str:
    low, high = (format(end, form) for end in ends)
    return low if low == high else f"{low}-{high}"
