"""What the objective comes to on these rows: the slice to optimize on, and the loss that is written
for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..judges import BoolArray, InputError, JudgedDataset
from ..judges.metrics.catalog import sign_of
from ..slices import (
    FoundSlice,
    SliceReport,
    find_by_rate,
    find_confusions,
    find_slices,
    parse_predicate,
)
from ..slices.column_names import BY_NAME, named_outputs
from ..slices.effect import Direction
from ..slices.inspect_slice import require_columns
from ..slices.slice import ALL_ROWS
from .context import Services
from .events import LossFrozen, SliceChosen
from .goal import Goal, Target
from .journal import Unrecorded
from .losses.classes import Classes
from .losses.costs import outcome_costs
from .losses.expression import compile_expression
from .losses.grid import Grades
from .losses.loss import Loss, WrittenLoss, check_loss, row_losses, write_loss
from .losses.objective import Objective
from .losses.outcomes import PLACES
from .losses.request import outcome_facts, slice_facts
from .settings import RunSettings

_PLAIN = Loss(
    expression=compile_expression("1 - correct"),
    reason="unguided: every wrong decision costs the same",
    written_by="plain",
)


def set_goal(
    objective: Objective, baseline: JudgedDataset, services: Services, settings: RunSettings
) -> Goal:
    """Choose the rows to improve on, and freeze the loss.

    Raises:
        InputError: The slice that was named does not exist.
        LossError: A person's loss is refused.
    """
    target = find_target(baseline, objective, services, settings)
    loss = construct_loss(objective, target, baseline, services, settings)
    slices = {name: parse_predicate(settings.saved_slices[name]) for name in loss.expression.slices}
    return Goal(objective=objective, target=target, loss=loss, slices=slices)


def set_goal_of_fold(
    goal: Goal, written_from: JudgedDataset, services: Services, settings: RunSettings
) -> Goal:
    """Choose rows and loss again from the rows that a fold's prompts are written from; nothing is
    recorded.

    What a person named stays: it was read from no label.

    Args:
        goal: The run's, of all open rows.
        written_from: These rows with the first prompt's verdicts.
        services: The optimizer model.
        settings: What a person chose.
    """
    services = replace(services, journal=Unrecorded())
    target, loss, objective = goal.target, goal.loss, goal.objective
    if settings.slice == "auto" and not settings.unguided:
        target = find_target(written_from, objective, services, settings)
    if settings.loss is None and not settings.unguided:
        loss = construct_loss(objective, target, written_from, services, settings)
    slices = {name: parse_predicate(settings.saved_slices[name]) for name in loss.expression.slices}
    return Goal(objective=objective, target=target, loss=loss, slices=slices)


def find_target(
    baseline: JudgedDataset, objective: Objective, services: Services, settings: RunSettings
) -> Target:
    """Find the slice where the judge errs in the objective's direction, or take the one that was
    named.
    """
    if settings.slice not in ("auto", "all"):
        predicate = parse_predicate(settings.slice)
        target = Target(predicate=predicate, why="named by the caller")
        if not target.member(baseline.dataset).any():
            raise InputError(f"no open row lies in the slice {target.name!r}")
        notes = tuple(
            f"{column}: {BY_NAME}, and no prompt can know it" for column in named_outputs(predicate)
        )
        services.record(SliceChosen(name=target.name, why=target.why, slices=(), notes=notes))
        return target
    if settings.slice == "all" or settings.unguided:
        target = Target(predicate=None, why="asked for by the caller")
        services.record(SliceChosen(name=target.name, why=target.why, slices=()))
        return target
    of_classes = baseline.scale.kind == "choice"
    search = find_confusions if of_classes else find_slices
    columns = settings.slice_columns or None
    # Reasons tell the label.
    exclude = (*settings.exclude, *([settings.explanation] if settings.explanation else []))
    keep = settings.keep
    report = search(
        baseline,
        metric=objective.target,
        columns=columns,
        exclude=exclude,
        keep=keep,
        seed=settings.seed,
    )
    chosen, reason = choose_target(report, objective.direction)
    predicate, evidence = (None, None) if chosen is None else (chosen.predicate, chosen.evidence)
    tested = True
    if chosen is None and not of_classes:
        passed_over = [
            one.predicate
            for one in report.slices
            if one.evidence != "exploratory" and one.is_base_rate
        ]
        poor = find_by_rate(
            baseline, objective.direction, passed_over, columns=columns, exclude=exclude, keep=keep
        )
        if poor is not None:
            predicate, evidence, tested = poor.predicate, poor.evidence, poor.p is not None
            reason = f"{poor.describe()}. Before it: {reason}"
    target = Target(predicate=predicate, why=reason, tested=tested)
    event = SliceChosen(
        name=target.name,
        why=target.why,
        evidence=evidence,
        slices=tuple(
            one.to_json() | {"why_no_target": one.why_no_target or None} for one in report.slices
        ),
        metric=report.metric,
        judge_outputs=tuple(output.to_json() for output in report.judge_outputs),
        skipped_columns=dict(report.left_out),
        notes=tuple(report.notes),
    )
    services.record(event)
    return target


def choose_target(
    report: SliceReport, direction: Direction | None
) -> tuple[FoundSlice | None, str]:
    """Choose the slice to optimize on, and say why in a sentence.

    Preferred is the prompt target with the largest lower bound of the gain whose errors go the
    objective's way; then the likely slice with the smallest p whose errors lean that way, named as
    unconfirmed; then none: what is exploratory is as a rule chance. `find_by_rate` then has the
    slice to read.

    Args:
        report: The slices found.
        direction: Which errors the objective fights; None for either.
    """
    targets = [s for s in report.slices if s.prompt_target and direction in (None, s.direction)]
    if targets and targets[0].confusion is not None:
        # Gains of different pairs of classes are of different metrics; the report has them in their
        # order.
        return (
            targets[0],
            f"the confirmed slice that promises the largest gain; {targets[0].describe()}",
        )
    if targets:
        best = max(targets, key=lambda s: (s.gain_low, -s.p))
        reason = f"the confirmed slice that promises the largest gain; {best.describe()}"
        return best, f"{reason}{_passed_over(report, best)}"
    leaning = [s for s in report.slices if s.leaning is not None and direction in (None, s.leaning)]
    likely = [s for s in leaning if s.evidence != "exploratory"]
    if likely:
        best = min(likely, key=lambda s: (s.p, -s.expected_gain))
        return best, f"no slice is a confirmed target; the likeliest is taken, {best.describe()}"
    if leaning:
        best = min(leaning, key=lambda s: (s.p, -s.expected_gain))
        return None, f"no slice is confirmed or likely; {best.describe()}"
    if report.slices:
        return (
            None,
            (
                "no slice's errors go the objective's way by the judge's own doing;"
                f" {report.slices[0].describe()}"
            ),
        )
    return None, f"no slice stands out with a poorer {report.metric} than elsewhere"


def _passed_over(report: SliceReport, best: FoundSlice) -> str:
    """Explain why a slice with a lower headline number was not chosen; empty where there is
    none.
    """
    sign = sign_of(report.metric)
    lower = [
        s
        for s in report.slices
        if s.confirmed and not s.prompt_target and sign * s.value < sign * best.value
    ]
    if not lower:
        return ""
    worst = min(lower, key=lambda s: sign * s.value)
    if worst.direction is None:
        reason = "its errors have no one direction"
    elif worst.is_base_rate:
        reason = "that gap is mostly the base rate's, not the judge's"
    else:
        reason = f"its {worst.errors} are not what {'lowers' if sign > 0 else 'raises'} it"
    return (
        f". {worst.predicate} is {'lower' if sign > 0 else 'higher'} at {worst.value:.3f}, but"
        f" {reason}"
    )


def construct_loss(
    objective: Objective,
    target: Target,
    baseline: JudgedDataset,
    services: Services,
    settings: RunSettings,
) -> Loss:
    """Have the model write a loss for the objective; check it, also on the verdicts at hand, and
    freeze it.

    A person's own loss is checked alike. Unguided, the loss is whether the decision is wrong.
    Neither calls a model.

    Raises:
        LossError: A person's loss is refused.
    """
    if baseline.scale.kind == "choice":
        grades: Grades | Classes = Classes.of(baseline.scale, objective.target)
    else:
        grades = Grades.of(baseline.scale, baseline.dataset.labels)
    inside = target.member(baseline.dataset)[baseline.scored]

    slices = _saved_slices(baseline, settings)

    def trial(loss: Loss) -> None:
        row_losses(loss, baseline, inside, slices)

    if settings.unguided:
        written = WrittenLoss(loss=_PLAIN)
    elif settings.loss is not None:
        check_loss(settings.loss, objective, grades, trial)
        written = WrittenLoss(loss=settings.loss)
    else:
        facts = outcome_facts(baseline, inside)
        facts += slice_facts({name: settings.saved_slices[name] for name in slices})
        written = write_loss(
            objective, target.name, services.optimizer_client.ask_one, grades, trial, facts
        )
    loss = written.loss
    costs: list[dict[str, Any]] = []  # Any: JSON
    if isinstance(grades, Classes) or grades.levels:
        costs = outcome_costs(loss.expression, grades)
    if target.predicate is None:  # every row is in the target: there is no other place to speak of
        costs = [row for row in costs if row["place"] != PLACES[0]]
        costs = [row | {"place": ALL_ROWS} if row["place"] == PLACES[1] else row for row in costs]
    event = LossFrozen(
        expression=str(loss.expression),
        declares=dict(loss.declares),
        reason=loss.reason,
        written_by=loss.written_by,
        version=loss.version,
        refusals=tuple(written.refusals),
        cost_table=tuple(costs),
        slices={name: settings.saved_slices[name] for name in loss.expression.slices} or None,
    )
    services.record(event)
    return loss


def _saved_slices(baseline: JudgedDataset, settings: RunSettings) -> dict[str, BoolArray]:
    """Return which scored rows are in each saved slice of these rows' columns; shape (n,) each."""
    slices: dict[str, BoolArray] = {}
    for name, text in settings.saved_slices.items():
        predicate = parse_predicate(text)
        try:
            require_columns(baseline.dataset.rows, predicate)
        except InputError:
            continue  # saved for other rows
        slices[name] = predicate.mask(baseline.dataset.rows)[baseline.scored]
    return slices
