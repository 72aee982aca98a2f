"""Have a model define what queries mean and what is sought, with every reply recorded in the
workspace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....judges import BudgetSpent, ClientStats, JudgeSettings, WorldError
from ....judges.judge import unanswered_error
from ....runs.actions.bench import Watch
from ....runs.config.command_options import ModelOptions
from ....runs.config.environment import Environment
from ....runs.store.journal import set_state
from ....runs.store.run_clients import start_run_client
from ....runs.store.workspace import Workspace
from ..annotation import Definition, Query, draft_definitions, improve_definitions


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedQueries:
    """What a model wrote about queries, and what it cost."""

    definitions: tuple[Definition, ...]
    stats: ClientStats
    without_marked_passages: int | None
    """Queries that no marked passage could improve; None where nothing was to be improved."""

    @property
    def simulated(self) -> bool:
        """Whether a stand-in wrote one of them."""
        return any(definition.simulated for definition in self.definitions)

    @property
    def silence(self) -> WorldError | None:
        """The error where the endpoint is why no query was answered."""
        lost = [
            d.unanswered
            for d in self.definitions
            if d.unanswered and d.unanswered.reason == "endpoint"
        ]
        written = any(definition.origin not in ("", "given") for definition in self.definitions)
        if not lost or written:
            return None
        return unanswered_error(lost[0].detail, of="query")

    @property
    def shortfall(self) -> WorldError | None:
        """What kept queries from an answer: no budget left, or an endpoint that answered none."""
        reasons = [
            definition.unanswered.reason for definition in self.definitions if definition.unanswered
        ]
        if "budget" in reasons:
            return BudgetSpent(
                f"the budget ended before {reasons.count('budget')} queries were answered"
            )
        return self.silence

    def summary(self) -> dict[str, Any]:  # Any: JSON
        """Return the counts."""
        return {
            "queries": len(self.definitions),
            "defined": sum(bool(definition.text) for definition in self.definitions),
            "improved": sum(definition.passages > 0 for definition in self.definitions),
            "without_marked_passages": self.without_marked_passages,
            "unanswered": sum(definition.unanswered is not None for definition in self.definitions),
            "simulated": self.simulated,
            "calls": self.stats.calls,
            "cost": self.stats.cost,
        }


def define_queries(
    workspace: Workspace,
    definitions: Sequence[Definition],
    marked: Mapping[str, list[str]] | None,
    models: ModelOptions,
    environment: Environment,
    *,
    watch: Watch,
) -> DefinedQueries:
    """Draft the definitions that are empty, and improve them with passages that experts marked.

    Args:
        definitions: One for each query; those with a text are not drafted again.
        marked: Relevant passages of a query; None to improve nothing.

    Raises:
        WorldError: The endpoint or the disk stopped it.
    """
    config = {"model": models.model, "queries": len(definitions), "improve": marked is not None}
    settings = JudgeSettings(max_tokens=models.max_tokens)
    with start_run_client(workspace, "define", config, models, environment) as (run_id, client):
        missing = [
            Query(text=definition.query) for definition in definitions if not definition.text
        ]
        drafts = draft_definitions(
            missing, client, settings=settings, progress=lambda p: watch("draft", p)
        )
        drafted = {definition.query: definition for definition in drafts}
        written = [drafted.get(definition.query, definition) for definition in definitions]
        if marked is not None:
            written = improve_definitions(
                written, marked, client, settings=settings, progress=lambda p: watch("improve", p)
            )
    unmarked = (
        None if marked is None else sum(not marked.get(definition.query) for definition in written)
    )
    defined = DefinedQueries(
        definitions=tuple(written), stats=client.stats, without_marked_passages=unmarked
    )
    if defined.silence is not None:
        set_state(workspace.database, run_id, "stopped")
    return defined
