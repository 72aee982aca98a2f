"""How many calls a run makes: at most, by its rules, and usually, by measured rates.

The bound follows from two facts: an equal request is answered once and then is cached, and every
step of the run is bounded by its settings and by its proposer. Each line of it stands for one step
of `loop.optimize`. Requests that fail are not answers; what an endpoint bills for them, and for the
second request after a reply that was cut, only `--budget` bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..judges import Dataset, JudgePrompt, Row, Splits
from .holdout.unanswered import ROUNDS
from .losses.loss import RETURNS
from .losses.objective import Objective
from .proposers.proposer import Proposer, StepBound, bound_of, goes_on, learns, view_of
from .settings import RunSettings
from .study import count_parts
from .survivor import FINALISTS

Who = Literal["judge", "optimizer", "either"]
_KINDS: tuple[Who, ...] = ("judge", "optimizer", "either")

ASKED_AGAIN = "rows unanswered at the gate, asked again"

SEARCHED = 0.75
"""Share of its calls that a search takes."""
USABLE = 0.8
"""Share of the steps whose proposal is usable, so that it is judged."""
FINALIST = 0.5
"""Share of the most steps that writing finalists takes."""
MOST_OVER = 1.2
"""How many times as many calls or tokens as usual a run seldom exceeds."""
ASSUMED = (
    f"{USABLE:.0%} of the proposals are usable and judged, finalists take half of theirs,"
    f" and a search takes {SEARCHED:.0%} of its calls"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that is being planned; the rows are those of all parts together, so that no seal is
    broken.
    """

    prompt: JudgePrompt
    dataset: Dataset
    parts: Splits
    proposers: tuple[Proposer, ...]
    settings: RunSettings
    objective: Objective

    @property
    def loss_calls(self) -> int:
        """How often a loss is asked for, with every refusal."""
        by_model = not self.settings.unguided and self.settings.loss is None
        return 1 + RETURNS if by_model else 0

    @property
    def folds(self) -> int:
        """In how many folds prompts are written; none where no label is learned from."""
        return self.settings.folds if any(map(learns, self.proposers)) else 0

    @property
    def finalists(self) -> int:
        """How many arms are written from all open rows at most."""
        return min(FINALISTS, sum(map(learns, self.proposers)))

    @property
    def opened(self) -> int:
        """Open rows that a judge is sent."""
        return _sent(self, (*self.parts.training.rows, *self.parts.validation.rows))

    @property
    def taught(self) -> int:
        """Rows that prompts are written from, summed over the folds."""
        drawn = _sent(self, self.parts.drawn.rows)
        return max(self.folds - 1, 1) * (self.opened - drawn) + max(self.folds, 1) * drawn

    def step(self, proposer: Proposer) -> StepBound | None:
        """Return what one proposal may ask, as the proposer says it; a plug-in's may not say it."""
        return bound_of(proposer, len(self.parts.training) + len(self.parts.validation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of the bound."""

    what: str
    who: Who = "judge"
    calls: int
    usual: float = 1.0
    """The share of these calls that a run usually makes."""
    cases: bool = False
    """Whether a judge is shown decided cases in these calls."""

    @property
    def likely(self) -> float:
        """How many of the calls a run usually makes."""
        return self.calls * self.usual


def bound_run(planned: PlannedRun) -> tuple[Asked, ...] | None:
    """Return the calls that the run makes at most, line by line; None where one of its proposers
    has no known bound.
    """
    settings, folds = planned.settings, planned.folds
    bounds = [planned.step(proposer) for proposer in planned.proposers]
    steps = [bound for bound in bounds if bound is not None]
    if len(steps) < len(bounds):
        return None
    every, opened = _sent(planned, planned.dataset.rows), planned.opened
    sealed = every - opened
    lines = [
        Asked(what="benchmark of the open rows", calls=opened),
        Asked(
            what="loss, with every refusal",
            who="optimizer",
            calls=planned.loss_calls * (1 + folds * (settings.steps > 0)),
            usual=1 / (1 + RETURNS),
        ),
    ]
    for proposer, bound in zip(planned.proposers, steps, strict=True):
        lines += _bound_arm(planned, proposer, bound)
    lines += _bound_finalists(planned, steps)
    if settings.steps:
        # The gate judges both prompts on the holdout, the closing report both on the final rows,
        # and the finalist on the open rows.
        lines.append(Asked(what="gate and closing report", calls=2 * sealed + opened))
        # Rows that one side leaves unanswered at the gate are asked again on both.
        again = 2 * ROUNDS * min(sealed, len(planned.parts.holdout))
        lines.append(Asked(what=ASKED_AGAIN, calls=again, usual=0.0))
    return tuple(line for line in lines if line.calls)


def _bound_arm(planned: PlannedRun, proposer: Proposer, bound: StepBound) -> list[Asked]:
    """Bound what an arm asks in all folds."""
    steps, name, learning = planned.settings.steps, proposer.name, learns(proposer)
    if not goes_on(proposer):
        steps = min(steps, 1)
    folds = planned.folds if learning else 1
    half = 0.5 if folds == 1 and learning else 1.0
    written, later = folds * steps, max(steps - 1, 0)
    of_batches = folds * min(planned.settings.batch, planned.opened)
    shown = planned.taught if view_of(proposer) == "all" else of_batches
    cases = "cases" in proposer.parts
    return [
        Asked(
            what=f"{name}: proposals",
            who="optimizer",
            calls=written * bound.optimizer,
            usual=_first_replies(bound),
        ),
        _read_in_parts(planned, proposer, f"{name}: rows read in parts", written),
        Asked(what=f"{name}: search", calls=written * bound.judge, usual=SEARCHED, cases=cases),
        Asked(
            what=f"{name}: search",
            who="either",
            calls=written * bound.either,
            usual=SEARCHED,
            cases=cases,
        ),
        # With more folds than one each open row is judged once a step; else one half is, or all.
        Asked(
            what=f"{name}: rows it was not written from",
            calls=steps * planned.opened,
            usual=USABLE * half,
            cases=cases,
        ),
        Asked(
            what=f"{name}: rows for its next brief",
            calls=later * shown,
            usual=USABLE * half,
            cases=cases,
        ),
    ]


def _bound_finalists(planned: PlannedRun, bounds: Sequence[StepBound]) -> list[Asked]:
    """Bound what writing from all open rows asks, whichever arms it is of."""
    steps, opened, count = planned.settings.steps, planned.opened, planned.finalists
    pairs = [
        (proposer, bound)
        for proposer, bound in zip(planned.proposers, bounds, strict=True)
        if learns(proposer)
    ]
    if not pairs or not steps:
        return []
    what, share = "finalists, from all open rows", FINALIST / count
    read = max(
        (_read_in_parts(planned, proposer, what, count * steps) for proposer, _ in pairs),
        key=lambda line: line.calls,
    )
    at_most = [max(getattr(bound, who) for _, bound in pairs) for who in _KINDS]
    batch = min(planned.settings.batch, opened)
    shown = max(opened if view_of(proposer) == "all" else batch for proposer, _ in pairs)
    lines = [
        Asked(what=what, who=who, calls=count * steps * most, usual=share)
        for who, most in zip(_KINDS, at_most, strict=True)
    ]
    return [
        *lines,
        replace(read, usual=read.usual * share),
        Asked(what=f"{what}: next briefs", calls=count * (steps - 1) * shown, usual=share),
        Asked(what=f"{what}: rows they were written from", calls=count * opened, usual=1 / count),
        Asked(
            what="prompts of the folds: rows they were written from",
            calls=count * planned.taught,
            usual=share,
        ),
    ]


def _first_replies(bound: StepBound) -> float:
    return 1 - bound.again / bound.optimizer if bound.optimizer else 1.0


def _read_in_parts(planned: PlannedRun, proposer: Proposer, what: str, briefs: int) -> Asked:
    """Bound the requests that read rows in parts, where all of them do not fit a brief."""
    if view_of(proposer) != "all":
        return Asked(what=what, who="optimizer", calls=0)
    rows = [*planned.parts.training.rows, *planned.parts.validation.rows]
    labelled = [row for row in rows if row.label is not None]
    budget = planned.settings.brief_budget("all")
    most, usual = (count_parts(labelled, budget, usual=usual) for usual in (False, True))
    return Asked(what=what, who="optimizer", calls=briefs * most, usual=usual / max(most, 1))


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
    steps = planned.settings.steps
    if not judge and not optimizer:
        return 0
    in_turn = 0
    for proposer in planned.proposers:
        bound = planned.step(proposer)
        if bound is None or bound.exchanges is None:
            return None
        in_turn = max(in_turn, bound.exchanges)
    # All arms and folds of a step go out together; finalists are written after them.
    writing = steps * (1 + planned.finalists)
    count = 0
    if judge:
        # The benchmark, the rows for training only; after each step the rows of its new prompts.
        count += 1 + (len(planned.parts.drawn) > 0) + writing
    if judge and steps:
        # The gate, what it asks again, and the closing table.
        count += 1 + ROUNDS + 1
    if optimizer:
        # Of all open rows, then of all folds together.
        count += planned.loss_calls * (1 + (planned.folds > 0 and steps > 0)) + writing * in_turn
    return count
