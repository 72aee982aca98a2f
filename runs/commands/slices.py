"""`judgewright slices`: find where a judge errs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...judges import Judged, load_verdicts
from ...slices import find_slices
from ..finding import baseline
from ..report import number, say_left_out
from ..terminal import say, say_json, say_table
from .options import json_option, names, open_workspace, workspace_option


@click.command(
    epilog="Example:  judgewright slices verdicts.jsonl --metric precision --threshold 2 --group metadata.query_id"
)
@click.argument("run_or_verdicts")
@click.option("--metric", default="precision", show_default=True, help="The metric that should be poor on the slice.")
@click.option("--label", default="label", show_default=True, help="Column of the human label.")
@click.option(
    "--score", "score_column", default="score", show_default=True, help="Column of the judge's score or verdict."
)
@click.option("--threshold", type=float, help="Labels and scores at or above it are positive.")
@click.option("--label-threshold", type=float, help="What the label must reach, where that differs.")
@click.option("--group", help="Column whose rows depend on each other.")
@click.option("--columns", help="Comma-separated columns to search [default: all honest ones].")
@click.option("--exclude", help="Comma-separated columns to leave out.")
@click.option(
    "--max-depth", default=3, show_default=True, type=click.IntRange(1, 3), help="Conditions in a slice at most."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the two folds.")
@workspace_option
@json_option
def slices(
    run_or_verdicts: str,
    metric: str,
    label: str,
    score_column: str,
    threshold: float | None,
    label_threshold: float | None,
    group: str | None,
    columns: str | None,
    exclude: str | None,
    max_depth: int,
    seed: int,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Find the slices of a run's benchmark, or of a verdict file, where a judge errs."""
    reading = {"label": label, "score": score_column, "threshold": threshold, "group": group}
    judged = _judged(run_or_verdicts, workspace, **reading, label_threshold=label_threshold)
    report = find_slices(
        judged,
        metric=metric,
        columns=names(columns) or None,
        exclude=names(exclude),
        max_depth=max_depth,
        seed=seed,
    )
    if as_json:
        say_json({**report.to_json(), "metric": metric})
        return
    for note in (*judged.dataset.notes, *report.notes):
        say(f"note: {note}")
    say_left_out(report.left_out)
    if not report.slices:
        say("no slice stands out")
        return
    head = ("slice", "n", metric, "rest", "95 % interval", "p", "direction", "gain", "confirmed", "target")
    say_table(head, [_line(s.to_json()) for s in report.slices])


def _judged(source: str, workspace: Path | None, **reading: Any) -> Judged:  # Any: load_verdicts' own options
    """The rows of a verdict file; where there is no such file, of a run."""
    if Path(source).exists() or Path(source).suffix:
        return load_verdicts(Path(source), **reading)
    with open_workspace(workspace) as place:
        return baseline(place, source)


def _line(s: dict[str, object]) -> tuple[str, ...]:
    def figure(key: str, digits: int = 3) -> str:
        value = s[key]
        return number(value if isinstance(value, float) else None, digits)

    interval = f"{figure('low')} .. {figure('high')}"
    flags = ("yes" if s["confirmed"] else "no", "yes" if s["prompt_target"] else "no")
    direction = str(s["direction"] or "-").upper()
    return (
        str(s["predicate"]),
        str(s["n"]),
        figure("value"),
        figure("rest"),
        interval,
        figure("p", 4),
        direction,
        figure("expected_gain", 4),
        *flags,
    )
