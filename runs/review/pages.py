"""One run: watched while it works, reviewed once it has a verdict, with its evidence behind
that.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError
from ...optimize.events import JudgeMeasured
from ...optimize.word_diff import diff_prompts
from ..actions.run_summary import RunSummary, read_optimization
from ..reports.run_view import (
    AFTER_THE_VERDICT,
    IN_ORDER,
    MEASURED,
    first_screen,
    parts_of,
    values_of,
)
from ..reports.sentences import describe_new_threshold
from .app_state import AppState
from .bench_pages import bench
from .few_form import few_values
from .hunk_lines import hunk_lines
from .job_pages import view_job
from .paged import Paged
from .progress import progress_of
from .routes import Address
from .row_lists import Flips

STEPS_PER_PAGE = 10
MOST_EXAMPLES = 20
"""Runs that are looked at for one."""
FLIPS_SHOWN = 3
"""Rows that became wrong which stand with the evidence of a run."""


def run(state: AppState, request: Request) -> Response:
    """Show one run: what it is at, or what it wants to change and the forms to decide about
    that.
    """
    summary = state.read(request.path_params["run"])
    if summary.record.kind == "bench" and summary.last(JudgeMeasured) is not None:
        return bench(state, summary)
    if summary.record.kind != "optimize":
        return state.page("plain_run.html", run=summary, **progress_of(state, summary))
    if summary.record.state == "running" or summary.decision is None or summary.only_measured:
        return HTMLResponse(render_run(state, summary))
    return HTMLResponse(_render_review(state, summary, request.query_params.get("job", "")))


def render_run(state: AppState, summary: RunSummary, *, page: str = "") -> str:
    """Return the page that has every part of an optimization."""
    order = MEASURED if summary.only_measured and summary.decision else IN_ORDER
    values = _values(state, summary, page=page) | progress_of(state, summary)
    return state.render("run.html", order=order, **values)


def _values(state: AppState, summary: RunSummary, *, page: str = "") -> dict[str, Any]:
    """Return what the templates of the parts name, but for the flips.

    Args:
        page: The page of the steps that is asked for; unless given the first one, and the last of a
            run under way.
    """
    newest = len(summary.steps) if summary.record.state == "running" else 1
    steps = Paged(summary.steps, page or str(newest), STEPS_PER_PAGE)
    values = {"steps": steps, "looks": state.looks(summary), **few_values(state, summary)}
    return {**values_of(summary), **values}


def _render_review(state: AppState, summary: RunSummary, job_id: str) -> str:
    """Return the page of a run with a verdict: the gain on sealed rows and the diff, the rest
    folded.

    Args:
        job_id: Of what a person has just decided about it; empty for nothing.
    """
    wanted = (job_id, summary.run_id)
    about = [one for one in state.jobs.list() if (one.job_id, one.about) == wanted]
    hunks, why = hunk_lines(summary)
    parts, last = parts_of(summary), summary.reviews[-1] if summary.reviews else None
    in_part = (
        state.read(last.gated).answer if last and last.verb == "accepted" and last.gated else None
    )
    return state.render(
        "review.html",
        run=summary,
        **first_screen(summary),
        decision=summary.decided,
        verdict=in_part.decision if in_part else summary.decided,
        hunks=hunks,
        unsplit=why,
        threshold=describe_new_threshold(summary),
        whole=diff_prompts(summary.before, summary.after) if summary.after else (),
        looks=state.looks(summary),
        evidence=[parts[name] for name in AFTER_THE_VERDICT if parts[name].there],
        **few_values(state, summary),
        **progress_of(state, summary),
        **(view_job(state, about[0]) if about else {"job": None}),
    )


def evidence(state: AppState, request: Request) -> Response:
    """Show all parts of an optimization on one page."""
    summary = read_optimization(state.workspace, request.path_params["run"])
    return HTMLResponse(render_run(state, summary, page=request.query_params.get("page", "")))


def part(state: AppState, request: Request) -> Response:
    """Return the markup of one part, which the page fetches when a person unfolds it."""
    summary = read_optimization(state.workspace, request.path_params["run"])
    name = request.path_params["part"]
    if name not in IN_ORDER or not parts_of(summary)[name].there:
        raise InputError(f"run {summary.run_id!r} has no part {name!r}")
    if name == "flips":
        rows = Flips(state, summary)
        values = {
            "rows": rows,
            "flips": map(rows.read, rows.listed("wrong")[:FLIPS_SHOWN].tolist()),
        }
        return state.page("run_flips.html", run=summary, **values)
    return state.page(f"run_{name}.html", **_values(state, summary))


def example(state: AppState, request: Request) -> Response:
    """Lead to the newest slice, loss or gate that a run here has; to the form that starts one,
    where none has it.
    """
    name = request.path_params["part"]
    newest = [info for info in state.records()[::-1] if info.kind == "optimize"][:MOST_EXAMPLES]
    for run in (state.read(info.run_id) for info in newest):
        if name in IN_ORDER and parts_of(run)[name].there:
            return RedirectResponse(f"/runs/{run.run_id}/evidence#part-{name}", 303)
    return RedirectResponse("/start", 303)


RUNS = (
    Address("/example/{part}", example),
    Address("/runs/{run}", run),
    Address("/runs/{run}/evidence", evidence),
    Address("/runs/{run}/evidence/{part}", part),
)
