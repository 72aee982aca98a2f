"""The one walk, from a judge and labelled rows to a decision. `optimize` names its steps in order.

Every step writes what it found to the journal before the next begins. The walk is a function of its
arguments and of the model's answers alone, and every answer is in the record of calls: a run that was
killed is resumed by walking again from the start, past the calls that are already paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..judges import (
    BoolArray,
    BudgetSpent,
    Client,
    Dataset,
    FloatArray,
    InputError,
    Judged,
    JudgePrompt,
    JudgeSettings,
    Progress,
    Shares,
    Splits,
    Unscored,
    by_column,
    judge,
    measure,
    point,
    split_dataset,
)
from ..slices import Predicate, SliceReport, choose_target, find_slices, parse_predicate
from .axioms import cost_table
from .critique import Critique, critique_batch, minibatch
from .gate import Decision, clustered_se, compare, gate, guard_could_hold, open_for_report
from .invariants import PhraseIndex, check_candidate
from .journal import Journal
from .ledger import Ledger
from .loss import Loss, row_losses, write_loss
from .objective import Objective
from .proposers import Attempt, NoProposal, Proposal, Proposer

SLICE = "target"
"""What the optimized slice is called inside a loss: `in_slice('target')`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkSettings:
    """How long and how carefully to walk; written into the run."""

    steps: int = 15
    batch: int = 8
    """Training rows in a minibatch."""
    slice: str = "auto"
    """`auto`, `all`, or a predicate such as `dataset = ragtruth and source_words >= 400`."""
    columns: tuple[str, ...] = ()
    """Metadata columns to search slices over; all honest ones unless given."""
    exclude: tuple[str, ...] = ()
    shares: Shares = (30, 20, 30, 20)
    """Per cent of the rows for training, validation, holdout and final."""
    by: str | None = None
    """Metadata column of the closing table; `dataset` where there is one."""
    seed: int = 0
    judge: JudgeSettings = field(default_factory=JudgeSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Everything the walk reaches the world through."""

    judge_client: Client
    optimizer_client: Client
    proposer: Proposer
    journal: Journal
    ledger: Ledger
    run_id: str
    watch: Callable[[str, Progress], None] = lambda doing, progress: None
    """Called with what is being done and how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The rows to improve on: a slice, or everything."""

    name: str
    why: str
    predicate: Predicate | None

    def member(self, dataset: Dataset) -> BoolArray:
        """Say which rows of a dataset belong to the target; shape (rows,)."""
        if self.predicate is None:
            return np.ones(len(dataset.rows), np.bool_)
        return self.predicate.mask(dataset.rows)


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
        return float(self.losses.mean()) if len(self.losses) else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a walk ended."""

    before: JudgePrompt
    after: JudgePrompt | None
    """The best candidate on validation; None where none beat the prompt it came from."""
    target: Target
    loss: Loss
    decision: Decision | None
    """None where there was no candidate to decide about."""


def optimize(
    prompt: JudgePrompt, dataset: Dataset, objective: Objective, tools: Tools, settings: WalkSettings
) -> Outcome:
    """Walk the whole path once.

    Args:
        prompt: The judge to improve.
        dataset: Labelled rows.
        objective: What to improve and what to guard.
        tools: Clients, proposer, journal and ledger.
        settings: See `WalkSettings`.

    Raises:
        InputError: The data cannot be split, or the slice named does not exist.
        ModelError, BudgetSpent, Interrupted: The walk stopped; it can be resumed.
    """
    parts = split_rows(dataset, tools, settings)
    baseline = benchmark(prompt, parts, tools, settings)
    target = find_target(baseline, objective, tools, settings)
    loss = construct_loss(objective, target, prompt, tools)
    survivor = improve(prompt, parts, baseline, target, loss, objective, tools, settings)
    decision = decide_on_holdout(prompt, survivor, parts, target, objective, tools, settings)
    remeasure_everything(prompt, survivor, decision, dataset, parts, tools, settings)
    return Outcome(before=prompt, after=survivor, target=target, loss=loss, decision=decision)


def split_rows(dataset: Dataset, tools: Tools, settings: WalkSettings) -> Splits:
    """Cut the rows into training, validation, holdout and final; the last two are sealed."""
    parts = split_dataset(dataset, shares=settings.shares, seed=settings.seed)
    sizes = {
        "train": len(parts.train),
        "validation": len(parts.validation),
        "holdout": len(parts.holdout),
        "final": len(parts.final),
    }
    seals = {"holdout": parts.holdout.content_hash, "final": parts.final.content_hash}
    tools.journal.record("split", {"rows": sizes, "merged": parts.merged, "seals": seals, "notes": list(parts.notes)})
    return parts


def benchmark(prompt: JudgePrompt, parts: Splits, tools: Tools, settings: WalkSettings) -> Judged:
    """Measure the judge as it is on the open rows (training and validation)."""
    open_rows = replace(parts.train, rows=parts.train.rows + parts.validation.rows)
    judged = _judge("benchmark", prompt, open_rows, tools, settings)
    tools.journal.record("benchmark", measure(judged, seed=settings.seed).to_json())
    return judged


def find_target(baseline: Judged, objective: Objective, tools: Tools, settings: WalkSettings) -> Target:
    """Find the slice where the judge errs in the objective's direction, or take the one that was named."""
    if settings.slice not in ("auto", "all"):
        predicate = parse_predicate(settings.slice)
        target = Target(name=str(predicate), why="named by the caller", predicate=predicate)
        if not target.member(baseline.dataset).any():
            raise InputError(f"no open row lies in the slice {settings.slice!r}")
        tools.journal.record("slice", {"name": target.name, "why": target.why, "found": []})
        return target
    if settings.slice == "all":
        target = Target(name="all rows", why="asked for by the caller", predicate=None)
        tools.journal.record("slice", {"name": target.name, "why": target.why, "found": []})
        return target
    report = find_slices(
        baseline,
        metric=objective.target,
        columns=settings.columns or None,
        exclude=settings.exclude,
        seed=settings.seed,
    )
    target = _choose(report, objective)
    found = [found.to_json() for found in report.slices]
    notes, left_out = list(report.notes), dict(report.left_out)
    tools.journal.record(
        "slice", {"name": target.name, "why": target.why, "found": found, "left_out": left_out, "notes": notes}
    )
    return target


def _choose(report: SliceReport, objective: Objective) -> Target:
    chosen, why = choose_target(report, objective.direction)
    if chosen is None:
        return Target(name="all rows", why=why, predicate=None)
    return Target(name=str(chosen.predicate), why=why, predicate=chosen.predicate)


def construct_loss(objective: Objective, target: Target, prompt: JudgePrompt, tools: Tools) -> Loss:
    """Have the model write a loss for the objective; check it, freeze it."""
    levels = prompt.scale.levels
    scale = {
        "levels": len(levels),
        "positive_from": sum(not prompt.scale.positive(g) for g in levels) if levels else None,
    }
    written = write_loss(objective, target.name, tools.optimizer_client.ask_one, **scale)
    loss = written.loss
    tools.journal.record(
        "loss",
        {
            "expression": str(loss.expression),
            "declares": dict(loss.declares),
            "reason": loss.reason,
            "written_by": loss.written_by,
            "version": loss.version,
            "refusals": list(written.refusals),
            "cost_table": [asdict(row) for row in cost_table(loss.expression, **scale)] if levels else [],
        },
    )
    return loss


def improve(
    prompt: JudgePrompt,
    parts: Splits,
    baseline: Judged,
    target: Target,
    loss: Loss,
    objective: Objective,
    tools: Tools,
    settings: WalkSettings,
) -> JudgePrompt | None:
    """Step by step: critique a minibatch of the slice, propose, check, validate, keep what is better."""
    n_train = len(parts.train)
    train = baseline.only(range(n_train))
    first = _candidate(prompt, baseline.only(range(n_train, len(baseline.dataset))), target, loss, objective)
    tools.journal.record("validation", {"version": prompt.version, "loss": first.loss, **first.metrics})
    climb = _Climb(first=first, current=first, phrases=PhraseIndex((*parts.train.rows, *parts.validation.rows)))
    climb.weigh(train, row_losses(loss, train, _members(target, train)))
    for step in range(1, settings.steps + 1):
        batch = _draw(train, target, climb.weights, settings, step)
        judged = _judge(f"step {step}: minibatch", climb.current.prompt, batch, tools, settings)
        losses = row_losses(loss, judged, _members(target, judged))
        climb.weigh(judged, losses)
        critique = critique_batch(judged, losses, objective=objective, slice_name=target.name)
        event = {"step": step, "rows": [row.id for row in batch.rows], "batch_loss": critique.loss}
        proposal = _propose(climb, critique, tools, step)
        if isinstance(proposal, NoProposal):
            tools.journal.record("step", {**event, "result": "no proposal", "reason": proposal.reason})
            continue
        new = proposal.prompt
        event |= {"gradient": proposal.gradient, "version": new.version, "criteria": new.criteria}
        if refusal := _refusal(climb, new):
            tools.journal.record("step", event | refusal)
            continue
        validated = _judge(f"step {step}: validation", new, parts.validation, tools, settings)
        candidate = _candidate(new, validated, target, loss, objective)
        result = climb.judge(candidate, objective, holdout_rows=len(parts.holdout))
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
    phrases: PhraseIndex
    weights: dict[str, float] = field(default_factory=dict)
    """The last known loss of each training row, by id."""
    past: list[Attempt] = field(default_factory=list)

    def weigh(self, judged: Judged, losses: FloatArray) -> None:
        """Take note of what rows cost under the current prompt."""
        self.weights |= dict(zip((row.id for row in judged.rows), losses.tolist(), strict=True))

    def judge(self, candidate: Candidate, objective: Objective, *, holdout_rows: int) -> str:
        """Keep a validated candidate, or say why not."""
        result = _validate(candidate, self.current, self.first, objective, holdout_rows)
        self.past.append(Attempt(criteria=candidate.prompt.criteria, loss=candidate.loss, result=result))
        if result == "kept":
            self.current = candidate
        return result


def _propose(climb: _Climb, critique: Critique, tools: Tools, step: int) -> Proposal | NoProposal:
    """Ask the proposer, unless the minibatch holds nothing to learn from."""
    if not critique.examples:
        return NoProposal("no errors in the minibatch")
    return tools.proposer.propose(
        climb.current.prompt, critique, past=climb.past, ask=tools.optimizer_client.ask_one, step=step
    )


def _draw(train: Judged, target: Target, weights: Mapping[str, float], settings: WalkSettings, step: int) -> Dataset:
    """Draw a minibatch from the slice's training rows, each with a chance in proportion to its loss."""
    inside = target.member(train.dataset)
    positions = [int(i) for i in train.scored if inside[i]] or [int(i) for i in train.scored]
    rows = train.dataset.rows
    drawn = minibatch(
        positions, [weights[rows[i].id] for i in positions], settings.batch, seed=settings.seed * 1_000 + step
    )
    return replace(train.dataset, rows=tuple(rows[i] for i in drawn))


def _refusal(climb: _Climb, new: JudgePrompt) -> dict[str, Any] | None:  # Any: JSON
    """What to journal about a proposal that is not worth a validation; None for one that is."""
    if violations := check_candidate(climb.first.prompt, new, phrases=climb.phrases):
        return {"result": "refused", "violations": [asdict(violation) for violation in violations]}
    if new.criteria in {attempt.criteria for attempt in climb.past}:
        return {"result": "tried before"}
    return None


def _candidate(prompt: JudgePrompt, judged: Judged, target: Target, loss: Loss, objective: Objective) -> Candidate:
    metrics = (objective.target, *(guard.metric for guard in objective.guards))
    return Candidate(
        prompt=prompt,
        judged=judged,
        losses=row_losses(loss, judged, _members(target, judged)),
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


def _members(target: Target, judged: Judged) -> dict[str, BoolArray]:
    """Membership of the scored rows, as the loss wants it."""
    return {SLICE: target.member(judged.dataset)[judged.scored]}


def decide_on_holdout(
    prompt: JudgePrompt,
    survivor: JudgePrompt | None,
    parts: Splits,
    target: Target,
    objective: Objective,
    tools: Tools,
    settings: WalkSettings,
) -> Decision | None:
    """Put the survivor through the gate; without one there is nothing to decide."""
    if survivor is None:
        tools.journal.record(
            "decision",
            {"accepted": False, "outcome": "refused", "reason": "no candidate beat the prompt on validation"},
        )
        return None
    decision = gate(
        prompt,
        survivor,
        parts.holdout,
        objective,
        judge=lambda asked, rows: _judge("holdout", asked, rows, tools, settings),
        ledger=tools.ledger,
        run_id=tools.run_id,
        member=target.member,
    )
    tools.journal.record("decision", decision.to_json())
    return decision


def remeasure_everything(
    prompt: JudgePrompt,
    survivor: JudgePrompt | None,
    decision: Decision | None,
    dataset: Dataset,
    parts: Splits,
    tools: Tools,
    settings: WalkSettings,
) -> None:
    """Measure before and after on the whole benchmark, tuned rows included, and on the final rows after an accept."""
    column = settings.by or ("dataset" if any("dataset" in row.meta for row in dataset.rows) else None)
    sides = {"before": prompt} | ({"after": survivor} if survivor is not None else {})
    rows = open_for_report(parts)
    payload: dict[str, Any] = {"includes_tuned_rows": True, "by": column}  # Any: JSON
    for side, asked in sides.items():
        whole = _judge(f"whole benchmark, {side}", asked, rows, tools, settings)
        tables = by_column(whole, column) if column else {}
        payload[side] = {
            "pooled": measure(whole, seed=settings.seed).to_json(),
            "by": {value: table.to_json() for value, table in sorted(tables.items())},
        }
        if decision is not None and decision.accepted:
            final = whole.only(range(len(rows.rows) - len(parts.final), len(rows.rows)))
            payload[side]["final"] = measure(final, seed=settings.seed).to_json()
    tools.journal.record("everything", payload)


def _judge(doing: str, prompt: JudgePrompt, dataset: Dataset, tools: Tools, settings: WalkSettings) -> Judged:
    """Judge rows, and stop the walk rather than go on without the rows the budget did not cover."""
    judged = judge(
        prompt,
        dataset,
        tools.judge_client,
        settings=settings.judge,
        progress=lambda progress: tools.watch(doing, progress),
    )
    unpaid = sum(isinstance(answer, Unscored) and answer.reason == "budget" for answer in judged.answers)
    if unpaid:
        raise BudgetSpent(
            f"the budget ended while judging ({doing}): {unpaid} rows are left", hint="resume with a larger --budget"
        )
    return judged
