"""`judgewright loss`: have a loss written for an objective, or check one that a person wrote."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges.errors import InputError
from ...optimize.options import described, option
from ..config.command_options import MODEL, ModelOptions
from ..config.optimize_options import ReadingOptions
from ..terminal import answer, inline, say, simulated_mark
from .decorators import options_of, reads_workspace, takes, writes_workspace
from .help import Group
from .model_access import asking_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...judges import JudgePrompt
    from ...optimize import Objective
    from ...optimize.losses.loss import Loss
    from ..actions.write_loss import LossGrades
    from ..store.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """The grades on which a loss is tried."""

    judge: str | None = option("Data", None, "Take the judge's scale from this judge.")
    scale: str | None = option(
        "Data",
        None,
        "The judge's scale: binary, probability, or LOW..HIGH@THRESHOLD [default: 0..3].",
    )


@dataclass(frozen=True, kw_only=True)
class WriteOptions(ReadingOptions):
    """What the loss is for, and which model writes it."""

    slice_: str = option(
        "Goal", "all rows", "The slice under repair: a saved one's name, or words.", flag="--slice"
    )
    model: str = field(metadata=described("Model", MODEL, kind="model"))
    budget: str | None = option(
        "Model", None, "Dollars such as 5.00, or tokens such as 200000tokens."
    )


@click.group(cls=Group)
def loss() -> None:
    """Turn an objective into a loss, or check a loss, and show what every outcome costs."""


@loss.command(
    epilog=(
        'Example:  judgewright loss write "precision matters most; do not lose more than 3 points'
        ' of recall" --judge groundedness --model your-model'
    )
)
@click.argument("objective")
@options_of(options=WriteOptions)
@takes("out", None, "Write the loss as JSON.", kind="out")
@options_of(scales=ScaleOptions)
@writes_workspace
def write(
    objective: str,
    options: WriteOptions,
    out: Path | None,
    scales: ScaleOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Read OBJECTIVE, have the model write a loss for it, check the loss, and show what it charges.

    A loss that breaks an axiom goes back with the reasons, three times; then a documented default
    is taken.
    """
    import orjson

    from ...judges import write_beside
    from ...slices.slice import ALL_ROWS
    from ..actions.bench import describe_parameters
    from ..actions.read_objective import settle_objective
    from ..actions.write_loss import ask_for_loss
    from .confirm_reading import with_confirmed_reading

    grades, judge = _grades(workspace, scales)
    models = ModelOptions(model=options.model, budget=options.budget)
    environment = asking_environment(workspace.root, options.model)

    def settle(yes: bool) -> Objective:
        words = replace(options.words(objective), yes=yes)
        return settle_objective(workspace, words, judge, (), models, environment)

    goal = with_confirmed_reading(settle, yes=options.yes, as_json=as_json)
    slice_name = options.slice_
    if goal.slice is not None and slice_name == ALL_ROWS:
        slice_name = goal.slice
    reply = ask_for_loss(workspace, goal, slice_name, grades, models, environment)
    written, stats = reply.written, reply.stats
    if out is not None:
        text = orjson.dumps(written.loss.to_json(), option=orjson.OPT_INDENT_2).decode()
        write_beside(out, f"{text}\n")
    body = {
        "simulated": reply.simulated,
        "objective": goal.to_json(),
        "loss": _loss_json(written.loss),
        "refusals": list(written.refusals),
        "cost_table": grades.costs(written.loss),
        "calls": stats.calls,
        "recorded": stats.recorded,
        "cost": stats.cost if stats.price_known else None,
    }
    notes = [
        f"note: {note}"
        for note in (*describe_parameters(stats.dropped, stats.ignored), *stats.notes)
    ]
    if out is not None:
        notes.append(f"\nwritten to {out}")

    def say_written() -> None:
        refusals = [f"refused: {inline(refusal)}" for refusal in written.refusals]
        _say_loss(written.loss, grades, goal, refusals, simulated=reply.simulated)
        for note in notes:
            say(note)

    answer(body, say_written, as_json=as_json)


@loss.command(
    epilog='Example:  judgewright loss check "fp + 0.4 * fn" --scale 0..3@2 --declares fp'
)
@click.argument("expression")
@takes("declares", None, "Which error the loss claims to charge more for.", choices=("fp", "fn"))
@takes("objective", None, "An objective whose direction of errors the loss must declare.")
@options_of(scales=ScaleOptions)
@reads_workspace
def check(
    expression: str,
    declares: str | None,
    objective: str | None,
    scales: ScaleOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Check EXPRESSION, or the loss in a .json file, against the axioms; show what it charges or
    every refusal.

    Exits 0 when the loss may be used, 1 when it is refused.
    """
    from ...optimize import ObjectiveWords
    from ..actions.read_objective import saved_slices
    from ..actions.write_loss import check_loss
    from ..reports.printing import say_template

    grades, judge = _grades(workspace, scales)
    slices = saved_slices(workspace)
    goal = ObjectiveWords(text=objective).read(judge, slices=slices) if objective else None
    checked = check_loss(expression, declares, goal, grades, slices)
    loss = None if checked.refusals else checked.loss
    body = {
        "accepted": loss is not None,
        "loss": _loss_json(checked.loss) if checked.loss else None,
        "refusals": list(checked.refusals),
        "cost_table": grades.costs(loss) if loss else [],
    }

    def say_checked() -> None:
        if loss is not None:
            _say_loss(loss, grades, goal, (), simulated=False)
            return
        if goal is not None:
            say_template("objective", objective=goal)
        say(f"refused: {inline(str(checked.loss.expression) if checked.loss else expression)}")
        for refusal in checked.refusals:
            say(f"  {inline(refusal['axiom'])}: {inline(refusal['reason'])}")

    answer(body, say_checked, as_json=as_json)
    if loss is None:
        sys.exit(1)


def _grades(workspace: Workspace, options: ScaleOptions) -> tuple[LossGrades, JudgePrompt | None]:
    """Return the scale that is stated, or the judge's; and the judge, where it is named."""
    from ...judges import OutputScale, parse_label_scale
    from ..actions.write_loss import LossGrades

    if options.judge and options.scale:
        raise InputError("give --judge or --scale, not both")
    judge = workspace.registry.get(options.judge) if options.judge else None
    if judge is not None:
        return LossGrades(grades=judge.scale), judge
    try:
        stated = parse_label_scale(options.scale) if options.scale else OutputScale()
    except InputError as error:
        hint = "write binary, probability, 0..3, or 1..5@4 (from @ on a grade is positive)"
        raise InputError(f"--scale: {error}", hint=hint) from None
    return LossGrades(grades=stated), None


def _loss_json(loss: Loss) -> dict[str, Any]:  # Any: JSON
    return loss.to_json() | {"version": loss.version, "written_by": loss.written_by}


def _say_loss(
    loss: Loss,
    scales: LossGrades,
    goal: Objective | None,
    refusals: Sequence[str],
    *,
    simulated: bool,
) -> None:
    from ...optimize.losses.axioms import DECLARATIONS
    from ..reports.printing import say_template

    if goal is not None:
        say_template("objective", objective=goal)
    for refusal in refusals:
        say(f"  {refusal}")
    mark = simulated_mark(simulated and loss.written_by != "default")
    say(f"Loss {loss.version}, written by {inline(loss.written_by)}{mark}")
    say(f"  {inline(str(loss.expression))}")
    for key, is_declared in loss.declares.items():
        if is_declared:
            say(f"  declares: {DECLARATIONS[key]}")
    if loss.reason:
        say(f"  because: {inline(loss.reason)}")
    say(f"  tried on the judge's grades {scales.grades.describe()}")
    if costs := scales.costs(loss):
        say_template("costs", costs=costs)
