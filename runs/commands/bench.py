"""`judgewright bench`: measure a judge against human labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ...judges import JudgeSettings
from ..bench import BenchResult, run_bench
from ..config import parse_budget, read_environment
from ..report import say_benchmark
from ..terminal import progress_on_stderr, say, say_json
from .options import data_options, json_option, model_options, open_workspace, read_rows, workspace_option


@click.command(
    epilog="Example:  judgewright bench groundedness rows.jsonl --model gpt-4o-mini --budget 2.00 --out verdicts.jsonl"
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@model_options
@data_options
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1, 20), help="Ask everything this many times."
)
@click.option("--by", help="Also measure per value of this column.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the verdicts as JSONL.")
@workspace_option
@json_option
def bench(
    judge: str,
    data: Path,
    model: str,
    concurrency: int,
    budget: str | None,
    max_tokens: int,
    repeat: int,
    by: str | None,
    out: Path | None,
    workspace: Path | None,
    as_json: bool,
    **reading: Any,  # Any: the options of data_options, handed on
) -> None:
    """Ask JUDGE (name, name@version or YAML file) about the rows of DATA, and compare with their labels."""
    with open_workspace(workspace) as place, progress_on_stderr(quiet=as_json) as watch:
        prompt = place.shelf.get(judge)
        dataset = read_rows(prompt, data, **reading)
        result = run_bench(
            place,
            prompt,
            dataset,
            model=model,
            environment=read_environment(),
            allowance=parse_budget(budget),
            concurrency=concurrency,
            settings=JudgeSettings(max_tokens=max_tokens),
            repeats=repeat,
            by=by,
            out=out,
            watch=watch,
        )
    if as_json:
        say_json(result.to_json())
        _leave(result)
        return
    for note in (*dataset.notes, *result.notes):
        say(f"note: {note}")
    say_benchmark(result.benchmark, title=f"{prompt.name}@{prompt.version} on {data.name}")
    for value, part in result.by.items():
        say_benchmark(part, title=f"{by} = {value}", brief=True)
    if out:
        say(f"verdicts written to {out}")
    _leave(result)


def _leave(result: BenchResult) -> None:
    """Leave with 3 where the world kept rows from being judged: no budget left, or an endpoint that answered none."""
    unscored = result.benchmark.unscored
    if unscored.get("budget"):
        say(f"error: the budget ended before {unscored['budget']} rows were judged", to_stderr=True)
        sys.exit(3)
    if unscored.get("endpoint") and not result.benchmark.n:
        say("error: the endpoint answered no row", to_stderr=True)
        sys.exit(3)
