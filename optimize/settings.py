"""How a run searches and which rows it works on, and what must hold before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..judges import (
    PROBABILITY_METRICS,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    require_column,
)
from ..judges.claims import ClaimSettings, require_claims
from ..judges.token_confidence import require_tokens
from ..slices import parse_predicate
from ..slices.inspect_slice import require_columns as require_columns_of
from .losses.loss import Loss
from .losses.objective import Objective
from .options import BRIEF_TOKENS, GateOptions, SearchOptions


@dataclass(frozen=True, kw_only=True)
class RunSettings(GateOptions, SearchOptions):
    """How long and how carefully to search: what a person chose, with everything read."""

    loss: Loss | None = None
    """A person's loss, checked like any other; written for the objective unless given."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    rule: DecisionRule | None = None
    """What decides for every version of the judge; the prompt's own threshold unless given."""
    decides: bool = False
    """Whether a decision model judges: its verdicts are probabilities."""
    claims: ClaimSettings | None = None
    """How responses are split into claims; None where each is judged whole."""
    saved_slices: Mapping[str, str] = field(default_factory=dict)
    """Predicates by the names under which slices were saved; a loss may name them."""

    def brief_budget(self, view: str) -> int:
        """Return how many tokens a brief may have.

        Args:
            view: What it shows of the training rows.
        """
        return BRIEF_TOKENS[view] if self.brief_tokens is None else self.brief_tokens


def require_columns(dataset: Dataset, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that every column the settings name is there.

    Raises:
        InputError: A column is missing, or the slice cannot be read.
    """
    columns = [*settings.slice_columns, *settings.exclude, *settings.keep]
    columns += [column for column in (settings.by, settings.explanation) if column]
    for column in columns:
        require_column(dataset, column)
    if settings.slice not in ("auto", "all"):
        require_columns_of(dataset.rows, parse_predicate(settings.slice))


def require_probability(prompt: JudgePrompt, objective: Objective, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that a judge will give the probability that an objective
    is about.

    Raises:
        InputError: Nothing asks it for a confidence.
    """
    stated = prompt.states_probability or settings.decides
    if stated or settings.judge.confidence == "tok":
        return
    for metric in objective.metrics:
        if metric in PROBABILITY_METRICS:
            raise InputError(
                f"{metric} is of the judge's probability, and {prompt.name!r} is not asked for a"
                " confidence",
                hint="ask for one in its reply, or take it from the tokens: --confidence tok",
            )


def require_probabilities(judged: JudgedDataset, objective: Objective) -> None:
    """Make sure that verdicts have the probability that an objective is about.

    Raises:
        InputError: None of them has.
    """
    for metric in objective.metrics:
        if metric in PROBABILITY_METRICS and len(judged.scored) and not judged.states_probability:
            raise InputError(
                f"{metric} is of the judge's probability, and none of the {len(judged.scored):,}"
                f" verdicts of {judged.judge} has a confidence",
                hint="name its column with --confidence, or take another target or guard",
            )


def require_judging(prompt: JudgePrompt, settings: RunSettings) -> None:
    """Make sure, before anything is spent, that a judge can be asked in the way that the settings
    say.

    Raises:
        InputError: It cannot judge claim by claim, or has no tokens of grades to read a confidence
            from.
    """
    if settings.claims is not None:
        require_claims(prompt)
    if settings.judge.confidence == "tok":
        require_tokens(prompt)
