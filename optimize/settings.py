"""How a run searches and which rows it works on, and what must hold before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..judges import Dataset, DecisionRule, JudgePrompt, JudgeSettings, require_column
from ..judges.claims import ClaimSettings, require_claims
from ..judges.token_confidence import require_tokens
from ..slices import parse_predicate
from ..slices.inspect_slice import require_columns as require_columns_of
from .losses.loss import Loss
from .options import GateOptions, SearchOptions


@dataclass(frozen=True, kw_only=True)
class RunSettings(GateOptions, SearchOptions):
    """How long and how carefully to search: what a person chose, with everything read."""

    loss: Loss | None = None
    """A person's loss, checked like any other; written for the objective unless given."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    rule: DecisionRule | None = None
    """What decides for every version of the judge; the prompt's own threshold unless given."""
    claims: ClaimSettings | None = None
    """How responses are split into claims; None where each is judged whole."""


def require_columns(dataset: Dataset, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that every column the settings name is there.

    Raises:
        InputError: A column is missing, or the slice cannot be read.
    """
    columns = [*settings.slice_columns, *settings.exclude, *settings.keep]
    if settings.by:
        columns.append(settings.by)
    for column in columns:
        require_column(dataset, column)
    if settings.slice not in ("auto", "all"):
        require_columns_of(dataset.rows, parse_predicate(settings.slice))


def require_judging(prompt: JudgePrompt, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that a judge can be asked in the way that the settings say.

    Raises:
        InputError: It cannot judge claim by claim, or has no tokens of grades to read a confidence from.
    """
    if settings.claims is not None:
        require_claims(prompt, settings.claims.aggregate)
    if settings.judge.confidence == "tok":
        require_tokens(prompt)
