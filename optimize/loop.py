"""One run, from a judge and labelled rows to a decision. `optimize` names its steps in order.

Every step writes its event to the journal before the next begins. A run is a function of its
arguments and of the model's answers alone, and every answer is in the record of calls: a run that
was killed is resumed by starting over, past the calls that are already paid for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial

from ..judges import (
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Splits,
    by_column,
    compare,
    measure,
    point,
)
from ..judges.models import ask_together
from .contenders import Search
from .context import RunContext, Services, judge_rows, open_rows
from .events import (
    Benchmarked,
    DecisionRecord,
    GateDecided,
    MeasuredSide,
    ProposalRecord,
    Remeasured,
    RowsSplit,
    SearchStarted,
    StepTaken,
    ThresholdTuned,
    read_as,
)
from .folds import deal_folds, judged_whole, open_fold
from .goal import Target
from .goal_setting import set_goal
from .holdout.bank_rows import without_banked
from .holdout.decision_record import Decision, final_changes
from .holdout.gate import gate, open_for_report
from .holdout.ledger import judge_id, seen_rows, split_with_memory
from .holdout.look_counting import LookRequest, requested_look
from .losses.loss import Loss
from .losses.objective import Objective
from .outcome import why_no_candidate
from .proposers.proposer import goes_on, learns
from .settings import (
    RunSettings,
    require_columns,
    require_judging,
    require_probabilities,
    require_probability,
)
from .step import Branch, Step
from .survivor import Survivor, choose_survivor
from .threshold import NoThreshold, choose_threshold

LEAST_ROWS = 20
"""Rows that a value needs for a line of its own in the closing table, which would else tell single
sealed rows.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    before: JudgePrompt
    after: JudgePrompt | None
    """What promised most at the gate; None where there was nothing to choose."""
    target: Target
    loss: Loss
    decision: Decision | None
    """None where there was no candidate to decide about, or none that was worth a look."""


def optimize(
    prompt: JudgePrompt,
    dataset: Dataset,
    objective: Objective,
    services: Services,
    settings: RunSettings,
) -> Outcome:
    """Improve a judge once: find where it errs, search for a better prompt, and let the gate
    decide.

    Args:
        prompt: The judge to improve.
        dataset: Labelled rows.
        objective: What to improve and what to guard.
        services: Clients, proposer, journal and ledger.
        settings: See `RunSettings`.

    Raises:
        InputError: The data cannot be split, or the slice does not exist.
        ModelError, BudgetSpent, Interrupted: The run stopped; it can be resumed.
    """
    require_judging(prompt, settings)
    require_columns(dataset, settings)
    require_probability(prompt, objective, settings)
    parts = split_rows(prompt, dataset, services, settings)
    baseline = benchmark(prompt, parts, services, settings)
    require_probabilities(baseline, objective)
    benchmark_threshold(baseline, objective, services, settings)
    goal = set_goal(objective, baseline, services, settings)
    run = RunContext(prompt=prompt, parts=parts, goal=goal, services=services, settings=settings)
    best = choose_survivor(run, search(run, baseline))
    decision = decide_on_holdout(run, best)
    measure_everything(run, best, decision)
    after = None if best is None else best.prompt
    return Outcome(
        before=prompt, after=after, target=goal.target, loss=goal.loss, decision=decision
    )


def split_rows(
    prompt: JudgePrompt, dataset: Dataset, services: Services, settings: RunSettings
) -> Splits:
    """Cut the rows into training, validation, holdout and final; the last two are sealed.

    Groups that the ledger knows stay where they were, so that neither a seed nor more rows make a
    fresh holdout of tuned rows.
    """
    ledger, run_id, allow_opened = services.ledger, services.run_id, settings.allow_opened
    parts = split_with_memory(
        ledger.history(), run_id, dataset, settings.shares, allow_opened=allow_opened
    )
    ledger.remember(seen_rows(run_id, parts), allow_opened=allow_opened)
    request = LookRequest(
        holdout=parts.holdout.content_hash,
        run_id=run_id,
        before=judge_id(prompt, settings.rule),
        after="",
        purpose="gate",
        line="",
        known_as=(prompt.version,),
    )
    look = requested_look(ledger.history(), request)
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
        next_look={"number": look.number, "alpha": look.alpha, "spent": list(look.spent)},
    )
    services.record(event)
    return parts


def benchmark(
    prompt: JudgePrompt, parts: Splits, services: Services, settings: RunSettings
) -> JudgedDataset:
    """Measure the judge as it is on the open rows (training and validation)."""
    judged = judge_rows("benchmark", prompt, open_rows(parts), services, settings)
    services.record(Benchmarked(benchmark=measure(judged).to_json()))
    return judged


def benchmark_threshold(
    baseline: JudgedDataset, objective: Objective, services: Services, settings: RunSettings
) -> None:
    """Say what another threshold alone would give on the open rows: the first thing a new prompt
    has to beat.
    """
    chosen = choose_threshold(
        baseline, baseline, objective, claims=settings.claims is not None, seed=settings.seed
    )
    if isinstance(chosen, NoThreshold):
        services.record(ThresholdTuned(reason=chosen.reason))
        return
    rules = {"old": chosen.old, "before": chosen.rule}
    changes = {name: compare(name, baseline, chosen.judged) for name in objective.metrics}
    event = ThresholdTuned(
        metric=chosen.metric,
        n=len(baseline.scored),
        simulated=baseline.simulated,
        rules={name: {"version": rule.version, **rule.to_json()} for name, rule in rules.items()},
        retuned={
            name: None if change is None else asdict(change) for name, change in changes.items()
        },
        notes=chosen.notes,
    )
    services.record(event)


def search(run: RunContext, baseline: JudgedDataset) -> Search:
    """Let every arm write prompts in every fold, step by step, and judge each on the rows that it
    was not written from.

    Args:
        run: Its sealed parts give their sizes and nothing else.
        baseline: The first prompt's verdicts on the open rows, training rows first.

    Returns:
        Every prompt with its verdicts; what goes to the gate is for `choose_survivor` to say.
    """
    losses, names = run.goal.row_losses(baseline), run.goal.objective.metrics
    run.services.record(
        SearchStarted(
            version=run.prompt.version,
            loss=float(losses.mean()) if len(losses) else 1.0,
            metrics={name: point(name, *baseline.compared(name)) for name in names},
        )
    )
    whole, proposers = open_fold(run, baseline), run.services.proposers
    steps = run.settings.steps
    folds = deal_folds(whole, baseline) if steps and any(map(learns, proposers)) else []
    branches = [
        Branch.start(proposer, fold)
        for proposer in proposers
        for fold in (folds if learns(proposer) else [judged_whole(whole, baseline)])
    ]
    for number in range(1, steps + 1):
        acting = [i for i, one in enumerate(branches) if number == 1 or goes_on(one.proposer)]
        taken = ask_together(
            [
                Step(
                    number=number,
                    branch=branches[i],
                    last=number == steps or not goes_on(branches[i].proposer),
                ).take
                for i in acting
            ]
        )
        branches = [branch.stays() for branch in branches]
        for i, (event, branch) in zip(acting, taken, strict=True):
            run.services.record(event)
            branches[i] = branch
    arms = tuple(tuple(b for b in branches if b.proposer is one) for one in proposers)
    labelled = judged_whole(whole, baseline).held
    return Search(whole=whole, baseline=labelled, branches=arms)


def decide_on_holdout(run: RunContext, best: Survivor | None) -> Decision | None:
    """Put the survivor through the gate, unless its chance is too small; without one there is
    nothing to decide.
    """
    if best is None or not best.sent:
        outcome, reason = "not sent", "" if best is None else best.why_not_sent
        if best is None or best.prompt is run.prompt:
            outcome, why = why_no_candidate(_proposals(run))
            alone = (
                "; another threshold alone is too unlikely to be accepted, so the holdout stays"
                " sealed (--gate-anyway tests it all the same)"
            )
            reason = f"{why}{alone}" if best else why
        run.services.record(
            GateDecided(decision=DecisionRecord(accepted=False, outcome=outcome, reason=reason))
        )
        return None
    decision = gate(
        run.prompt,
        best.prompt,
        run.parts.holdout,
        run.goal.objective,
        judge=lambda prompt, rows, repeat: run.judge("holdout", prompt, rows, repeat=repeat),
        rules=(run.settings.rule, best.rule or run.settings.rule),
        ledger=run.services.ledger,
        run_id=run.services.run_id,
        member=run.goal.target.member if run.goal.target.tested else None,
        exclude=run.settings.exclude,
    )
    if best.prompt is run.prompt:
        reason = (
            f"{decision.reason}; it is another threshold alone, as"
            f" {why_no_candidate(_proposals(run))[1]}"
        )
        decision = replace(decision, reason=reason)
    event = read_as(GateDecided, {**decision.to_json(), "estimated": best.estimated})
    run.services.record(event)
    return decision


def _proposals(run: RunContext) -> list[ProposalRecord]:
    """Return the proposals of the finalist, where one was to be written, else of the search."""
    events = run.services.journal.events()
    steps = [read_as(StepTaken, event.payload) for event in events if event.kind == StepTaken.kind]
    last = [step.proposal for step in steps if step.fold is None]
    return last or [step.proposal for step in steps]


def measure_everything(run: RunContext, best: Survivor | None, decision: Decision | None) -> None:
    """Measure before and after: the whole benchmark and the final rows after an accept, else the
    open rows.

    Without an accept the sealed rows stay sealed: a table over all rows, less one over the open
    rows, would hand out the holdout's figures. Without a new prompt there is no after either.
    """
    parts, settings = run.parts, run.settings
    column = settings.by
    if column is None and any("dataset" in row.meta for row in parts.train.rows):
        column = "dataset"
    rows, opened, accepted = open_rows(parts), 0, False
    if best is not None and decision is not None and decision.accepted:
        accepted = True
        rows, opened = open_for_report(
            parts,
            run.prompt,
            best.prompt,
            decision,
            ledger=run.services.ledger,
            run_id=run.services.run_id,
        )
    doing = "whole benchmark" if accepted else "open rows"
    tasks = [partial(run.judge, f"{doing}, before", run.prompt, rows)]
    if best is not None:
        tasks.append(partial(run.judge, f"{doing}, after", best.prompt, rows))
    sides: list[MeasuredSide] = []
    finals: list[JudgedDataset] = []
    tables = ask_together(tasks)
    if best is not None and best.rule is not None:
        tables[1] = tables[1].under(best.rule)
    final: list[int] = []
    note = ""
    if best is not None and accepted and len(parts.final):
        final, note = _final_evidence(run, best, rows)
    for judged in tables:
        if final:
            finals.append(judged.only(final))
        by = by_column(judged, column, least=LEAST_ROWS) if column else {}
        side = MeasuredSide(
            pooled=measure(judged).to_json(),
            by={value: table.to_json() for value, table in sorted(by.items())},
            final=measure(finals[-1]).to_json() if finals else None,
        )
        sides.append(side)
    event = Remeasured(
        by=column,
        final_opened=opened,
        includes_tuned_rows=True,
        includes_sealed_rows=accepted,
        before=sides[0],
        after=sides[1] if best is not None else None,
        final_change=(
            final_changes(finals[0], finals[1], run.goal.objective) if len(finals) == 2 else None
        ),
        final_note=note or None,
    )
    run.services.record(event)


def _final_evidence(run: RunContext, best: Survivor, rows: Dataset) -> tuple[list[int], str]:
    """Return which rows are final ones, the last of all opened, that stand in neither prompt's
    bank, and what left the others out.
    """
    first = len(rows) - len(run.parts.final)
    opened = replace(rows, rows=rows.rows[first:])
    evidence = without_banked(opened, (run.prompt, best.prompt))
    groups = {row.group_key for row in evidence.rows.rows}
    positions = [i for i in range(first, len(rows)) if rows.rows[i].group_key in groups]
    return positions, evidence.note
