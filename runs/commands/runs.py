"""`judgewright runs`: list, show, resume and merge runs, and the jobs that the page started."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...judges.errors import InputError
from ..config.environment import read_environment
from ..results import RunList
from ..store.jobs import Job, JobQueue
from ..store.journal import RunRecord, get_run
from ..terminal import answer, inline, progress_on_stderr, say, say_json, say_table, simulated_mark
from .decorators import (
    named_run,
    no_wait_option,
    reads_workspace,
    takes,
    writes_workspace,
)
from .help import Group
from .model_access import allow_origin_option, asking_environment
from .optimize import finish, tell
from .output_paths import OutFolder

if TYPE_CHECKING:
    from ..reports.run_table import RunLine
    from ..store.workspace import Workspace

FORMATS = ("html", "md")
"""The names in `reports.FORMATS`, written out: the help must not import the reports."""
MAX_CRITERIA = 1_000_000
"""Bytes of a file of criteria."""
MOST_FLIPS = 20
"""Rows that are printed; `--json` has all."""
SHOWS = """\
Example:  judgewright runs show latest
Two:      judgewright runs show 20261121-031502-a1b2c3 20261122-101500-d4e5f6
Rows:     judgewright runs show latest --flips
Share:    judgewright runs show latest --out report --format md
"""


@click.group(cls=Group)
def runs() -> None:
    """List, show, compare and resume runs, and the jobs that the page started.

    RUN is a run's id, the beginning of one, a name that you gave it, or `latest`; JOB is a job's
    id, or the beginning of one.
    """


@runs.command("list", epilog="Example:  judgewright runs list")
@takes("limit", 50, "Show at most so many.", low=1)
@takes("tag", None, "Only runs that have this tag.")
@reads_workspace
def list_(limit: int, tag: str | None, workspace: Workspace, as_json: bool) -> None:
    """List the runs of this workspace, newest first, with what each is about, its figure and how it
    ended; then the jobs that are not done or made no run.
    """
    queue = _queue_of(workspace)
    jobs = [job for job in queue.list() if job.state != "done" or job.run_id is None]
    records = [one for one in workspace.runs()[::-1] if tag is None or tag in one.tags]
    lines: list[RunLine] = []
    if records:
        from ..actions.run_summary import uncounted
        from ..reports.run_table import describe_run

        lines = [describe_run(workspace, record, uncounted) for record in records[:limit]]
    if as_json:
        say_json(
            {
                "runs": [{**asdict(line.info), **line.to_json()} for line in lines],
                "of": len(records),
                "jobs": [{**asdict(job), "yours": queue.is_ours(job)} for job in jobs],
            }
        )
        return
    none = "no runs here yet; try: judgewright demo" if tag is None else f"no run has tag {tag!r}"
    say(str(RunList(lines)) if records else none)
    if len(records) > limit:
        say(f"{len(records) - limit:,} more; --limit shows them")
    if jobs:
        say("")
        say_table(
            ("job", "state", "run", "what", "end"),
            [_job_line(job, ours=queue.is_ours(job)) for job in jobs],
            left=5,
        )


def _job_line(job: Job, *, ours: bool) -> tuple[str, ...]:
    state = job.state if ours or job.state == "done" else f"{job.state}, not yours"
    return job.job_id, state, job.run_id or "", inline(job.title), inline(job.message)


@runs.command("name", epilog="Example:  judgewright runs name latest stricter-numbers")
@click.argument("run")
@click.argument("name", default="")
@writes_workspace
def name_(run: str, name: str, workspace: Workspace, as_json: bool) -> None:
    """Call RUN by a NAME, which then stands for it wherever an id does; without one it has none."""
    from ..store.run_names import mark_run

    marked = mark_run(workspace.database, named_run(workspace, run, kinds=()), name=name)
    _say_marks(marked, as_json=as_json)


@runs.command(epilog="Example:  judgewright runs tag latest october faq")
@click.argument("run")
@click.argument("tags", nargs=-1, required=True, metavar="TAG...")
@takes("remove", False, "Take these tags away.")
@writes_workspace
def tag(run: str, tags: tuple[str, ...], remove: bool, workspace: Workspace, as_json: bool) -> None:
    """Give RUN tags to find it by, on the page and in `runs list --tag`."""
    from ..store.run_names import mark_run

    record = get_run(workspace.database, named_run(workspace, run, kinds=()))
    marks = set(record.tags) - set(tags) if remove else {*record.tags, *tags}
    _say_marks(mark_run(workspace.database, record.run_id, tags=marks), as_json=as_json)


def _say_marks(run: RunRecord, *, as_json: bool) -> None:
    body = {"run": run.run_id, "name": run.name, "tags": list(run.tags)}
    tags = f"; tags: {' '.join(run.tags)}" if run.tags else ""
    answer(body, f"run {run.run_id}: {run.name or 'no name'}{tags}", as_json=as_json)


@runs.command(epilog=SHOWS)
@click.argument("run")
@click.argument("other", required=False)
@takes("flips", False, "Show the open rows that its new prompt decides differently.")
@takes("out", None, "Write the run to share into this folder.", type=OutFolder())
@takes(
    "formats",
    (),
    "With --out: a page, or Markdown for a pull request [default: both].",
    kind="repeated",
    flag="--format",
    choices=FORMATS,
)
@reads_workspace
def show(
    run: str,
    other: str | None,
    flips: bool,
    out: Path | None,
    formats: tuple[str, ...],
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Show what a run did, event by event, or compare it with OTHER on the open rows that both
    judged.

    RUN:before stands for the prompt that an optimization began with, file:FILE for a file of
    verdicts. Answers are read from the
    workspace: no model is asked, and no row of the holdout or of the final split is shown or
    written.
    """
    if other is not None:
        _compare(run, other, workspace, as_json=as_json)
    elif flips:
        _show_flips(named_run(workspace, run, come_to=("survivor",)), workspace, as_json=as_json)
    elif out is not None:
        from ..reports.run_export import export_run

        run = named_run(workspace, run, come_to=("split",))
        paths = [str(path) for path in export_run(workspace, run, out, formats=formats or FORMATS)]
        answer({"run": run, "paths": paths}, "\n".join(paths), as_json=as_json)
    else:
        _show_course(named_run(workspace, run, kinds=()), workspace, as_json=as_json)


def _compare(before: str, after: str, workspace: Workspace, *, as_json: bool) -> None:
    from ..actions.compare_runs import compare_runs, parse_side
    from ..reports.printing import say_template

    named = partial(
        named_run, workspace, kinds=("bench", "optimize"), come_to=("measured", "benchmark")
    )
    sides = [
        replace(side, file=str(Path(side.file).resolve()))
        if side.file
        else replace(side, run_id=named(side.run_id))
        for side in map(parse_side, (before, after))
    ]
    comparison = compare_runs(workspace, *sides)
    answer(comparison, partial(say_template, "comparison", found=comparison), as_json=as_json)


def _show_course(run: str, workspace: Workspace, *, as_json: bool) -> None:
    from ...optimize.events import GateAnswered, read_event
    from ..actions.decide import Gated
    from ..actions.run_summary import read_run
    from ..reports.gate_report import say_gated
    from ..reports.printing import say_template
    from ..reports.run_report import say_prompt_diff
    from ..reports.terminal_report import say_event
    from ..store.engines import HERE, engine_of_run

    summary = read_run(workspace, run)
    record, calls = summary.record, summary.calls
    if as_json:
        events = [asdict(event) for event in summary.events]
        say_json({**asdict(record), "calls": asdict(calls), "events": events})
        return
    engine = engine_of_run(record.config)
    say_template("run_head", run=summary, record=record, engine="" if engine == HERE else engine)
    for stored in summary.events:
        event = read_event(stored.kind, stored.payload)
        if isinstance(event, GateAnswered):
            say_gated(Gated(run_id=run, answer=event, repeated=False))
        elif event is not None:
            say_event(event)
    if summary.decision is not None:
        say_prompt_diff(summary)
    say_template("run_calls", calls=calls, via=record.config.get("via", "live"))


def _show_flips(run: str, workspace: Workspace, *, as_json: bool) -> None:
    """Show the rows that became wrong first."""
    from ..actions.flips import both_sides, flips_of
    from ..actions.run_summary import read_run
    from ..reports.run_report import say_flip

    verdicts = both_sides(workspace, read_run(workspace, run))
    flips, simulated = flips_of(verdicts), verdicts.before.simulated
    if as_json:
        counts = {"right": flips.right, "wrong": flips.wrong, "n": flips.n}
        rows = [flip.to_json() for flip in flips.rows]
        say_json({"run": run, "simulated": simulated, **counts, "flips": rows})
        return
    mark = simulated_mark(simulated)
    if verdicts.after is None:
        say(f"the run found no new prompt, so no row is decided otherwise{mark}")
        return
    say(f"{flips.right} became right and {flips.wrong} wrong, of {flips.n:,} open rows{mark}")
    for flip in flips.rows[:MOST_FLIPS]:
        say_flip(flip)
    if len(flips.rows) > MOST_FLIPS:
        say(f"\n{len(flips.rows) - MOST_FLIPS:,} more; --json and the page show them")


@runs.command(epilog="Example:  judgewright runs resume 20261121-031502-a1b2c3 --budget 10.00")
@click.argument("run", metavar="RUN|JOB")
@takes(
    "budget",
    None,
    "A new budget for the whole run, what it has spent included; +2.00 for so much more.",
)
@takes("yes", False, "Also a job that somebody else put into the workspace; read it first.")
@allow_origin_option
@no_wait_option
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

    A job that was stopped or failed is put into the queue again.
    """
    from ..actions.optimize import resume_run
    from ..actions.run_summary import changed_settings, read_optimization
    from ..reports.terminal_report import say_nothing, say_run

    queue = _queue_of(workspace)
    # A run's id has dashes, a job's has none.
    if run and any(job.job_id.startswith(run) for job in queue.list()):
        _resume_job(queue, queue.get(run), yes=yes, as_json=as_json)
        return
    with progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(workspace.root, origins=origins)
        run = named_run(workspace, run, unfinished=True)
        summary = read_optimization(workspace, run)
        for note in changed_settings(summary, environment):
            say(f"note: {note}", to_stderr=True)
        on_event = say_nothing if as_json else say_run()
        result = resume_run(
            workspace, run, environment, budget=budget, watch=watch, on_event=on_event
        )
    finish(result, workspace.place, as_json=as_json)


def _resume_job(queue: JobQueue, job: Job, *, yes: bool, as_json: bool) -> None:
    """Put a job into the queue again; one that somebody else put into the workspace, or has changed
    there, is shown whole and asked about.

    Raises:
        InputError: The job waits, works or is done; or it is somebody else's and nobody can be
            asked.
    """
    from ..actions.work_jobs import command_of_job

    if not yes and not queue.is_ours(job):
        command = inline(shlex.join(("judgewright", *command_of_job(job))))
        question = (
            f"job {job.job_id} is not yours: somebody else put it into this workspace, or changed"
            " it there"
        )
        if as_json or not sys.stdin.isatty():
            raise InputError(
                f"{question}. It would run: {command}",
                hint="read it; with --yes it is run as yours",
            )
        say(f"{question}. It would run, with your keys:\n\n  {command}\n")
        click.confirm("Run it?", abort=True)
    queued = queue.resume(job.job_id)
    text = f"job {queued.job_id} is queued; the page works it, or: judgewright runs work"
    answer(asdict(queued), text, as_json=as_json)


@runs.command(epilog="Example:  judgewright runs edit 20261121-031502-a1b2c3 criteria.txt")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@takes("comment", "", "Why.")
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
    from ...judges import read_small
    from ..actions.optimize import try_edit
    from ..reports.terminal_report import say_nothing, say_run

    run = named_run(workspace, run)
    try:
        criteria = read_small(file, limit=MAX_CRITERIA).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the criteria in {str(file)!r} cannot be read: {error}") from error
    with progress_on_stderr(quiet=as_json) as watch:
        result = try_edit(
            workspace,
            run,
            criteria,
            asking_environment(workspace.root, origins=origins),
            comment=comment,
            watch=watch,
            on_event=say_nothing if as_json else say_run(),
            tell=tell,
        )
    finish(result, workspace.place, as_json=as_json)


@runs.command(epilog="Example:  judgewright runs stop 3f2a")
@click.argument("job")
@reads_workspace
def stop(job: str, workspace: Workspace, as_json: bool) -> None:
    """Stop JOB: what it has done is kept, and `runs resume` goes on."""
    now = _queue_of(workspace).wish(job, "stop")
    state = "will stop" if now.state == "running" else now.state
    answer(asdict(now), f"job {now.job_id}: {state}", as_json=as_json)


@runs.command(epilog="Example:  judgewright runs work")
@reads_workspace
def work(workspace: Workspace, as_json: bool) -> None:
    """Work the queue of jobs until it is empty; the page does this in a process of its own.

    Does nothing where another process is at it. Ctrl-C pauses the job at work.
    """
    from ..actions.work_jobs import work_jobs
    from ..cli import main

    queue = _queue_of(workspace)

    def tell_of_job(line: str) -> None:
        if not as_json:
            say(inline(line))

    worked = work_jobs(queue, main, tell=tell_of_job) if queue.waiting() else 0
    if as_json or not worked:
        text = "nothing waits, or another process works this queue"
        answer({"worked": worked}, text, as_json=as_json)


def _queue_of(workspace: Workspace) -> JobQueue:
    return JobQueue(workspace.place, read_environment().jobs_key)
