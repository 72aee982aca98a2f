"""A prompt of the search beside the one that the run began with, on validation rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..judges import FloatArray, JudgedDataset, JudgePrompt, point
from ..judges.metrics.catalog import LOWER_IS_BETTER
from .goal import Goal
from .losses.objective import Objective


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A prompt of the search and what it does."""

    prompt: JudgePrompt
    judged: JudgedDataset
    """The validation rows that it was judged on."""
    losses: FloatArray
    """Of each scored row; shape (n,)."""
    metrics: Mapping[str, float | None]
    """The target metric and every guarded one."""

    @classmethod
    def of(cls, prompt: JudgePrompt, judged: JudgedDataset, goal: Goal) -> Candidate:
        """Measure a prompt by its verdicts on validation rows.

        Raises:
            LossError: The loss cannot be computed on them.
        """
        return cls(
            prompt=prompt,
            judged=judged,
            losses=goal.row_losses(judged),
            metrics={name: point(name, *judged.compared(name)) for name in goal.objective.metrics},
        )

    @property
    def loss(self) -> float:
        """Mean loss over the scored rows."""
        if not len(self.losses):
            return 1.0  # nothing was answered: the worst there is
        return float(self.losses.mean())


def in_common(
    a: Candidate, b: Candidate
) -> tuple[JudgedDataset, FloatArray, JudgedDataset, FloatArray]:
    """Return the verdicts and losses of two candidates on the validation rows that both answered,
    in one order.
    """
    places = [{row.id: k for k, row in enumerate(side.judged.rows)} for side in (a, b)]
    ids = [id_ for id_ in places[0] if id_ in places[1]]
    sides: list[Any] = []  # Any: verdicts and losses by turns
    for side, positions in zip((a, b), places, strict=True):
        scored = [positions[id_] for id_ in ids]
        sides += [side.judged.only(side.judged.scored[scored]), side.losses[scored]]
    return sides[0], sides[1], sides[2], sides[3]


def cost_beside(first: Candidate, candidate: Candidate, objective: Objective) -> float:
    """Return by how much a candidate changes the first prompt's loss, and how far it breaks guards
    and floors; under 0 it is the better one.
    """
    before, old, after, new = in_common(first, candidate)
    if not len(new):
        return 1.0
    return round(float((new - old).mean()) + shortfall(objective, before, after), 9)


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
