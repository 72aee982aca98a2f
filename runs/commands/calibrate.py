"""`judgewright calibrate`: choose a threshold and calibrate confidence, on validation rows alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...judges import JudgeSettings, parse_shares
from ...judges.calibrate import METHODS
from ...judges.metrics import BINARY_METRICS
from ..actions.bench import describe_spending
from ..actions.calibrate import run_calibration
from ..config.environment import parse_budget
from ..reports.calibration_report import say_calibration
from ..terminal import progress_on_stderr, say, say_json
from .model_access import asking_environment
from .options import (
    data_options,
    json_option,
    model_options,
    no_wait_option,
    open_workspace,
    read_rows,
    workspace_option,
)


@click.command(
    epilog="Example:  judgewright calibrate groundedness rows.jsonl --model gpt-4o-mini --metric f1 --method isotonic"
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@model_options
@data_options
@click.option(
    "--metric",
    default="f1",
    show_default=True,
    type=click.Choice(list(BINARY_METRICS)),
    help="What the threshold maximises.",
)
@click.option(
    "--method",
    default="isotonic",
    show_default=True,
    type=click.Choice(METHODS),
    help="How confidence is calibrated; platt needs fewer rows.",
)
@click.option("--threshold-only", is_flag=True, help="Choose the threshold and leave confidence alone (--method none).")
@click.option(
    "--confidence",
    default="ask",
    show_default=True,
    type=click.Choice(["ask", "tok"]),
    help="ask: as the judge states it; tok: from the log-probabilities of its verdict.",
)
@click.option(
    "--split", default="30/20/30/20", show_default=True, help="Per cent for training/validation/holdout/final."
)
@workspace_option
@no_wait_option
@json_option
def calibrate(
    judge: str,
    data: Path,
    model: str,
    concurrency: int,
    budget: str | None,
    max_tokens: int,
    metric: str,
    method: Any,  # Any: click has checked it against METHODS
    threshold_only: bool,
    confidence: Any,  # Any: click has checked it
    split: str,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
    **reading: Any,  # Any: the options of data_options, handed on
) -> None:
    """Fit JUDGE's decision rule on the validation rows of DATA, show before and after, and keep it with the judge.

    Rows are split as `optimize` splits them; training, holdout and final rows are not judged. The figures after
    are cross-fitted: each row is decided by a rule that its group did not help to fit.
    """
    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        prompt = place.registry.get(judge)
        dataset = read_rows(prompt, data, **reading)
        result = run_calibration(
            place,
            prompt,
            dataset,
            model=model,
            environment=asking_environment(place.root, model),
            allowance=parse_budget(budget),
            concurrency=concurrency,
            settings=JudgeSettings(max_tokens=max_tokens, confidence=confidence),
            metric=metric,
            method="none" if threshold_only else method,
            shares=parse_shares(split),
            watch=watch,
        )
    if as_json:
        say_json(result.to_json())
        return
    for note in (*dataset.notes, *describe_spending(result.stats)):
        say(f"note: {note}")
    say_calibration(result, title=f"{result.kept.judge} on the validation rows of {data.name}")
