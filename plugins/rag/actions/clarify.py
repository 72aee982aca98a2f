"""Clarify ambiguous queries, with every reply recorded in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ....judges import JudgeSettings, write_beside
from ....judges.judge import unanswered_error
from ....judges.retrieval import Encode
from ....runs.actions.bench import Watch
from ....runs.config.command_options import ModelOptions
from ....runs.config.environment import Environment
from ....runs.store.journal import set_state
from ....runs.store.run_clients import start_run_client
from ....runs.store.workspace import Workspace
from ..answers import ChunkIndex, Chunking, Clarified, Document, Judges, clarify_queries

JUDGES = ("interpretation_groundedness", "answerability")
"""Who measures: is an interpretation grounded in its passages, and can it be answered from them?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarifiedQueries:
    """What was made of queries, and what it cost."""

    run_id: str
    model: str
    queries: tuple[str, ...]
    clarified: Clarified
    calls: int
    cost: float | None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `answers clarify --json` prints."""
        return {
            "run": self.run_id,
            "model": self.model,
            "simulated": self.clarified.simulated,
            "queries": len(self.queries),
            **self.clarified.to_json(),
            "calls": self.calls,
            "cost": self.cost,
        }


def clarify_recorded(
    workspace: Workspace,
    queries: Sequence[str],
    documents: Sequence[Document],
    models: ModelOptions,
    environment: Environment,
    *,
    k: int,
    alike: float,
    encode: Encode | None,
    watch: Watch,
) -> ClarifiedQueries:
    """Clarify queries; started again, it asks only what has no reply yet.

    Raises:
        WorldError: The endpoint or the disk stopped it, or answered no query.
    """
    index = ChunkIndex(documents, Chunking(), "document", encode)
    grounded, answerable = (workspace.registry.get(name) for name in JUDGES)
    settings = JudgeSettings(max_tokens=models.max_tokens)
    config = {"model": models.model, "queries": len(queries)}
    with start_run_client(workspace, "clarify", config, models, environment) as (run_id, client):
        clarified = clarify_queries(
            queries,
            index,
            client,
            Judges(grounded=grounded, answerable=answerable, settings=settings),
            k=k,
            alike=alike,
            encode=encode,
            watch=watch,
        )
    stats = client.stats
    if len(clarified.unread) == len(queries):
        set_state(workspace.database, run_id, "stopped")
        raise unanswered_error(next(iter(clarified.unread.values())), of="query")
    return ClarifiedQueries(
        run_id=run_id,
        model=models.model,
        queries=tuple(queries),
        clarified=clarified,
        calls=stats.calls,
        cost=stats.cost if stats.price_known else None,
    )


def write_interpretations(queries: ClarifiedQueries, path: Path) -> None:
    """Write every interpretation with what became of it, a line each."""
    lines: list[str] = []
    for one in queries.clarified.interpretations:
        line = {
            "query": queries.queries[one.query],
            "interpretation": one.text,
            "answer": one.answer,
            "quote": one.quote,
            "kept": one.kept,
            "dropped": one.dropped,
            "detail": one.detail,
            "failure": one.failure,
            "grounded": one.grounded,
            "answerable": one.answerable,
            "simulated": queries.clarified.simulated,
        }
        lines.append(orjson.dumps(line).decode())
    write_beside(path, "".join(f"{line}\n" for line in lines))
