"""`judgewright calibrate`: choose a threshold and calibrate confidence, on validation rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges import JudgeSettings, parse_shares
from ...judges.calibrate import METHODS
from ...judges.metrics.agreement import BINARY_METRICS
from ..actions.bench import describe_spending
from ..actions.calibrate import CalibrationRun, run_calibration
from ..config.environment import parse_budget
from ..reports.terminal_report import number, say_undefined
from ..terminal import inline, progress_on_stderr, say, say_json, say_table
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

if TYPE_CHECKING:
    from ...judges import Estimate
    from ...judges.metrics.reliability_bins import Bin


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


def say_calibration(result: CalibrationRun, *, title: str) -> None:
    """Print a fitted rule: the threshold, the metrics and the reliability curve before and after."""
    found, kept = result.calibrated, result.kept
    simulated = "  [SIMULATED: says nothing about real models]" if kept.simulated else ""
    say(f"\n{inline(title)}{simulated}")
    say(f"  fitted on {kept.rows:,} rows in {found.before.groups:,} groups")
    say(f"  threshold: {kept.asked_at:g} -> {found.rule.threshold:g}, for the best {found.metric}")
    say(f"  confidence: {kept.confidence}, calibration: {found.method}")
    lines = [(name, *_cells(before), *_cells(after)) for name, (before, after) in found.shown().items()]
    say_table(("metric", "before", "95 % interval", "n", "after", "95 % interval", "n"), lines)
    shown = found.shown().items()
    say_undefined((name, side.to_json()) for name, sides in shown for side in sides if side is not None)
    say(f"  after: cross-fitted in {found.folds} folds of groups; no row is decided by a rule its group helped to fit")
    if found.change is not None:
        c = found.change
        interval = "no interval" if c.low is None else f"95 % interval {c.low:+.3f} .. {c.high:+.3f}"
        say(f"  {c.metric} moves by {c.difference:+.3f} ({interval}, n = {c.n:,} in {c.groups:,} groups)")
        if c.difference < 0:
            say(f"  note: {c.metric} fell on groups the rule had not seen; the old threshold may be the better one")
    before, after = result.reliability
    if before:
        say("\n  reliability: how often people say yes where the judge gives this probability of yes")
        head = ("probability", "n before", "mean", "people", "95 % interval", "n after", "mean", "people")
        say_table((*head, "95 % interval"), _bin_lines(before, after))
    for note in found.notes:
        say(f"  note: {inline(note)}")
    say(f"\nrule {found.rule.version} written to {result.path}")


def _cells(estimate: Estimate | None) -> tuple[str, str, str]:
    if estimate is None:
        return "n/a", "", ""
    interval = "" if estimate.low is None else f"{estimate.low:.3f} .. {estimate.high:.3f}"
    return number(estimate.value), interval, f"{estimate.n:,}"


def _bin_lines(before: Sequence[Bin], after: Sequence[Bin]) -> list[tuple[str, ...]]:
    return [
        (f"{old.low:.1f} .. {old.high:.1f}", *_bin_cells(old), *_bin_cells(new))
        for old, new in zip(before, after, strict=True)
        if old.share.n or new.share.n
    ]


def _bin_cells(one: Bin) -> tuple[str, ...]:
    value, interval, n = _cells(one.share)
    return (n, number(one.probability), value, interval) if one.share.n else ("0", "", "", "")
