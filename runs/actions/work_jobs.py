"""Work the jobs of a workspace, one after another, and start a process that does so."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

from ...judges import JudgewrightError, WorkspaceError
from ...judges.errors import DEFECT
from ...optimize import BY_GATE, Unsettled
from ..store.jobs import Job, JobQueue, JobState
from ..store.journal import list_runs
from ..store.workspace import Workspace
from .run_summary import read_run

LOOK_SECONDS = 0.5
"""How often the worker looks whether a person wants its job to end."""
LOCK_SECONDS = 2.0
"""How long a new worker waits for an old one to leave."""
_ACCEPTED_CODES = (0, 1, 4)
"""Exit codes of a command that did what it is for, whatever came of it."""


def start_worker(queue: JobQueue, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that works the queue and outlives this one; where another is alive, it leaves
    at once.

    Args:
        variables: Its environment: keys and paths of whoever starts it.
    """
    # -P: a module in the working folder, which may be somebody else's workspace, is never imported.
    command = [
        sys.executable,
        "-P",
        "-m",
        "judgewright",
        "runs",
        "work",
        "--workspace",
        str(queue.place),
    ]
    nowhere, environment = subprocess.DEVNULL, {**variables, **queue.place.secrets}
    worker = subprocess.Popen(  # noqa: S603  # our own program
        command,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        env=environment,
        start_new_session=True,
    )
    # Somebody has to wait for a process that ends before this one.
    threading.Thread(target=worker.wait, name="judgewright-worker", daemon=True).start()
    return worker


def work_jobs(
    queue: JobQueue, command: Callable[[list[str]], None], *, tell: Callable[[str], None]
) -> int:
    """Work what waits until nothing does, and return how many jobs that were; none where another
    worker is at it.

    Args:
        command: The command line: runs arguments, prints, and leaves with `SystemExit`.
        tell: Called with a line for each job.
    """
    lock = queue.lock()
    try:
        lock.acquire(wait=LOCK_SECONDS)
    except WorkspaceError:
        return 0
    # A process that was started in the background may have been told to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    worked = 0
    try:
        for job in queue.cut_off():
            if (run_id := _run_of(queue, job)) is not None:
                queue.found_run(job.job_id, run_id)
            if (decision := _decision_of(queue, job)) is None:
                queue.put_back(job)
            else:
                queue.end(
                    job.job_id, state="done", exit_code=0, run_id=job.run_id, message=decision
                )
        while (job := queue.take()) is not None:
            tell(f"job {job.job_id}: {job.title}")
            worked += 1
            if not _work(queue, job, command):
                break
    finally:
        lock.release()
    return worked


def _decision_of(queue: JobQueue, job: Job) -> str | None:
    """Say which decision a job that was cut off had written; None where it had come to none."""
    verb = {"accept": "accepted", "reject": "rejected"}.get(job.arguments[0])
    workspace = Workspace(queue.place)
    if verb is None or not job.about or not workspace.exists:
        return None
    with workspace, contextlib.suppress(JudgewrightError):
        run = read_run(workspace, job.about)
        for review, at in zip(run.reviews, run.review_times, strict=True):
            same = review.verb == verb and f"--comment={review.comment}" in job.arguments
            if same and at >= (job.started or ""):
                return f"{verb} by {review.who}; its worker was killed when that was written"
    return None


def _work(queue: JobQueue, job: Job, command: Callable[[list[str]], None]) -> bool:
    """Run a job's command in this process and write down how it ended; say whether to go on with
    the next.
    """
    ended = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(queue, job, ended), name="judgewright-job", daemon=True
    )
    code: int | None = None
    with (
        queue.output(job).open("w", encoding="utf-8") as out,
        queue.complaints(job).open("w", encoding="utf-8") as err,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        watch.start()
        try:
            command(list(command_of_job(job)))
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        except KeyboardInterrupt:
            code = None
        finally:
            ended.set()
            # An interrupt that comes now would be the next job's.
            watch.join()
    body = result_of(queue, job)
    now = queue.get(job.job_id)
    gate: Mapping[str, Any] = body.get("gate") or {}  # Any: JSON
    run_id: str | None = gate.get("run") or body.get("run") or _run_of(queue, now)
    interrupted = code is None or body.get("error", {}).get("kind") == "Interrupted"
    asks_back = (
        job.arguments[0] == "loss" and body.get("error", {}).get("kind") == Unsettled.__name__
    )
    state: JobState = "done" if code in _ACCEPTED_CODES or asks_back else "failed"
    if interrupted:
        state = "stopped" if now.wish == "stop" else "paused"
    message = "" if interrupted else describe_end(body, code)
    if asks_back:
        message = f"asked back: {body['error']['message'].splitlines()[0]}"
    if state == "done" and job.only_measures:
        message = (
            "measured: its run shows the benchmark, the slice that would be taken and what every"
            " outcome costs"
        )
    queue.end(job.job_id, state=state, exit_code=code, run_id=run_id, message=message)
    return not interrupted or bool(now.wish)


def _watch(queue: JobQueue, job: Job, ended: threading.Event) -> None:
    """Note the job's run once it has one, and interrupt the command when a person wants it to
    end.
    """
    while not ended.wait(LOOK_SECONDS):
        with contextlib.suppress(WorkspaceError):
            now = queue.get(job.job_id)
            if now.run_id is None and (run_id := _run_of(queue, now)) is not None:
                queue.found_run(job.job_id, run_id)
            if now.wish:
                signal.raise_signal(signal.SIGINT)
                return


def command_of_job(job: Job) -> tuple[str, ...]:
    """Return what a job runs; of an optimization that has begun, the one that goes on with it."""
    if job.run_id is None or job.arguments[0] != "optimize":
        return job.arguments
    flags: list[str] = []
    for name, value in zip(job.arguments, job.arguments[1:], strict=False):
        if name in ("--workspace", "--allow-origin"):
            flags += [name, value]
    return ("runs", "resume", job.run_id, *flags, "--json")


def _run_of(queue: JobQueue, job: Job) -> str | None:
    """Return the run that a job's process has made or goes on with; None where there is none
    yet.
    """
    kind = job.arguments[0]
    workspace = Workspace(queue.place)
    if (job.run_id is not None and kind == "optimize") or job.pid is None or not workspace.exists:
        return job.run_id
    with workspace:
        runs = list_runs(workspace.database, kind)
    mine = [run for run in runs if run.pid == job.pid and run.updated >= (job.started or "")]
    return mine[-1].run_id if mine else None


def result_of(queue: JobQueue, job: Job) -> dict[str, Any]:  # Any: JSON
    """Return the object that a job printed; empty before it ended."""
    try:
        body: Any = json.loads(queue.output(job).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def describe_end(body: Mapping[str, Any], code: int | None) -> str:  # Any: JSON
    """Say in a sentence how a command ended, after the object that it printed."""
    if error := body.get("error"):
        if error["hint"] == DEFECT:  # its message may quote a row
            return (
                f"this is a defect in judgewright, {error['kind']}; the job's .err file has the"
                " traceback to report"
            )
        hint = f" ({error['hint']})" if error["hint"] else ""
        return f"{error['message']}{hint}"
    decision, judge = body.get("decision"), body.get("judge")
    sentences = _describe_hand_over(body)
    if decision:
        by_gate = "the gate says " if decision["outcome"] in BY_GATE else ""
        sentences.append(f"{by_gate}{decision['outcome']}: {decision['reason']}")
    if body.get("accepted") and judge:
        sentences.append(
            f"{judge} is now what {str(judge).partition('@')[0]!r} means in this workspace"
        )
    elif body.get("reason"):
        sentences.append(f"not accepted: {body['reason']}")
    elif "accepted" in body and decision:
        sentences.append("the registry is as it was")
    elif "accepted" in body and "loss" not in body:
        sentences.append(f"run {body.get('run')} is rejected; its prompt is not registered")
    return ". ".join(sentences) or ("done" if code == 0 else f"it ended with code {code}")


def _describe_hand_over(body: Mapping[str, Any]) -> list[str]:  # Any: JSON
    """Say how loading an export in its tool ended, and storing it in the tool's registry."""
    sentences: list[str] = []
    if verified := body.get("verified"):
        tried = f"{verified['rows']} rows rendered, {verified['replies']} replies read"
        if verified["passed"]:
            declared = ", but for what it declares" if verified["differences"] else ""
            sentences.append(f"it is the same judge in {verified['tool']}{declared}: {tried}")
        else:
            sentences.append(
                f"NOT the same judge in {verified['tool']}: {'; '.join(verified['problems'])}"
            )
    if pushed := body.get("manifest", {}).get("pushed"):
        sentences.append(f"pushed to {pushed['to']} as {pushed['as']}")
    return sentences
