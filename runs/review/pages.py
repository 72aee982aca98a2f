"""One run from above, how far it has come, and work under way."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ...judges import InputError
from ...judges.metrics import CHOICE_METRICS
from ...optimize.events import JudgeMeasured, ProposalRecord, SearchStarted, StepTaken
from ...optimize.word_diff import Piece, diff_words
from ..actions.run_summary import RunSummary
from ..reports import charts
from ..reports.numbers import count, price
from ..reports.search_report import archive_table, describe_origin, describe_pruned
from .app_state import AppState
from .bench_pages import bench
from .rendering import stamp
from .routes import Address

BRIEF = ("precision", "recall", "f1", "kappa")


def run(state: AppState, request: Request) -> Response:
    """Show one run from above."""
    summary = state.read(request.path_params["run"])
    if summary.record.kind == "bench" and summary.last(JudgeMeasured) is not None:
        return bench(state, summary)
    if summary.record.kind != "optimize":
        return HTMLResponse(state.render("plain_run.html", run=summary))
    among_labels = summary.benchmark is not None and "accuracy_grades" in summary.benchmark["metrics"]
    return HTMLResponse(
        state.render(
            "run.html",
            run=summary,
            sides=summary.closing.sides if summary.closing else {},
            brief=CHOICE_METRICS if among_labels else BRIEF,
            pictures=charts.run_charts(summary, yes_or_no=not among_labels),
            steps=_steps(summary),
            archive=archive_table(summary.best.archive if summary.best else None),
            pruned=describe_pruned(summary.pruned) if summary.pruned else [],
            looks=state.looks(summary),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalView:
    """A proposal of a step, with what it changed in the criteria that the run began with."""

    record: ProposalRecord
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, record: ProposalRecord, start: str) -> ProposalView:
        """Compare a proposal with the first prompt's criteria."""
        return cls(record=record, pieces=() if record.criteria is None else diff_words(start, record.criteria))

    @property
    def origin(self) -> str:
        """In which role it was asked for, and what it did on training rows."""
        return describe_origin(self.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step with its proposals."""

    event: StepTaken
    proposal: ProposalView
    others: tuple[ProposalView, ...]
    """The proposals beside the one that came farthest, which stands for the step."""


def _steps(summary: RunSummary) -> list[StepView]:
    start = summary.before.criteria
    return [
        StepView(
            event=step,
            proposal=ProposalView.of(step.proposal, start),
            others=tuple(ProposalView.of(other, start) for other in step.others or ()),
        )
        for step in summary.steps
    ]


def live(state: AppState, request: Request) -> Response:
    """Say how far a run in progress has come."""
    summary = state.read(request.path_params["run"])
    calls = summary.calls
    text = f"{count(calls.done)} calls answered, {count(calls.tokens)} tokens, {price(calls.known_cost)}"
    if calls.failed:
        text += f", {count(calls.failed)} given up"
    return JSONResponse({"stamp": stamp(summary), "text": f"{stage(summary)}: {text}"})


def stage(summary: RunSummary) -> str:
    """Name what a run in progress is at, after the last event it wrote."""
    kind = summary.events[-1].kind if summary.events else ""
    if kind in (SearchStarted.kind, StepTaken.kind):
        return f"step {len(summary.steps) + 1} of at most {summary.record.config.get('steps', '?')}"
    return _NEXT.get(kind, "at work")


_NEXT = {
    "": "starting",
    "started": "splitting the rows",
    "split": "measuring the judge as it is",
    "benchmark": "searching for the slice",
    "slice": "writing the loss",
    "chance": "measuring hunks, then the gate",
    "loss": "validating the prompt as it is",
    "survivor": "measuring hunks, then the gate",
    "hunks": "the gate is judging the holdout",
    "decision": "measuring everything again",
    "threshold": "searching for the slice",
}


def reliability(state: AppState, request: Request) -> Response:
    """Return the reliability curve, which the run's page fetches because it has to read the rows."""
    drawn = state.rows(state.read(request.path_params["run"]).run_id).reliability
    if drawn is None:
        raise InputError("the verdicts of this run carry no probability")
    return Response(drawn, media_type="image/svg+xml")


def job(state: AppState, request: Request) -> Response:
    """Show what a decision has started, or how it ended."""
    return HTMLResponse(state.render("job.html"))


def job_live(state: AppState, request: Request) -> Response:
    """Say how far the job has come."""
    job = state.jobs.job
    if job is None:
        return JSONResponse({"stamp": "none", "text": ""})
    text = f"{job.doing}: {job.done:,} of {job.total:,}" if job.total else job.doing or "starting"
    return JSONResponse({"stamp": job.stamp, "text": text})


RUNS = (
    Address("/runs/{run}", run),
    Address("/runs/{run}/live", live),
    Address("/runs/{run}/reliability.svg", reliability),
)
JOBS = (Address("/work", job), Address("/work/live", job_live))
