"""`judgewright jobs`: the commands that the page has put into the workspace's queue."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ...judges.errors import InputError
from ..config.environment import read_environment
from ..store.jobs import Job, JobQueue, Wish
from ..terminal import inline, say, say_json, say_table
from .help import Group
from .options import json_option, reads_workspace

if TYPE_CHECKING:
    from ..store.workspace import Workspace


@click.group(cls=Group)
def jobs() -> None:
    """List, pause, resume and stop the jobs that the page started, and work them.

    JOB is a job's id, or the beginning of one.
    """


@jobs.command("list", epilog="Example:  judgewright jobs list")
@reads_workspace
@json_option
def list_(workspace: Workspace, as_json: bool) -> None:
    """List the jobs of this workspace, in the order in which they are worked."""
    queue = _queue(workspace)
    listed = queue.list()
    if as_json:
        say_json({"jobs": [{**asdict(job), "yours": queue.is_ours(job)} for job in listed]})
    elif not listed:
        say("no jobs here yet; the page makes them: judgewright review")
    else:
        lines = [
            (
                job.job_id,
                _state(queue, job),
                job.run_id or "",
                inline(job.title),
                inline(job.message),
            )
            for job in listed
        ]
        say_table(("job", "state", "run", "what", "end"), lines, left=5)


def _state(queue: JobQueue, job: Job) -> str:
    return job.state if job.state == "done" or queue.is_ours(job) else f"{job.state}, not yours"


@jobs.command(epilog="Example:  judgewright jobs work")
@reads_workspace
@json_option
def work(workspace: Workspace, as_json: bool) -> None:
    """Work the queue until it is empty; the page does this in a process of its own.

    Does nothing where another process is at it. Ctrl-C pauses the job at work.
    """
    from ..actions.work_jobs import work_jobs
    from ..cli import main

    queue = _queue(workspace)

    def tell(line: str) -> None:
        if not as_json:
            say(inline(line))

    worked = work_jobs(queue, main, tell=tell) if queue.waiting() else 0
    if as_json:
        say_json({"worked": worked})
    elif not worked:
        say("nothing waits, or another process works this queue")


@jobs.command(epilog="Example:  judgewright jobs pause 3f2a")
@click.argument("job")
@reads_workspace
@json_option
def pause(job: str, workspace: Workspace, as_json: bool) -> None:
    """Pause a job: what it has done is kept, and `jobs resume` goes on."""
    _wish(workspace, job, "pause", as_json=as_json)


@jobs.command(epilog="Example:  judgewright jobs stop 3f2a")
@click.argument("job")
@reads_workspace
@json_option
def stop(job: str, workspace: Workspace, as_json: bool) -> None:
    """Stop a job; what it has done is kept."""
    _wish(workspace, job, "stop", as_json=as_json)


@jobs.command(epilog="Example:  judgewright jobs resume 3f2a")
@click.argument("job")
@click.option(
    "--yes",
    is_flag=True,
    help="Also a job that somebody else put into the workspace; read it first.",
)
@reads_workspace
@json_option
def resume(job: str, yes: bool, workspace: Workspace, as_json: bool) -> None:
    """Put a job that was paused, stopped or failed into the queue again.

    One that somebody else put into the workspace, or has changed there, is shown whole and asked
    about.
    """
    from ..actions.work_jobs import command_of_job

    queue = _queue(workspace)
    wanted = queue.get(job)
    if not yes and not queue.is_ours(wanted):
        command = inline(shlex.join(("judgewright", *command_of_job(wanted))))
        question = (
            f"job {wanted.job_id} is not yours: somebody else put it into this workspace, or"
            " changed it there"
        )
        if as_json or not sys.stdin.isatty():
            raise InputError(
                f"{question}. It would run: {command}",
                hint="read it; with --yes it is run as yours",
            )
        say(f"{question}. It would run, with your keys:\n\n  {command}\n")
        click.confirm("Run it?", abort=True)
    queued = queue.resume(wanted.job_id)
    if as_json:
        say_json(asdict(queued))
    else:
        say(f"job {queued.job_id} is queued; the page works it, or: judgewright jobs work")


def _wish(workspace: Workspace, job: str, wish: Wish, *, as_json: bool) -> None:
    wanted = _queue(workspace).wish(job, wish)
    if as_json:
        say_json(asdict(wanted))
    else:
        say(f"job {wanted.job_id}: {'will ' + wish if wanted.state == 'running' else wanted.state}")


def _queue(workspace: Workspace) -> JobQueue:
    return JobQueue(workspace.place, read_environment().jobs_key)
