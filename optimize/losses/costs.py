"""What a loss charges, as a table people can review: each outcome inside and outside a slice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...judges import FloatArray
from .classes import Classes, ClassGrid
from .expression import Expression
from .grid import Grades, Grid
from .outcomes import PLACES

CONFIDENCES = np.array([0.5, 0.9])


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


def outcome_costs(
    expression: Expression, grades: Grades | Classes
) -> list[dict[str, Any]]:  # Any: JSON
    """Return what each outcome costs, as JSON: the lines of `cost_table`, or for each of people's
    classes a line with a field for each of the judge's.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    if isinstance(grades, Grades):
        return [asdict(row) for row in cost_table(expression, grades)]
    grid = ClassGrid(confidences=CONFIDENCES, classes=grades)
    called = [f"called {name}" for name in grades.names]
    return [
        {"place": membership, "confidence": confidence, "label": name}
        | dict(zip(called, by_verdict, strict=True))
        for membership, confidence, cost in _costs(expression, grid)
        for name, by_verdict in zip(grades.names, cost.tolist(), strict=True)
    ]


def cost_table(expression: Expression, grades: Grades) -> list[CostRow]:
    """Return what each outcome costs inside and outside the slice at confidence 0.5 and 0.9, for
    people to review.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    axis = grades.judge_axes()[-1]
    grid = Grid(confidences=CONFIDENCES, people=axis, judge=axis, levels=grades.levels)
    over = int(np.argmax(axis.positive))
    near = over - 1
    return [
        CostRow(
            place=membership,
            confidence=confidence,
            tp=float(cost[-1, -1]),
            fp=float(cost[0, -1]),
            fn=float(cost[-1, 0]),
            tn=float(cost[0, 0]),
            fp_near=float(cost[near, over]),
            fn_near=float(cost[over, near]),
        )
        for membership, confidence, cost in _costs(expression, grid)
    ]


def _costs(
    expression: Expression, grid: Grid | ClassGrid
) -> Iterator[tuple[str, float, FloatArray]]:
    """Yield the slice, or none, with a confidence, and what the cells cost there."""
    memberships = [(name, m, expression.given()) for m, name in enumerate(PLACES)]
    memberships += [(f"in slice {name}", 0, expression.given([name])) for name in expression.slices]
    for membership, m, expression_there in memberships:
        costs = expression_there.evaluate(grid.outcomes()).reshape(grid.shape)
        for c, confidence in enumerate(grid.confidences.tolist()):
            yield membership, confidence, costs[c, m]
