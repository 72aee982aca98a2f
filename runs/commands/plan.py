"""`judgewright plan`: what `optimize` would ask and cost, and which gain its gate could show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..config.options import OptimizeOptions
from ..reports.objective_report import say_objective
from ..terminal import inline, progress_on_stderr, say, say_json, say_table, simulated_mark
from .help import Command
from .options import json_option, options_of, output_option, writes_workspace

if TYPE_CHECKING:
    from ..actions.plan import Plan
    from ..store.workspace import Workspace


@click.command(
    cls=Command,
    epilog=(
        'Example:  judgewright plan groundedness rows.jsonl --objective "precision first; lose at'
        ' most 3 points of recall" --model your-model --steps 10'
    ),
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@options_of(options=OptimizeOptions)
@output_option(
    "--pilot",
    is_flag=True,
    help="Judge 200 open rows, and again with a reworded prompt, to measure the churn.",
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
    """Say what optimizing JUDGE on DATA would ask and cost, and which gain the gate could show,
    before it is spent.

    It takes the options of `judgewright optimize`. Nothing is spent without --pilot.
    """
    from ..actions.plan import plan_run
    from ..store.run_config import RunConfig
    from .model_access import asking_environment

    with progress_on_stderr(quiet=as_json) as watch:
        config = RunConfig(
            prompt=workspace.registry.get(judge).to_yaml(), data=str(data), **vars(options)
        )
        environment = asking_environment(workspace.root, *config.named_models)
        planned = plan_run(workspace, config, environment, pilot=pilot, watch=watch)
    if as_json:
        say_json(planned.to_json())
    else:
        say_plan(planned)


def say_plan(planned: Plan) -> None:
    """Print a plan: what is asked, what it costs, what it could show."""
    from ..reports.numbers import NONE, count, price
    from ..reports.plan_report import describe_detectable

    sizes = ", ".join(f"{part} {rows:,}" for part, rows in planned.sizes.items())
    simulated = simulated_mark(planned.simulated)
    say(
        f"Plan for {inline(planned.judge)} on {sum(planned.sizes.values()):,} rows"
        f" ({sizes}){simulated}"
    )
    say_objective(planned.objective)
    if planned.pilot is not None:
        pilot = planned.pilot
        say(
            f"  pilot {pilot.run_id}: {pilot.calls} calls, {pilot.recorded} cached,"
            f" {price(pilot.cost)}"
        )
    else:
        say("  nothing was asked or spent")
    spans = {"calls": planned.calls, "tokens": planned.tokens, "dollars": planned.money}
    lines: list[list[str]] = []
    for name, span in spans.items():
        form = ",.4f" if name == "dollars" else ",.0f"
        ends = (span.p50, span.p95, span.at_most)
        lines.append([name, *(NONE if end is None else format(end, form) for end in ends)])
    say("\nWhat it takes")
    say_table(("", "p50", "p95", "at most"), lines)
    for reason in dict.fromkeys(span.reason for span in spans.values() if span.reason):
        say(f"  not known: {reason}")
    if planned.by_exchange and planned.exchanges is None:
        say("  exchanges: not known, since this proposer asks one thing after the other")
    elif planned.by_exchange:
        say(
            f"  at most {planned.exchanges:,} exchanges one after the other; incomplete replies"
            " take further ones"
        )
    if planned.budget.note:
        say(f"  {inline(planned.budget.note)}")
    if planned.lines:
        say("\nAt most, step by step")
        head = ("step", "asked", "calls", "tokens in", "tokens out")
        cells = [
            (x.what, x.who, f"{x.calls:,}", count(x.tokens_in), count(x.tokens_out))
            for x in planned.lines
        ]
        say_table(head, cells, left=2)
    say(
        f"\nA row takes {planned.row_tokens.median:,} tokens to ask, 95 % take at most"
        f" {planned.row_tokens.p95:,}"
    )
    say(f"  counted by {planned.row_tokens.method}")
    say()
    for line in describe_detectable(planned.detectable, sum(planned.sizes.values())):
        say(inline(line))
    for note in planned.notes:
        say(f"  note: {inline(note)}")
