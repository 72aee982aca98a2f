"""`judgewright data`: look at a data file, split it, or make one from another program's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import click

from ...judges import InputError, Shares, parse_label_scale
from ...judges.datasets import ReadOptions, open_source, require_source
from ...judges.files import mapped_words, parse_grade_map, words_of
from ...optimize.options import SHARES, described, option
from ..actions.check_data import CheckOptions, check_file
from ..actions.make_data import data_sources, import_rows, split_file
from ..config.command_options import LABEL_MAP, LABEL_SCALE, RoleOptions, pairs_option
from ..config.environment import read_environment
from ..reports.data_report import say_data_report, say_import
from ..store.workspace import Workspace
from ..terminal import answer, counting_on_stderr, say, say_json, say_table
from .decorators import json_option, options_of, reads_workspace, sealed_option, writes_workspace
from .help import Group
from .output_paths import OutFile, OutFolder

_data = partial(option, "Data")


@dataclass(frozen=True, kw_only=True)
class CheckingOptions(RoleOptions):
    """What a file is checked for."""

    judge: str | None = _data(
        None, "Look at this judge's inputs, and count the tokens of a whole run."
    )
    model: str | None = _data(
        None, "Count this model's tokens and, with --judge, say what a run may cost."
    )


@dataclass(frozen=True, kw_only=True)
class SplitOptions(RoleOptions):
    """How a file is split, and where the parts go."""

    out: Path = field(metadata=described("Output", "Folder for the parts.", type=OutFolder()))
    label_scale: str | None = _data(None, LABEL_SCALE)
    shares: Shares | None = _data(None, SHARES, kind="shares", flag="--split")


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What is read of another program's file, and what is written."""

    out: Path | None = option(
        "Output", None, "The JSONL to write.", type=OutFile(makes_folder=True)
    )
    columns: Mapping[str, str] = pairs_option(
        "Data",
        "Which column or question is what.",
        flag="--map",
        metavar="OURS=COLUMN",
    )
    label_map: str | None = _data(None, LABEL_MAP, metavar="CELL=GRADE,...")


@click.group(cls=Group)
def data() -> None:
    """Look at a data file, split it into files, or make one from another program's."""


@data.command(
    epilog="Example:  judgewright data check rows.jsonl --judge groundedness --model your-model"
)
@click.argument("file", type=click.Path(path_type=Path))
@options_of(options=CheckingOptions)
@sealed_option
@reads_workspace
def check(
    file: Path, options: CheckingOptions, sealed: bool, workspace: Workspace, as_json: bool
) -> None:
    """Show what a person should see of a data file before paying for a run. It informs: the exit
    code is 0.
    """
    prompt = workspace.registry.get(options.judge) if options.judge else None
    roles = options.roles()
    if prompt is not None:
        inputs = {name: options.columns.get(name, name) for name in prompt.inputs}
        words = mapped_words(options.label_map, words_of(prompt.scale))
        roles = replace(roles, inputs=inputs, words=words)
    checked = CheckOptions(
        roles=roles,
        prompt=prompt,
        model=options.model,
        sealed=sealed,
    )
    environment = read_environment().in_workspace(workspace.root)
    with counting_on_stderr("looking at texts", quiet=as_json) as count:
        report, price = check_file(
            file, checked, workspace=workspace, environment=environment, progress=count
        )
    body = report.to_json() | {"price": asdict(price) if price else None}
    answer(body, partial(say_data_report, report, price), as_json=as_json)


@data.command(epilog="Example:  judgewright data split rows.jsonl --group document --out parts")
@click.argument("file", type=click.Path(path_type=Path))
@options_of(options=SplitOptions)
@writes_workspace
def split(file: Path, options: SplitOptions, workspace: Workspace, as_json: bool) -> None:
    """Write train, validation, holdout and final as files of their own, by whole groups, alike in
    labels.

    The workspace keeps which part each group is in: no --split makes a fresh holdout of
    the same rows.
    """
    scale = parse_label_scale(options.label_scale) if options.label_scale else None
    done = split_file(
        workspace,
        file,
        options.out,
        roles=options.roles(low_is_good=scale is not None and scale.low_is_good),
        shares=options.shares,
        scale=scale,
    )
    if as_json:
        say_json(asdict(done) | {"folder": str(options.out)})
        return
    for note in done.notes:
        say(f"note: {note}")
    lines = [
        (f"{name}.jsonl", f"{n:,}", f"{done.groups[name]:,}", done.hashes[name])
        for name, n in done.rows.items()
    ]
    say_table((f"in {options.out}", "rows", "groups", "content"), lines)
    say(
        "  Look at the holdout once, for the decision; the final rows give the figure to report"
        " (README.md there)."
    )


@data.command(
    "import",
    epilog=(
        "Example:  judgewright data import label_studio export.json --map label=verdict --out"
        " rows.jsonl\nSources:  judgewright data import"
    ),
)
@click.argument("source", required=False)
@click.argument("path", required=False)
@options_of(options=ImportOptions)
@json_option
def import_(source: str | None, path: str | None, options: ImportOptions, as_json: bool) -> None:
    """Make rows from the files of SOURCE at PATH; without SOURCE, list the sources."""
    if source is None:
        _list_sources(as_json=as_json)
        return
    sources = data_sources()
    require_source(source, sources)
    if path is None or options.out is None:
        raise InputError(
            f"{source} is read from where, and written where?",
            hint=f"judgewright data import {source} PATH --out rows.jsonl",
        )
    reading = ReadOptions(
        columns=options.columns,
        label_map=(
            parse_grade_map(options.label_map, option="--label-map") if options.label_map else {}
        ),
    )
    opened = open_source(source, Path(path), reading, sources=sources)
    done = import_rows(
        opened.rows,
        options.out,
        source=source,
        notes=opened.notes,
    )
    answer(done.to_json(), partial(say_import, done), as_json=as_json)


def _list_sources(*, as_json: bool) -> None:
    sources = [(source.name, source.about) for source in data_sources().values()]
    if as_json:
        say_json({"sources": [{"name": name, "about": about} for name, about in sources]})
        return
    say_table(("source", "rows"), sources, left=2)
