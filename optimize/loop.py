"""The one walk, from a judge and labelled rows to a decision. `optimize` names its steps in order.

Every step writes what it found to the journal before the next begins. The walk is a function of its
arguments and of the model's answers alone, and every answer is in the record of calls: a run that was
killed is resumed by walking again from the start, past the calls that are already paid for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..judges import Dataset, InputError, JudgedDataset, JudgePrompt, Splits, by_column, measure, split_dataset
from ..slices import SliceReport, choose_target, find_slices, parse_predicate
from ..slices.inspect_slice import why_no_target
from ..slices.outputs import BY_NAME, named_outputs
from ..slices.slice import ALL_ROWS
from .ablation import measure_hunks
from .context import Goal, RunSettings, Services, Target, judge_rows, open_rows, require_columns, require_decision
from .holdout.decision import Decision
from .holdout.final_comparison import final_changes
from .holdout.gate import gate, open_for_report
from .holdout.ledger import remember_split
from .hunks import split_hunks
from .improve import improve
from .losses.axioms import cost_table
from .losses.expression import compile_expression
from .losses.grid import NO_SLICE
from .losses.loss import Loss, WrittenLoss, check_loss, row_losses, write_loss
from .losses.objective import Objective
from .threshold import NoThreshold, tune_threshold

_PLAIN = Loss(
    expression=compile_expression("1 - correct"),
    reason="unguided: every wrong decision costs the same",
    written_by="plain",
)
LEAST_ROWS = 20
"""Rows a value needs to have a line of its own in the closing table, which would else tell single sealed rows."""


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
    prompt: JudgePrompt, dataset: Dataset, objective: Objective, services: Services, settings: RunSettings
) -> Outcome:
    """Walk the whole path once.

    Inside `improve`, each step critiques a minibatch of the slice, lets the proposer propose a text, checks what a
    candidate may not do, and validates it; the best one goes to the gate.

    Args:
        prompt: The judge to improve.
        dataset: Labelled rows.
        objective: What to improve and what to guard.
        tools: Clients, proposer, journal and ledger.
        settings: See `RunSettings`.

    Raises:
        InputError: The judge does not decide yes or no, the data cannot be split, or the slice named does not exist.
        ModelError, BudgetSpent, Interrupted: The walk stopped; it can be resumed.
    """
    require_decision(prompt)
    require_columns(dataset, settings)
    parts = split_rows(dataset, services, settings)
    baseline = benchmark(prompt, parts, services, settings)
    target = find_target(baseline, objective, services, settings)
    loss = construct_loss(objective, target, baseline, services, settings)
    goal = Goal(objective=objective, target=target, loss=loss)
    survivor = improve(prompt, parts, baseline, goal, services, settings)
    attribute(prompt, survivor, parts, goal, services, settings)
    decision = decide_on_holdout(prompt, survivor, parts, goal, services, settings)
    rechoose(prompt, survivor, decision, parts, goal, services, settings)
    remeasure_everything(prompt, survivor, decision, parts, goal, services, settings)
    return Outcome(before=prompt, after=survivor, target=target, loss=loss, decision=decision)


def split_rows(dataset: Dataset, services: Services, settings: RunSettings) -> Splits:
    """Cut the rows into training, validation, holdout and final; the last two are sealed.

    The cut depends on the rows and the shares alone, so that another seed cannot make a fresh holdout of tuned rows.
    """
    parts = split_dataset(dataset, shares=settings.shares)
    sizes = {
        "train": len(parts.train),
        "validation": len(parts.validation),
        "holdout": len(parts.holdout),
        "final": len(parts.final),
    }
    remember_split(services.ledger, services.run_id, parts, allow_opened=settings.allow_opened)
    seals = {"holdout": parts.holdout.content_hash, "final": parts.final.content_hash}
    services.journal.record(
        "split", {"rows": sizes, "merged": parts.merged, "seals": seals, "notes": list(parts.notes)}
    )
    return parts


def benchmark(prompt: JudgePrompt, parts: Splits, services: Services, settings: RunSettings) -> JudgedDataset:
    """Measure the judge as it is on the open rows (training and validation)."""
    judged = judge_rows("benchmark", prompt, open_rows(parts), services, settings)
    services.journal.record("benchmark", measure(judged, seed=settings.seed).to_json())
    return judged


def find_target(baseline: JudgedDataset, objective: Objective, services: Services, settings: RunSettings) -> Target:
    """Find the slice where the judge errs in the objective's direction, or take the one that was named."""
    if settings.slice not in ("auto", "all"):
        predicate = parse_predicate(settings.slice)
        target = Target(name=str(predicate), why="named by the caller", predicate=predicate)
        if not target.member(baseline.dataset).any():
            raise InputError(f"no open row lies in the slice {settings.slice!r}")
        notes = [f"{column}: {BY_NAME}, and no prompt can know it" for column in named_outputs(predicate)]
        services.journal.record("slice", {"name": target.name, "why": target.why, "found": [], "notes": notes})
        return target
    if settings.slice == "all" or settings.unguided:
        target = Target(name=ALL_ROWS, why="asked for by the caller", predicate=None)
        services.journal.record("slice", {"name": target.name, "why": target.why, "found": []})
        return target
    report = find_slices(
        baseline,
        metric=objective.target,
        columns=settings.columns or None,
        exclude=settings.exclude,
        keep=settings.keep,
        seed=settings.seed,
    )
    target = _choose(report, objective)
    services.journal.record(
        "slice",
        {
            "name": target.name,
            "why": target.why,
            "metric": report.metric,
            "found": [found.to_json() | {"why_no_target": why_no_target(found) or None} for found in report.slices],
            "judge_outputs": [output.to_json() for output in report.judge_outputs],
            "left_out": dict(report.left_out),
            "notes": list(report.notes),
        },
    )
    return target


def _choose(report: SliceReport, objective: Objective) -> Target:
    chosen, why = choose_target(report, objective.direction)
    if chosen is None:
        return Target(name=ALL_ROWS, why=why, predicate=None)
    return Target(name=str(chosen.predicate), why=why, predicate=chosen.predicate)


def construct_loss(
    objective: Objective, target: Target, baseline: JudgedDataset, services: Services, settings: RunSettings
) -> Loss:
    """Have the model write a loss for the objective; check it, also on the verdicts at hand, and freeze it.

    A person's own loss is checked in the same way. Unguided, the loss is whether the decision is wrong. Neither asks a
    model.

    Raises:
        LossError: A person's loss is refused.
    """
    judge_scale = baseline.scale
    levels = judge_scale.levels
    first_positive = sum(not judge_scale.positive(g) for g in levels) if levels else judge_scale.threshold
    scale = {"levels": len(levels), "positive_from": first_positive}
    checks = scale | {
        "labels": baseline.dataset.labels,
        "trial": lambda loss: row_losses(loss, baseline, target.members(baseline)),
    }
    if settings.unguided:
        written = WrittenLoss(loss=_PLAIN)
    elif settings.loss is not None:
        check_loss(settings.loss, objective, **checks)
        written = WrittenLoss(loss=settings.loss)
    else:
        written = write_loss(objective, target.name, services.optimizer_client.ask_one, **checks)
    loss = written.loss
    costs = cost_table(loss.expression, **scale) if levels else []
    if target.predicate is None:  # every row is in the target: there is no other place, and no slice to speak of
        costs = [replace(row, place=ALL_ROWS) for row in costs if row.place != NO_SLICE]
    services.journal.record(
        "loss",
        {
            "expression": str(loss.expression),
            "declares": dict(loss.declares),
            "reason": loss.reason,
            "written_by": loss.written_by,
            "version": loss.version,
            "refusals": list(written.refusals),
            "cost_table": [asdict(row) for row in costs],
        },
    )
    return loss


def attribute(
    prompt: JudgePrompt,
    survivor: JudgePrompt | None,
    parts: Splits,
    goal: Goal,
    services: Services,
    settings: RunSettings,
) -> None:
    """Measure which words of the survivor earned its change: each hunk left out and added alone, on validation."""
    if survivor is None or not settings.hunks:
        return
    report = measure_hunks(
        split_hunks(prompt, survivor, most=settings.hunks),
        lambda doing, asked: judge_rows(doing, asked, parts.validation, services, settings),
        lambda judged: row_losses(goal.loss, judged, goal.target.members(judged)),
        metric=goal.objective.target,
    )
    services.journal.record("hunks", report.to_json())


def rechoose(
    prompt: JudgePrompt,
    survivor: JudgePrompt | None,
    decision: Decision | None,
    parts: Splits,
    goal: Goal,
    services: Services,
    settings: RunSettings,
) -> None:
    """After an accept, choose the threshold again on validation, for both prompts; every answer is in the record."""
    if survivor is None or decision is None or not decision.accepted:
        return
    before, after = (judge_rows("threshold", p, parts.validation, services, settings) for p in (prompt, survivor))
    found = tune_threshold(before, after, parts, goal.objective, seed=settings.seed)
    payload = {"reason": found.reason} if isinstance(found, NoThreshold) else found.to_json()
    services.journal.record("threshold", payload)


def decide_on_holdout(
    prompt: JudgePrompt,
    survivor: JudgePrompt | None,
    parts: Splits,
    goal: Goal,
    services: Services,
    settings: RunSettings,
) -> Decision | None:
    """Put the survivor through the gate; without one there is nothing to decide."""
    if survivor is None:
        services.journal.record(
            "decision",
            {"accepted": False, "outcome": "refused", "reason": "no candidate beat the prompt on validation"},
        )
        return None
    decision = gate(
        prompt,
        survivor,
        parts.holdout,
        goal.objective,
        judge=lambda asked, rows, repeat: judge_rows("holdout", asked, rows, services, settings, repeat=repeat),
        ledger=services.ledger,
        run_id=services.run_id,
        member=goal.target.member,
        exclude=settings.exclude,
    )
    services.journal.record("decision", decision.to_json())
    return decision


def remeasure_everything(
    prompt: JudgePrompt,
    survivor: JudgePrompt | None,
    decision: Decision | None,
    parts: Splits,
    goal: Goal,
    services: Services,
    settings: RunSettings,
) -> None:
    """Measure before and after: on the whole benchmark and the final rows after an accept, else on the open rows alone.

    Without an accept the sealed rows stay sealed: a table over all rows, less one over the open rows, would hand out
    the holdout's figures. Without a survivor there is no after either.
    """
    column = settings.by or ("dataset" if any("dataset" in row.meta for row in parts.train.rows) else None)
    accepted = decision is not None and decision.accepted
    rows, opened = open_rows(parts), 0
    if survivor is not None and decision is not None and decision.accepted:
        rows, opened = open_for_report(
            parts, prompt, survivor, decision, ledger=services.ledger, run_id=services.run_id
        )
    payload: dict[str, Any] = {"includes_tuned_rows": True, "includes_sealed_rows": accepted}  # Any: JSON
    payload |= {"by": column, "final_opened": opened}
    finals: list[JudgedDataset] = []
    for side, asked in (("before", prompt), ("after", survivor)):
        if asked is None:
            continue
        named = "whole benchmark" if accepted else "open rows"
        whole = judge_rows(f"{named}, {side}", asked, rows, services, settings)
        tables = by_column(whole, column, least=LEAST_ROWS, seed=settings.seed) if column else {}
        payload[side] = {
            "pooled": measure(whole, seed=settings.seed).to_json(),
            "by": {value: table.to_json() for value, table in sorted(tables.items())},
        }
        if accepted and len(parts.final):
            final = whole.only(range(len(rows) - len(parts.final), len(rows)))
            payload[side]["final"] = measure(final, seed=settings.seed).to_json()
            finals.append(final)
    if len(finals) == 2:
        payload["final_change"] = final_changes(finals[0], finals[1], goal.objective)
    services.journal.record("everything", payload)
