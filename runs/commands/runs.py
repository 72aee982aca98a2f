"""`judgewright runs`: list, show, resume."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ...judges import InputError
from ..calls import CallStore
from ..config import read_environment
from ..finding import finding
from ..gate_report import say_gated
from ..gating import Gated
from ..journal import RunJournal, get_run, list_runs
from ..report import say_event, say_nothing, say_prompt_diff
from ..run import resume_run
from ..terminal import progress_on_stderr, say, say_json, say_table
from .optimize import finish
from .options import json_option, open_workspace, workspace_option


@click.group()
def runs() -> None:
    """List, show and resume runs."""


@runs.command("list", epilog="Example:  judgewright runs list")
@workspace_option
@json_option
def list_(workspace: Path | None, as_json: bool) -> None:
    """List the runs of this workspace, newest first."""
    with open_workspace(workspace) as place:
        found = tuple(reversed(list_runs(place.database))) if place.exists else ()
    if as_json:
        say_json({"runs": [asdict(run) for run in found]})
    elif not found:
        say("no runs here yet; try: judgewright demo")
    else:
        lines = [
            (run.run_id, run.kind, run.state, run.created[:19].replace("T", " "), str(run.config.get("model", "")))
            for run in found
        ]
        say_table(("run", "kind", "state", "started (UTC)", "model"), lines, left=5)


@runs.command(epilog="Example:  judgewright runs show 20261121-031502-a1b2c3")
@click.argument("run")
@workspace_option
@json_option
def show(run: str, workspace: Path | None, as_json: bool) -> None:
    """Show what a run did, event by event."""
    with open_workspace(workspace) as place:
        if not place.exists:
            raise InputError(f"there is no workspace at {place.root}", hint="give --workspace")
        info = get_run(place.database, run)
        events = RunJournal(place.database, info.run_id).events()
        calls = CallStore(place.database, info.run_id).summary()
        found = finding(place, run) if any(e.kind == "decision" for e in events) else None
    if as_json:
        say_json({**asdict(info), "calls": asdict(calls), "events": [asdict(event) for event in events]})
        return
    say(f"Run {info.run_id}: {info.kind}, {info.state}, started {info.created[:19].replace('T', ' ')} UTC")
    for event in events:
        if event.kind == "gated":
            say_gated(Gated(run_id=run, found=event.payload, repeated=False))
        else:
            say_event(event.kind, event.payload)
    if found is not None:
        say_prompt_diff(found.before, {"prompt": found.after.to_yaml() if found.after else None})
    say(f"\n{calls.done} calls answered, {calls.attempts} attempts, {calls.failed} given up")
    if calls.in_doubt:
        say(f"{calls.in_doubt} attempts were sent and never answered; they may have been charged")


@runs.command(epilog="Example:  judgewright runs resume 20261121-031502-a1b2c3 --budget 10.00")
@click.argument("run")
@click.option("--budget", help="A new budget for the whole run, what it has spent included.")
@workspace_option
@json_option
def resume(run: str, budget: str | None, workspace: Path | None, as_json: bool) -> None:
    """Go on with a run that was stopped, killed or out of budget; finished calls are not paid for again."""
    with open_workspace(workspace) as place, progress_on_stderr(quiet=as_json) as watch:
        listen = say_nothing if as_json else say_event
        result = resume_run(place, run, read_environment(), budget=budget, watch=watch, on_event=listen)
    finish(result, place.root, as_json=as_json)
