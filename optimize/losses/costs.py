"""What a loss charges, as a table people can review: each outcome inside and outside a slice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .classes import Classes, ClassGrid
from .expression import Expression
from .grid import Grades, Grid
from .outcomes import PLACES


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
    """Return the lines of `cost_table` or `class_costs` as JSON.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    if isinstance(grades, Classes):
        return class_costs(expression, grades)
    return [asdict(row) for row in cost_table(expression, grades)]


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
    for where, m, expression_there in _places(expression):
        costs = expression_there.evaluate(grid.outcomes()).reshape(grid.shape)
        for c, confidence in enumerate(grid.confidences.tolist()):
            cost = costs[c, m]
            table.append(
                CostRow(
                    place=where,
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
    places = [(where, m, expression.given()) for m, where in enumerate(PLACES)]
    return places + [
        (f"in slice {name}", 0, expression.given([name])) for name in expression.slices
    ]


def class_costs(expression: Expression, classes: Classes) -> list[dict[str, Any]]:  # Any: JSON
    """Return what each of people's classes costs by what the judge calls it, inside and outside the
    slice at confidence 0.5 and 0.9; a line has a field for each of the judge's classes.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    grid = ClassGrid(confidences=np.array([0.5, 0.9]), classes=classes)
    called = [f"called {name}" for name in classes.names]
    table: list[dict[str, Any]] = []
    for where, m, expression_there in _places(expression):
        costs = expression_there.evaluate(grid.outcomes()).reshape(grid.shape)
        for c, confidence in enumerate(grid.confidences.tolist()):
            for label, name in enumerate(classes.names):
                by_verdict = zip(called, costs[c, m, label].tolist(), strict=True)
                line = {"place": where, "confidence": confidence, "label": name}
                table.append(line | dict(by_verdict))
    return table
