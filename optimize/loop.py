"""One run, from a judge and labelled rows to a decision. `optimize` names its steps in order.

Every step writes its event to the journal before the next begins. A run is a function of its arguments and of the
model's answers alone, and every answer is in the record of calls: a run that was killed is resumed by starting over,
past the calls that are already paid for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from ..judges import Dataset, InputError, JudgedDataset, JudgePrompt, Splits, by_column, measure, split_dataset
from ..slices import Predicate, choose_target, find_slices, parse_predicate
from ..slices.column_names import BY_NAME, named_outputs
from ..slices.slice import ALL_ROWS
from ..slices.target_selection import why_no_target
from .ablation import measure_hunks
from .context import RunContext, Services, judge_rows, open_rows
from .events import (
    Benchmarked,
    BestCandidate,
    DecisionRecord,
    GateDecided,
    HunksMeasured,
    LossFrozen,
    MeasuredSide,
    Remeasured,
    RowsSplit,
    SearchStarted,
    SliceChosen,
    ThresholdTuned,
    read_as,
)
from .goal import Goal, Target
from .holdout.decision import Decision, final_changes
from .holdout.gate import gate, open_for_report
from .holdout.ledger import remember_split
from .hunks import split_hunks
from .losses.axioms import cost_table
from .losses.expression import compile_expression
from .losses.grid import NO_SLICE
from .losses.loss import Loss, WrittenLoss, check_loss, row_losses, write_loss
from .losses.objective import Objective
from .search_state import SearchState
from .settings import RunSettings, require_columns, require_decision
from .step import Step
from .threshold import NoThreshold, tune_threshold

_PLAIN = Loss(
    expression=compile_expression("1 - correct"),
    reason="unguided: every wrong decision costs the same",
    written_by="plain",
)
LEAST_ROWS = 20
"""Rows that a value needs for a line of its own in the closing table, which would else tell single sealed rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

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
    """Improve a judge once: find where it errs, search for a better prompt, and let the gate decide.

    Args:
        prompt: The judge to improve.
        dataset: Labelled rows.
        objective: What to improve and what to guard.
        services: Clients, proposer, journal and ledger.
        settings: See `RunSettings`.

    Raises:
        InputError: The judge does not decide yes or no, the data cannot be split, or the slice does not exist.
        ModelError, BudgetSpent, Interrupted: The run stopped; it can be resumed.
    """
    require_decision(prompt)
    require_columns(dataset, settings)
    parts = split_rows(dataset, services, settings)
    baseline = benchmark(prompt, parts, services, settings)
    target = find_target(baseline, objective, services, settings)
    loss = construct_loss(objective, target, baseline, services, settings)
    goal = Goal(objective=objective, target=target, loss=loss)
    run = RunContext(prompt=prompt, parts=parts, goal=goal, services=services, settings=settings)
    best = search(run, baseline)
    measure_edit(run, best)
    decision = decide_on_holdout(run, best)
    tune_thresholds(run, best, decision)
    measure_everything(run, best, decision)
    return Outcome(before=prompt, after=best, target=target, loss=loss, decision=decision)


def split_rows(dataset: Dataset, services: Services, settings: RunSettings) -> Splits:
    """Cut the rows into training, validation, holdout and final; the last two are sealed.

    The cut depends on the rows and the shares alone, so that another seed cannot make a fresh holdout of tuned rows.
    """
    parts = split_dataset(dataset, shares=settings.shares)
    remember_split(services.ledger, services.run_id, parts, allow_opened=settings.allow_opened)
    event = RowsSplit(
        rows={
            "train": len(parts.train),
            "validation": len(parts.validation),
            "holdout": len(parts.holdout),
            "final": len(parts.final),
        },
        merged=parts.merged,
        seals={"holdout": parts.holdout.content_hash, "final": parts.final.content_hash},
        notes=parts.notes,
    )
    services.record(event)
    return parts


def benchmark(prompt: JudgePrompt, parts: Splits, services: Services, settings: RunSettings) -> JudgedDataset:
    """Measure the judge as it is on the open rows (training and validation)."""
    judged = judge_rows("benchmark", prompt, open_rows(parts), services, settings)
    services.record(Benchmarked(benchmark=measure(judged, seed=settings.seed).to_json()))
    return judged


def find_target(baseline: JudgedDataset, objective: Objective, services: Services, settings: RunSettings) -> Target:
    """Find the slice where the judge errs in the objective's direction, or take the one that was named."""
    if settings.slice not in ("auto", "all"):
        return _take_named(parse_predicate(settings.slice), baseline, services)
    if settings.slice == "all" or settings.unguided:
        target = Target(predicate=None, why="asked for by the caller")
        services.record(SliceChosen(name=target.name, why=target.why, slices=()))
        return target
    report = find_slices(
        baseline,
        metric=objective.target,
        columns=settings.slice_columns or None,
        exclude=settings.exclude,
        keep=settings.keep,
        seed=settings.seed,
    )
    chosen, why = choose_target(report, objective.direction)
    target = Target(predicate=chosen.predicate if chosen else None, why=why)
    event = SliceChosen(
        name=target.name,
        why=target.why,
        slices=tuple(one.to_json() | {"why_no_target": why_no_target(one) or None} for one in report.slices),
        metric=report.metric,
        judge_outputs=tuple(output.to_json() for output in report.judge_outputs),
        skipped_columns=dict(report.left_out),
        notes=tuple(report.notes),
    )
    services.record(event)
    return target


def _take_named(predicate: Predicate, baseline: JudgedDataset, services: Services) -> Target:
    target = Target(predicate=predicate, why="named by the caller")
    if not target.member(baseline.dataset).any():
        raise InputError(f"no open row lies in the slice {target.name!r}")
    notes = tuple(f"{column}: {BY_NAME}, and no prompt can know it" for column in named_outputs(predicate))
    services.record(SliceChosen(name=target.name, why=target.why, slices=(), notes=notes))
    return target


def construct_loss(
    objective: Objective, target: Target, baseline: JudgedDataset, services: Services, settings: RunSettings
) -> Loss:
    """Have the model write a loss for the objective; check it, also on the verdicts at hand, and freeze it.

    A person's own loss is checked in the same way. Unguided, the loss is whether the decision is wrong. Neither calls
    a model.

    Raises:
        LossError: A person's loss is refused.
    """
    levels = baseline.scale.levels
    first_positive = baseline.scale.threshold
    if levels:
        first_positive = sum(not baseline.scale.positive(level) for level in levels)
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
    if target.predicate is None:  # every row is in the target: there is no other place to speak of
        costs = [replace(row, place=ALL_ROWS) for row in costs if row.place != NO_SLICE]
    event = LossFrozen(
        expression=str(loss.expression),
        declares=dict(loss.declares),
        reason=loss.reason,
        written_by=loss.written_by,
        version=loss.version,
        refusals=tuple(written.refusals),
        cost_table=tuple(asdict(row) for row in costs),
    )
    services.record(event)
    return loss


def search(run: RunContext, baseline: JudgedDataset) -> JudgePrompt | None:
    """Search step by step: critique a minibatch, propose, check, race, validate, keep what is better.

    Args:
        run: Its sealed parts give their sizes and nothing else.
        baseline: The first prompt's verdicts on the open rows, training rows first.

    Returns:
        The best candidate on validation; None where none beat the first prompt.
    """
    state = SearchState.start(run, baseline)
    first = state.first
    run.services.record(SearchStarted(version=run.prompt.version, loss=first.loss, metrics=first.metrics))
    for number in range(1, run.settings.steps + 1):
        run.services.record(Step(number=number, state=state, run=run).take())
    if state.current is first:
        run.services.record(BestCandidate(version=None, prompt=None))
        return None
    best = state.current.prompt
    run.services.record(BestCandidate(version=best.version, prompt=best.to_yaml()))
    return best


def measure_edit(run: RunContext, best: JudgePrompt | None) -> None:
    """Measure which words earned the change: each hunk left out and added alone, on validation rows."""
    if best is None or not run.settings.hunks:
        return
    report = measure_hunks(
        split_hunks(run.prompt, best, most=run.settings.hunks),
        lambda doing, prompt: run.judge(doing, prompt, run.parts.validation),
        run.goal.row_losses,
        metric=run.goal.objective.target,
    )
    run.services.record(read_as(HunksMeasured, report.to_json()))


def decide_on_holdout(run: RunContext, best: JudgePrompt | None) -> Decision | None:
    """Put the best candidate through the gate; without one there is nothing to decide."""
    if best is None:
        nothing = DecisionRecord(accepted=False, outcome="refused", reason="no candidate beat the prompt on validation")
        run.services.record(GateDecided(decision=nothing))
        return None
    decision = gate(
        run.prompt,
        best,
        run.parts.holdout,
        run.goal.objective,
        judge=lambda prompt, rows, repeat: run.judge("holdout", prompt, rows, repeat=repeat),
        ledger=run.services.ledger,
        run_id=run.services.run_id,
        member=run.goal.target.member,
        exclude=run.settings.exclude,
    )
    run.services.record(read_as(GateDecided, decision.to_json()))
    return decision


def tune_thresholds(run: RunContext, best: JudgePrompt | None, decision: Decision | None) -> None:
    """After an accept, choose the threshold again on validation, for both prompts; every answer is recorded."""
    if best is None or decision is None or not decision.accepted:
        return
    before, after = (run.judge("threshold", prompt, run.parts.validation) for prompt in (run.prompt, best))
    tuned = tune_threshold(before, after, run.parts, run.goal.objective, seed=run.settings.seed)
    if isinstance(tuned, NoThreshold):
        run.services.record(ThresholdTuned(reason=tuned.reason))
    else:
        run.services.record(read_as(ThresholdTuned, tuned.to_json()))


def measure_everything(run: RunContext, best: JudgePrompt | None, decision: Decision | None) -> None:
    """Measure before and after: the whole benchmark and the final rows after an accept, else the open rows.

    Without an accept the sealed rows stay sealed: a table over all rows, less one over the open rows, would hand out
    the holdout's figures. Without a new prompt there is no after either.
    """
    parts, settings = run.parts, run.settings
    column = settings.by
    if column is None and any("dataset" in row.meta for row in parts.train.rows):
        column = "dataset"
    rows, opened, accepted = open_rows(parts), 0, False
    if best is not None and decision is not None and decision.accepted:
        accepted = True
        rows, opened = open_for_report(
            parts, run.prompt, best, decision, ledger=run.services.ledger, run_id=run.services.run_id
        )
    sides: list[MeasuredSide] = []
    finals: list[JudgedDataset] = []
    for side, prompt in (("before", run.prompt), ("after", best)):
        if prompt is None:
            continue
        doing = "whole benchmark" if accepted else "open rows"
        judged = run.judge(f"{doing}, {side}", prompt, rows)
        if accepted and len(parts.final):
            finals.append(judged.only(range(len(rows) - len(parts.final), len(rows))))
        sides.append(_measure_side(judged, column, finals[-1] if finals else None, seed=settings.seed))
    event = Remeasured(
        by=column,
        final_opened=opened,
        includes_tuned_rows=True,
        includes_sealed_rows=accepted,
        before=sides[0],
        after=sides[1] if best is not None else None,
        final_change=final_changes(finals[0], finals[1], run.goal.objective) if len(finals) == 2 else None,
    )
    run.services.record(event)


def _measure_side(judged: JudgedDataset, column: str | None, final: JudgedDataset | None, *, seed: int) -> MeasuredSide:
    tables = by_column(judged, column, least=LEAST_ROWS, seed=seed) if column else {}
    return MeasuredSide(
        pooled=measure(judged, seed=seed).to_json(),
        by={value: table.to_json() for value, table in sorted(tables.items())},
        final=None if final is None else measure(final, seed=seed).to_json(),
    )
