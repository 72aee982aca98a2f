"""The pages of jobs: the queue, one job, and the buttons that pause, resume and stop it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError, JudgewrightError
from ...judges.prompt import NAME
from ..actions.work_jobs import command_of_job, result_of
from ..config.environment import SIMULATED
from ..exports import TARGETS
from ..reports.numbers import count, price
from ..store.calls import CallStore
from ..store.jobs import Job
from .app_state import AppState
from .forms import field_of
from .judge_pages import VERSION
from .paged import Paged
from .progress import stage
from .routes import Address, LiveAddress
from .stream import News

JOBS_PER_PAGE = 50
LEADS_ON = "?then=run"
"""Behind the address of a job: once it is done, its page leads to the run that it made."""


def jobs(state: AppState, request: Request) -> Response:
    """Show the queue, the newest first."""
    return state.page("jobs.html", **_list(state, request))


def jobs_live(state: AppState, request: Request) -> News:
    """Tell what changes in the queue."""
    return News(state.render("job_list.html", **_list(state, request)))


def _list(state: AppState, request: Request) -> dict[str, object]:
    number = request.query_params.get("page", "1")
    page = Paged(state.jobs.list()[::-1], number, JOBS_PER_PAGE)
    return {"page": page, "ours": state.jobs.is_ours}


def job(state: AppState, request: Request) -> Response:
    """Show one job: what it does, how far it is, how it ended."""
    one = state.jobs.get(request.path_params["job"])
    leads_on = request.query_params.get("then") == "run"
    if leads_on and _has_run(one):
        return RedirectResponse(f"/runs/{one.run_id}", 303)
    return state.page("job.html", leads_on=leads_on, **view_job(state, one))


def job_live(state: AppState, request: Request) -> News:
    """Tell how far a job is."""
    now = state.jobs.get(request.path_params["job"])
    stamp = "open" if now.open else "ended"
    body = state.render("job_state.html", **view_job(state, now))
    return News(body, stamp=stamp, last=not now.open)


def _has_run(job: Job) -> bool:
    """Whether it is done and has led to a run."""
    return job.state == "done" and job.run_id is not None


def change(state: AppState, request: Request) -> Response:
    """Pause, stop or resume a job, as its button says."""
    job_id = state.jobs.get(request.path_params["job"]).job_id
    verbs: dict[str, Callable[[], Job]] = {
        "pause": lambda: state.jobs.wish(job_id, "pause"),
        "stop": lambda: state.jobs.wish(job_id, "stop"),
        "resume": lambda: state.jobs.resume(job_id),
    }
    verb = field_of(request, "verb")
    if verb not in verbs:
        raise InputError(f"{verb!r} is none of {', '.join(verbs)}")
    verbs[verb]()
    state.keep_working()
    return RedirectResponse(f"/jobs/{job_id}", 303)


def view_job(state: AppState, job: Job) -> dict[str, object]:
    """Return what the template of a job's state names."""
    queue = state.jobs.list()
    body = result_of(state.jobs, job) if not job.open else {}
    name, _, version = (
        str(body.get("judge") or "").partition("@") if body.get("accepted") else ("", "", "")
    )
    return {
        "job": job,
        "ours": state.jobs.is_ours(job),
        "ahead": sum(
            other.state in ("queued", "running") and other.seq < job.seq for other in queue
        ),
        "progress": _progress(state, job),
        "back": handed_over(job),
        "judge": name,
        "version": version,
        "simulated": _simulated(state, job),
        "command": shlex.join(("judgewright", *command_of_job(job))),
    }


def handed_over(job: Job) -> str:
    """Return the address of the page that a job of an export was put into the queue from; empty for
    any other job.
    """
    if len(job.arguments) < 3 or job.arguments[0] != "export":
        return ""
    (judge, _, version), (flag, _, target) = (
        job.arguments[1].partition("@"),
        job.arguments[2].partition("="),
    )
    fits = (
        flag == "--to"
        and target in TARGETS
        and NAME.fullmatch(judge)
        and VERSION.fullmatch(version)
    )
    return f"/judges/{judge}/handover/{version}/{target}" if fits else ""


def _progress(state: AppState, job: Job) -> str:
    """Say what the job's run has asked so far, and what it is at; empty before it has one."""
    if job.run_id is None or not state.workspace.exists:
        return ""
    if job.run_id == job.about and job.arguments[0] in ("accept", "reject"):
        return (
            "Nothing was asked." if job.good else ""
        )  # the calls are those of the run that it decides about
    try:
        calls = CallStore(state.workspace.database, job.run_id).summary()
        run = (
            state.read(job.run_id)
            if job.state == "running" and job.arguments[0] == "optimize"
            else None
        )
    except JudgewrightError:
        return ""
    at = f"{stage(run).capitalize()}: " if run else ""
    return (
        f"{at}{count(calls.done)} calls answered, {count(calls.tokens)} tokens,"
        f" {price(calls.known_cost)}."
    )


def _simulated(state: AppState, job: Job) -> bool:
    """Whether the simulated model answers in the job, or answered in the run that it is about."""
    models = {
        word.partition("=")[2]
        for word in job.arguments
        if word.startswith(("--model=", "--optimizer-model="))
    }
    for run_id in filter(None, {job.run_id, job.about}):
        with suppress(JudgewrightError):
            config = state.record(run_id).config
            models |= {str(config.get("model")), str(config.get("optimizer_model"))}
    return any(model.startswith(SIMULATED) for model in models)


ADDRESSES = (
    Address("/jobs", jobs),
    LiveAddress("/jobs/live", jobs_live),
    Address("/jobs/{job}", job),
    LiveAddress("/jobs/{job}/live", job_live),
    Address("/jobs/{job}/change", change, "POST"),
)
