"""The pages one looks at: runs, one run, its flips, the judges and their lineage, and work under way."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ...judges import InputError
from ...judges.metrics import CHOICE_METRICS
from ...judges.prompt import check_name
from ...optimize.events import ProposalRecord, SearchStarted, StepTaken
from ...optimize.word_diff import Piece, diff_words, prompt_parts
from ..actions.flips import Direction, Error
from ..actions.lineage import lineage
from ..actions.run_summary import RunSummary
from ..reports import charts
from ..reports.numbers import count, price
from ..reports.search_report import archive_table, describe_origin, describe_pruned
from ..store.journal import RunRecord, list_runs
from .app_state import AppState
from .rendering import stamp
from .routes import Address
from .run_list import describe

RUNS_PER_PAGE = 30
FLIPS_PER_PAGE = 50

BRIEF = ("precision", "recall", "f1", "kappa")

DIRECTIONS: Mapping[str, Direction] = {"right": "became right", "wrong": "became wrong"}
ERRORS: Mapping[str, Error] = {"FP": "FP", "FN": "FN"}
INSIDE = {"in": True, "out": False}

FILTERS: Mapping[str, Mapping[str, str]] = {
    "direction": DIRECTIONS,
    "error": {"FP": "false positives", "FN": "false negatives"},
    "slice": {"in": "inside the slice", "out": "outside it"},
}
"""What flips can be narrowed to: query name, value, words."""


_NUMBER = re.compile("[0-9]{1,8}")


class Paged:
    """One page of a sequence.

    Args:
        items: The whole of it.
        number: The page asked for, as the query has it.
        size: Items on a page.
    """

    def __init__(self, items: Sequence[Any], number: str, size: int) -> None:  # Any: whatever is paged
        self.pages = max(1, math.ceil(len(items) / size))
        # The query is anybody's: what is no small number is the first page.
        self.number = min(max(int(number), 1), self.pages) if _NUMBER.fullmatch(number) else 1
        self.total = len(items)
        self.first = (self.number - 1) * size
        self.items = items[self.first : self.first + size]


def runs(state: AppState, request: Request) -> Response:
    """Show every run, newest first, with its state and cost."""
    found: Sequence[RunRecord] = tuple(reversed(list_runs(state.workspace.database))) if state.workspace.exists else ()
    page = Paged(found, request.query_params.get("page", "1"), RUNS_PER_PAGE)
    listed = [describe(state, info) for info in page.items]
    return HTMLResponse(state.render("runs.html", page=page, listed=listed, root=str(state.root.resolve())))


def run(state: AppState, request: Request) -> Response:
    """Show one run from above."""
    summary = state.read(request.path_params["run"])
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


def flips(state: AppState, request: Request) -> Response:
    """Show the validation rows that changed sides, narrowed as the query asks."""
    summary = state.read(request.path_params["run"])
    rows = state.rows(summary.run_id)
    asked = {name: request.query_params.get(name, "") for name in FILTERS}
    asked = {name: value if value in FILTERS[name] else "" for name, value in asked.items()}
    chosen = rows.flips.only(
        direction=DIRECTIONS.get(asked["direction"]),
        error=ERRORS.get(asked["error"]),
        in_slice=INSIDE.get(asked["slice"]),
    )
    page = Paged(chosen, request.query_params.get("page", "1"), FLIPS_PER_PAGE)
    query = urlencode({name: value for name, value in asked.items() if value})
    return HTMLResponse(
        state.render("flips.html", run=summary, rows=rows, page=page, filters=FILTERS, asked=asked, query=query)
    )


def reliability(state: AppState, request: Request) -> Response:
    """Return the reliability curve, which the run's page fetches because it has to read the rows."""
    drawn = state.rows(state.read(request.path_params["run"]).run_id).reliability
    if drawn is None:
        raise InputError("the verdicts of this run carry no probability")
    return Response(drawn, media_type="image/svg+xml")


def judges(state: AppState, request: Request) -> Response:
    """List the judges."""
    registry = state.workspace.registry
    return HTMLResponse(state.render("judges.html", judges=[registry.get(name) for name in registry.names()]))


def judge(state: AppState, request: Request) -> Response:
    """Show a judge's versions as a tree, and the text of the current one."""
    # A name and no more: the registry would take `x.yaml` for a file of the folder the server was started in.
    name = check_name(request.path_params["name"])
    nodes = lineage(state.workspace, name)
    registry = state.workspace.registry
    current = registry.get(name) if name in registry.names() else None
    parts = prompt_parts(current) if current else ()
    return HTMLResponse(state.render("judge.html", name=name, nodes=nodes, current=current, parts=parts))


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
    Address("/", runs),
    Address("/runs/{run}", run),
    Address("/runs/{run}/live", live),
    Address("/runs/{run}/flips", flips),
    Address("/runs/{run}/reliability.svg", reliability),
)
JUDGES = (Address("/judges", judges), Address("/judges/{name}", judge))
JOBS = (Address("/work", job), Address("/work/live", job_live))
