"""`judgewright plan`: what `optimize` would ask and cost, and which gain its gate could show."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..config.options import OptimizeOptions
from ..reports.objective_report import say_objective
from ..terminal import inline, progress_on_stderr, say, say_json, say_table, simulated_mark
from .help import Command
from .options import json_option, options_of, output_option, writes_workspace

if TYPE_CHECKING:
    from ...optimize.holdout.floors import FloorNeed
    from ...optimize.holdout.power import GuardNeed
    from ..actions.pilot import MinimumDetectableEffect
    from ..actions.plan import Plan
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
    from ..reports.numbers import NONE, count, price

    sizes = ", ".join(f"{part} {rows:,}" for part, rows in planned.sizes.items())
    simulated = simulated_mark(planned.simulated)
    say(f"Plan for {inline(planned.judge)} on {sum(planned.sizes.values()):,} rows ({sizes}){simulated}")
    say_objective(planned.objective)
    if planned.pilot is not None:
        pilot = planned.pilot
        say(f"  pilot {pilot.run_id}: {pilot.calls} calls, {pilot.recorded} cached, {price(pilot.cost)}")
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
        say(f"  at most {planned.exchanges:,} exchanges one after the other; incomplete replies take further ones")
    if planned.budget.note:
        say(f"  {inline(planned.budget.note)}")
    if planned.lines:
        say("\nAt most, step by step")
        head = ("step", "asked", "calls", "tokens in", "tokens out")
        cells = [(x.what, x.who, f"{x.calls:,}", count(x.tokens_in), count(x.tokens_out)) for x in planned.lines]
        say_table(head, cells, left=2)
    say(f"\nA row takes {planned.row_tokens.median:,} tokens to ask, 95 % take at most {planned.row_tokens.p95:,}")
    say(f"  counted by {planned.row_tokens.method}")
    _say_detectable(planned.detectable, sum(planned.sizes.values()))
    for note in planned.notes:
        say(f"  note: {inline(note)}")


def _say_detectable(effect: MinimumDetectableEffect, rows: int) -> None:
    from ...judges.reliability import CHURN

    basis = f"{effect.rows:,} holdout rows in {effect.groups:,} groups, look {effect.look}, alpha {effect.alpha:.4f}"
    say(f"\nThe smallest gain of {effect.metric} that the gate shows with 80 % power ({basis})")
    if effect.size is None:
        say(f"  not known: {inline(effect.reason)}")
    else:
        high = "" if effect.high is None else f"; {100 * effect.high:.1f} at the upper end of the churn's interval"
        say(f"  {100 * effect.size:.1f} points{high}")
        if effect.high is not None and effect.at_assumed is not None:
            say(f"  {100 * effect.at_assumed:.1f} points if an edit churns as much as edits often do ({CHURN:.0%})")
    for need in effect.guards:
        say(f"  {describe_need(need, effect.rows)}")
    _say_more_labels(effect, rows)
    for floor in effect.floors:
        say(f"  {describe_floor_need(floor, effect.rows)}")
    churn = effect.churn
    shown = "not known" if churn.value is None else f"{churn.value:.0%}"
    interval = "" if churn.low is None or churn.high is None else f" (95 % {churn.low:.0%} .. {churn.high:.0%})"
    say(f"  churn {shown}{interval}: {inline(effect.basis)}")


def _say_more_labels(effect: MinimumDetectableEffect, rows: int) -> None:
    """Say what more labels would show, and how to get them: as many as the guards want, else as many again."""
    from ..actions.gate_decision import OF_HOLDOUT

    lacking = max((need.rows or 0 for need in effect.guards), default=0) - effect.rows
    if lacking > 0:
        more = math.ceil(lacking / OF_HOLDOUT)
        shown = "would let every guard hold where nothing is lost"
    elif effect.size is not None:
        # Twice the rows: the scatter shrinks by the root of two.
        more, shown = rows, f"would bring it to about {100 * effect.size / math.sqrt(2):.1f} points"
    else:
        more, shown = rows, "would show smaller gains"
    say(f"  about {more:,} more labels {shown}:  judgewright label --rows FILE --next {more}")


def describe_floor_need(need: FloorNeed, rows: int) -> str:
    """Say how many rows a floor wants, beside those there are."""
    named = f"floor {need.metric}={need.floor:g}"
    if need.rows is None:
        value = "not known" if need.value is None else f"{need.value:.3f}"
        return f"{named}: the judge is at {value} now; the floor must be passed before rows can show it"
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    return f"{named} wants about {need.rows:,} holdout rows of a judge at {need.value:.3f}; {enough} {rows:,}"


def describe_need(need: GuardNeed, rows: int) -> str:
    """Say how many rows a guard wants, beside those there are."""
    named = f"guard {need.metric}:-{need.margin:g}"
    if need.rows is None or need.rows_at_half is None:
        return f"{named}: an edit with this churn does not move {need.metric}"
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    half = f"about {need.rows_at_half:,} where half of the margin is lost"
    return f"{named} wants about {need.rows:,} holdout rows where nothing is lost, {half}; {enough} {rows:,}"
