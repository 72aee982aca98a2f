"""Where the steps have got to: the prompt to beat, what was tried, and what a candidate must do to be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..judges import Answer, FloatArray, JudgedDataset, JudgePrompt, clustered_se, compare, point
from .context import Goal
from .holdout.guards import guard_could_hold
from .invariants import PhraseIndex
from .losses.loss import row_losses
from .losses.objective import Objective
from .proposers import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A prompt and what it did on the validation rows."""

    prompt: JudgePrompt
    judged: JudgedDataset
    losses: FloatArray
    """Of each scored row; shape (n,)."""
    metrics: Mapping[str, float | None]
    """The target metric and every guarded one."""

    @classmethod
    def of(cls, prompt: JudgePrompt, judged: JudgedDataset, goal: Goal) -> Candidate:
        """Measure a prompt by its verdicts on the validation rows.

        Raises:
            LossError: The loss cannot be computed on them.
        """
        metrics = (goal.objective.target, *(guard.metric for guard in goal.objective.guards))
        return cls(
            prompt=prompt,
            judged=judged,
            losses=row_losses(goal.loss, judged, goal.target.members(judged)),
            metrics={name: point(name, *judged.compared(name)) for name in dict.fromkeys(metrics)},
        )

    @property
    def loss(self) -> float:
        """Mean loss over the scored rows."""
        return float(self.losses.mean()) if len(self.losses) else 1.0  # the worst there is: nothing was answered


@dataclass(slots=True, kw_only=True)
class SearchState:
    """Where the steps have got to."""

    first: Candidate
    current: Candidate
    train: JudgedDataset
    """The training rows with what the prompt that the walk began with said about them."""
    phrases: PhraseIndex
    answers: dict[str, Answer]
    """The last known answer to each training row, by id."""
    weights: dict[str, float] = field(default_factory=dict)
    """The last known loss of each training row, by id."""
    past: list[Attempt] = field(default_factory=list)

    def weigh(self, judged: JudgedDataset, losses: FloatArray) -> None:
        """Take note of what the current prompt said about rows, and what they cost."""
        self.answers |= {answer.row_id: answer for answer in judged.answers}
        self.weights |= dict(zip((row.id for row in judged.rows), losses.tolist(), strict=True))

    def keep_if_better(self, candidate: Candidate, objective: Objective, *, holdout_rows: int) -> str:
        """Keep a validated candidate, or say why not."""
        result = _validate(candidate, self.current, self.first, objective, holdout_rows)
        self.past.append(Attempt(prompt=candidate.prompt, loss=candidate.loss, result=result))
        if result == "kept":
            self.current = candidate
        return result


def _validate(
    candidate: Candidate, current: Candidate, first: Candidate, objective: Objective, holdout_rows: int
) -> str:
    """Keep a candidate that lowers the loss, raises the target metric, and whose guards the gate could find held.

    The loss has to fall by more than one standard error of the paired difference, so that noise is not kept. A
    guard is tried as the gate will try it, with the standard error that the holdout's size would give: a
    candidate that is at its guard's limit here would spend a look for nothing.
    """
    for guard in objective.guards:
        change = compare(guard.metric, first.judged, candidate.judged)
        if change is not None and not guard_could_hold(change, guard, rows=holdout_rows):
            return f"worse: {guard.metric} moved by {change.difference:+.3f}, too near its guard for the gate"
    risen = compare(objective.target, first.judged, candidate.judged)
    if risen is None or risen.difference <= 0:
        return f"worse: {objective.target} did not rise"
    fall, se = _paired_fall(current, candidate)
    if fall <= 0:
        return "worse: the validation loss did not fall"
    return "kept" if fall > se else "no better: the validation loss fell by less than its standard error"


def _paired_fall(current: Candidate, candidate: Candidate) -> tuple[float, float]:
    """The fall of the mean loss on the rows both answered, and its standard error, clustered by group."""
    common = np.intersect1d(current.judged.scored, candidate.judged.scored)
    sides = [side.losses[np.searchsorted(side.judged.scored, common)] for side in (current, candidate)]
    falls = sides[0] - sides[1]
    groups = current.judged.only(common).groups
    return float(falls.mean()), clustered_se(falls - falls.mean(), groups)
