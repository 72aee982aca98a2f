"""`judgewright plan`: what `optimize` would ask and cost, and which gain its gate could show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..config.options import OptimizeOptions
from ..terminal import inline, progress_on_stderr, say, say_json, say_table
from .help import Command
from .options import json_option, options_of, output_option, writes_workspace

if TYPE_CHECKING:
    from ...optimize.holdout.power import GuardNeed
    from ..actions.pilot import MinimumDetectableEffect
    from ..actions.plan import Plan, Span
    from ..store.workspace import Workspace


@click.command(
    cls=Command,
    epilog='Example:  judgewright plan groundedness rows.jsonl --objective "precision first; lose at most 3 points of '
    'recall" --model gpt-4o-mini --steps 10',
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@options_of(options=OptimizeOptions)
@output_option(
    "--pilot", is_flag=True, help="Judge 200 open rows, and again with a reworded prompt, to measure the churn."
)
@writes_workspace
@json_option
def plan(
    judge: str,
    data: Path,
    options: OptimizeOptions,
    pilot: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Say what optimizing JUDGE on DATA would ask and cost, and which gain the gate could show, before it is spent.

    It takes the options of `judgewright optimize`. Nothing is spent without --pilot.
    """
    from ..actions.plan import plan_run
    from ..store.run_config import RunConfig
    from .model_access import asking_environment

    with progress_on_stderr(quiet=as_json) as watch:
        config = RunConfig(prompt=workspace.registry.get(judge).to_yaml(), data=str(data), **vars(options))
        environment = asking_environment(workspace.root, *config.named_models)
        planned = plan_run(workspace, config, environment, pilot=pilot, watch=watch)
    if as_json:
        say_json(planned.to_json())
    else:
        say_plan(planned)


def say_plan(planned: Plan) -> None:
    """Print a plan: what is asked, what it costs, what it could show."""
    sizes = ", ".join(f"{part} {rows:,}" for part, rows in planned.sizes.items())
    simulated = "  [SIMULATED: says nothing about real models]" if planned.simulated else ""
    say(f"Plan for {inline(planned.judge)} on {sum(planned.sizes.values()):,} rows ({sizes}){simulated}")
    if planned.pilot is not None:
        seen = planned.pilot
        cost = "price unknown" if seen.cost is None else f"${seen.cost:.4f}"
        say(f"  pilot {seen.run_id}: {seen.calls} calls, {seen.recorded} cached, {cost}")
    else:
        say("  nothing was asked or spent")
    lines = (("calls", planned.calls, ",.0f"), ("tokens", planned.tokens, ",.0f"), ("dollars", planned.money, ",.4f"))
    say("\nWhat it takes")
    say_table(("", "p50", "p95", "at most"), [(name, *_ends(span, form)) for name, span, form in lines])
    for reason in dict.fromkeys(span.reason for _, span, _ in lines if span.reason):
        say(f"  not known: {reason}")
    if planned.budget.note:
        say(f"  {inline(planned.budget.note)}")
    if planned.lines:
        say("\nAt most, step by step")
        head = ("step", "asked", "calls", "tokens in", "tokens out")
        cells = [(x.what, x.who, f"{x.calls:,}", _count(x.tokens_in), _count(x.tokens_out)) for x in planned.lines]
        say_table(head, cells, left=2)
    say(f"\nA row takes {planned.row_tokens.median:,} tokens to ask, 95 % take at most {planned.row_tokens.p95:,}")
    say(f"  counted by {planned.row_tokens.method}")
    _say_detectable(planned.detectable)
    for note in planned.notes:
        say(f"  note: {inline(note)}")


def _say_detectable(found: MinimumDetectableEffect) -> None:
    from ...judges.reliability import CHURN

    where = f"{found.rows:,} holdout rows in {found.groups:,} groups, look {found.look}, alpha {found.alpha:.4f}"
    say(f"\nThe smallest gain of {found.metric} that the gate shows with 80 % power ({where})")
    if found.size is None:
        say(f"  not known: {inline(found.reason)}")
    else:
        high = "" if found.high is None else f"; {100 * found.high:.1f} at the upper end of the churn's interval"
        say(f"  {100 * found.size:.1f} points{high}")
        if found.high is not None and found.at_assumed is not None:
            say(f"  {100 * found.at_assumed:.1f} points if an edit churns as much as edits often do ({CHURN:.0%})")
    for need in found.guards:
        say(f"  {describe_need(need, found.rows)}")
    churn = found.churn
    shown = "not known" if churn.value is None else f"{churn.value:.0%}"
    interval = "" if churn.low is None or churn.high is None else f" (95 % {churn.low:.0%} .. {churn.high:.0%})"
    say(f"  churn {shown}{interval}: {inline(found.basis)}")


def describe_need(need: GuardNeed, rows: int) -> str:
    """Say how many rows a guard wants, beside those there are."""
    named = f"guard {need.metric}:-{need.margin:g}"
    if need.rows is None or need.rows_at_half is None:
        return f"{named}: an edit with this churn does not move {need.metric}"
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    half = f"about {need.rows_at_half:,} where half of the margin is lost"
    return f"{named} wants about {need.rows:,} holdout rows where nothing is lost, {half}; {enough} {rows:,}"


def _ends(span: Span, form: str) -> tuple[str, ...]:
    return tuple("n/a" if value is None else format(value, form) for value in (span.p50, span.p95, span.at_most))


def _count(tokens: int | None) -> str:
    return "n/a" if tokens is None else f"{tokens:,}"
