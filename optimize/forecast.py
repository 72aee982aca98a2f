"""How many calls a run makes: at most, by its rules, and usually, by measured rates.

The bound follows from two facts: an equal request is answered once and then is cached, and every
step of the run is bounded by its settings and by its proposer. Each line of it stands for one step
of `loop.optimize`. Requests that fail are not answers; what an endpoint bills for them, and for the
second request after a reply that was cut, only `--budget` bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..judges import Dataset, JudgePrompt, Row, Splits
from .holdout.unanswered import ROUNDS
from .losses.loss import RETURNS
from .losses.objective import Objective
from .proposers.proposer import Proposer, StepBound, view_of
from .settings import RunSettings
from .study import count_parts

Who = Literal["judge", "optimizer", "either"]

ASKED_AGAIN = "rows unanswered at the gate, asked again"

SEARCHED = 0.75
"""Share of its calls that a search takes."""
VALIDATED = 0.6
"""Share of the verdicts that validating every candidate would take: some are unusable, some behind
at half of the rows.
"""
KEPT = 0.2
"""Share of the steps whose candidate is kept."""
MOST_OVER = 1.2
"""How many times as many calls or tokens as usual a run seldom exceeds: of 30 runs with the
simulated model (three proposers, 4 to 10 steps, 300 and 1,000 rows) none took more.
"""
ASSUMED = (
    f"validating takes {VALIDATED:.0%} of the verdicts of all candidates on all rows, one step in"
    f" {1 / KEPT:.0f} keeps its candidate, and a search takes {SEARCHED:.0%} of its calls, as in"
    f" measured runs, none of which took more than {MOST_OVER:g} times the likely tokens"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that is being planned; the rows are those of all parts together, so that no seal is
    broken.
    """

    prompt: JudgePrompt
    dataset: Dataset
    parts: Splits
    proposer: Proposer
    settings: RunSettings
    objective: Objective

    @property
    def step(self) -> StepBound | None:
        """What one proposal may ask, as the proposer says it; a plug-in's may not say it."""
        bound = getattr(self.proposer, "bound", None)
        return None if bound is None else bound(training_rows=len(self.parts.training))

    @property
    def loss_calls(self) -> int:
        """How often a loss is asked for, with every refusal."""
        by_model = not self.settings.unguided and self.settings.loss is None
        return 1 + RETURNS if by_model else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of the bound."""

    what: str
    who: Who = "judge"
    calls: int
    usual: float = 1.0
    """The share of these calls that a run usually makes."""

    @property
    def likely(self) -> float:
        """How many of the calls a run usually makes."""
        return self.calls * self.usual


def bound_run(planned: PlannedRun) -> tuple[Asked, ...] | None:
    """Return the calls that the run makes at most, line by line; None where its proposer has no
    known bound.
    """
    step, settings = planned.step, planned.settings
    if step is None:
        return None
    every, train, validation = (
        _sent(planned, rows.rows)
        for rows in (planned.dataset, planned.parts.training, planned.parts.validation)
    )
    sealed = every - train - validation
    later = max(settings.steps - 1, 0)
    view = view_of(planned.proposer)
    labelled = [row for row in planned.parts.training.rows if row.label is not None]
    most, usual = (
        count_parts(labelled, settings.brief_budget(view), usual=usual) if view == "all" else 0
        for usual in (False, True)
    )
    batch = train if view == "all" else min(settings.batch_rows(validation), train)
    written = settings.steps * step.optimizer
    first_replies = 1 - step.again / step.optimizer if step.optimizer else 1.0
    lines = [
        Asked(what="benchmark of the open rows", calls=train + validation),
        Asked(
            what="loss, with every refusal",
            who="optimizer",
            calls=planned.loss_calls,
            usual=1 / (1 + RETURNS),
        ),
        Asked(what="proposals", who="optimizer", calls=written, usual=first_replies),
        # Rows are read again only where a candidate was kept.
        Asked(
            what="rows read in parts",
            who="optimizer",
            calls=settings.steps * most,
            usual=KEPT * usual / max(most, 1),
        ),
        Asked(what="proposals", calls=settings.steps * step.judge, usual=SEARCHED),
        Asked(what="proposals", who="either", calls=settings.steps * step.either, usual=SEARCHED),
        Asked(what="training rows of new prompts", calls=later * batch, usual=KEPT),
        Asked(what="validations of candidates", calls=settings.steps * validation, usual=VALIDATED),
    ]
    if settings.steps:
        # The gate judges both prompts on the holdout, the closing report both on the final rows,
        # and the finalist on the training rows, some of them before; what either has answered
        # before is cached.
        lines.append(Asked(what="gate and closing report", calls=2 * sealed + train))
        # Rows that one side leaves unanswered at the gate are asked again on both.
        again = 2 * ROUNDS * min(sealed, len(planned.parts.holdout))
        lines.append(Asked(what=ASKED_AGAIN, calls=again, usual=0.0))
    return tuple(line for line in lines if line.calls)


def _sent(planned: PlannedRun, rows: Sequence[Row]) -> int:
    """Count the rows that a judge is sent; longer ones are unscored."""
    most = planned.settings.judge.max_chars
    return sum(sum(map(len, row.inputs.values())) <= most for row in rows)


def count_exchanges(planned: PlannedRun, *, judge: bool, optimizer: bool) -> int | None:
    """Return how many exchanges of batches or files a run takes at most, one after the other.

    Replies that come back incomplete or cut take further ones.

    Args:
        planned: The run.
        judge: Whether the judge is asked through batches or files.
        optimizer: Whether the optimizer is.

    Returns:
        The number; None for a proposer that searches by itself, whose requests may each take an
        exchange.
    """
    step, steps = planned.step, planned.settings.steps
    if not judge and not optimizer:
        return 0
    if step is None or step.exchanges is None:
        return None
    count = 0
    if judge:
        # The benchmark; the training rows of a new prompt, a trial, the validation.
        count += 1 + 3 * steps
    if judge and steps:
        # The benchmark has the first prompt's training rows. The finalist, the gate, what it asks
        # again, and the closing table.
        count += -1 + 1 + 1 + ROUNDS + 1
    if optimizer:
        count += planned.loss_calls + steps * step.exchanges
    return count
