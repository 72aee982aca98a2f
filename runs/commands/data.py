"""`judgewright data`: look at a data file, split it, or make one from a published release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from ...judges import InputError, parse_label_scale, parse_shares
from ...judges.datasets import SOURCES, Flat, ReadOptions, fetched, open_collection, open_source, read_collection
from ...judges.files import RawRoles, words_of
from ..actions.check_data import CheckOptions, check_file
from ..actions.make_data import import_rows, split_file
from ..config.environment import read_environment
from ..reports.data_report import say_data_report, say_import
from ..terminal import say, say_json, say_table
from .help import Group
from .options import json_option, open_workspace, workspace_option
from .output_paths import OutFile, OutFolder


@click.group(cls=Group)
def data() -> None:
    """Look at a data file, split it into files, or make one from a published release."""


@data.command(epilog="Example:  judgewright data check rows.jsonl --judge groundedness --model gpt-4o-mini")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--judge", help="Look at this judge's inputs, and count the tokens of a whole run.")
@click.option("--model", help="Count this model's tokens and, with --judge, say what a run may cost.")
@click.option("--column", "columns", multiple=True, metavar="INPUT=COLUMN", help="Which column holds an input.")
@click.option("--label", help="Column of the human label [default: label].")
@click.option("--id", "id_", help="Column of the row id [default: id, else the line number].")
@click.option("--group", help="Column whose rows belong together [default: group_id, else the longest input].")
@click.option("--split-column", help="Column that says train, test and so on [default: split, orig_split].")
@click.option("--against", type=click.Path(path_type=Path), help="Another file that should share no row with this one.")
@workspace_option
@json_option
def check(
    file: Path,
    judge: str | None,
    model: str | None,
    columns: tuple[str, ...],
    label: str | None,
    id_: str | None,
    group: str | None,
    split_column: str | None,
    against: Path | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Show what a person should see of a data file before paying for a run. It informs: the exit code is 0."""
    mapping = _pairs(columns, "--column", "INPUT=COLUMN")
    with open_workspace(workspace) as place:
        prompt = place.registry.get(judge) if judge else None
        inputs = {name: mapping.get(name, name) for name in prompt.inputs} if prompt else mapping
        words = words_of(prompt.scale) if prompt else RawRoles().words
        roles = RawRoles(inputs=inputs, label=label, id=id_, group=group, words=words)
        options = CheckOptions(roles=roles, prompt=prompt, model=model, split=split_column, against=against)
        report, price = check_file(file, options, registry=place.registry, environment=read_environment())
    if as_json:
        say_json(report.to_json() | {"price": asdict(price) if price else None})
    else:
        say_data_report(report, price)


@data.command(epilog="Example:  judgewright data split rows.jsonl --group document --out parts")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=OutFolder(), help="Folder for the parts.")
@click.option("--group", help="Column whose rows stay in one part [default: group_id, else the longest input].")
@click.option("--label", help="Column of the human label [default: label].")
@click.option("--label-scale", help="binary, probability, or LOW..HIGH@THRESHOLD [default: read from the labels].")
@click.option("--id", "id_", help="Column of the row id [default: id, else the line number].")
@click.option("--column", "columns", multiple=True, metavar="INPUT=COLUMN", help="Which column holds an input.")
@click.option(
    "--split", "shares", default="30/20/30/20", show_default=True, help="Percent: train/validation/holdout/final."
)
@click.option("--seed", default=0, show_default=True, help="Decides where groups go that fit two parts equally well.")
@workspace_option
@json_option
def split(
    file: Path,
    out: Path,
    group: str | None,
    label: str | None,
    label_scale: str | None,
    id_: str | None,
    columns: tuple[str, ...],
    shares: str,
    seed: int,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Write train, validation, holdout and final as files of their own, by whole groups, alike in labels."""
    roles = RawRoles(inputs=_pairs(columns, "--column", "INPUT=COLUMN"), label=label, id=id_, group=group)
    with open_workspace(workspace) as place:
        done = split_file(
            file,
            out,
            roles=roles,
            registry=place.registry,
            shares=parse_shares(shares),
            seed=seed,
            scale=parse_label_scale(label_scale) if label_scale else None,
        )
    if as_json:
        say_json(asdict(done) | {"folder": str(out)})
        return
    for note in done.notes:
        say(f"note: {note}")
    lines = [(f"{name}.jsonl", f"{n:,}", f"{done.groups[name]:,}", done.hashes[name]) for name, n in done.rows.items()]
    say_table((f"in {out}", "rows", "groups", "content"), lines)
    say("  Look at the holdout once, for the decision; the final rows give the figure to report (README.md there).")


@data.command(epilog="Example:  judgewright data sources")
@json_option
def sources(as_json: bool) -> None:
    """List the published data sets that can be imported."""
    found = SOURCES.values()
    if as_json:
        keys = ("name", "about", "inputs", "judge", "levels", "hub", "licence")
        say_json({"sources": [{key: getattr(source, key) for key in keys} for source in found]})
        return
    say_table(("source", "rows", "levels"), [(s.name, s.about, ", ".join(s.levels)) for s in found], left=3)


@data.command(
    "import",
    epilog="Example:  judgewright data import ragtruth RAGTruth/dataset --level sentence --out ragtruth.jsonl",
)
@click.argument("source", type=click.Choice(list(SOURCES)))
@click.argument("path")
@click.option("--out", required=True, type=OutFile(makes_folder=True), help="The JSONL to write.")
@click.option("--level", default="", help="What one row is, where the source has several (see `data sources`).")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Keep only rows with this value.")
@click.option("--limit", type=click.IntRange(min=1), help="Keep only the first rows.")
@click.option("--seed", default=0, show_default=True, help="Decides what is drawn, such as negatives.")
@click.option("--map", "mapping", multiple=True, metavar="OURS=COLUMN", help="generic: which column is what.")
@click.option("--label-value", "values", multiple=True, metavar="WORD=GRADE", help="generic: what a label word means.")
@click.option("--queries", type=click.Path(path_type=Path), help="trec_dl: the file of queries.")
@click.option("--passages", type=click.Path(path_type=Path), help="trec_dl: the file or folder of passages.")
@click.option("--hub-split", "part", help="hub: which split.")
@click.option("--hub-config", "config", help="hub: which configuration.")
@json_option
def import_(
    source: str,
    path: str,
    out: Path,
    level: str,
    where: tuple[str, ...],
    limit: int | None,
    seed: int,
    mapping: tuple[str, ...],
    values: tuple[str, ...],
    queries: Path | None,
    passages: Path | None,
    part: str | None,
    config: str | None,
    as_json: bool,
) -> None:
    """Make rows from the files of SOURCE at PATH, as their makers publish them.

    PATH may also be hub:NAME (Hugging Face, with the extra `hub`) or ir:NAME (ir_datasets, with the extra `trec`).
    """
    options = ReadOptions(
        level=level,
        seed=seed,
        columns=_pairs(mapping, "--map", "OURS=COLUMN"),
        label_values=_grades(values),
        queries=queries,
        passages=passages,
    )
    kept = _pairs(where, "--where", "COLUMN=VALUE")
    with _opened(source, path, options, part, config) as (rows, notes):
        done = import_rows(rows, out, source=source, where=kept, limit=limit, notes=notes)
    if as_json:
        say_json(done.to_json() | {"licence": SOURCES[source].licence})
    else:
        say_import(done)


@contextmanager
def _opened(
    source: str, path: str, options: ReadOptions, part: str | None, config: str | None
) -> Iterator[tuple[Iterator[Flat], list[str]]]:
    """Open a source at a path, on the hub or in ir_datasets."""
    scheme, colon, name = path.partition(":")
    if colon and scheme == "ir":
        if source != "trec_dl":
            raise InputError(f"ir:{name} is read by the source 'trec_dl', not by {source!r}")
        notes: list[str] = []
        yield read_collection(open_collection(name), name, notes), notes
    elif colon and scheme == "hub":
        with fetched(name, split=part, config=config) as file:
            opened = open_source(source, file, options)
            yield opened.rows, opened.notes
    else:
        opened = open_source(source, Path(path), options)
        yield opened.rows, opened.notes


def _pairs(given: tuple[str, ...], option: str, form: str) -> dict[str, str]:
    for pair in given:
        if not all(pair.partition("=")):
            raise InputError(f"{option} {pair!r} is not {form}")
    return {pair.partition("=")[0]: pair.partition("=")[2] for pair in given}


def _grades(given: tuple[str, ...]) -> dict[str, float]:
    pairs = _pairs(given, "--label-value", "WORD=GRADE")
    try:
        return {word.strip().casefold(): float(grade) for word, grade in pairs.items()}
    except ValueError as error:
        raise InputError(f"--label-value: {error}", hint="write WORD=GRADE, such as supported=1") from None
