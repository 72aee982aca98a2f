"""One benchmark: its figures, the rows it got wrong, the replies that could not be read, its
slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from ...judges import InputError
from ...judges.metrics import CHOICE_METRICS, headline_metrics
from ...judges.metrics.reliability_bins import Bin
from ...optimize.events import JudgeMeasured
from ..actions.first_figure import first_figure
from ..actions.run_summary import RunSummary
from ..reports.charts import confusion, reliability
from ..reports.first_sentence import first_sentences
from ..reports.numbers import BRIEF
from ..store.bench_config import BenchConfig
from .app_state import AppState
from .few_form import few_values
from .marks import marks_of
from .paged import Paged
from .routes import Address
from .row_data import scale_of

ROWS_PER_PAGE = 20
Json = Mapping[str, Any]  # Any: JSON


def bench(state: AppState, run: RunSummary) -> Response:
    """Show what a benchmark found; of its rows nothing is read."""
    measured = _measured(run)
    body = measured.benchmark
    bins = [Bin.from_json(one) for one in measured.bins]
    is_choice = "f1" not in body["metrics"]
    summary = measured.summary or first_figure(body).to_json()
    return state.page(
        "bench.html",
        run=run,
        measured=measured,
        sentences=first_sentences(summary),
        **few_values(state, run),
        config=BenchConfig.from_json(run.record.config),
        brief=headline_metrics(body["metrics"]),
        confusion=None if is_choice else confusion(body),
        reliability=reliability(bins) if any(one.share.n for one in bins) else None,
    )


def rows(state: AppState, request: Request) -> Response:
    """Show the rows that the judge got wrong, narrowed as the query asks, and what could not be
    read.
    """
    run = state.read(request.path_params["run"])
    measured, wrong = _measured(run), state.rows("wrong", run.run_id)
    query = request.query_params
    filters = {name: query.get(name, "") for name in ("error", "column", "value")}
    if filters["column"] not in {column["name"] for column in wrong.head["columns"]}:
        filters |= {"column": "", "value": ""}
    cut = (filters["column"], filters["value"]) if filters["column"] else None
    page = Paged(
        wrong.chosen(error=filters["error"], cut=cut), query.get("page", "1"), ROWS_PER_PAGE
    )
    labels = scale_of(wrong.head)
    marks = marks_of(state, run, labels)
    return state.page(
        "bench_rows.html",
        run=run,
        measured=measured,
        rows=wrong.head,
        labels=labels,
        page=page,
        shown=page.items,
        asked=filters,
        query=urlencode({name: value for name, value in filters.items() if value}),
        marks=marks.read(),
        marks_path=marks.path,
    )


def slices(state: AppState, request: Request) -> Response:
    """Measure the judge on each value of a column."""
    run = state.read(request.path_params["run"])
    measured, wrong = _measured(run), state.rows("wrong", run.run_id)
    columns = [column["name"] for column in wrong.head["columns"]]
    column = request.query_params.get("column", "") or (columns[0] if columns else "")
    if columns and column not in columns:
        raise InputError(f"column {column!r} cuts the rows into no few parts")
    tables: Json = state.rows("slices", run.run_id, column).head["tables"] if column else {}
    brief = [name for name in (*BRIEF, *CHOICE_METRICS) if name in measured.benchmark["metrics"]]
    return state.page(
        "bench_slices.html",
        run=run,
        measured=measured,
        rows=wrong.head,
        column=column,
        tables=tables,
        brief=brief,
    )


def _measured(run: RunSummary) -> JudgeMeasured:
    measured = run.last(JudgeMeasured)
    if measured is None:
        raise InputError(f"run {run.run_id} is no benchmark that has ended")
    return measured


ADDRESSES = (Address("/runs/{run}/rows", rows), Address("/runs/{run}/slices", slices))
