"""`judgewright bench`: measure a judge against human labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ...judges import BudgetSpent, InputError, JudgeSettings, WorldError
from ...judges.listwise import Window
from ...slices import read_slice, rows_in_slice
from ..actions.bench import BenchPlan, BenchResult, ByClaim, run_bench, write_verdicts
from ..config.environment import parse_budget
from ..reports.reliability_report import say_reliability
from ..reports.terminal_report import say_benchmark, say_macro
from ..terminal import progress_on_stderr, say, say_json
from .failure import error_body, report_failure
from .model_access import asking_environment
from .options import (
    all_option,
    ceiling_options,
    ceiling_questions,
    data_options,
    json_option,
    model_options,
    no_wait_option,
    open_workspace,
    read_rows,
    workspace_option,
)
from .output_paths import OutFile

SHOWN = 3
"""Responses that are printed claim by claim."""
EXAMPLES = """\b
Example:  judgewright bench groundedness rows.jsonl --model gpt-4o-mini --budget 2.00 --out verdicts.jsonl
Claims:   judgewright bench groundedness responses.jsonl --model gpt-4o-mini --by-claim --splitter model
Trust:    judgewright bench groundedness rows.jsonl --model gpt-4o-mini --repeat 3 --gain 0.02 --planted 50
Ranking:  judgewright bench context_relevance rows.jsonl --model gpt-4o-mini --listwise 20/10 --group query_id
"""


@click.command(epilog=EXAMPLES)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@model_options
@data_options
@click.option(
    "--confidence",
    type=click.Choice(["ask", "tok"]),
    default="ask",
    show_default=True,
    help="ask: as the judge states it; tok: from the log-probabilities of its verdict.",
)
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1, 20), help="Ask everything this many times."
)
@click.option("--by", help="Also measure per value of this column.")
@click.option("--slice", "slice_", metavar="SLICE", help="Only the rows of a saved slice, or of an expression.")
@click.option("--by-claim", is_flag=True, help="Split each response into claims, judge each, and join the verdicts.")
@click.option("--splitter", type=click.Choice(["sentence", "model"]), default="sentence", show_default=True)
@click.option(
    "--trivial",
    type=click.Choice(["model", "rule", "none"]),
    default="model",
    show_default=True,
    help="Who drops claims that assert nothing.",
)
@click.option(
    "--aggregate",
    type=click.Choice(["min", "mean", "share"]),
    default="min",
    show_default=True,
    help="How the claims' verdicts make the response's.",
)
@click.option("--listwise", metavar="WINDOW/STEP", help="Rank each query's passages in sliding windows instead.")
@click.option("--planted", type=click.IntRange(1), metavar="N", help="Plant instructions into N rows: the flip rate.")
@ceiling_options
@click.option("--out", type=OutFile(), help="Write the verdicts as JSONL.")
@click.option("--html", type=OutFile(), help="Write a page with charts.")
@all_option
@workspace_option
@no_wait_option
@json_option
def bench(
    judge: str,
    data: Path,
    model: str,
    concurrency: int,
    budget: str | None,
    max_tokens: int,
    confidence: Any,  # Any: a literal that click checks
    by: str | None,
    slice_: str | None,
    out: Path | None,
    html: Path | None,
    show_all: bool,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
    **asked: Any,  # Any: the options of `_plan` and of data_options
) -> None:
    """Ask JUDGE (name, name@version or YAML file) about the rows of DATA, and compare with their labels."""
    settings = JudgeSettings(max_tokens=max_tokens, confidence=confidence)
    plan = _plan(settings, by, asked)
    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        prompt = place.registry.get(judge)
        dataset = read_rows(prompt, data, **asked)
        if slice_ is not None:
            dataset = rows_in_slice(dataset, read_slice(slice_))
        result = run_bench(
            place,
            prompt,
            dataset,
            plan,
            model=model,
            environment=asking_environment(place.root, model),
            allowance=parse_budget(budget),
            concurrency=concurrency,
            watch=watch,
            show_all=show_all,
        )
    title = f"{prompt.name}@{prompt.version} on {data.name}"
    if out is not None:
        write_verdicts(result.shown, out)
    if html is not None:
        from ..reports.score_report import write_score_report

        write_score_report(
            html, result.judged, result.benchmark, by=result.by, by_column=by, title=title, shown=result.shown
        )
    shortfall = _shortfall(result)
    if as_json:
        say_json(result.to_json() | error_body(shortfall))
    else:
        for note in (*dataset.notes, *result.notes):
            say(f"note: {note}")
        _say(result, title, by, plan)
        for path in (out, html):
            if path is not None:
                say(f"written to {path}")
    if shortfall is not None:
        sys.exit(report_failure(shortfall, as_json=False))


def _plan(settings: JudgeSettings, by: str | None, asked: dict[str, Any]) -> BenchPlan:  # Any: options
    """Take the options about how rows are judged out of all that were given."""
    claims = {name: asked.pop(name) for name in ("splitter", "trivial", "aggregate")}
    by_claim, listwise, planted = asked.pop("by_claim"), asked.pop("listwise"), asked.pop("planted")
    ceilings = {name: asked.pop(name) for name in ("annotators", "gain", "audit", "audited")}
    return BenchPlan(
        settings=settings,
        repeats=asked.pop("repeat"),
        by=by,
        claims=ByClaim(**claims) if by_claim else None,
        window=_window(listwise) if listwise else None,
        planted=planted,
        ceilings=ceiling_questions(metric="f1", **ceilings),
    )


def _window(text: str) -> Window:
    size, _, step = text.partition("/")
    if not (size.isdigit() and step.isdigit()):
        raise InputError(f"--listwise {text!r} is not WINDOW/STEP", hint="for example 20/10")
    return Window(size=int(size), step=int(step))


def _say(result: BenchResult, title: str, by: str | None, plan: BenchPlan) -> None:
    say_benchmark(result.benchmark, title=title)
    for value, part in result.by.items():
        say_benchmark(part, title=f"{by} = {value}", brief=True)
    if by is not None and result.macro:
        say_macro(result.macro, column=by)
    if result.claims is not None:
        say(f"\n{result.claims.describe(limit=SHOWN)}")
    if result.ranked is not None:
        body = result.ranked.to_json()
        mended = ", ".join(f"{n} {what}" for what, n in body["repairs"].items())
        say(f"\nlistwise: {body['queries']} queries, {body['failed']} failed; mended: {mended}")
    if result.flips is not None:
        say(f"\n{result.flips.describe()}")
    say_reliability(result.ceilings, audit=plan.ceilings.audit)


def _shortfall(result: BenchResult) -> WorldError | None:
    """Say what kept rows from being judged: no budget left."""
    unscored = result.benchmark.unscored
    if unscored.get("budget"):
        return BudgetSpent(f"the budget ended before {unscored['budget']} rows were judged")
    return None
