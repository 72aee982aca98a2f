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
from ...optimize.word_diff import Piece, diff_words, prompt_parts
from ...slices.search_result import CALIBRATION
from ..actions.flips import Direction, Error
from ..actions.lineage import lineage
from ..reports import charts
from ..reports.gate_sentences import describe_final
from ..reports.terminal_report import holds_sealed_rows, slice_heading
from ..store.journal import RunRecord, list_runs
from ..store.run_config import RunConfig
from .app_state import AppState, RunView
from .evidence import gate_sentences, looks_at
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


def runs(desk: AppState, request: Request) -> Response:
    """Show every run, newest first, with its state and cost."""
    found: Sequence[RunRecord] = tuple(reversed(list_runs(desk.place.database))) if desk.place.exists else ()
    page = Paged(found, request.query_params.get("page", "1"), RUNS_PER_PAGE)
    listed = [describe(desk, info) for info in page.items]
    return HTMLResponse(desk.render("runs.html", page=page, listed=listed, root=str(desk.root.resolve())))


def run(desk: AppState, request: Request) -> Response:
    """Show one run from above."""
    view = desk.view(request.path_params["run"])
    if view.info.kind != "optimize":
        return HTMLResponse(desk.render("other.html", run=view, gated=_gated(view)))
    last = view.last
    sides = {side: last["everything"][side] for side in ("before", "after") if side in last.get("everything", {})}
    among_labels = "accuracy_grades" in last.get("benchmark", {}).get("metrics", ())
    return HTMLResponse(
        desk.render(
            "run.html",
            run=view,
            last=last,
            sides=sides,
            all_rows=holds_sealed_rows(last.get("everything", {})),
            final_changes=describe_final(last.get("everything", {})),
            brief=CHOICE_METRICS if among_labels else BRIEF,
            pictures=_pictures(view, sides, yes_or_no=not among_labels),
            steps=_steps(view),
            slice_heading=slice_heading,
            calibration=CALIBRATION,
            sentences=gate_sentences(last["decision"]) if "decision" in last else (),
            looks=looks_at(desk.place, view) if "split" in last else None,
            verdicts=[event for event in view.events if event.kind == "decided"],
        )
    )


def _pictures(view: RunView, sides: Mapping[str, Any], *, yes_or_no: bool) -> dict[str, str]:  # Any: JSON
    """Draw what the run's events hold so far."""
    last = view.last
    pictures = {"trajectory": charts.trajectory(view.events)} if "validation" in last else {}
    if last.get("slice", {}).get("found"):
        pictures["slices"] = charts.slices_chart(last["slice"]["found"])
    if yes_or_no and len(sides) == 2:
        pictures["confusion"] = charts.confusion(sides["before"]["pooled"], sides["after"]["pooled"])
    elif yes_or_no and "benchmark" in last:
        pictures["confusion"] = charts.confusion(last["benchmark"])
    return pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A proposal of a step, with what it changed in the criteria the run began with."""

    told: Mapping[str, Any]  # Any: JSON
    pieces: tuple[Piece, ...]
    others: tuple[Tried, ...]
    """The proposals beside the one that came farthest, which stands for the step."""

    @classmethod
    def of(cls, told: Mapping[str, Any], start: str) -> Tried:  # Any: JSON
        """Read a step's event, or a proposal in it."""
        pieces = diff_words(start, told["criteria"]) if "criteria" in told else ()
        return cls(told=told, pieces=pieces, others=tuple(cls.of(other, start) for other in told.get("others", ())))


def _steps(view: RunView) -> list[Tried]:
    start = RunConfig.from_json(view.info.config).judge.criteria
    return [Tried.of(event.payload, start) for event in view.events if event.kind == "step"]


def _gated(view: RunView) -> Mapping[str, Any] | None:  # Any: JSON
    found = view.last.get("gated")
    return None if found is None else {**found, "sentences": gate_sentences(found["decision"])}


def live(desk: AppState, request: Request) -> Response:
    """Say how far a run in progress has come."""
    view = desk.view(request.path_params["run"])
    calls = view.calls
    text = f"{calls.done:,} calls answered, {calls.tokens:,} tokens, {view.cost}"
    failed = f", {calls.failed:,} given up" if calls.failed else ""
    return JSONResponse({"stamp": view.stamp, "text": f"{stage(view)}: {text}{failed}"})


def stage(view: RunView) -> str:
    """Name what a run in progress is at, after the last thing it wrote down."""
    kind = view.events[-1].kind if view.events else ""
    if kind in ("validation", "step"):
        done = sum(event.kind == "step" for event in view.events)
        return f"step {done + 1} of at most {view.info.config.get('steps', '?')}"
    return _NEXT.get(kind, "at work")


_NEXT = {
    "": "starting",
    "started": "splitting the rows",
    "split": "measuring the judge as it is",
    "benchmark": "searching for the slice",
    "slice": "writing the loss",
    "loss": "validating the prompt as it is",
    "survivor": "measuring hunks, then the gate",
    "hunks": "the gate is judging the holdout",
    "decision": "measuring everything again",
    "threshold": "measuring everything again",
}


def flips(desk: AppState, request: Request) -> Response:
    """Show the validation rows that changed sides, narrowed as the query asks."""
    view = desk.view(request.path_params["run"])
    rows = desk.rows(view.info.run_id)
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
        desk.render(
            "flips.html", run=view, last=view.last, rows=rows, page=page, filters=FILTERS, asked=asked, query=query
        )
    )


def reliability(desk: AppState, request: Request) -> Response:
    """Return the reliability curve, which the run's page fetches because it has to read the rows."""
    drawn = desk.rows(desk.view(request.path_params["run"]).info.run_id).reliability
    if drawn is None:
        raise InputError("the verdicts of this run carry no probability")
    return Response(drawn, media_type="image/svg+xml")


def judges(desk: AppState, request: Request) -> Response:
    """List the judges."""
    registry = desk.place.registry
    return HTMLResponse(desk.render("judges.html", judges=[registry.get(name) for name in registry.names()]))


def judge(desk: AppState, request: Request) -> Response:
    """Show a judge's versions as a tree, and the text of the current one."""
    # A name and no more: the shelf would take `x.yaml` for a file of the folder the server was started in.
    name = check_name(request.path_params["name"])
    nodes = lineage(desk.place, name)
    registry = desk.place.registry
    current = registry.get(name) if name in registry.names() else None
    parts = prompt_parts(current) if current else ()
    return HTMLResponse(desk.render("judge.html", name=name, nodes=nodes, current=current, parts=parts))


def work(desk: AppState, request: Request) -> Response:
    """Show what a decision has started, or how it ended."""
    return HTMLResponse(desk.render("work.html"))


def work_live(desk: AppState, request: Request) -> Response:
    """Say how far the work has come."""
    piece = desk.work.piece
    if piece is None:
        return JSONResponse({"stamp": "none", "text": ""})
    text = f"{piece.doing}: {piece.done:,} of {piece.total:,}" if piece.total else piece.doing or "starting"
    return JSONResponse({"stamp": piece.stamp, "text": text})
