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
from .critique import critique_batch, minibatch
from .gate import Decision, gate, open_for_report
from .invariants import PhraseIndex, check_candidate
from .journal import Journal
from .ledger import Ledger
from .loss import Loss, cost_table, mean_loss, row_losses, write_loss
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
    loss: float
    metrics: Mapping[str, float | None]
    """The target metric and every guarded one."""


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


def optimize(prompt: JudgePrompt, dataset: Dataset, objective: Objective, tools: Tools, settings: WalkSettings) -> Outcome:
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
    tools.journal.record("slice", {"name": target.name, "why": target.why, "found": found, "left_out": left_out, "notes": notes})
    return target


def _choose(report: SliceReport, objective: Objective) -> Target:
    chosen, why = choose_target(report, objective.direction)
    if chosen is None:
        return Target(name="all rows", why=why, predicate=None)
    return Target(name=str(chosen.predicate), why=why, predicate=chosen.predicate)


def construct_loss(objective: Objective, target: Target, prompt: JudgePrompt, tools: Tools) -> Loss:
    """Have the model write a loss for the objective; check it, freeze it."""
    levels = prompt.scale.levels
    scale = {"levels": len(levels), "positive_from": sum(not prompt.scale.positive(g) for g in levels) if levels else None}
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
    n_train = len(parts.train.rows)
    train = baseline.only(range(n_train))
    validation = baseline.only(range(n_train, len(baseline.dataset.rows)))
    current = first = _candidate(prompt, validation, target, loss, objective)
    tools.journal.record("validation", {"version": prompt.version, "loss": first.loss, **first.metrics})
    phrases = PhraseIndex((*parts.train.rows, *parts.validation.rows))
    weights = dict(zip((row.id for row in train.rows), row_losses(loss, train, _members(target, train)), strict=True))
    past: list[Attempt] = []
    tried = {prompt.version}
    for step in range(1, settings.steps + 1):
        batch = _draw(train, target, weights, settings, step)
        judged = _judge(f"step {step}: minibatch", current.prompt, batch, tools, settings)
        losses = row_losses(loss, judged, _members(target, judged))
        weights |= dict(zip((row.id for row in judged.rows), losses, strict=True))
        critique = critique_batch(judged, losses, objective=objective, slice_name=target.name)
        event: dict[str, Any] = {"step": step, "rows": [row.id for row in batch.rows], "batch_loss": critique.loss}  # Any: JSON
        if not critique.examples:
            tools.journal.record("step", event | {"result": "no errors in the minibatch"})
            continue
        proposal = tools.proposer.propose(
            current.prompt, critique, past=past, ask=tools.optimizer_client.ask_one, step=step
        )
        if isinstance(proposal, NoProposal):
            tools.journal.record("step", event | {"result": "no proposal", "reason": proposal.reason})
            continue
        event |= {"gradient": proposal.gradient, "version": proposal.prompt.version, "criteria": proposal.prompt.criteria}
        if refusal := _refusal(prompt, proposal, phrases, tried):
            tools.journal.record("step", event | refusal)
            continue
        tried.add(proposal.prompt.version)
        validated = _judge(f"step {step}: validation", proposal.prompt, parts.validation, tools, settings)
        candidate = _candidate(proposal.prompt, validated, target, loss, objective)
        result = _validate(candidate, current, first, objective)
        past.append(Attempt(criteria=candidate.prompt.criteria, loss=candidate.loss))
        tools.journal.record("step", event | {"loss": candidate.loss, **candidate.metrics, "result": result})
        if result == "kept":
            current = candidate
    survivor = None if current is first else current.prompt
    tools.journal.record("survivor", {"version": survivor.version if survivor else None, "prompt": survivor.to_yaml() if survivor else None})
    return survivor


def _draw(train: Judged, target: Target, weights: Mapping[str, float], settings: WalkSettings, step: int) -> Dataset:
    """Draw a minibatch from the slice's training rows, each with a chance in proportion to its loss."""
    inside = target.member(train.dataset)
    positions = [int(i) for i in train.scored if inside[i]] or [int(i) for i in train.scored]
    rows = train.dataset.rows
    drawn = minibatch(positions, [weights[rows[i].id] for i in positions], settings.batch, seed=settings.seed * 1_000 + step)
    return replace(train.dataset, rows=tuple(rows[i] for i in drawn))


def _refusal(prompt: JudgePrompt, proposal: Proposal, phrases: PhraseIndex, tried: set[str]) -> dict[str, Any] | None:
    """What to journal about a proposal that is not worth a validation; None for one that is."""
    if violations := check_candidate(prompt, proposal.prompt, phrases=phrases):
        return {"result": "refused", "violations": [{"name": v.name, "detail": v.detail} for v in violations]}
    if proposal.prompt.version in tried:
        return {"result": "tried before"}
    return None


def _candidate(prompt: JudgePrompt, judged: Judged, target: Target, loss: Loss, objective: Objective) -> Candidate:
    metrics = (objective.target, *(guard.metric for guard in objective.guards))
    return Candidate(
        prompt=prompt,
        loss=mean_loss(loss, judged, _members(target, judged)),
        metrics={name: point(name, judged.positive, judged.predicted) for name in dict.fromkeys(metrics)},
    )


def _validate(candidate: Candidate, current: Candidate, first: Candidate, objective: Objective) -> str:
    """Keep a candidate that lowers the validation loss and whose guarded metrics stay inside their margins."""
    for guard in objective.guards:
        old, new = first.metrics[guard.metric], candidate.metrics[guard.metric]
        if old is not None and new is not None and new < old - guard.margin:
            return f"worse: {guard.metric} fell below its guard"
    return "kept" if candidate.loss < current.loss else "worse: the validation loss did not fall"


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
        tools.journal.record("decision", {"accepted": False, "outcome": "refused", "reason": "no candidate beat the prompt on validation"})
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
        raise BudgetSpent(f"the budget ended while judging ({doing}): {unpaid} rows are left", hint="resume with a larger --budget")
    return judged
