"""`judgewright agents`: serve tools to a coding agent, and write it a skill."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...optimize.options import option
from ...runs.commands.decorators import PlaceType, json_option, options_of, takes
from ...runs.commands.help import Group
from ...runs.commands.output_paths import OutFolder
from ...runs.terminal import answer

if TYPE_CHECKING:
    from ...runs.config.place import ServerAddress

_limits = partial(option, "Limits")
SERVES = """\
Example:  judgewright agents mcp --folder .
Paid:     judgewright agents mcp --folder . --budget 2.00
"""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What the agent may do."""

    folder: Path = _limits(
        Path(), "The folder whose files the agent may name, beside the workspace.", kind="path"
    )
    budget: str | None = _limits(
        None,
        "What all calls of this server may spend together: dollars such as 2.00, or 200000tokens."
        " Without it only the simulated model is asked.",
    )
    write: bool = _limits(
        False, "Let `export` write into the folder; without it the files are in the answer."
    )


@click.group(cls=Group)
def agents() -> None:
    """Let a coding agent measure and tune judges here."""


@agents.command(epilog=SERVES)
@options_of(options=ServerOptions)
@takes(
    "workspace",
    None,
    "Folder of the workspace, or postgresql://... [default: the nearest to the folder].",
    type=PlaceType(),
)
def mcp(options: ServerOptions, workspace: Path | ServerAddress | None) -> None:
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
    found = find_workspace(options.folder, given=workspace or environment.workspace)
    serve(
        Session(
            place=found.place,
            folder=options.folder,
            budget=options.budget,
            may_write=options.write,
            environment=environment,
        )
    )


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
