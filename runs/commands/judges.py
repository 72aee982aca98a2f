"""`judgewright judges`: the shelf."""

from __future__ import annotations

from pathlib import Path

import click

from ..gating import verification
from ..terminal import say, say_diff, say_json, say_table
from .options import json_option, open_workspace, workspace_option


@click.group()
def judges() -> None:
    """List, show and compare judge prompts."""


@judges.command("list", epilog="Example:  judgewright judges list")
@workspace_option
@json_option
def list_(workspace: Path | None, as_json: bool) -> None:
    """List every judge with its current version."""
    with open_workspace(workspace) as place:
        found = [(place.shelf.get(name), len(place.shelf.versions(name))) for name in place.shelf.names()]
    if as_json:
        keys = ("name", "version", "inputs", "scale", "versions")
        say_json(
            {
                "judges": [
                    dict(zip(keys, (p.name, p.version, p.inputs, p.scale.describe(), n), strict=True)) for p, n in found
                ]
            }
        )
        return
    lines = [(p.name, p.version, ", ".join(p.inputs), p.scale.describe(), str(n)) for p, n in found]
    say_table(("judge", "version", "inputs", "scale", "versions"), lines, left=4)


@judges.command(epilog="Example:  judgewright judges show groundedness@1349")
@click.argument("judge")
@workspace_option
@json_option
def show(judge: str, workspace: Path | None, as_json: bool) -> None:
    """Print a judge as YAML."""
    with open_workspace(workspace) as place:
        prompt = place.shelf.get(judge)
        known = verification(place, prompt)
    if as_json:
        say_json({"name": prompt.name, "version": prompt.version, "yaml": prompt.to_yaml(), "verification": known})
    else:
        say(prompt.to_yaml().rstrip("\n"))
        say(f"# {known['note']}")


@judges.command(epilog="Example:  judgewright judges log groundedness")
@click.argument("judge")
@workspace_option
@json_option
def log(judge: str, workspace: Path | None, as_json: bool) -> None:
    """Print a judge's lineage, newest first."""
    with open_workspace(workspace) as place:
        lineage = place.shelf.log(judge)
    if as_json:
        say_json({"log": [{"version": p.version, "parent": p.parent, "note": p.note} for p in lineage]})
    for prompt in () if as_json else lineage:
        say(f"{prompt.name}@{prompt.version}  {prompt.note}")


@judges.command(epilog="Example:  judgewright judges diff groundedness@1349 groundedness@77ab")
@click.argument("before")
@click.argument("after")
@workspace_option
@json_option
def diff(before: str, after: str, workspace: Path | None, as_json: bool) -> None:
    """Print what changed from one judge to another."""
    with open_workspace(workspace) as place:
        text = place.shelf.get(before).diff(place.shelf.get(after))
    if as_json:
        say_json({"diff": text})
    else:
        say_diff(text or "no difference")
