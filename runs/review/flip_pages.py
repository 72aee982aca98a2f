"""The flips of a run, row by row, and what a person thinks of their labels."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from ...judges.metrics.reliability_bins import Bin
from ..actions.flips import Direction
from ..reports.charts import reliability
from .app_state import AppState
from .marks import marks_of, set_mark
from .paged import Paged
from .routes import Address
from .row_data import flip_of, scale_of
from .row_pages import RowPages

FLIPS_PER_PAGE = 20
DIRECTIONS: Mapping[str, Direction] = {"right": "became right", "wrong": "became wrong"}
INSIDE = {"in": True, "out": False}

FILTERS: Mapping[str, Mapping[str, str]] = {
    "direction": DIRECTIONS,
    "error": {"FP": "false positives", "FN": "false negatives"},
    "slice": {"in": "inside the slice", "out": "outside it"},
}
"""What flips can be narrowed to: query name, value, words."""


def flips(state: AppState, request: Request) -> Response:
    """Show the open rows that changed sides, narrowed as the query asks."""
    summary = state.read(request.path_params["run"])
    rows = state.rows("flips", summary.run_id)
    labels = scale_of(rows.head)
    filters = {name: request.query_params.get(name, "") for name in FILTERS}
    filters = {name: value if value in FILTERS[name] else "" for name, value in filters.items()}
    chosen = rows.chosen(
        direction=DIRECTIONS.get(filters["direction"], ""),
        error=filters["error"],
        in_slice=INSIDE.get(filters["slice"], ""),
    )
    page = Paged(chosen, request.query_params.get("page", "1"), FLIPS_PER_PAGE)
    query = urlencode({name: value for name, value in filters.items() if value})
    marks = marks_of(state, summary, labels)
    return state.page(
        "flips.html",
        run=summary,
        rows=rows.head,
        labels=labels,
        reliability=drawn_reliability(rows),
        page=page,
        flips=[flip_of(body) for body in page.items],
        filters=FILTERS,
        asked=filters,
        query=query,
        marks=marks.read(),
        marks_path=marks.path,
    )


def mark(state: AppState, request: Request) -> Response:
    """Mark the label of a row that flipped, or that a benchmark's judge got wrong."""
    run = state.read(request.path_params["run"])
    is_bench = run.record.kind == "bench"
    rows = state.rows("wrong" if is_bench else "flips", run.run_id)
    fallback = f"/runs/{run.run_id}/{'rows' if is_bench else 'flips'}"
    return set_mark(state, request, marks_of(state, run, scale_of(rows.head)), rows, fallback)


def drawn_reliability(rows: RowPages) -> str | None:
    """Draw the reliability curve of a run's open rows; None where no verdict has a probability."""
    before, after = (
        [Bin.from_json(one) for one in rows.head[side]] for side in ("before", "after")
    )
    return reliability(before, after) if any(one.share.n for one in (*before, *after)) else None


ADDRESSES = (
    Address("/runs/{run}/flips", flips),
    Address("/runs/{run}/mark", mark, "POST"),
)
