"""The steps of a proposer: critique, propose, check, validate, keep what is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..judges import (
    Answer,
    Completion,
    Dataset,
    FloatArray,
    Judged,
    JudgePrompt,
    LossError,
    ModelError,
    Request,
    Row,
    Splits,
    clustered_se,
    compare,
    point,
)
from .critique import Critique, critique_batch, minibatch
from .gate import guard_could_hold
from .invariants import PhraseIndex, check_candidate
from .loss import row_losses
from .objective import Objective
from .proposers import Attempt, NoProposal, Proposal, Trial, Unanswered, Workbench
from .walk import Aim, Target, Tools, WalkSettings, judge_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A prompt and what it did on the validation rows."""

    prompt: JudgePrompt
    judged: Judged
    losses: FloatArray
    """Of each scored row; shape (n,)."""
    metrics: Mapping[str, float | None]
    """The target metric and every guarded one."""

    @property
    def loss(self) -> float:
        """Mean loss over the scored rows."""
        return float(self.losses.mean()) if len(self.losses) else 1.0  # the worst there is: nothing was answered


def improve(
    prompt: JudgePrompt,
    parts: Splits,
    baseline: Judged,
    aim: Aim,
    tools: Tools,
    settings: WalkSettings,
) -> JudgePrompt | None:
    """Step by step: critique a minibatch of the slice, propose, check, validate, keep what is better."""
    n_train = len(parts.train)
    train = baseline.only(range(n_train))
    first = _candidate(prompt, baseline.only(range(n_train, len(baseline.dataset))), aim)
    tools.journal.record("validation", {"version": prompt.version, "loss": first.loss, **first.metrics})
    climb = _Climb(
        first=first,
        current=first,
        train=train,
        phrases=PhraseIndex((*parts.train.rows, *parts.validation.rows)),
        answers={answer.row_id: answer for answer in train.answers},
    )
    climb.weigh(train, row_losses(aim.loss, train, aim.target.members(train)))
    for step in range(1, settings.steps + 1):
        batch = _draw(climb, aim.target, settings, step)
        judged = judge_rows(f"step {step}: minibatch", climb.current.prompt, batch, tools, settings)
        losses = row_losses(aim.loss, judged, aim.target.members(judged))
        climb.weigh(judged, losses)
        critique = critique_batch(judged, losses, objective=aim.objective, slice_name=aim.target.name)
        event = {"step": step, "rows": [row.id for row in batch.rows], "batch_loss": critique.loss}
        proposal = _propose(climb, critique, aim, tools, settings, step)
        if isinstance(proposal, NoProposal):
            tools.journal.record("step", {**event, "result": "no proposal", "reason": proposal.reason})
            continue
        new = proposal.prompt
        event |= {"gradient": proposal.gradient, "version": new.version, "criteria": new.criteria, "note": new.note}
        if refusal := _refusal(climb, new, tools.proposer.parts):
            tools.journal.record("step", event | refusal)
            continue
        validated = judge_rows(f"step {step}: validation", new, parts.validation, tools, settings)
        try:
            candidate = _candidate(new, validated, aim)
        except LossError as error:
            tools.journal.record("step", event | {"result": f"no loss: {error}"})
            continue
        result = climb.keep_if_better(candidate, aim.objective, holdout_rows=len(parts.holdout))
        tools.journal.record("step", event | {"loss": candidate.loss, **candidate.metrics, "result": result})
    survivor = None if climb.current is first else climb.current.prompt
    named = (
        {"version": survivor.version, "prompt": survivor.to_yaml()} if survivor else {"version": None, "prompt": None}
    )
    tools.journal.record("survivor", named)
    return survivor


@dataclass(slots=True, kw_only=True)
class _Climb:
    """Where the steps have got to."""

    first: Candidate
    current: Candidate
    train: Judged
    """The training rows with what the prompt that the walk began with said about them."""
    phrases: PhraseIndex
    answers: dict[str, Answer]
    """The last known answer to each training row, by id."""
    weights: dict[str, float] = field(default_factory=dict)
    """The last known loss of each training row, by id."""
    past: list[Attempt] = field(default_factory=list)

    def weigh(self, judged: Judged, losses: FloatArray) -> None:
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


def _propose(
    climb: _Climb, critique: Critique, aim: Aim, tools: Tools, settings: WalkSettings, step: int
) -> Proposal | NoProposal:
    """Ask the proposer; what fails for this step alone becomes its reason."""
    bench = _bench(climb, aim, tools, settings, step)
    try:
        return tools.proposer.propose(climb.current.prompt, critique, bench, past=climb.past, step=step)
    except Unanswered as error:
        return NoProposal(f"the optimizer model failed: {error}")
    except LossError as error:
        return NoProposal(f"no loss: {error}")


def _bench(climb: _Climb, aim: Aim, tools: Tools, settings: WalkSettings, step: int) -> Workbench:
    """Lay out what the proposer may work with: training rows of the target and nothing else."""
    train = replace(climb.train, answers=tuple(climb.answers[row.id] for row in climb.train.dataset.rows))
    inside = _inside(train, aim.target)
    known = {row.id for row in climb.train.dataset.rows}

    def trial(judged: Judged) -> Trial:
        return Trial(judged=judged, losses=row_losses(aim.loss, judged, aim.target.members(judged)))

    def try_out(prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
        if not known.issuperset(row.id for row in rows):
            raise ValueError("a proposer may try prompts on training rows only")
        dataset = replace(climb.train.dataset, rows=tuple(rows))
        return trial(judge_rows(f"step {step}: trials", prompt, dataset, tools, settings))

    def ask(requests: Sequence[Request]) -> list[Completion]:
        outcomes = tools.optimizer_client.ask(requests)
        for outcome in outcomes:
            if isinstance(outcome, ModelError):
                raise Unanswered(str(outcome), status=outcome.status) from outcome
            if not isinstance(outcome, Completion):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Completion)]

    return Workbench(ask=ask, train=trial(train.only(inside)), try_out=try_out, seed=_seed(settings, step))


def _seed(settings: WalkSettings, step: int) -> int:
    return settings.seed * 1_000 + step


def _inside(train: Judged, target: Target) -> list[int]:
    """Positions of the scored training rows of the target; of all of them where it has none."""
    inside = target.member(train.dataset)
    return [int(i) for i in train.scored if inside[i]] or [int(i) for i in train.scored]


def _draw(climb: _Climb, target: Target, settings: WalkSettings, step: int) -> Dataset:
    """Draw a minibatch from the slice's training rows, each with a chance in proportion to its loss.

    Unguided, every row has the same chance.
    """
    positions = _inside(climb.train, target)
    rows = climb.train.dataset.rows
    weights = [1.0 if settings.unguided else climb.weights[rows[i].id] for i in positions]
    drawn = minibatch(positions, weights, settings.batch, seed=_seed(settings, step))
    return replace(climb.train.dataset, rows=tuple(rows[i] for i in drawn))


def _refusal(climb: _Climb, new: JudgePrompt, parts: tuple[str, ...]) -> dict[str, Any] | None:  # Any: JSON
    """What to journal about a proposal that is not worth a validation; None for one that is."""
    violations = check_candidate(
        climb.first.prompt, new, phrases=climb.phrases, editable=parts, training=climb.train.dataset.rows
    )
    if violations:
        return {"result": "refused", "violations": [asdict(violation) for violation in violations]}
    if new.version in {attempt.prompt.version for attempt in climb.past}:
        return {"result": "tried before"}
    return None


def _candidate(prompt: JudgePrompt, judged: Judged, aim: Aim) -> Candidate:
    metrics = (aim.objective.target, *(guard.metric for guard in aim.objective.guards))
    return Candidate(
        prompt=prompt,
        judged=judged,
        losses=row_losses(aim.loss, judged, aim.target.members(judged)),
        metrics={name: point(name, *judged.compared(name)) for name in dict.fromkeys(metrics)},
    )


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
