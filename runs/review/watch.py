"""Looking on while a run works: its page is told anew whenever its journal has more, and its
counters every second.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..actions.run_summary import read_optimization
from .app_state import AppState
from .forms import field_of
from .pages import render_run
from .progress import progress_of
from .routes import Address, LiveAddress
from .stream import News


def live(state: AppState, request: Request) -> News:
    """Tell what is new of a run in progress; its page is loaded anew when the run ends."""
    run = state.read(request.path_params["run"])
    if run.record.state != "running":
        return News("", stamp=run.record.state, last=True)
    events_sent: int = getattr(request.state, "events_sent", -1)
    if run.record.kind == "optimize" and len(run.events) != events_sent:
        request.state.events_sent = len(run.events)
        return News(render_run(state, run), stamp=run.record.state)
    card = state.render("run_live.html", run=run, **progress_of(state, run))
    return News(card, stamp=run.record.state)


def resume(state: AppState, request: Request) -> Response:
    """Put a run that was stopped or killed into the queue, to go on."""
    run_id = read_optimization(state.workspace, request.path_params["run"]).run_id
    budget = field_of(request, "budget").strip()
    for job in state.jobs.list():
        if (
            job.run_id == run_id
            and job.state in ("paused", "stopped", "failed")
            and state.jobs.is_ours(job)
            and not budget
        ):
            state.jobs.resume(job.job_id)
            state.keep_working()
            return RedirectResponse(f"/jobs/{job.job_id}", 303)
    words = ["runs", "resume", run_id, *state.origin_flags]
    words += [f"--budget={budget}"] if budget else []
    job = state.queue("Go on with a run", words, about=run_id)
    return RedirectResponse(f"/jobs/{job.job_id}", 303)


ADDRESSES = (LiveAddress("/runs/{run}/live", live), Address("/runs/{run}/resume", resume, "POST"))
