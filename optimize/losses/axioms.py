"""What every loss must satisfy before anything is spent on it, tried on a grid of made-up rows.

The language keeps a loss harmless; the axioms keep it meaningful. A loss that rewards the wrong
answer, or is blind in some corner, would steer the whole optimization there, so each cell of
confidence x slice membership x human grade x judge's grade is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from ...judges import BoolArray, FloatArray, LossError
from .classes import Classes, ClassGrid
from .expression import Expression
from .grid import CELLS, FEW_RANKS, Axis, Grades, Grid, confidences_of

DECLARATIONS: Mapping[str, str] = {
    "fp_costs_more_than_fn": "a false positive costs more than a false negative",
    "fn_costs_more_than_fp": "a false negative costs more than a false positive",
}
"""The asymmetries a loss may declare; a declared one is checked."""

EXTRA = 0.01
"""The least a wrong answer must cost beyond a perfect one."""
PERFECT = 0.5
"""The most a perfect answer may cost."""
_SAME = 1e-9

Axiom = Literal[
    "out of range",
    "constant",
    "right costs more than wrong",
    "free false positive",
    "free false negative",
    "free error between grades",
    "free wrong class",
    "against the objective",
    "surer is cheaper",
    "perfect is dear",
    "declaration",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One broken axiom: its name, and a sentence with a case in which it breaks."""

    axiom: Axiom
    detail: str


def check_axioms(
    expression: Expression, declares: Mapping[str, bool], grades: Grades | Classes
) -> None:
    """Refuse a loss that breaks an axiom, naming every broken one in words; see `axiom_faults`.

    Raises:
        LossError: At least one axiom is broken.
    """
    faults = axiom_faults(expression, declares, grades)
    if faults:
        raise LossError("the loss is refused: " + "; ".join(fault.detail for fault in faults))


def axiom_faults(
    expression: Expression, declares: Mapping[str, bool], grades: Grades | Classes
) -> tuple[Fault, ...]:
    """Return every axiom that a loss breaks, each once; none where it may be used.

    The axioms: every cost is a finite number in [0, 1], on abstentions too; the loss is not
    constant; at the same confidence and slice membership a right answer never costs more than a
    wrong one; a wrong answer costs at least `EXTRA` more than a perfect one in every cell; being
    surer of a wrong answer is never cheaper; a perfect answer costs at most `PERFECT`; what the
    loss declares about false positives and false negatives holds, like compared with like (the same
    two grades swapped). Where people grade on a scale of their own, all of it holds on their grades
    too; grades that cannot be swapped are alike there if the cheaper error is no farther off. Where
    their scale is not known, a wrong answer must cost something between two ranks too. Among
    classes, naming another one is the only error; where the objective is one class's recall or
    precision, the errors that it counts cost at least as much as the same two classes swapped, and
    somewhere more.

    Args:
        expression: The compiled loss.
        declares: For each key of `DECLARATIONS`, whether the loss claims it.
        grades: The grades or classes that it is tried on.

    Raises:
        LossError: A scale leaves no right and wrong.
    """
    faults: dict[str, Fault] = {}
    for count in range(len(expression.slices) + 1):
        for members in combinations(expression.slices, count):
            where = f", in slice {' and '.join(members)}" if members else ""
            for fault in _faults_given(expression.given(members), declares, grades):
                faults.setdefault(fault.axiom, replace(fault, detail=fault.detail + where))
    return tuple(faults.values())


def _faults_given(
    expression: Expression, declares: Mapping[str, bool], grades: Grades | Classes
) -> tuple[Fault, ...]:
    """Return the faults for rows that are all in the same saved slices."""
    if isinstance(grades, Classes):
        return tuple(_class_faults(expression, declares, grades))
    faults: dict[str, Fault] = {}
    for judge in grades.judge_axes():
        grids = [_grid(expression, grades, judge, judge)]
        if grades.labels is not None:
            people = grades.people_axis()
            if not people.same_as(judge):
                grids.append(_grid(expression, grades, people, judge))
        for grid in grids:
            costs = _evaluate(expression, grid)
            if isinstance(costs, Fault):
                broken = [costs]
            else:
                broken = [*_order_faults(costs, grid), *_declaration_faults(costs, grid, declares)]
            for fault in broken:
                faults.setdefault(fault.axiom, fault)
    if grades.labels is None and not faults:
        return tuple(_between_faults(expression, grades))
    return tuple(faults.values())


def _grid(expression: Expression, grades: Grades, people: Axis, judge: Axis) -> Grid:
    """Return the grid of two axes, at the confidences that matter to the expression."""
    room = CELLS // (2 * len(people.ranks) * len(judge.ranks))
    confidences = confidences_of(expression.constants, room)
    return Grid(confidences=confidences, people=people, judge=judge, levels=grades.levels)


def _class_faults(
    expression: Expression, declares: Mapping[str, bool], classes: Classes
) -> Iterator[Fault]:
    room = CELLS // (2 * len(classes.names) ** 2)
    grid = ClassGrid(confidences=confidences_of(expression.constants, room), classes=classes)
    costs = _evaluate(expression, grid)
    if isinstance(costs, Fault):
        yield costs
        return
    yield from _order_faults(costs, grid)
    claimed = [key for key, claim in declares.items() if claim]
    if claimed:
        yield Fault(
            "declaration", f"it declares {claimed[0]}, and a choice has neither kind of error"
        )
    against = grid.against_objective(costs)
    if against.any():
        detail = (
            f"a wrong row with {classes.fought} must cost more than the same two classes swapped,"
            f" and does not: {grid.cell(against)}"
        )
        yield Fault("against the objective", detail)


def _evaluate(expression: Expression, grid: Grid | ClassGrid) -> FloatArray | Fault:
    """Return the costs of all cells, or the fault where one is out of range; abstentions are tried
    as well.
    """
    try:
        costs = expression.evaluate(grid.outcomes()).reshape(grid.shape)
        expression.evaluate(grid.abstentions())
    except LossError as error:
        return Fault("out of range", str(error))
    return costs


def _between_faults(expression: Expression, grades: Grades) -> list[Fault]:
    """Look at people's grades between two ranks, which a label on an unknown scale may have.

    There a loss by distance has no perfect answer to start from: a wrong one must cost something.
    """
    if not 2 <= grades.levels <= FEW_RANKS:
        return []
    quarters = np.arange(4 * grades.levels - 3) / 4.0
    people = Axis(ranks=quarters, positive=quarters >= grades.first_positive)
    grid = _grid(expression, grades, people, grades.judge_axes()[0])
    costs = _evaluate(expression, grid)
    if isinstance(costs, Fault):
        return [costs]
    free = ~grid.right & (costs <= _SAME)
    if not free.any():
        return []
    return [Fault("free error between grades", f"a wrong answer costs nothing: {grid.cell(free)}")]


def _order_faults(costs: FloatArray, grid: Grid | ClassGrid) -> Iterator[Fault]:
    if np.ptp(costs) <= _SAME:
        yield Fault(
            "constant",
            f"it is constant ({costs.flat[0]:g}), so it cannot tell a right answer from a"
            " wrong one",
        )
        return
    right = np.broadcast_to(grid.right, costs.shape)
    perfect = np.where(grid.perfect, costs, -np.inf).max(axis=(2, 3), keepdims=True)
    cheapest_wrong = np.where(right, np.inf, costs).min(axis=(2, 3), keepdims=True)
    dearer = right & (costs > cheapest_wrong + _SAME)
    if dearer.any():
        yield Fault(
            "right costs more than wrong",
            f"a right answer costs more than a wrong one: {grid.cell(dearer)}",
        )
    kinds: Mapping[str, Axiom] = {
        "false positive": "free false positive",
        "false negative": "free false negative",
        "wrong class": "free wrong class",
    }
    for kind, mask in grid.errors.items():
        free = mask & (costs < perfect + EXTRA)
        if free.any():
            share = free.any(axis=0).sum() / (mask.sum() * grid.shape[1])
            detail = (
                f"a {kind} costs nothing extra in {share:.0%} of the places, for example:"
                f" {grid.cell(free)}"
            )
            yield Fault(kinds[kind], detail)
    cheaper = np.zeros(costs.shape, np.bool_)
    cheaper[1:] = ~right[1:] & (np.diff(costs, axis=0) < -_SAME)
    if cheaper.any():
        detail = f"a wrong answer costs less when the judge is surer of it: {grid.cell(cheaper)}"
        yield Fault("surer is cheaper", detail)
    if perfect.max() > PERFECT + _SAME:
        detail = f"a perfect answer costs {perfect.max():.3g}; at most {PERFECT:g} is allowed"
        yield Fault("perfect is dear", detail)


def _declaration_faults(
    costs: FloatArray, grid: Grid, declares: Mapping[str, bool]
) -> Iterator[Fault]:
    unknown = [key for key in declares if key not in DECLARATIONS]
    if unknown:
        yield Fault(
            "declaration", f"it declares {unknown[0]!r}; it may declare {' or '.join(DECLARATIONS)}"
        )
    claimed = [key for key in DECLARATIONS if declares.get(key)]
    if len(claimed) > 1:
        yield Fault(
            "declaration",
            "it declares both that false positives and that false negatives cost more",
        )
        return
    for key in claimed:
        dear, cheap = "false positive", "false negative"
        if key == "fn_costs_more_than_fp":
            dear, cheap = cheap, dear
        if grid.people.same_as(grid.judge):  # only then can two grades be swapped
            against = _swapped_against(costs, grid, dear)
        else:
            against = _unlike_against(costs, grid, dear, cheap)
        if against.any():
            detail = (
                f"it declares that {DECLARATIONS[key]}, which does not hold: {grid.cell(against)}"
            )
            yield Fault("declaration", detail)


def _swapped_against(costs: FloatArray, grid: Grid, dear: str) -> BoolArray:
    """Mark the dear errors that cost less than the same two grades swapped, or nowhere more."""
    mask = grid.errors[dear]
    excess = np.where(mask, costs - np.swapaxes(costs, 2, 3), 0.0)
    return mask & ((excess < -_SAME) | (excess.sum(axis=(2, 3), keepdims=True) <= _SAME))


def _unlike_against(costs: FloatArray, grid: Grid, dear: str, cheap: str) -> BoolArray:
    """Mark the dear errors that cost less than a cheap one at the same distance or a smaller
    one.
    """
    distance, cheap_cells = grid.distance, grid.errors[cheap]
    order = np.argsort(distance[cheap_cells], kind="stable")
    near = distance[cheap_cells][order]
    # By distance, so that one search finds the dearest of all cheap errors that are no farther off.
    dearest_so_far = np.maximum.accumulate(costs[:, :, cheap_cells][:, :, order], axis=2)
    last = np.searchsorted(near, distance + _SAME, side="right") - 1
    rival = np.where(last >= 0, dearest_so_far[:, :, np.maximum(last, 0)], -np.inf)
    return grid.errors[dear] & (costs < rival - _SAME)
