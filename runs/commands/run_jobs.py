"""Jobs, which are the commands that the page has put into the workspace's queue: what `judgewright
runs` does with them.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ...judges.errors import InputError
from ..config.environment import read_environment
from ..store.jobs import Job, JobQueue, Wish
from ..terminal import inline, say, say_json, say_table
from .decorators import reads_workspace
from .help import Command

if TYPE_CHECKING:
    from ..store.workspace import Workspace


def queue_of(workspace: Workspace) -> JobQueue:
    """Return the queue of a workspace."""
    return JobQueue(workspace.place, read_environment().jobs_key)


def job_bodies(queue: JobQueue, jobs: Sequence[Job]) -> list[dict[str, Any]]:  # Any: JSON
    """Return what `runs list --json` says of jobs."""
    return [{**asdict(job), "yours": queue.is_ours(job)} for job in jobs]


def say_jobs(queue: JobQueue, jobs: Sequence[Job]) -> None:
    """Print jobs in the order in which they are worked."""
    lines: list[tuple[str, ...]] = []
    for job in jobs:
        mine = job.state == "done" or queue.is_ours(job)
        state = job.state if mine else f"{job.state}, not yours"
        lines.append((job.job_id, state, job.run_id or "", inline(job.title), inline(job.message)))
    say_table(("job", "state", "run", "what", "end"), lines, left=5)


@click.command(cls=Command, epilog="Example:  judgewright runs work")
@reads_workspace
def work(workspace: Workspace, as_json: bool) -> None:
    """Work the queue of jobs until it is empty; the page does this in a process of its own.

    Does nothing where another process is at it. Ctrl-C pauses the job at work.
    """
    from ..actions.work_jobs import work_jobs
    from ..cli import main

    queue = queue_of(workspace)

    def tell(line: str) -> None:
        if not as_json:
            say(inline(line))

    worked = work_jobs(queue, main, tell=tell) if queue.waiting() else 0
    if as_json:
        say_json({"worked": worked})
    elif not worked:
        say("nothing waits, or another process works this queue")


@click.command(cls=Command, epilog="Example:  judgewright runs pause 3f2a")
@click.argument("job")
@reads_workspace
def pause(job: str, workspace: Workspace, as_json: bool) -> None:
    """Pause JOB: what it has done is kept, and `runs resume` goes on."""
    _wish(workspace, job, "pause", as_json=as_json)


@click.command(cls=Command, epilog="Example:  judgewright runs stop 3f2a")
@click.argument("job")
@reads_workspace
def stop(job: str, workspace: Workspace, as_json: bool) -> None:
    """Stop JOB; what it has done is kept."""
    _wish(workspace, job, "stop", as_json=as_json)


def _wish(workspace: Workspace, job: str, wish: Wish, *, as_json: bool) -> None:
    wanted = queue_of(workspace).wish(job, wish)
    if as_json:
        say_json(asdict(wanted))
    else:
        say(f"job {wanted.job_id}: {'will ' + wish if wanted.state == 'running' else wanted.state}")


def resume_job(queue: JobQueue, job: Job, *, yes: bool, as_json: bool) -> None:
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
    if as_json:
        say_json(asdict(queued))
    else:
        say(f"job {queued.job_id} is queued; the page works it, or: judgewright runs work")
