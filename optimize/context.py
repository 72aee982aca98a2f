"""What the steps of a run are given: the services they call, and the one value that holds
everything they share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..judges import (
    BudgetSpent,
    Client,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Progress,
    Splits,
)
from ..judges.claims import judge_as
from ..judges.models import unwatched
from .goal import Goal
from .holdout.ledger import Ledger
from .journal import Journal
from .proposers import Proposer
from .run_event import RunEvent, write_event
from .settings import RunSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything through which a run reaches outside."""

    judge_client: Client
    optimizer_client: Client
    proposers: tuple[Proposer, ...]
    """The arms: each writes prompts of its own."""
    journal: Journal
    ledger: Ledger
    run_id: str
    keep: Callable[[JudgePrompt], None] = lambda _: None
    """Called with a prompt before an event names it: keeps what its text alone does not say."""
    watch: Callable[[str, Progress], None] = unwatched
    """Called with what is being done and how far it is."""

    def record(self, event: RunEvent) -> None:
        """Write the run's next event.

        Raises:
            DivergedError: A resumed run wrote another event here before.
        """
        self.journal.record(event.kind, write_event(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What every step works on and with, once the goal is set."""

    prompt: JudgePrompt
    """The judge that the run began with."""
    parts: Splits
    goal: Goal
    services: Services
    settings: RunSettings

    def judge(
        self, doing: str, prompt: JudgePrompt, dataset: Dataset, *, repeat: int = 0
    ) -> JudgedDataset:
        """Judge rows with the run's model; see `judge_rows`."""
        return judge_rows(doing, prompt, dataset, self.services, self.settings, repeat=repeat)


def open_rows(parts: Splits) -> Dataset:
    """Return the rows that may be looked at: training, then validation."""
    return replace(parts.train, rows=parts.train.rows + parts.validation.rows)


def judge_rows(
    doing: str,
    prompt: JudgePrompt,
    dataset: Dataset,
    services: Services,
    settings: RunSettings,
    *,
    repeat: int = 0,
) -> JudgedDataset:
    """Judge rows, and stop the run rather than go on without the rows that the budget did not
    cover.

    Args:
        doing: What is being done, for who watches.
        prompt: The judge.
        dataset: The rows.
        services: The judge's client, and who watches.
        settings: How the model is called, and the rule that decides.
        repeat: Which repetition of the same requests this is.

    Raises:
        BudgetSpent: The budget ended before every row was judged.
    """
    judged = judge_as(
        prompt,
        dataset,
        services.judge_client,
        settings.claims,
        settings=settings.judge,
        rule=settings.rule,
        repeat=repeat,
        progress=lambda progress: services.watch(doing, progress),
    )
    if unpaid := judged.unscored.get("budget"):
        raise BudgetSpent(
            f"the budget ended while judging ({doing}): {unpaid} rows are left",
            hint="resume with a larger --budget",
        )
    return judged
