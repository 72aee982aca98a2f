"""`judgewright workspace`: what is done with workspaces as a whole."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..terminal import say, say_json
from .help import Group
from .options import PlaceType, json_option, open_workspace

if TYPE_CHECKING:
    from datetime import datetime

    from ..config.postgres_address import PostgresAddress


@click.group(cls=Group)
def workspace() -> None:
    """Merge workspaces, in folders and on servers, and archive what is old."""


@workspace.command(epilog="Example:  judgewright workspace merge . postgresql://judge@db.example.org/judging")
@click.argument("source", type=PlaceType())
@click.argument("target", type=PlaceType())
@json_option
def merge(source: Path | PostgresAddress, target: Path | PostgresAddress, as_json: bool) -> None:
    """Enter the runs, calls, labels and looks of SOURCE in TARGET; SOURCE stays as it is.

    Each is a folder or postgresql://... Done again, only what is new is entered. A run that was begun in one is
    resumed in the other. Prompts and other files are not copied: they belong in git.
    """
    from ..actions.merge_workspaces import merge_workspaces

    with open_workspace(source) as theirs, open_workspace(target) as ours:
        merged, jobs = merge_workspaces(theirs, ours)
    if as_json:
        say_json({**dataclasses.asdict(merged), "jobs": jobs})
        return
    say(
        f"new: {merged.runs:,} runs or parts of runs ({merged.events:,} events), {merged.calls:,} calls, "
        f"{merged.labels:,} labels, {merged.looks:,} entries of the ledger, {jobs:,} jobs"
    )
    if merged.differing:
        say(f"{merged.differing:,} calls have an answer in each; {target} keeps its own")


@workspace.command(epilog="Example:  judgewright workspace archive . ../judging-2026 --before 2026-07-01")
@click.argument("source", type=PlaceType())
@click.argument("target", type=PlaceType())
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    metavar="DATE",
    help="Runs that were done before this day (UTC) are archived, such as 2026-07-01.",
)
@json_option
def archive(source: Path | PostgresAddress, target: Path | PostgresAddress, before: datetime, as_json: bool) -> None:
    """Move the runs of SOURCE that were done before a day to TARGET, with their events and calls.

    TARGET is a workspace: commands read it with --workspace TARGET, and `workspace merge TARGET SOURCE` brings all
    back. The ledger's looks, labels, prompts and runs that are not done stay. Calls stay too while some run is not
    done: it may need their answers.
    """
    from ..actions.archive_workspace import archive_workspace

    with open_workspace(source) as here, open_workspace(target) as there:
        archived = archive_workspace(here, there, before=f"{before:%Y-%m-%d}")
    if as_json:
        say_json(dataclasses.asdict(archived))
        return
    say(f"archived: {archived.runs:,} runs ({archived.events:,} events), {archived.calls:,} calls")
    if archived.unfinished:
        runs = ", ".join(archived.unfinished)
        say(f"{archived.kept_calls:,} of their calls stay, as these runs are not done and may need them: {runs}")
    elif archived.kept_calls:
        say(f"{archived.kept_calls:,} of their calls stay, as the archive has other answers to them")
