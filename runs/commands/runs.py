"""`judgewright runs`: list, show, compare, flips, edit, resume, export, merge, and the jobs that
the page started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ..results import RunList
from ..store.journal import RunRecord, list_runs
from ..terminal import progress_on_stderr, say, say_json, simulated_mark
from .decorators import elsewhere, named_run, reads_workspace, writes_workspace
from .help import Group
from .model_access import allow_origin_option, asking_environment
from .optimize import finish, tell
from .output_paths import OutFolder
from .run_jobs import job_bodies, pause, queue_of, resume_job, say_jobs, stop, work
from .runs_merge import merge

if TYPE_CHECKING:
    from ..actions.flips import Direction as FlipDirection
    from ..actions.flips import Error
    from ..reports.run_table import RunLine
    from ..store.workspace import Workspace

FORMATS = ("html", "md", "jsonl")
"""The names in `reports.FORMATS`, written out: the help must not import the reports."""
MAX_CRITERIA = 1_000_000
"""Bytes of a file of criteria."""


@click.group(cls=Group)
def runs() -> None:
    """List, show, compare and resume runs, and the jobs that the page started.

    RUN is a run's id, the beginning of one, or `latest`; JOB is a job's id, or the beginning of
    one.
    """


@runs.command("list", epilog="Example:  judgewright runs list")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Show at most so many.",
)
@reads_workspace
def list_(limit: int, workspace: Workspace, as_json: bool) -> None:
    """List the runs of this workspace, newest first, with what each is about, its figure and how it
    ended; then the jobs that are not done or made no run.
    """
    queue = queue_of(workspace)
    jobs = [job for job in queue.list() if job.state != "done" or job.run_id is None]
    # Reading the database would make one.
    records = list_runs(workspace.database)[::-1] if workspace.exists else ()
    lines = _describe(workspace, records[:limit]) if records else []
    if as_json:
        say_json(
            {
                "runs": [{**asdict(line.info), **line.to_json()} for line in lines],
                "of": len(records),
                "jobs": job_bodies(queue, jobs),
            }
        )
        return
    if not records:
        say("no runs here yet; try: judgewright demo")
    else:
        say(str(RunList(lines)))
        if len(records) > limit:
            say(f"{len(records) - limit:,} more; --limit shows them")
    if jobs:
        say("")
        say_jobs(queue, jobs)


def _describe(workspace: Workspace, records: Sequence[RunRecord]) -> list[RunLine]:
    from ..actions.run_summary import uncounted
    from ..reports.run_table import describe_run

    return [describe_run(workspace, record, uncounted) for record in records]


@runs.command(
    epilog="Example:  judgewright runs compare 20261121-031502-a1b2c3 20261122-101500-d4e5f6"
)
@click.argument("before")
@click.argument("after")
@reads_workspace
def compare(before: str, after: str, workspace: Workspace, as_json: bool) -> None:
    """Compare the judges of two runs, on the open rows that both judged; no model is asked.

    RUN:before stands for the prompt that an optimization began with. Judges that answer on other
    scales are compared by what they decide.
    """
    from ..actions.compare_runs import compare_runs, parse_side
    from ..reports.compare_report import say_comparison

    measured = ("measured", "benchmark")
    sides = [parse_side(text) for text in (before, after)]
    sides = [
        replace(
            side,
            run_id=named_run(workspace, side.run_id, kinds=("bench", "optimize"), come_to=measured),
        )
        for side in sides
    ]
    found = compare_runs(workspace, sides[0], sides[1])
    if as_json:
        say_json(found.to_json())
    else:
        say_comparison(found)


@runs.command(epilog="Example:  judgewright runs show latest")
@click.argument("run")
@reads_workspace
def show(run: str, workspace: Workspace, as_json: bool) -> None:
    """Show what a run did, event by event.

    RUN is an id, the beginning of one, or `latest`; the same in all commands that take a run.
    """
    from ...optimize.events import GateAnswered, read_event
    from ..actions.decide import Gated
    from ..actions.label_flips import decides_flips, flip_progress
    from ..actions.run_summary import read_run
    from ..reports.flip_report import say_flips
    from ..reports.gate_report import say_gated
    from ..reports.printing import say_template
    from ..reports.run_report import say_course, say_prompt_diff
    from ..reports.terminal_report import say_event
    from ..store.engines import HERE, engine_of_run

    summary = read_run(workspace, named_run(workspace, run, kinds=()))
    record, calls = summary.record, summary.calls
    if as_json:
        events = [asdict(event) for event in summary.events]
        say_json({**asdict(record), "calls": asdict(calls), "events": events})
        return
    engine = engine_of_run(record.config)
    say_template("run_head", run=summary, record=record, engine="" if engine == HERE else engine)
    if decides_flips(record):
        say_flips(flip_progress(workspace, record.run_id), there=elsewhere(workspace.place))
    for stored in summary.events:
        event = read_event(stored.kind, stored.payload)
        if isinstance(event, GateAnswered) and event.flips is None:
            say_gated(Gated(run_id=record.run_id, answer=event, repeated=False))
        elif event is not None:
            say_event(event)
    say_course(summary)
    if summary.decision is not None:
        say_prompt_diff(summary)
    say_template("run_calls", calls=calls, via=record.config.get("via", "live"))


DIRECTIONS: dict[str, FlipDirection] = {"right": "became right", "wrong": "became wrong"}


@runs.command(
    epilog="Example:  judgewright runs flips 20261121-031502-a1b2c3 --direction wrong --error FN"
)
@click.argument("run")
@click.option(
    "--direction",
    type=click.Choice(tuple(DIRECTIONS)),
    help="Only rows that became right, or wrong.",
)
@click.option("--error", type=click.Choice(["FP", "FN"]), help="Only this error, corrected or new.")
@click.option(
    "--slice",
    "side",
    type=click.Choice(["in", "out"]),
    help="Only rows in the run's slice, or out of it.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most so many.",
)
@reads_workspace
def flips(
    run: str,
    direction: str | None,
    error: Error | None,
    side: Literal["in", "out"] | None,
    limit: int,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Show the validation rows that a run's new prompt decides differently, those that became wrong
    first.

    Answers are read from the workspace; no model is called, and no holdout row is opened.
    """
    from ..actions.flips import flips_of, validation
    from ..actions.run_summary import read_run
    from ..reports.run_report import say_flip

    run = named_run(workspace, run, come_to=("survivor",))
    verdicts = validation(workspace, read_run(workspace, run))
    flipped = flips_of(verdicts)
    in_slice = None if side is None else side == "in"
    chosen = flipped.only(
        direction=DIRECTIONS[direction] if direction else None, error=error, in_slice=in_slice
    )
    simulated = verdicts.before.simulated
    if as_json:
        say_json(
            {
                "run": run,
                "simulated": simulated,
                "right": flipped.right,
                "wrong": flipped.wrong,
                "n": flipped.n,
                "chosen": len(chosen),
                "flips": [flip.to_json() for flip in chosen[:limit]],
            }
        )
        return
    tag = simulated_mark(simulated)
    if verdicts.after is None:
        say(f"the run found no new prompt, so no row is decided otherwise{tag}")
        return
    say(
        f"{flipped.right} became right and {flipped.wrong} wrong, of {flipped.n:,} validation"
        f" rows{tag}"
    )
    for flip in chosen[:limit]:
        say_flip(flip)
    if len(chosen) > limit:
        say(f"\n{len(chosen) - limit:,} more; --limit shows them")


@runs.command(
    epilog="Example:  judgewright runs export 20261121-031502-a1b2c3 --out report --format md"
)
@click.argument("run")
@click.option("--out", type=OutFolder(), required=True, help="Folder to write into.")
@click.option(
    "--format", "formats", type=click.Choice(FORMATS), multiple=True, help="Which [default: all]."
)
@reads_workspace
def export(
    run: str, out: Path, formats: tuple[str, ...], workspace: Workspace, as_json: bool
) -> None:
    """Write a run to share: an HTML page, Markdown for a pull request, and JSONL files.

    None of them holds a row of the holdout or of the final split.
    """
    from ..reports.run_export import export_run

    run = named_run(workspace, run, come_to=("split",))
    paths = export_run(workspace, run, out, formats=formats or FORMATS)
    if as_json:
        say_json({"run": run, "paths": [str(path) for path in paths]})
    else:
        for path in paths:
            say(str(path))


@runs.command(epilog="Example:  judgewright runs resume 20261121-031502-a1b2c3 --budget 10.00")
@click.argument("run", metavar="RUN|JOB")
@click.option("--budget", help="A new budget for the whole run, what it has spent included.")
@click.option(
    "--yes",
    is_flag=True,
    help="Also a job that somebody else put into the workspace; read it first.",
)
@allow_origin_option
@writes_workspace
def resume(
    run: str,
    budget: str | None,
    yes: bool,
    origins: tuple[str, ...],
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Resume a run that was stopped, killed or out of budget; finished calls are not paid for
    again.

    A job that was paused, stopped or failed is put into the queue again.
    """
    from ..actions.optimize import resume_run
    from ..actions.run_summary import changed_settings, read_optimization
    from ..reports.terminal_report import say_event, say_nothing

    queue = queue_of(workspace)
    # A run's id has dashes, a job's has none.
    jobs = [job for job in queue.list() if run and job.job_id.startswith(run)]
    if jobs:
        resume_job(queue, queue.get(run), yes=yes, as_json=as_json)
        return
    with progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(workspace.root, origins=origins)
        run = named_run(workspace, run, unfinished=True)
        summary = read_optimization(workspace, run)
        for note in changed_settings(summary, environment):
            say(f"note: {note}", to_stderr=True)
        on_event = say_nothing if as_json else say_event
        result = resume_run(
            workspace, run, environment, budget=budget, watch=watch, on_event=on_event
        )
    finish(result, workspace.place, as_json=as_json)


@runs.command(epilog="Example:  judgewright runs edit 20261121-031502-a1b2c3 criteria.txt")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--comment", default="", help="Why.")
@allow_origin_option
@writes_workspace
def edit(
    run: str,
    file: Path,
    comment: str,
    origins: tuple[str, ...],
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Try your own criteria on the terms of RUN: its rows, goal and models, with its gate, in a run
    of its own.

    FILE has the text of the criteria alone.
    """
    from ...judges import InputError, read_small
    from ..actions.edit_run import try_edit
    from ..reports.terminal_report import say_event, say_nothing

    run = named_run(workspace, run)
    try:
        criteria = read_small(file, limit=MAX_CRITERIA).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the criteria in {str(file)!r} cannot be read: {error}") from error
    with progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(workspace.root, origins=origins)
        shown = say_nothing if as_json else say_event
        result = try_edit(
            workspace,
            run,
            criteria,
            environment,
            comment=comment,
            watch=watch,
            on_event=shown,
            tell=tell,
        )
    finish(result, workspace.place, as_json=as_json)


for command in (pause, stop, work, merge):
    runs.add_command(command)
