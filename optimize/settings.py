"""How a run searches and which rows it works on, and what must hold before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..judges import (
    Dataset,
    DecisionRule,
    InputError,
    JudgePrompt,
    JudgeSettings,
    Shares,
    require_column,
)
from ..slices import parse_predicate
from ..slices.inspect_slice import require_columns as require_columns_of
from .losses.loss import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How long and how carefully to search; written into the run."""

    steps: int = 15
    batch: int = 8
    """Training rows in a minibatch."""
    candidates: int = 1
    """Proposals in a step, which race on the validation rows."""
    slice: str = "auto"
    """`auto`, `all`, or a predicate such as `dataset = ragtruth and source_words >= 400`."""
    columns: tuple[str, ...] = ()
    """Metadata columns to search slices over; all columns that do not leak the label unless given."""
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    """Columns to slice by though their names sound like a label's or a judge's output."""
    shares: Shares = (30, 20, 30, 20)
    """Per cent of the rows for training, validation, holdout and final."""
    allow_opened: bool = False
    """Whether rows may be sealed that an earlier run had open; the decision then says so."""
    hunks: int = 0
    """Hunks that the edit is split into at most, each measured on validation; 0 measures none."""
    loss: Loss | None = None
    """A person's loss, checked like any other; written for the objective unless given."""
    unguided: bool = False
    """The whole training set, each row with the same chance, and a plain 0/1 loss: the baseline
    that a guided run is compared with."""
    by: str | None = None
    """Metadata column of the closing table; `dataset` where there is one."""
    seed: int = 0
    """Of minibatches and resamples; the split does not depend on it."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    rule: DecisionRule | None = None
    """What decides for every version of the judge; the prompt's own threshold unless given."""


def require_decision(prompt: JudgePrompt) -> None:
    """Make sure that a judge decides yes or no: objectives, losses and the gate know two kinds of error.

    Raises:
        InputError: It chooses among labels without order.
    """
    if prompt.scale.kind == "choice":
        raise InputError(
            f"{prompt.name} chooses {prompt.scale.describe()}; optimize improves judges that decide yes or no",
            hint="bench measures it as it is; to tune one label, make a binary judge of it",
        )


def require_columns(dataset: Dataset, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that every column the settings name is there.

    Raises:
        InputError: A column is missing, or the slice cannot be read.
    """
    columns = [*settings.columns, *settings.exclude, *settings.keep]
    if settings.by:
        columns.append(settings.by)
    for column in columns:
        require_column(dataset, column)
    if settings.slice not in ("auto", "all"):
        require_columns_of(dataset.rows, parse_predicate(settings.slice))
