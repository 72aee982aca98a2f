"""One benchmark: its figures, and its slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from ..reports.score_report import grade_names
from ..store.banks import banks_of
from ..store.bench_config import BenchConfig
from .app_state import AppState
from .few_form import few_values
from .routes import Address

Json = Mapping[str, Any]  # Any: JSON


def bench(state: AppState, run: RunSummary) -> Response:
    """Show what a benchmark found; of its rows nothing is read."""
    measured = measured_of(run)
    body = measured.benchmark
    bins = [Bin.from_json(one) for one in measured.bins]
    is_choice = "f1" not in body["metrics"]
    summary = measured.summary or first_figure(body).to_json()
    config = BenchConfig.from_json(run.record.config)
    scale = config.prompt_measured(banks_of(state.workspace)).scale if config.prompt else None
    return state.page(
        "bench.html",
        run=run,
        measured=measured,
        sentences=first_sentences(summary),
        grades=grade_names((body.get("grades") or {"levels": ()})["levels"], scale),
        **few_values(state, run),
        config=config,
        brief=headline_metrics(body["metrics"]),
        confusion=None if is_choice else confusion(body),
        reliability=reliability(bins) if any(one.share.n for one in bins) else None,
    )


def slices(state: AppState, request: Request) -> Response:
    """Measure the judge on each value of a column."""
    run = state.read(request.path_params["run"])
    measured, head = measured_of(run), state.rows("judged", run.run_id).head
    columns: dict[str, list[str]] = dict(head["cuts"])
    column = request.query_params.get("column", "") or next(iter(columns), "")
    if columns and column not in columns:
        raise InputError(f"column {column!r} cuts the rows into no few parts")
    tables: Json = state.rows("slices", run.run_id, column).head["tables"] if column else {}
    brief = [name for name in (*BRIEF, *CHOICE_METRICS) if name in measured.benchmark["metrics"]]
    return state.page(
        "bench_slices.html",
        run=run,
        measured=measured,
        note=head["note"],
        columns=columns,
        column=column,
        tables=tables,
        brief=brief,
    )


def measured_of(run: RunSummary) -> JudgeMeasured:
    """Return what a benchmark measured.

    Raises:
        InputError: It is none, or has not ended.
    """
    measured = run.last(JudgeMeasured)
    if measured is None:
        raise InputError(f"run {run.run_id} is no benchmark that has ended")
    return measured


ADDRESSES = (Address("/runs/{run}/slices", slices),)
