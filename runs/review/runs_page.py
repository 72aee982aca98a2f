"""All runs in a table, narrowed and sorted as the query asks, to be chosen for comparison."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from ...optimize import RUN_OUTCOMES
from ..reports.run_table import SORTED_BY, RunLine, TableQuery, choose_lines, describe_run
from ..store.journal import RunRecord
from .app_state import AppState
from .paged import Paged
from .routes import Address

RUNS_PER_PAGE = 30


def runs(state: AppState, request: Request) -> Response:
    """Show the runs, newest first unless the query says otherwise."""
    records = state.records()[::-1]
    query = read_query(request)
    number = request.query_params.get("page", "1")
    if query == TableQuery():
        # Only what is shown is read: a workspace may hold thousands of runs.
        page = Paged(records, number, RUNS_PER_PAGE)
        listed = [line_of(state, info) for info in page.items]
    else:
        lines = choose_lines([line_of(state, info) for info in records], query)
        page = Paged(lines, number, RUNS_PER_PAGE)
        listed = list(page.items)
    texts = {name: getattr(query, name) for name in ("words", "kind", "outcome", "data", "tag")}
    filters = {name: text for name, text in texts.items() if text}
    order = {"sort": query.sort, "rising": "1"} if query.rising else {"sort": query.sort}
    return state.page(
        "runs.html",
        page=page,
        listed=listed,
        query=query,
        narrowed=urlencode(filters),
        paging=urlencode(filters | order),
        total=len(records),
        kinds=sorted({info.kind for info in records}),
        tags=sorted({tag for info in records for tag in info.tags}),
        outcomes=RUN_OUTCOMES,
        charted=list(dict.fromkeys(name for name in map(_judge_name, listed) if name)),
        root=str(state.place.address or state.root.resolve()),
    )


def _judge_name(line: RunLine) -> str:
    """Return the name of the judge that a run measured; empty where it compared two or none."""
    name, at, version = line.judge.partition("@")
    return name if at and version.isalnum() else ""


def read_query(request: Request) -> TableQuery:
    """Read what is asked of the table; what is unknown is passed over."""
    query = request.query_params
    sort = query.get("sort", "started")
    return TableQuery(
        words=query.get("words", "")[:200],
        kind=query.get("kind", ""),
        outcome=query.get("outcome", ""),
        data=query.get("data", ""),
        tag=query.get("tag", ""),
        sort=sort if sort in SORTED_BY else "started",
        rising=query.get("rising") == "1",
    )


def line_of(state: AppState, info: RunRecord) -> RunLine:
    """Return a run's line; that of a run under way is made anew each time."""
    if info.state == "running":
        return describe_run(state.workspace, info)
    key = (info.run_id, info.updated, info.name, info.tags)
    return state.lines.get(key, lambda: describe_run(state.workspace, info))


ADDRESSES = (Address("/", runs),)
