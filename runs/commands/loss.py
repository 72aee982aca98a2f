"""`judgewright loss`: have a loss written for an objective, or check one that a person wrote."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges.errors import InputError
from ...optimize.options import described, option
from ..config.options import (
    FLOOR,
    GUARD,
    MODEL,
    TARGET,
    YES,
    ExchangeOptions,
    ModelOptions,
    limits_option,
)
from ..terminal import inline, say, say_json, simulated_mark
from .decorators import options_of, reads_workspace, writes_workspace
from .help import Group
from .model_access import asking_environment
from .output_paths import OutFile

if TYPE_CHECKING:
    from ...judges import OutputScale
    from ...optimize.losses.loss import Loss
    from ..actions.write_loss import LossGrades
    from ..store.workspace import Workspace

_SCALE_HINT = (
    "write binary, probability, 0..3, or 1..5@4 (the part after @ is the first positive grade)"
)


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """The grades on which a loss is tried."""

    judge: str | None = option("Data", None, "Take the judge's scale from this judge.")
    scale: str | None = option(
        "Data",
        None,
        "The judge's scale: binary, probability, or LOW..HIGH@THRESHOLD [default: 0..3].",
    )
    label_scale: str | None = option(
        "Data", None, "The scale people graded on [default: the judge's]."
    )


@dataclass(frozen=True, kw_only=True)
class WriteOptions(ExchangeOptions):
    """What the loss is for, and which model writes it."""

    target: str | None = option("Goal", None, TARGET)
    guards: tuple[str, ...] = limits_option("Goal", GUARD, flag="--guard", metavar="METRIC=LOSS")
    floors: tuple[str, ...] = limits_option("Goal", FLOOR, flag="--floor", metavar="METRIC=VALUE")
    yes: bool = option("Goal", False, YES)
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
@click.option("--out", type=OutFile(), help="Write the loss as JSON.")
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
    from ...optimize import ObjectiveWords
    from ...slices.slice import ALL_ROWS
    from ..actions.read_objective import settle_objective
    from ..actions.write_loss import ask_for_loss
    from ..reports.printing import say_template
    from .confirm_reading import with_confirmed_reading

    words = ObjectiveWords(
        text=objective,
        target=options.target,
        guards=options.guards,
        floors=options.floors,
        yes=options.yes,
    )
    grades = _grades(workspace, scales)
    models = ModelOptions(
        model=options.model, budget=options.budget, via=options.via, exchange=options.exchange
    )
    environment = asking_environment(workspace.root, options.model)
    judge = workspace.registry.get(scales.judge) if scales.judge else None
    goal = with_confirmed_reading(
        lambda yes: settle_objective(
            workspace, replace(words, yes=yes), judge, (), models, environment
        ),
        yes=options.yes,
        as_json=as_json,
    )
    from ..actions.bench import describe_parameters

    slice_name = options.slice_
    if goal.slice is not None and slice_name == ALL_ROWS:
        slice_name = goal.slice
    answer = ask_for_loss(workspace, goal, slice_name, grades, models, environment)
    written, stats = answer.written, answer.stats
    costs = grades.costs(written.loss)
    if out is not None:
        write_beside(
            out, orjson.dumps(written.loss.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n"
        )
    if as_json:
        say_json(
            {
                "simulated": answer.simulated,
                "objective": goal.to_json(),
                "loss": _loss_json(written.loss),
                "refusals": list(written.refusals),
                "cost_table": costs,
                "calls": stats.calls,
                "recorded": stats.recorded,
                "cost": stats.cost if stats.price_known else None,
            }
        )
        return
    say_template("objective", objective=goal)
    for refusal in written.refusals:
        say(f"  refused: {inline(refusal)}")
    _say_loss(written.loss, grades, simulated=answer.simulated)
    if costs:
        say_template("costs", costs=costs)
    for note in (*describe_parameters(stats.dropped, stats.ignored), *stats.notes):
        say(f"note: {note}")
    if out is not None:
        say(f"\nwritten to {out}")


@loss.command(
    epilog='Example:  judgewright loss check "fp + 0.4 * fn" --scale 0..3@2 --declares fp'
)
@click.argument("expression")
@click.option(
    "--declares",
    type=click.Choice(["fp", "fn"]),
    help="Which error the loss claims to charge more for.",
)
@click.option("--objective", help="An objective whose direction of errors the loss must declare.")
@click.option("--target", help=TARGET)
@options_of(scales=ScaleOptions)
@reads_workspace
def check(
    expression: str,
    declares: str | None,
    objective: str | None,
    target: str | None,
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

    grades = _grades(workspace, scales)
    judge = workspace.registry.get(scales.judge) if scales.judge else None
    slices = saved_slices(workspace)
    words = ObjectiveWords(text=objective or "", target=target)
    goal = words.read(judge, slices=slices) if objective or target else None
    checked = check_loss(expression, declares, goal, grades, slices)
    accepted = checked.loss is not None and not checked.refusals
    costs = grades.costs(checked.loss) if checked.loss and accepted else []
    if as_json:
        say_json(
            {
                "accepted": accepted,
                "loss": _loss_json(checked.loss) if checked.loss else None,
                "refusals": list(checked.refusals),
                "cost_table": costs,
            }
        )
        if not accepted:
            sys.exit(1)
        return
    if goal is not None:
        say_template("objective", objective=goal)
    if checked.loss and accepted:
        _say_loss(checked.loss, grades, simulated=False)
        say_template("costs", costs=costs)
    else:
        say(f"refused: {inline(str(checked.loss.expression) if checked.loss else expression)}")
        for refusal in checked.refusals:
            say(f"  {inline(refusal['axiom'])}: {inline(refusal['reason'])}")
    if not accepted:
        sys.exit(1)


def _grades(workspace: Workspace, options: ScaleOptions) -> LossGrades:
    """Return the judge's scale and, where it is another, people's."""
    from ...judges import OutputScale
    from ..actions.write_loss import LossGrades

    if options.judge and options.scale:
        raise InputError("give --judge or --scale, not both")
    if options.judge:
        grades = workspace.registry.get(options.judge).scale
    elif options.scale:
        grades = _parsed(options.scale, "--scale")
    else:
        grades = OutputScale()
    labels = _parsed(options.label_scale, "--label-scale") if options.label_scale else None
    return LossGrades(grades=grades, labels=labels)


def _parsed(text: str, name: str) -> OutputScale:
    from ...judges import parse_label_scale

    try:
        return parse_label_scale(text)
    except InputError as error:
        raise InputError(f"{name}: {error}", hint=_SCALE_HINT) from None


def _loss_json(loss: Loss) -> dict[str, Any]:  # Any: JSON
    return loss.to_json() | {"version": loss.version, "written_by": loss.written_by}


def _say_loss(loss: Loss, scales: LossGrades, *, simulated: bool) -> None:
    from ...optimize.losses.axioms import DECLARATIONS

    marked = simulated_mark(simulated and loss.written_by != "default")
    say(f"Loss {loss.version}, written by {inline(loss.written_by)}{marked}")
    say(f"  {inline(str(loss.expression))}")
    for key, claimed in loss.declares.items():
        if claimed:
            say(f"  declares: {DECLARATIONS[key]}")
    if loss.reason:
        say(f"  because: {inline(loss.reason)}")
    people = f"; people's grades {scales.labels.describe()}" if scales.labels else ""
    say(f"  tried on the judge's grades {scales.grades.describe()}{people}")
