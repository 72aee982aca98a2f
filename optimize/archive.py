"""The candidates of a search that no other beats in everything: the loss, and every metric that may
not fall.

Two candidates are compared on the validation rows that both answered, because a race stops early
for most of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..judges import FloatArray, JudgedDataset, JudgePrompt, point
from ..judges.metrics.catalog import LOWER_IS_BETTER, sign_of
from .goal import Goal
from .losses.objective import Objective


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A prompt of the search and what it does."""

    prompt: JudgePrompt
    judged: JudgedDataset
    """The validation rows that it was judged on: all of them unless a race stopped before."""
    losses: FloatArray
    """Of each scored row; shape (n,)."""
    metrics: Mapping[str, float | None]
    """The target metric and every guarded one."""
    number: int = 0
    """Of the proposal, from 1; 0 for the prompt that the run began with."""
    step: int = 0
    parent: str | None = None
    """Version of the prompt that it was made from."""

    @classmethod
    def of(
        cls, prompt: JudgePrompt, judged: JudgedDataset, goal: Goal, **origin: Any
    ) -> Candidate:  # Any: fields
        """Measure a prompt by its verdicts on validation rows.

        Raises:
            LossError: The loss cannot be computed on them.
        """
        return cls(
            prompt=prompt,
            judged=judged,
            losses=goal.row_losses(judged),
            metrics={name: point(name, *judged.compared(name)) for name in goal.objective.metrics},
            **origin,
        )

    @property
    def loss(self) -> float:
        """Mean loss over the scored rows."""
        if not len(self.losses):
            return 1.0  # nothing was answered: the worst there is
        return float(self.losses.mean())

    @property
    def length(self) -> int:
        """Characters of the texts that a search may change."""
        prompt = self.prompt
        examples = sum(
            len(example.reply) + sum(map(len, example.inputs.values()))
            for example in prompt.examples
        )
        return len(prompt.system) + len(prompt.criteria) + len(prompt.reply) + examples


def in_common(
    a: Candidate, b: Candidate
) -> tuple[JudgedDataset, FloatArray, JudgedDataset, FloatArray]:
    """Return the verdicts and losses of two candidates on the validation rows that both answered,
    in one order.
    """
    places = [{row.id: k for k, row in enumerate(side.judged.rows)} for side in (a, b)]
    ids = [id_ for id_ in places[0] if id_ in places[1]]
    sides: list[Any] = []  # Any: verdicts and losses by turns
    for side, place in zip((a, b), places, strict=True):
        scored = [place[id_] for id_ in ids]
        sides += [side.judged.only(side.judged.scored[scored]), side.losses[scored]]
    return sides[0], sides[1], sides[2], sides[3]


class _Rank(NamedTuple):
    """Where a candidate stands among others; the least is the best."""

    stopped: bool
    cost: float
    """Its change of the loss against the first prompt, and by how much it breaks guards and floors.
    """
    length: int
    number: int


@dataclass(slots=True, kw_only=True)
class Archive:
    """What a search has found so far."""

    objective: Objective
    first: Candidate
    """The prompt that the run began with."""
    current: Candidate
    """The prompt that the search goes on from."""
    members: list[Candidate] = field(default_factory=list)
    """In the order of their numbers; the first and the current prompt are always among them."""
    tried: int = 0
    """Candidates that were judged on some rows, those that left the archive included."""
    quoted: set[str] = field(default_factory=set)
    """Ids of the training rows that a proposer has read or tried a prompt on."""

    @classmethod
    def start(cls, first: Candidate, objective: Objective) -> Archive:
        """Begin with the prompt that the run begins with."""
        return cls(objective=objective, first=first, current=first, members=[first])

    def add(self, candidate: Candidate, *, current: bool = False) -> None:
        """Add a candidate, and drop every member that another beats in everything.

        Args:
            candidate: One of another text than every member.
            current: Whether the search goes on from it.
        """
        if current:
            self.current = candidate
        entered = [*self.members, candidate]
        stay: list[Candidate] = []
        for one in entered:
            if self._stays(one) or not any(
                self._beats(other, one) for other in entered if other is not one
            ):
                stay.append(one)
        self.members = stay

    def shortfall(self, candidate: Candidate) -> float:
        """Return by how much a candidate breaks guards and floors, on the rows that the first
        prompt answered too.
        """
        before, _, after, _ = in_common(self.first, candidate)
        return shortfall(self.objective, before, after) if len(before.scored) else 0.0

    def finalists(self) -> list[Candidate]:
        """Return the members that a run may end with, the best first: of least loss and shortfall
        together.

        Those whose race stopped early come last, and only where they did better than the first
        prompt until then. The first prompt is none of them.
        """
        ranked: list[tuple[_Rank, Candidate]] = []
        for member in self.members:
            rank = self._rank(member)
            if member is not self.first and not (rank.stopped and rank.cost >= 0):
                ranked.append((rank, member))
        return [member for _, member in sorted(ranked, key=lambda one: one[0])]

    def to_json(self) -> list[dict[str, Any]]:  # Any: JSON
        """Return a line for each member, with its changes against the first prompt on the rows of
        both.
        """
        lines: list[dict[str, Any]] = []
        for member in self.members:
            before, old, after, new = in_common(self.first, member)
            line: dict[str, Any] = {
                "version": member.prompt.version,
                "number": member.number,
                "step": member.step,
                "parent": member.parent,
                "rows": len(new),
                "loss": float((new - old).mean()) if len(new) else None,
            }
            changes: dict[str, float | None] = {}
            for name in self.objective.metrics:
                was, now = (point(name, *side.compared(name)) for side in (before, after))
                changes[name] = None if was is None or now is None else now - was
            lines.append({**line, "changes": changes})
        return lines

    def _stays(self, member: Candidate) -> bool:
        return member is self.first or member is self.current

    def _rank(self, candidate: Candidate) -> _Rank:
        _, old, _, new = in_common(self.first, candidate)
        change = float((new - old).mean()) if len(new) else 1.0
        cost = round(change + self.shortfall(candidate), 9)
        stopped = len(candidate.judged.dataset) < len(self.first.judged.dataset)
        return _Rank(stopped, cost, candidate.length, candidate.number)

    def _beats(self, a: Candidate, b: Candidate) -> bool:
        """Whether a is nowhere worse than b; of equals the shorter, then the earlier one is the
        better.

        Nobody is beaten by a candidate that was judged on fewer rows.
        """
        if len(a.losses) < len(b.losses):
            return False
        ours, our_losses, theirs, their_losses = in_common(a, b)
        if not len(our_losses):
            return False
        costs = [(float(our_losses.mean()), float(their_losses.mean()))]
        held = (*self.objective.guards, *self.objective.floors)
        for name in dict.fromkeys(one.metric for one in held):
            values = (point(name, *side.compared(name)) for side in (ours, theirs))
            sign = sign_of(name)
            mine, other = (
                sign * value if value is not None else min(0.0, sign) for value in values
            )
            costs.append((-mine, -other))
        pairs = np.round(np.array(costs), 9)
        if (pairs[:, 0] > pairs[:, 1]).any():
            return False
        return bool((pairs[:, 0] < pairs[:, 1]).any()) or (a.length, a.number) < (
            b.length,
            b.number,
        )


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
