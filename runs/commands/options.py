"""Options that several commands share, and what they are turned into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from ...judges import Dataset, InputError, JudgePrompt, load_dataset, parse_label_scale
from ..actions.reliability import ReliabilityOptions
from ..config.environment import read_environment
from ..store.journal import find_run
from ..store.workspace import Workspace, find_workspace
from ..terminal import say_waiting
from .output_paths import OutFile

F = TypeVar("F", bound=Callable[..., Any])  # Any: click passes whatever a command declares


def json_option(command: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def workspace_option(command: F) -> F:
    """Add `--workspace`."""
    text = "Folder of the workspace [default: the nearest with .judgewright/, else here]."
    return click.option("--workspace", type=click.Path(path_type=Path, file_okay=False), help=text)(command)


def all_option(command: F) -> F:
    """Add `--all`."""
    text = "Show single rows that are sealed to a run too: that opens its holdout, and the ledger says so."
    return click.option("--all", "show_all", is_flag=True, help=text)(command)


def data_options(command: F) -> F:
    """Add the options that say how rows are read."""
    options = (
        click.option("--label", help="Column of the human label [default: label]."),
        click.option("--id", "id_", help="Column of the row id [default: id, else the line number]."),
        click.option(
            "--group", help="Column whose rows stay on one side of a split [default: group_id, else the longest input]."
        ),
        click.option(
            "--column",
            "columns",
            multiple=True,
            metavar="INPUT=COLUMN",
            help="Read a judge's input from another column.",
        ),
        click.option(
            "--label-scale",
            help="Scale of the labels: binary, probability, or LOW..HIGH@THRESHOLD [default: read from them].",
        ),
        click.option("--limit", type=click.IntRange(min=1), help="Read only the first rows."),
        click.option("--skip-incomplete", is_flag=True, help="Leave out rows that lack an input, and say how many."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def require_model(model: str | None) -> str:
    """Return the model that was named: a forgotten one would ask a stand-in, or pay somebody.

    Raises:
        InputError: None was.
    """
    if model is None:
        raise InputError("no model is named: add --model NAME, NAME@https://host/v1, or simulated (made up, no key)")
    return model


def model_option(command: F, *, required: bool = True) -> F:
    """Add `--model`, which has no default."""

    def named(context: click.Context, _: click.Parameter, model: str | None) -> str | None:
        return require_model(model) if required and not context.resilient_parsing else model

    text = "simulated (made up, no key), NAME, or NAME@https://host/v1."
    return click.option("--model", callback=named, help=text + "  [required]" * required)(command)


def model_options(command: F, *, required: bool = True) -> F:
    """Add the options that say who is asked, how fast, and for how much."""
    options = (
        partial(model_option, required=required),
        click.option(
            "--concurrency",
            default=64,
            show_default=True,
            type=click.IntRange(1, 1000),
            help="Calls in flight at most.",
        ),
        click.option("--budget", help="Dollars such as 5.00, or tokens such as 200000tokens."),
        click.option(
            "--max-tokens", default=512, show_default=True, type=click.IntRange(min=1), help="Tokens of one verdict."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def ceiling_options(command: F) -> F:
    """Add the options that say how far to trust the figures."""
    file = click.Path(path_type=Path, dir_okay=False)
    options = (
        click.option("--annotators", help="Comma-separated columns of single annotators, or one column of lists."),
        click.option("--gain", type=float, help="The gain you are after, such as 0.02, to be held against the noise."),
        click.option("--audit", type=OutFile(), help="Write likely label errors as JSONL, to be marked."),
        click.option("--audited", type=file, help="Such a file with marks: measure with the labels it corrects."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def retired_option(name: str, instead: str) -> Callable[[F], F]:
    """Add a flag that is gone: it stays out of the help, and using it says what to do instead."""

    def refuse(_: click.Context, __: click.Parameter, given: bool) -> None:
        if given:
            raise InputError(f"{name} was removed: {instead}")

    # Eager: this is said before any other option is missed.
    return click.option(name, is_flag=True, hidden=True, is_eager=True, expose_value=False, callback=refuse)


def no_wait_option(command: F) -> F:
    """Add `--no-wait`, for commands that write to the workspace."""
    text = "Leave with 3 where another run writes to the workspace, instead of waiting for its end."
    return click.option("--no-wait", is_flag=True, help=text)(command)


def open_workspace(given: Path | None, *, wait: bool = False) -> Workspace:
    """Return the workspace a command works in.

    Args:
        given: The option's value.
        wait: Whether a write waits, and says so, while another run writes; a command that only reads never has to.
    """
    on_wait = say_waiting if wait else None
    return find_workspace(Path.cwd(), given=given or read_environment().workspace, on_wait=on_wait)


def named_run(workspace: Workspace, name: str, *, kind: str | None = "optimize") -> str:
    """Return the id of the run that a person means by an id, its beginning, or `latest`.

    Raises:
        InputError: There is no workspace or no such run, or there are several.
    """
    if not workspace.exists:
        raise InputError(f"there is no workspace at {workspace.root}", hint="give --workspace, or start a run here")
    return find_run(workspace.database, name, kind=kind)


def read_rows(
    prompt: JudgePrompt,
    data: Path,
    *,
    label: str | None,
    id_: str | None,
    group: str | None,
    columns: tuple[str, ...],
    label_scale: str | None,
    limit: int | None,
    skip_incomplete: bool,
) -> Dataset:
    """Read a data file with the options of `data_options`."""
    return load_dataset(
        data,
        inputs=prompt.inputs,
        scale=prompt.scale,
        label=label,
        id=id_,
        group=group,
        columns=column_map(columns),
        label_scale=parse_label_scale(label_scale) if label_scale else None,
        limit=limit,
        skip_incomplete=skip_incomplete,
    )


def column_map(columns: tuple[str, ...]) -> dict[str, str]:
    """Read `INPUT=COLUMN` pairs.

    Raises:
        InputError: One of them is not such a pair.
    """
    for pair in columns:
        if not all(pair.partition("=")):
            raise InputError(f"--column {pair!r} is not INPUT=COLUMN")
    return {pair.partition("=")[0]: pair.partition("=")[2] for pair in columns}


def ceiling_questions(
    *,
    metric: str,
    annotators: str | None,
    gain: float | None,
    audit: Path | None,
    audited: Path | None,
    words: Mapping[str, float] | None = None,
) -> ReliabilityOptions:
    """Read the options of `ceiling_options`."""
    return ReliabilityOptions(
        metric=metric, gain=gain, annotators=names(annotators), words=words, audit=audit, audited=audited
    )


def names(text: str | None) -> tuple[str, ...]:
    """Read comma-separated names; nothing gives none."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()
