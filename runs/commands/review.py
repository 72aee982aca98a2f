"""`judgewright diff`, `accept` and `reject`: a person's part in a run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..finding import NotAccepted, finding, settle
from ..report import say_prompt_diff
from ..terminal import say, say_json
from .options import json_option, open_workspace, workspace_option


@click.command(epilog="Example:  judgewright diff 20261121-031502-a1b2c3")
@click.argument("run")
@workspace_option
@json_option
def diff(run: str, workspace: Path | None, as_json: bool) -> None:
    """Show what a run wants to change in its prompt, and what the gate said."""
    with open_workspace(workspace) as place:
        found = finding(place, run)
    text = found.before.diff(found.after) if found.after else ""
    if as_json:
        versions = {"before": found.before.version, "after": found.after.version if found.after else None}
        say_json({"prompt": versions, "diff": text, "decision": dict(found.decision)})
        return
    say_prompt_diff(found.before, {"prompt": found.after.to_yaml() if found.after else None})
    say(f"\nGate: {found.decision['outcome']}. {found.decision['reason']}")


def _settle(run: str, *, adopt: bool, who: str | None, comment: str, workspace: Path | None, as_json: bool) -> None:
    with open_workspace(workspace) as place:
        try:
            adopted = settle(place, run, adopt=adopt, who=who, comment=comment)
        except NotAccepted as refusal:
            say(f"not accepted: {refusal}", to_stderr=True)
            if as_json:
                say_json({"run": run, "accepted": False, "reason": str(refusal)})
            sys.exit(1)
    spec = f"{adopted.name}@{adopted.version}" if adopted else None
    if as_json:
        say_json({"run": run, "accepted": adopted is not None, "judge": spec})
    elif spec and adopted:
        say(f"{spec} is now what {adopted.name!r} means in this workspace")
    else:
        say(f"run {run} is rejected; its prompt stays off the shelf")


@click.command(epilog='Example:  judgewright accept 20261121-031502-a1b2c3 --comment "reads well"')
@click.argument("run")
@click.option("--by", "who", help="Who decides [default: your user name].")
@click.option("--comment", default="", help="Why.")
@workspace_option
@json_option
def accept(run: str, who: str | None, comment: str, workspace: Path | None, as_json: bool) -> None:
    """Adopt the prompt that a run's gate accepted: it becomes the current version on the shelf."""
    _settle(run, adopt=True, who=who, comment=comment, workspace=workspace, as_json=as_json)


@click.command(epilog='Example:  judgewright reject 20261121-031502-a1b2c3 --comment "rule 3 is too narrow"')
@click.argument("run")
@click.option("--by", "who", help="Who decides [default: your user name].")
@click.option("--comment", default="", help="Why.")
@workspace_option
@json_option
def reject(run: str, who: str | None, comment: str, workspace: Path | None, as_json: bool) -> None:
    """Turn a run's prompt down."""
    _settle(run, adopt=False, who=who, comment=comment, workspace=workspace, as_json=as_json)
