"""The flips of a run, row by row, and what a person thinks of their labels."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ..actions.flips import Direction, Error
from .app_state import AppState
from .bench_pages import rows_of
from .marks import marks_of, set_mark
from .paged import Paged
from .routes import Address

FLIPS_PER_PAGE = 50
DIRECTIONS: Mapping[str, Direction] = {"right": "became right", "wrong": "became wrong"}
ERRORS: Mapping[str, Error] = {"FP": "FP", "FN": "FN"}
INSIDE = {"in": True, "out": False}

FILTERS: Mapping[str, Mapping[str, str]] = {
    "direction": DIRECTIONS,
    "error": {"FP": "false positives", "FN": "false negatives"},
    "slice": {"in": "inside the slice", "out": "outside it"},
}
"""What flips can be narrowed to: query name, value, words."""


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
    marks = marks_of(state, summary, rows.labels)
    return HTMLResponse(
        state.render(
            "flips.html",
            run=summary,
            rows=rows,
            page=page,
            filters=FILTERS,
            asked=asked,
            query=query,
            marks=marks.read(),
            marks_path=marks.path,
        )
    )


def mark(state: AppState, request: Request) -> Response:
    """Mark the label of a row that flipped, or that a benchmark's judge got wrong."""
    run = state.read(request.path_params["run"])
    if run.record.kind == "bench":
        kept = rows_of(state, run)
        shown, labels, fallback = {row.row_id for row in kept.wrong}, kept.labels, f"/runs/{run.run_id}/rows"
    else:
        rows = state.rows(run.run_id)
        shown, labels, fallback = {f.row_id for f in rows.flips.rows}, rows.labels, f"/runs/{run.run_id}/flips"
    return set_mark(state, request, marks_of(state, run, labels), shown, fallback)


ADDRESSES = (Address("/runs/{run}/flips", flips), Address("/runs/{run}/mark", mark, "POST"))
