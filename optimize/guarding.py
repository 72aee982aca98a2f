"""How what may not fall stands while a search goes on: guards and floors of a candidate beside the
first prompt's.
"""

from __future__ import annotations

from dataclasses import replace

from ..judges import JudgedDataset, compare, point
from ..judges.metrics.catalog import LOWER_IS_BETTER
from ..judges.metrics.paired_comparison import common_rows
from .holdout.guards import guard_surely_broken
from .losses.objective import Objective
from .racing.race import Limits, LimitsOf


def shortfall(objective: Objective, before: JudgedDataset, after: JudgedDataset) -> float:
    """Return by how much a judge goes past the margins of all guards and stays under all floors; 0
    where by nothing.

    Args:
        objective: The guards and floors.
        before, after: The scored rows of the first prompt and of another, the same ones.
    """
    past = 0.0
    for guard in objective.guards:
        old = point(guard.metric, *before.compared(guard.metric))
        new = point(guard.metric, *after.compared(guard.metric))
        if old is not None:
            worst, sign = (1.0, -1.0) if guard.metric in LOWER_IS_BETTER else (0.0, 1.0)
            past += max(0.0, sign * (old - (worst if new is None else new)) - guard.margin)
    for floor in objective.floors:
        value = point(floor.metric, *after.compared(floor.metric))
        past += max(0.0, floor.value - (0.0 if value is None else value))
    return past


def limits_beside(first: JudgedDataset, objective: Objective) -> LimitsOf:
    """Return what says how a candidate's guards stand beside the first prompt's verdicts.

    Args:
        first: The first prompt's answers to all rows that may come.
        objective: The guards and floors.
    """
    answers = {answer.row_id: answer for answer in first.answers}

    def limits(judged: JudgedDataset, alpha: float) -> Limits:
        before = replace(judged, answers=tuple(answers[answer.row_id] for answer in judged.answers))
        rows = common_rows(before, judged)
        if not len(rows):
            return Limits()
        before, after = before.only(rows), judged.only(rows)
        broken = False
        for guard in objective.guards:
            change = compare(guard.metric, before, after)
            if change is not None and guard_surely_broken(change, guard, alpha=alpha):
                broken = True
        return Limits(shortfall=shortfall(objective, before, after), broken=broken)

    return limits
