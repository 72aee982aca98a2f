"""`judgewright runs merge`: enter what one workspace knows in another one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..terminal import say, say_json
from .decorators import PlaceType, json_option, open_workspace
from .help import Command

if TYPE_CHECKING:
    from ..config.place import ServerAddress


@click.command(
    cls=Command,
    epilog="Example:  judgewright runs merge . postgresql://judge@db.example.org/judging",
)
@click.argument("source", type=PlaceType())
@click.argument("target", type=PlaceType())
@json_option
def merge(source: Path | ServerAddress, target: Path | ServerAddress, as_json: bool) -> None:
    """Enter the runs, calls, labels and looks of SOURCE in TARGET; SOURCE stays as it is.

    Each is a folder or postgresql://... Done again, only what is new is entered. A run that was
    begun in one is resumed in the other. Prompts and other files are not copied: they belong in
    git.
    """
    from ..actions.merge_workspaces import merge_workspaces

    with open_workspace(source) as theirs, open_workspace(target) as ours:
        merged, jobs = merge_workspaces(theirs, ours)
    if as_json:
        say_json({**asdict(merged), "jobs": jobs})
        return
    say(
        f"new: {merged.runs:,} runs or parts of runs ({merged.events:,} events), {merged.calls:,}"
        f" calls, {merged.labels:,} labels, {merged.looks:,} entries of the ledger, {jobs:,} jobs"
    )
    if merged.differing:
        say(f"{merged.differing:,} calls have an answer in each; {target} keeps its own")
