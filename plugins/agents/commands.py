"""`judgewright agents`: serve tools to a coding agent, and write it a skill."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...runs.commands.decorators import PlaceType, json_option, takes
from ...runs.commands.help import Group
from ...runs.commands.output_paths import OutFolder
from ...runs.terminal import answer

if TYPE_CHECKING:
    from ...runs.config.place import ServerAddress

SERVES = """\
Example:  judgewright agents mcp --folder .
Paid:     judgewright agents mcp --folder . --budget 2.00
"""


@click.group(cls=Group)
def agents() -> None:
    """Let a coding agent measure and tune judges here."""


@agents.command(epilog=SERVES)
@takes(
    "folder",
    Path(),
    "The folder whose files the agent may name, beside the workspace.",
    kind="path",
    group="Limits",
)
@takes(
    "budget",
    None,
    "What all calls of this server may spend together: dollars such as 2.00, or 200000tokens."
    " Without it only the simulated model is asked.",
    group="Limits",
)
@takes(
    "write",
    False,
    "Let `export` write into the folder; without it the files are in the answer.",
    group="Limits",
)
@takes(
    "workspace",
    None,
    "Folder of the workspace, or postgresql://... [default: the nearest to the folder].",
    type=PlaceType(),
)
def mcp(
    folder: Path, budget: str | None, write: bool, workspace: Path | ServerAddress | None
) -> None:
    """Serve bench, slices, plan, optimize, gate status and export to an agent, over stdin and
    stdout (MCP).

    The agent names files of the folder and models that you have set up; it cannot name an address
    or a key, adopt a prompt, or read a sealed row.
    """
    from ...judges.extras import require_extra
    from ...runs.config.environment import read_environment
    from ...runs.store.workspace import find_workspace

    require_extra("agents", "mcp", purpose="agents mcp")
    from .server import serve
    from .session import Session

    environment = read_environment()
    place = find_workspace(folder, given=workspace or environment.workspace).place
    serve(Session(place, folder, budget=budget, may_write=write, environment=environment))


@agents.command(epilog="Example:  judgewright agents skill --out .agents/skills")
@takes(
    "out",
    None,
    "The folder of your agent's skills; judgewright/SKILL.md is written there [default: print it].",
    type=OutFolder(),
)
@json_option
def skill(out: Path | None, as_json: bool) -> None:
    """Write a skill that tells a coding agent how to measure and tune a judge here honestly."""
    from ...judges import write_beside

    text = (files("judgewright.plugins.agents") / "SKILL.md").read_text(encoding="utf-8")
    if out is None:
        answer({"skill": text}, text.rstrip("\n"), as_json=as_json)
        return
    path = out / "judgewright" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, text)
    answer({"path": str(path)}, f"skill written to {path}", as_json=as_json)
