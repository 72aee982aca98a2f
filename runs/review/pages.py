"""One run from above."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...judges import InputError
from ...judges.metrics import CHOICE_METRICS
from ...optimize.events import JudgeMeasured, ProposalRecord, StepTaken
from ...optimize.word_diff import Piece, diff_words
from ..actions.run_summary import RunSummary
from ..reports import charts
from ..reports.search_report import archive_table, describe_origin
from .app_state import AppState
from .bench_pages import bench
from .progress import progress_of
from .routes import Address

BRIEF = ("precision", "recall", "f1", "kappa")


def run(state: AppState, request: Request) -> Response:
    """Show one run from above."""
    summary = state.read(request.path_params["run"])
    if summary.record.kind == "bench" and summary.last(JudgeMeasured) is not None:
        return bench(state, summary)
    if summary.record.kind != "optimize":
        return HTMLResponse(state.render("plain_run.html", run=summary, **progress_of(state, summary)))
    return HTMLResponse(render_run(state, summary))


def render_run(state: AppState, summary: RunSummary) -> str:
    """Return the page of an optimization."""
    among_labels = summary.benchmark is not None and "accuracy_grades" in summary.benchmark["metrics"]
    return state.render(
        "run.html",
        run=summary,
        sides=summary.closing.sides if summary.closing else {},
        brief=CHOICE_METRICS if among_labels else BRIEF,
        pictures=charts.run_charts(summary, yes_or_no=not among_labels),
        steps=_steps(summary),
        archive=archive_table(summary.best.archive if summary.best else None),
        looks=state.looks(summary),
        **progress_of(state, summary),
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


def reliability(state: AppState, request: Request) -> Response:
    """Return the reliability curve, which the run's page fetches because it has to read the rows."""
    drawn = state.rows(state.read(request.path_params["run"]).run_id).reliability
    if drawn is None:
        raise InputError("the verdicts of this run carry no probability")
    return Response(drawn, media_type="image/svg+xml")


RUNS = (
    Address("/runs/{run}", run),
    Address("/runs/{run}/reliability.svg", reliability),
)
