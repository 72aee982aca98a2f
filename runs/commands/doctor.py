"""`judgewright doctor`: the long check of a workspace."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from ..terminal import inline, say, say_json
from .decorators import reads_workspace
from .help import Command

if TYPE_CHECKING:
    from ..store.workspace import Workspace


@click.command(cls=Command, epilog="Example:  judgewright doctor --workspace .")
@reads_workspace
def doctor(workspace: Workspace, as_json: bool) -> None:
    """Check all of a workspace: the file, every reply, every run, the ledger of looks.

    Opening a workspace reads the whole file only after a process was killed; this always does. Exit
    1: damage.
    """
    from ..actions.check_workspace import check_workspace

    workspace.require("name its folder with --workspace")
    checks = []
    for check in check_workspace(workspace):
        checks.append(check)
        if not as_json:
            state = f"{check.damaged:,} DAMAGED" if check.damaged else "ok"
            say(f"{check.name:<10}  {check.checked:>10,}  {state:<10}  {check.about}")
            if check.detail:
                say(f"            {inline(check.detail)}")
    damaged = sum(check.damaged for check in checks)
    if as_json:
        say_json({"ok": not damaged, "checks": [dataclasses.asdict(check) for check in checks]})
    if damaged:
        sys.exit(1)
