"""`judgewright define`: relevance definitions for queries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ...judges import BudgetSpent, ClientStats, JudgeSettings, WorldError, write_beside
from ...judges.annotation import (
    Definition,
    Query,
    define_rows,
    draft_definitions,
    given_definition,
    improve_definitions,
    read_marked,
    read_queries,
)
from ...judges.judge import unanswered_error
from ...judges.models import Budget
from ..actions.bench import Watch, describe_spending
from ..config.environment import open_client, parse_budget
from ..store.calls import CallStore
from ..store.journal import create_run, run_session, set_state
from ..store.workspace import Workspace
from ..terminal import progress_on_stderr, say, say_json
from .failure import error_body, report_failure
from .model_access import asking_environment
from .options import json_option, model_options, no_wait_option, open_workspace, workspace_option
from .output_paths import OutFile


@click.command(
    context_settings={"default_map": {"max_tokens": 2048}},  # a definition is longer than a verdict
    epilog="Example:  judgewright define queries.jsonl --model gpt-4o-mini --improve marked.jsonl --out defined.jsonl",
)
@click.argument("queries", type=click.Path(path_type=Path))
@click.option("--query", help="Column of the query [default: query, else question].")
@click.option(
    "--improve",
    type=click.Path(path_type=Path),
    metavar="PASSAGES",
    help="Improve the definitions with this file's rows (query, passage, label) that experts marked as relevant. "
    "Give rows you tune on, never rows of the holdout.",
)
@click.option("--passage", help="Column of the passage in PASSAGES [default: passage, paragraph, else text].")
@click.option("--label", help="Column of the label in PASSAGES [default: label].")
@click.option("--rows", is_flag=True, help="Write every row of QUERIES with the column added, not one line a query.")
@click.option("--out", type=OutFile(), required=True, help="Write the definitions as JSONL.")
@model_options
@workspace_option
@no_wait_option
@json_option
def define(
    queries: Path,
    query: str | None,
    improve: Path | None,
    passage: str | None,
    label: str | None,
    rows: bool,
    out: Path,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
    **asking: Any,  # Any: the options of model_options, handed on
) -> None:
    """Draft what each query of QUERIES means and what is sought, as the column `relevance_definition`.

    With --improve, a definition that QUERIES has already (such as an edited draft) is improved; the others are drafted
    first. Judges with the input `relevance_definition`, such as diras, read the column.
    """
    wanted = read_queries(queries, column=query)
    marked = read_marked(improve, query=query, passage=passage, label=label) if improve else None
    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        ready = [given_definition(q) for q in wanted] if improve else [Definition(query=q.text) for q in wanted]
        found, stats = _ask(place, ready, marked, watch, **asking)
    lines = define_rows(queries, found, column=query) if rows else [definition.to_json() for definition in found]
    _write(lines, out)
    summary = _summary(found, marked, stats)
    shortfall = _shortfall(found)
    if as_json:
        definitions = [definition.to_json() for definition in found]
        say_json(summary | {"out": str(out), "definitions": definitions} | error_body(shortfall))
    else:
        _say(summary, found, stats, out)
    if shortfall is not None:
        sys.exit(report_failure(shortfall, as_json=False))


def _ask(
    place: Workspace,
    ready: list[Definition],
    marked: dict[str, list[str]] | None,
    watch: Watch,
    *,
    model: str,
    concurrency: int,
    budget: str | None,
    max_tokens: int,
) -> tuple[list[Definition], ClientStats]:
    """Draft what is missing and improve what can be, with every reply recorded in the workspace."""
    environment = asking_environment(place.root, model)
    run_id = create_run(
        place.database, "define", {"model": model, "queries": len(ready), "improve": marked is not None}
    )
    record = CallStore(place.database, run_id)
    allowed = parse_budget(budget)
    spending = Budget(money=allowed.money, tokens=allowed.tokens, spent=record.spending())
    settings = JudgeSettings(max_tokens=max_tokens)
    with (
        run_session(place.database, run_id),
        open_client(model, environment, record=record, budget=spending, concurrency=concurrency) as client,
    ):
        missing = [definition for definition in ready if not definition.text]
        drafts = draft_definitions(
            [Query(text=d.query) for d in missing], client, settings=settings, progress=lambda p: watch("draft", p)
        )
        drafted = {definition.query: definition for definition in drafts}
        found = [drafted.get(definition.query, definition) for definition in ready]
        if marked is not None:
            found = improve_definitions(
                found, marked, client, settings=settings, progress=lambda p: watch("improve", p)
            )
        stats = client.stats
    if _silence(found) is not None:
        set_state(place.database, run_id, "stopped")
    return found, stats


def _silence(found: list[Definition]) -> WorldError | None:
    """Return the error where the endpoint is why no query was answered."""
    lost = [d.unanswered for d in found if d.unanswered is not None and d.unanswered.reason == "endpoint"]
    if not lost or any(definition.origin not in ("", "given") for definition in found):
        return None
    return unanswered_error(lost[0].detail, of="query")


def _write(lines: list[dict[str, Any]], out: Path) -> None:  # Any: JSON
    import io

    import jsonlines

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        file.write_all(lines)
    write_beside(out, text.getvalue())


def _summary(
    found: list[Definition], marked: dict[str, list[str]] | None, stats: ClientStats
) -> dict[str, Any]:  # Any: JSON
    return {
        "queries": len(found),
        "defined": sum(bool(definition.text) for definition in found),
        "improved": sum(definition.passages > 0 for definition in found),
        "without_marked_passages": None if marked is None else sum(not marked.get(d.query) for d in found),
        "unanswered": sum(definition.unanswered is not None for definition in found),
        "simulated": any(definition.simulated for definition in found),
        "calls": stats.calls,
        "cost": stats.cost,
    }


def _say(summary: dict[str, Any], found: list[Definition], stats: ClientStats, out: Path) -> None:  # Any: JSON
    for note in describe_spending(stats):
        say(f"note: {note}")
    if summary["simulated"]:
        say("SIMULATED: the definitions were put together from words; a real model has not seen the queries")
    improved = "" if summary["without_marked_passages"] is None else f", {summary['improved']:,} of them improved"
    say(f"{summary['defined']:,} of {summary['queries']:,} queries defined{improved}")
    if summary["without_marked_passages"]:
        say(f"note: {summary['without_marked_passages']:,} queries have no passage that was marked as relevant")
    for definition in [d for d in found if d.unanswered][:5]:
        assert definition.unanswered is not None
        say(f"note: {definition.query[:60]!r}: {definition.unanswered.reason}: {definition.unanswered.detail}")
    first = next((definition for definition in found if definition.text), None)
    if first is not None:
        say(f"\n{first.query}\n{first.text}\n")
    say(f"written to {out}")


def _shortfall(found: list[Definition]) -> WorldError | None:
    """Say what kept queries from an answer: no budget left, or an endpoint that answered none."""
    reasons = [definition.unanswered.reason for definition in found if definition.unanswered]
    if "budget" in reasons:
        return BudgetSpent(f"the budget ended before {reasons.count('budget')} queries were answered")
    return _silence(found)
