"""`judgewright slices`: find where a judge errs, and look closer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from ...judges import InputError, JudgedDataset
from ...optimize.options import changed_options, option, spelling
from ...slices.inspect_slice import MeasuredSlice, list_rows, measure_slice
from ...slices.saved import read_slice
from ..actions.find_slices import (
    Search,
    named_slice,
    read_judged,
    require_decisions,
    save,
    save_found,
    search,
    searched_metric,
    to_json,
)
from ..actions.read_objective import saved_slices
from ..config.command_options import AUDITED
from ..reports.charts import plot_found, plot_measured
from ..reports.drawing import write_picture
from ..reports.slice_report import say_measured, say_rows, say_slices
from ..store.workspace import Workspace
from ..terminal import counting_on_stderr, say, say_json
from .decorators import all_option, options_of, reads_workspace, sealed_option
from .help import Command
from .output_paths import NumberedOutFile
from .score import ColumnOptions, read_columns  # verdict files are read as `score` reads them

EXAMPLES = """\
Example:  judgewright slices verdicts.jsonl --metric precision --threshold 2 --group metadata.query_id
Rows:     judgewright slices verdicts.jsonl --rows 'dataset = ragtruth' --errors --limit 5
Own:      judgewright slices verdicts.jsonl --where 'source_words >= 400' --save long.yaml
"""  # noqa: E501


_files = partial(option, "Verdict files")
_slices = partial(option, "Slices")
_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class AuditedOptions:
    """Whose labels count."""

    audited: Path | None = _files(None, AUDITED, kind="file")


@dataclass(frozen=True, kw_only=True)
class LookOptions:
    """What is shown of the slices instead of the table, and what is written."""

    where: str | None = _slices(None, "Measure a slice of your own instead.", metavar="SLICE")
    rows: str | None = _slices(None, "Show the rows of one slice, errors first.", metavar="SLICE")
    errors: bool = _slices(False, "With --rows: only errors.")
    limit: int | None = _slices(
        None, "With --rows: so many at most [default: 10].", kind="integer", low=1
    )
    save: str | None = _output(
        None,
        "Save the slice to optimize on, or number N, or that of --where.",
        type=NumberedOutFile(),
        metavar="[N=]FILE",
    )
    plot: Path | None = _output(None, "Draw the slices into FILE.svg.", kind="out")

    def require_sense(self) -> None:
        """Refuse options that would say nothing.

        Raises:
            InputError: Two ask for different things, or one is for another that is not given.
        """
        chosen = [name for name in ("where", "rows") if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise InputError(
                f"--{chosen[0]} and --{chosen[1]} ask for different things", hint="give one of them"
            )
        if (self.errors or self.limit) and self.rows is None:
            raise InputError(f"{'--errors' if self.errors else '--limit'} is for --rows")
        if (self.save or self.plot) and chosen not in ([], ["where"]):
            raise InputError(
                f"{'--save' if self.save else '--plot'} is for the slices found, or for --where"
            )


OFTEN = """
--metric --columns --text --label --score --threshold --group --where --rows
--errors --limit --save --plot --workspace --json
"""
"""The options that `--help` shows."""


@click.command(cls=Command, often=OFTEN, epilog=EXAMPLES)
@click.argument("run_or_verdicts")
@options_of(options=Search, reading=ColumnOptions, corrected=AuditedOptions, look=LookOptions)
@all_option
@sealed_option
@reads_workspace
def slices(
    run_or_verdicts: str,
    options: Search,
    reading: ColumnOptions,
    corrected: AuditedOptions,
    look: LookOptions,
    show_all: bool,
    sealed: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Find the slices of a run's open rows, or of a verdict file, where a judge errs.

    A SLICE is the number of one in the table, the name or file of a saved one, or conditions such
    as 'dataset = ragtruth and source_words in [150, 400)'.
    """
    look.require_sense()
    if sealed and look.rows:
        raise InputError(
            "--sealed shows no single row",
            hint="--all opens them, and they are no holdout any more",
        )
    judged = read_judged(
        run_or_verdicts,
        workspace,
        read_columns(reading, reading),
        named=[spelling(field) for field, *_ in changed_options(reading, ColumnOptions)],
        show_all=show_all,
        sealed=sealed,
        audited=corrected.audited,
    )
    saved = saved_slices(workspace)
    if look.where is not None:
        require_decisions(judged, "--where")
        measured = measure_slice(
            judged, read_slice(look.where, saved), metric=searched_metric(judged, options)
        )
        _say_measured(measured, judged, look, as_json=as_json)
    elif look.rows is not None:
        predicate = named_slice(judged, options, look.rows, saved)
        rows = list_rows(judged, predicate, errors_only=look.errors, limit=look.limit or 10)
        say_json(rows.to_json()) if as_json else say_rows(rows)
    else:
        _say_slices(judged, options, look, title=Path(run_or_verdicts).name, as_json=as_json)


def _say_slices(
    judged: JudgedDataset, options: Search, look: LookOptions, *, title: str, as_json: bool
) -> None:
    with counting_on_stderr("reading texts", quiet=as_json) as progress:
        report = search(judged, options, progress)
    if not as_json:
        say_slices(report, judged, title=title)
    if look.plot:
        write_picture(plot_found(report), look.plot)
    if look.save:
        path, chosen = save_found(report, judged, look.save)
        if not as_json:
            say(f"slice {chosen.predicate} saved to {path}")
    if as_json:  # last, so that what could not be written is the one object that is printed
        say_json(to_json(report, judged))


def _say_measured(
    measured: MeasuredSlice, judged: JudgedDataset, look: LookOptions, *, as_json: bool
) -> None:
    if not as_json:
        for note in judged.dataset.notes:
            say(f"note: {note}")
        say_measured(measured)
    if look.plot:
        write_picture(plot_measured(measured), look.plot)
    if look.save:
        save(measured, judged, Path(look.save))
        if not as_json:
            say(f"slice saved to {look.save}")
    if as_json:
        say_json(
            measured.to_json()
            | {
                "reading": list(judged.dataset.notes),
                "simulated": judged.simulated,
            }
        )
