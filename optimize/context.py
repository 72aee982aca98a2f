"""What a walk is given and what it aims at: settings, seams, the target slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..judges import (
    BoolArray,
    BudgetSpent,
    Client,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    Progress,
    Shares,
    Splits,
    Unscored,
    judge,
    require_column,
)
from ..slices import Predicate, parse_predicate
from ..slices.inspect_slice import require_columns as require_columns_of
from .holdout.ledger import Ledger
from .journal import Journal
from .losses.loss import TARGET_SLICE, Loss
from .losses.objective import Objective
from .proposers import Proposer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How long and how carefully to walk; written into the run."""

    steps: int = 15
    batch: int = 8
    """Training rows in a minibatch."""
    candidates: int = 1
    """Proposals in a step, which race on the validation rows."""
    slice: str = "auto"
    """`auto`, `all`, or a predicate such as `dataset = ragtruth and source_words >= 400`."""
    columns: tuple[str, ...] = ()
    """Metadata columns to search slices over; all honest ones unless given."""
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    """Columns to slice by though their names sound like a label's or a judge's output."""
    shares: Shares = (30, 20, 30, 20)
    """Per cent of the rows for training, validation, holdout and final."""
    allow_opened: bool = False
    """Whether rows may be sealed that an earlier run had open; the decision then says so."""
    hunks: int = 0
    """Into how many hunks the survivor's diff is split at most, each measured on validation; 0 measures none."""
    loss: Loss | None = None
    """A person's loss, checked like any other; written for the objective unless given."""
    unguided: bool = False
    """The whole training set, each row with the same chance, and a plain 0/1 loss: what the guided walk is held
    against."""
    by: str | None = None
    """Metadata column of the closing table; `dataset` where there is one."""
    seed: int = 0
    """Of minibatches and resamples; the split does not depend on it."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    rule: DecisionRule | None = None
    """What decides for every version of the judge; the prompt's own threshold unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything the walk reaches the world through."""

    judge_client: Client
    optimizer_client: Client
    proposer: Proposer
    screen_client: Client | None = None
    """A cheaper judge that looks at the first rows where several candidates race; None for no screening."""
    journal: Journal
    ledger: Ledger
    run_id: str
    watch: Callable[[str, Progress], None] = lambda doing, progress: None
    """Called with what is being done and how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The rows to improve on: a slice, or everything."""

    name: str
    why: str
    predicate: Predicate | None

    def member(self, dataset: Dataset) -> BoolArray:
        """Say which rows of a dataset belong to the target; shape (rows,)."""
        if self.predicate is None:
            return np.ones(len(dataset.rows), np.bool_)
        return self.predicate.mask(dataset.rows)

    def members(self, judged: JudgedDataset) -> dict[str, BoolArray]:
        """Return the membership of the scored rows under the name a loss asks for; shape (n,)."""
        return {TARGET_SLICE: self.member(judged.dataset)[judged.scored]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a better prompt is: the objective, on which rows, by which loss."""

    objective: Objective
    target: Target
    loss: Loss


def open_rows(parts: Splits) -> Dataset:
    """Return the rows that may be looked at: training, then validation."""
    return replace(parts.train, rows=parts.train.rows + parts.validation.rows)


def require_decision(prompt: JudgePrompt) -> None:
    """Make sure that a judge decides yes or no: objectives, losses and the gate know two kinds of error.

    Raises:
        InputError: It chooses among labels without order.
    """
    if prompt.scale.kind == "choice":
        raise InputError(
            f"{prompt.name} chooses {prompt.scale.describe()}; a walk improves judges that decide yes or no",
            hint="bench measures it as it is; to tune one label, make a binary judge of it",
        )


def require_columns(dataset: Dataset, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that every column the settings name is there.

    Raises:
        InputError: One is not, or the slice cannot be read.
    """
    named = [*settings.columns, *settings.exclude, *settings.keep, *([settings.by] if settings.by else [])]
    for column in named:
        require_column(dataset, column)
    if settings.slice not in ("auto", "all"):
        require_columns_of(dataset.rows, parse_predicate(settings.slice))


def judge_rows(
    doing: str,
    prompt: JudgePrompt,
    dataset: Dataset,
    services: Services,
    settings: RunSettings,
    *,
    client: Client | None = None,
    repeat: int = 0,
) -> JudgedDataset:
    """Judge rows, and stop the walk rather than go on without the rows the budget did not cover.

    Args:
        doing: What is being done, for who watches.
        prompt: The judge.
        dataset: The rows.
        tools: Whose judge's client is asked, and who watches.
        settings: How a row is asked about, and by which rule it is decided.
        client: Asked instead.
        repeat: Which repetition of the same questions this is.
    """
    judged = judge(
        prompt,
        dataset,
        client or services.judge_client,
        settings=settings.judge,
        rule=settings.rule,
        repeat=repeat,
        progress=lambda progress: services.watch(doing, progress),
    )
    unpaid = sum(isinstance(answer, Unscored) and answer.reason == "budget" for answer in judged.answers)
    if unpaid:
        raise BudgetSpent(
            f"the budget ended while judging ({doing}): {unpaid} rows are left", hint="resume with a larger --budget"
        )
    return judged
