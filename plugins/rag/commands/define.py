"""`judgewright rag define`: relevance definitions for queries."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ....runs.commands.decorators import REQUIRED, options_of, takes, writes_workspace
from ....runs.commands.failure import answer_in_part
from ....runs.commands.help import Command
from ....runs.commands.model_access import asking_environment
from ....runs.config.command_options import ModelOptions
from ....runs.terminal import progress_on_stderr, say

if TYPE_CHECKING:
    from ....runs.store.workspace import Workspace
    from ..actions.define import DefinedQueries

SHOWN = 5
"""Queries without an answer that are printed."""


@click.command(
    cls=Command,
    context_settings={"default_map": {"max_tokens": 2048}},  # a definition is longer than a verdict
    epilog=(
        "Example:  judgewright rag define queries.jsonl --model your-model --improve marked.jsonl"
        " --out defined.jsonl"
    ),
)
@click.argument("queries", type=click.Path(path_type=Path))
@takes(
    "improve",
    None,
    "Improve the definitions with this file's rows (query, passage, label) that experts marked"
    " as relevant. Give rows you tune on, never rows of the holdout.",
    kind="path",
    metavar="PASSAGES",
)
@takes("rows", False, "Write every row of QUERIES with the column added, not one line a query.")
@takes("out", REQUIRED, "Write the definitions as JSONL.", kind="out")
@options_of(models=ModelOptions)
@writes_workspace
def define(
    queries: Path,
    improve: Path | None,
    rows: bool,
    out: Path,
    models: ModelOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Draft what each query of QUERIES means and what is sought, as the column
    `relevance_definition`.

    With --improve, a definition that QUERIES has already (such as an edited draft) is improved; the
    others are drafted first. Judges with the input `relevance_definition`, such as diras, read the
    column.
    """
    from ..actions.define import define_queries
    from ..annotation import Definition, define_rows, given_definition, read_marked, read_queries

    query_list = read_queries(queries)
    if improve is None:
        marked, definitions = None, [Definition(query=one.text) for one in query_list]
    else:
        marked = read_marked(improve)
        definitions = [given_definition(one) for one in query_list]
    with progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(workspace.root, models.model)
        defined = define_queries(workspace, definitions, marked, models, environment, watch=watch)
    written = [definition.to_json() for definition in defined.definitions]
    _write(define_rows(queries, list(defined.definitions)) if rows else written, out)
    body = defined.summary() | {"out": str(out), "definitions": written}
    answer_in_part(body, partial(_say, defined, out), defined.shortfall, as_json=as_json)


def _write(lines: list[dict[str, Any]], out: Path) -> None:  # Any: JSON
    import io

    import jsonlines

    from ....judges import write_beside

    text = io.StringIO()
    with jsonlines.Writer(text) as file:
        file.write_all(lines)
    write_beside(out, text.getvalue())


def _say(defined: DefinedQueries, out: Path) -> None:
    from ....runs.actions.bench import describe_spending

    for note in describe_spending(defined.stats):
        say(f"note: {note}")
    if defined.simulated:
        say(
            "SIMULATED: the definitions were put together from words; a real model has not seen the"
            " queries"
        )
    counts, unmarked = defined.summary(), defined.without_marked_passages
    improved = "" if unmarked is None else f", {counts['improved']:,} of them improved"
    say(f"{counts['defined']:,} of {counts['queries']:,} queries defined{improved}")
    if unmarked:
        say(f"note: {unmarked:,} queries have no passage that was marked as relevant")
    lost = [
        (definition.query, definition.unanswered)
        for definition in defined.definitions
        if definition.unanswered
    ]
    for query, unanswered in lost[:SHOWN]:
        say(f"note: {query[:60]!r}: {unanswered.reason}: {unanswered.detail}")
    first = next((definition for definition in defined.definitions if definition.text), None)
    if first is not None:
        say(f"\n{first.query}\n{first.text}\n")
    say(f"written to {out}")
