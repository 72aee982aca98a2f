"""`judgewright slices`: find where a judge errs, and look closer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ...judges import InputError, JudgedDataset, parse_label_scale
from ...judges.files import parse_grade_map
from ...slices import SliceAudit, apply_marks
from ...slices.inspect_slice import MeasuredSlice, measure_slice
from ...slices.saved import read_slice
from ...slices.slice_rows import list_rows
from ...slices.target import TARGETS
from ..actions.find_slices import (
    Search,
    audit_named,
    named_slice,
    narrow,
    read_judged,
    read_or_ask_marks,
    save_found,
    save_measured,
    search,
    to_json,
    with_topics,
)
from ..reports.slice_plots import plot_found, plot_measured, write_picture
from ..reports.slice_report import say_measured, say_rows, say_slices, say_tree
from ..terminal import counting_on_stderr, say, say_json
from .help import Command
from .options import all_option, json_option, names, open_workspace, workspace_option
from .output_paths import NumberedOutFile, OutFile

EXAMPLES = """\
Example:  judgewright slices verdicts.jsonl --metric precision --threshold 2 --group metadata.query_id
Closer:   judgewright slices verdicts.jsonl --tree 1
Rows:     judgewright slices verdicts.jsonl --rows 'dataset = ragtruth' --errors --limit 5
Own:      judgewright slices verdicts.jsonl --where 'source_words >= 400' --save long.yaml
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("run_or_verdicts")
@click.option(
    "--metric",
    default="precision",
    show_default=True,
    type=click.Choice(list(TARGETS)),
    help="The metric that should be poor on the slice.",
)
@click.option("--label", help="Column of the human label [default: label].")
@click.option("--score", help="Column of the judge's score or verdict [default: score].")
@click.option("--confidence", help="Column of the judge's confidence in its verdict, 0 to 1.")
@click.option("--threshold", type=float, help="Labels and scores at or above it are positive.")
@click.option("--label-threshold", type=float, help="What the label must reach, where that differs.")
@click.option("--group", help="Column whose rows depend on each other [default: query_id or group, else a text].")
@click.option("--id", "id", help="Column of the row id [default: id].")
@click.option("--label-map", metavar="CELL=GRADE,...", help="What labels stand for; none for no label.")
@click.option("--score-map", metavar="CELL=GRADE,...", help="Likewise for scores.")
@click.option("--scale", help="Scale of labels and scores, such as 0..3; scores outside are left unscored.")
@click.option("--clip", is_flag=True, help="Clip what lies outside --scale to its ends instead.")
@click.option("--columns", help="Comma-separated columns to search [default: all columns that do not leak the label].")
@click.option("--exclude", help="Comma-separated columns to leave out.")
@click.option("--keep", help="Comma-separated columns to search though named like a label or a judge's output.")
@click.option("--text/--no-text", default=None, help="Search by what texts look like [default: where there are any].")
@click.option("--topics", default=0, type=click.IntRange(0, 100), help="Cut each text into so many topics as well.")
@click.option(
    "--max-depth", default=3, show_default=True, type=click.IntRange(1, 3), help="Conditions in a slice at most."
)
@click.option("--min-support", type=click.IntRange(min=2), help="Rows in a slice at least [default: 30 or 0.5 %].")
@click.option("--seed", default=0, show_default=True, help="Seed of the two folds.")
@click.option("--where", metavar="SLICE", help="Measure a slice of your own instead.")
@click.option("--tree", metavar="SLICE", help="Show the conditions that make one slice poorer still.")
@click.option("--rows", metavar="SLICE", help="Show the rows of one slice, errors first.")
@click.option("--errors", is_flag=True, help="With --rows: only errors.")
@click.option("--limit", type=click.IntRange(min=1), help="With --rows: so many at most [default: 10].")
@click.option("--audit", metavar="SLICE", help="Mark the twenty most telling errors of a slice, or read the marks.")
@click.option("--marks", type=OutFile(), help="With --audit: the file of marks.")
@click.option(
    "--save",
    type=NumberedOutFile(),
    metavar="[N=]FILE",
    help="Save the slice to optimize on, or number N, or that of --where.",
)
@click.option("--plot", type=OutFile(), help="Draw the slices into FILE.svg or .png.")
@all_option
@workspace_option
@json_option
def slices(
    run_or_verdicts: str,
    metric: str,
    columns: str | None,
    exclude: str | None,
    keep: str | None,
    text: bool | None,
    topics: int,
    max_depth: int,
    min_support: int | None,
    seed: int,
    where: str | None,
    tree: str | None,
    rows: str | None,
    errors: bool,
    limit: int | None,
    audit: str | None,
    marks: Path | None,
    save: str | None,
    plot: Path | None,
    show_all: bool,
    workspace: Path | None,
    as_json: bool,
    **reading: Any,  # Any: the options that say how a file is read, for `_reading`
) -> None:
    """Find the slices of a run's open rows, or of a verdict file, where a judge errs.

    A SLICE is the number of one in the table, the file of a saved one, or conditions such as
    'dataset = ragtruth and source_words in [150, 400)'.
    """
    _require_sense(where=where, tree=tree, rows=rows, audit=audit, errors=errors, limit=limit, save=save, plot=plot)
    wanted = Search(
        metric=metric,
        columns=names(columns),
        exclude=names(exclude),
        keep=names(keep),
        max_depth=max_depth,
        min_support=min_support,
        text=text,
        topics=topics,
        seed=seed,
    )
    with open_workspace(workspace) as place:
        judged = read_judged(run_or_verdicts, place, _reading(**reading), show_all=show_all)
        judged = with_topics(judged, wanted)
    if where is not None:
        measured = measure_slice(judged, read_slice(where), metric=metric)
        _tell_measured(measured, judged, save=save, plot=plot, as_json=as_json)
    elif audit is not None:
        _audit(judged, audit_named(judged, wanted, audit), marks or Path("marks.jsonl"), as_json=as_json)
    elif tree is not None:
        narrowed = narrow(judged, wanted, named_slice(judged, wanted, tree))
        say_json(narrowed.to_json()) if as_json else say_tree(narrowed)
    elif rows is not None:
        found = list_rows(judged, named_slice(judged, wanted, rows), errors_only=errors, limit=limit or 10)
        say_json(found.to_json()) if as_json else say_rows(found)
    else:
        _tell_found(judged, wanted, title=Path(run_or_verdicts).name, save=save, plot=plot, as_json=as_json)


def _tell_found(
    judged: JudgedDataset, wanted: Search, *, title: str, save: str | None, plot: Path | None, as_json: bool
) -> None:
    with counting_on_stderr("reading texts", quiet=as_json) as progress:
        report = search(judged, wanted, progress)
    if not as_json:
        say_slices(report, judged, title=title)
    if plot:
        write_picture(plot_found(report, judged), plot)
    if save:
        path, found = save_found(report, judged, save)
        _say_written(f"slice {found.predicate} saved to {path}", as_json)
    if as_json:  # last, so that what could not be written is the one object that is printed
        say_json(to_json(report, judged))


def _tell_measured(
    measured: MeasuredSlice, judged: JudgedDataset, *, save: str | None, plot: Path | None, as_json: bool
) -> None:
    if not as_json:
        for note in judged.dataset.notes:
            say(f"note: {note}")
        say_measured(measured)
    if plot:
        write_picture(plot_measured(measured, judged), plot)
    if save:
        save_measured(measured, judged, Path(save))
        _say_written(f"slice saved to {save}", as_json)
    if as_json:
        say_json(measured.to_json() | {"reading": list(judged.dataset.notes), "simulated": judged.simulated})


def _audit(judged: JudgedDataset, audit: SliceAudit, path: Path, *, as_json: bool) -> None:
    """Print the audit, and the slice's metric with the audited labels once there are marks."""
    ask = input if sys.stdin.isatty() and not as_json else None
    marks = read_or_ask_marks(judged, audit, path, ask=ask, show=say)
    after = apply_marks(judged, audit, marks) if marks else None
    if as_json:
        body: dict[str, Any] = {"predicate": str(audit.predicate), "metric": audit.metric}  # Any: JSON
        body |= {"direction": audit.direction, "value": audit.value.to_json(), "rest": audit.rest.to_json()}
        body |= {"needed": audit.needed, "errors": [s.to_json() for s in audit.errors.suspects], "path": str(path)}
        if after is not None:
            body |= {"marks": dict(after.marks), "audited": after.after.to_json()}
        say_json(body)
        return
    say(f"{audit.predicate}: {audit.describe()}")
    if after is None:
        say(f"{len(audit.errors.suspects)} errors written to {path}: mark them, and run the same command again")
    else:
        say(after.describe())


def _say_written(text: str, as_json: bool) -> None:
    if not as_json:
        say(text)


def _require_sense(
    *,
    where: str | None,
    tree: str | None,
    rows: str | None,
    audit: str | None,
    errors: bool,
    limit: int | None,
    save: str | None,
    plot: Path | None,
) -> None:
    """Refuse options that would say nothing."""
    asked = {"--where": where, "--tree": tree, "--rows": rows, "--audit": audit}
    chosen = [name for name, value in asked.items() if value is not None]
    if len(chosen) > 1:
        raise InputError(f"{chosen[0]} and {chosen[1]} ask for different things", hint="give one of them")
    if (errors or limit) and rows is None:
        raise InputError(f"{'--errors' if errors else '--limit'} is for --rows")
    if (save or plot) and not {*chosen} <= {"--where"}:
        raise InputError(f"{'--save' if save else '--plot'} is for the slices found, or for --where")


def _reading(*, label_map: str | None, score_map: str | None, scale: str | None, **named: Any) -> dict[str, Any]:
    """Return the arguments of `load_verdicts`; Any: its own options, handed on."""
    return named | {
        "label_map": parse_grade_map(label_map, option="--label-map") if label_map else None,
        "score_map": parse_grade_map(score_map, option="--score-map") if score_map else None,
        "scale": parse_label_scale(scale) if scale else None,
    }
