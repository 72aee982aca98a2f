"""`judgewright loss`: have a loss written for an objective, or check one that a person wrote."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges import InputError, LossError, OutputScale, parse_label_scale, read_small, write_beside
from ..config.environment import open_client, parse_budget
from ..terminal import inline, say, say_json, say_table
from .model_access import asking_environment
from .options import json_option, model_option, no_wait_option, open_workspace, workspace_option
from .output_paths import OutFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...judges import ClientStats
    from ...optimize import Objective
    from ...optimize.losses.costs import CostLine
    from ...optimize.losses.loss import Loss, WrittenLoss
    from ..store.workspace import Workspace

_MAX_FILE = 100_000
_SCALE_HINT = "write binary, probability, 0..3, or 1..5@4 (the part after @ is the first positive grade)"


def scale_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: click passes whatever a command declares
    """Add the options that say on which grades a loss is tried."""
    options = (
        click.option("--judge", help="Take the judge's scale from this judge."),
        click.option("--scale", help="The judge's scale: binary, probability, or LOW..HIGH@THRESHOLD [default: 0..3]."),
        click.option("--label-scale", help="The scale people graded on [default: the judge's]."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def loss() -> None:
    """Turn an objective into a loss, or check a loss, and show what every outcome costs."""


@loss.command(
    epilog='Example:  judgewright loss write "precision matters most; do not lose more than 3 points of recall" '
    "--judge groundedness --model gpt-4o-mini"
)
@click.argument("objective")
@click.option("--target", help="The metric to improve; beats what the objective says.")
@click.option("--guard", "guards", multiple=True, metavar="METRIC:-MARGIN", help="How far a metric may fall.")
@click.option("--slice", "slice_", default="all rows", show_default=True, help="The slice under repair, in words.")
@model_option
@click.option("--budget", help="Dollars such as 5.00, or tokens such as 200000tokens.")
@click.option("--out", type=OutFile(), help="Write the loss as JSON.")
@scale_options
@workspace_option
@no_wait_option
@json_option
def write(
    objective: str,
    target: str | None,
    guards: tuple[str, ...],
    slice_: str,
    model: str,
    budget: str | None,
    out: Path | None,
    judge: str | None,
    scale: str | None,
    label_scale: str | None,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Read OBJECTIVE, have the model write a loss for it, check the loss, and show what it charges.

    A loss that breaks an axiom goes back with the reasons, three times; then a documented default is taken.
    """
    from ...optimize import read_objective
    from ...optimize.losses.costs import cost_lines
    from ...optimize.losses.grid import positive_rank

    wanted = read_objective(objective, target=target, guards=guards)
    with open_workspace(workspace, wait=not no_wait) as place:
        grades, labels = _scales(place, judge, scale, label_scale)
        written, stats, simulated = _ask(place, wanted, slice_, grades, labels, model=model, budget=budget)
    found = written.loss
    lines = cost_lines(found.expression, levels=len(grades.levels), positive_from=positive_rank(grades), labels=labels)
    if out is not None:
        import orjson

        write_beside(out, orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2).decode() + "\n")
    if as_json:
        body = {"simulated": simulated, "objective": wanted.to_json(), "loss": _loss_json(found)}
        body |= {"refusals": list(written.refusals), "cost_table": [line.to_json() for line in lines]}
        say_json(body | {"calls": stats.calls, "recorded": stats.recorded, "cost": _cost(stats)})
        return
    _say_objective(wanted)
    for refusal in written.refusals:
        say(f"  refused: {inline(refusal)}")
    _say_loss(found, simulated=simulated)
    _say_costs(lines, grades, labels)
    if out is not None:
        say(f"\nwritten to {out}")


@loss.command(epilog='Example:  judgewright loss lint "fp + 0.4 * fn" --scale 0..3@2 --declares fp')
@click.argument("expression")
@click.option("--declares", type=click.Choice(["fp", "fn"]), help="Which error the loss claims to charge more for.")
@click.option("--objective", help="An objective whose direction of errors the loss must declare.")
@scale_options
@workspace_option
@json_option
def lint(
    expression: str,
    declares: str | None,
    objective: str | None,
    judge: str | None,
    scale: str | None,
    label_scale: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Check EXPRESSION, or the loss in a .json file, against the axioms; show what it charges or every refusal.

    Exits 0 when the loss may be used, 1 when it is refused.
    """
    from ...optimize.losses.costs import cost_lines
    from ...optimize.losses.grid import positive_rank

    with open_workspace(workspace) as place:
        grades, labels = _scales(place, judge, scale, label_scale)
    tried = {"levels": len(grades.levels), "positive_from": positive_rank(grades), "labels": labels}
    found, refusals = _lint(expression, declares, objective, tried)
    lines = cost_lines(found.expression, **tried) if found and not refusals else ()
    if as_json:
        body = {"accepted": not refusals, "loss": _loss_json(found) if found else None, "refusals": refusals}
        say_json(body | {"cost_table": [line.to_json() for line in lines]})
    elif found and not refusals:
        _say_loss(found, simulated=False)
        _say_costs(lines, grades, labels)
    else:
        say(f"refused: {inline(str(found.expression) if found else expression)}")
        for refusal in refusals:
            say(f"  {inline(refusal['axiom'])}: {inline(refusal['reason'])}")
    if refusals:
        sys.exit(1)


def _lint(
    expression: str, declares: str | None, objective: str | None, tried: dict[str, Any]
) -> tuple[Loss | None, list[dict[str, str]]]:  # Any: how `axiom_faults` is asked
    """Return the loss, where it can be read, and every reason against it."""
    from ...optimize import read_objective
    from ...optimize.losses.axioms import axiom_faults
    from ...optimize.losses.loss import missing_declaration

    try:
        found = read_loss(expression, declares)
    except LossError as error:
        return None, [{"axiom": "language", "reason": str(error)}]
    faults = axiom_faults(found.expression, declares=found.declares, **tried)
    refusals = [{"axiom": fault.axiom, "reason": fault.detail} for fault in faults]
    missing = missing_declaration(found, read_objective(objective)) if objective else None
    return found, refusals + ([{"axiom": "objective", "reason": missing}] if missing else [])


def read_loss(expression: str, declares: str | None = None) -> Loss:
    """Read a loss: an expression, or the .json file that `loss write --out` wrote.

    Raises:
        LossError: It is outside the language.
        InputError: The file cannot be read.
    """
    from ...optimize import Loss, compile_expression
    from ...optimize.losses.loss import parse_loss

    if not expression.strip().endswith(".json"):
        claims = {f"{declares}_costs_more_than_{'fn' if declares == 'fp' else 'fp'}": True} if declares else {}
        return Loss(expression=compile_expression(expression), declares=claims)
    if declares:
        raise InputError("--declares is for an expression; a file says itself what it declares")
    path = Path(expression.strip())
    try:
        content = read_small(path, limit=_MAX_FILE)
        return parse_loss(content.decode(), written_by="person")
    except OSError as error:
        raise InputError(f"the loss {str(path)!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the loss {str(path)!r} is not UTF-8 text") from error


def _scales(
    place: Workspace, judge: str | None, scale: str | None, label_scale: str | None
) -> tuple[OutputScale, OutputScale | None]:
    """Return the judge's scale and, where it is another, people's."""
    if judge and scale:
        raise InputError("give --judge or --scale, not both")
    if judge:
        grades = place.registry.get(judge).scale
    else:
        grades = _parsed(scale, "--scale") if scale else OutputScale()
    return grades, _parsed(label_scale, "--label-scale") if label_scale else None


def _parsed(text: str, option: str) -> OutputScale:
    try:
        return parse_label_scale(text)
    except InputError as error:
        raise InputError(f"{option}: {error}", hint=_SCALE_HINT) from None


def _ask(
    place: Workspace,
    objective: Objective,
    slice_: str,
    grades: OutputScale,
    labels: OutputScale | None,
    *,
    model: str,
    budget: str | None,
) -> tuple[WrittenLoss, ClientStats, bool]:
    """Have the model write the loss, in a run of its own with every reply recorded."""
    from ...judges.models import Budget
    from ...optimize import write_loss
    from ...optimize.losses.grid import positive_rank
    from ..store.calls import CallStore
    from ..store.journal import create_run, run_session

    allowed = parse_budget(budget)
    environment = asking_environment(place.root, model)
    run_id = create_run(place.database, "loss", {"objective": objective.text, "model": model})
    record = CallStore(place.database, run_id)
    spending = Budget(money=allowed.money, tokens=allowed.tokens, spent=record.spending())
    with (
        run_session(place.database, run_id),
        open_client(model, environment, record=record, budget=spending, concurrency=1) as client,
    ):
        written = write_loss(
            objective,
            slice_,
            client.ask_one,
            levels=len(grades.levels),
            positive_from=positive_rank(grades),
            labels=labels,
        )
        return written, client.stats, client.model.simulated


def _loss_json(found: Loss) -> dict[str, Any]:  # Any: JSON
    return found.to_json() | {"version": found.version, "written_by": found.written_by}


def _cost(stats: ClientStats) -> float | None:
    return stats.cost if stats.price_known else None


def _say_objective(objective: Objective) -> None:
    say(f"Read as: {inline(objective.describe())}")
    for note in objective.notes:
        say(f"  note: {inline(note)}")


def _say_loss(found: Loss, *, simulated: bool) -> None:
    from ...optimize.losses.axioms import DECLARATIONS

    marked = "  [SIMULATED: says nothing about real models]" if simulated and found.written_by != "default" else ""
    say(f"Loss {found.version}, written by {inline(found.written_by)}{marked}")
    say(f"  {inline(str(found.expression))}")
    for key, claimed in found.declares.items():
        if claimed:
            say(f"  declares: {DECLARATIONS[key]}")
    if found.reason:
        say(f"  because: {inline(found.reason)}")


def _say_costs(lines: Sequence[CostLine], grades: OutputScale, labels: OutputScale | None) -> None:
    from ...optimize.losses.costs import BANDS

    people = f"; people's grades {labels.describe()}" if labels else ""
    say(f"\nWhat a row costs by the judge's confidence, from 0 to 1; the judge's grades {grades.describe()}{people}")
    head = ("place", "outcome", "distance", *(f"{low:g}-{high:g}" for low, high in BANDS))
    say_table(head, [line.cells() for line in lines], left=2)
    say("  no verdict: such a row is unscored and enters no loss, whatever the expression says of it")
