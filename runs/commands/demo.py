"""`judgewright demo`: the whole path without a key."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from ..actions.optimize import start_run
from ..config.environment import Environment
from ..config.optimize_options import OptimizeOptions
from ..demo import DEMO_OPTIONS, DOCUMENTS, JUDGE, write_demo_rows
from ..reports.terminal_report import say_nothing, say_run, say_verdict
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from ..terminal import progress_on_stderr, say, say_json
from .decorators import json_option, read_options, takes
from .help import Command
from .optimize import say_end, tell
from .output_paths import OutFolder


@click.command(cls=Command, epilog="Example:  judgewright demo --dir demo")
@takes("folder", Path("demo"), "Where to work.", type=OutFolder(), flag="--dir")
@json_option
def demo(folder: Path, as_json: bool) -> None:
    """Benchmark, find the slice, write the loss, run TextGrad, decide: on made-up rows, with the
    simulated model.

    Exits 0 whatever the gate decides.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / "rows.jsonl"
    write_demo_rows(rows, documents=DOCUMENTS)
    with Workspace(folder) as workspace, progress_on_stderr(quiet=as_json) as watch:
        prompt = workspace.registry.get(JUDGE)
        if not as_json:
            say(
                "This demo needs no key: rows and model are made up, and no figure says anything"
                " about a real model.\n"
            )
        config = RunConfig(
            prompt=prompt.to_yaml(),
            data=str(rows),
            **vars(read_options(OptimizeOptions, DEMO_OPTIONS)),
        )
        listen = say_nothing if as_json else say_run()
        result = start_run(
            workspace, config, Environment(), watch=watch, on_event=listen, tell=tell
        )
    body = result.to_json()
    if as_json:
        say_json(body)
        return
    say_end(result)
    say_verdict(result.run.decided, simulated=True)
    typed = Path(
        sys.argv[0]
    )  # a path from here, such as `.venv/bin/judgewright`, is shown as it was typed
    program = (
        str(typed) if typed.name == "judgewright" and not typed.is_absolute() else "judgewright"
    )
    command = f"{program} {{}} --workspace {shlex.quote(str(folder))}"
    say(f"\nRead it on a page:  {command.format('review')}")
    if body["decision"]["accepted"]:
        say(f"Adopt the prompt:   {command.format('accept latest')}")
    else:
        say(f"Read it again:      {command.format('runs show latest')}")
