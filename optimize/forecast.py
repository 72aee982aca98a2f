"""What a run will ask: at most, by its rules, and usually, by measured rates.

The hard bound follows from two facts: an equal request is answered once and then is cached, and
every step of the run is bounded by its settings and by its proposer. Each line of it stands for one
step of `loop.optimize`. Requests that fail are not answers; what an endpoint bills for them, and
for the second request after a reply that was cut, only `--budget` bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..judges import (
    VERDICT_LIMIT,
    Dataset,
    JudgePrompt,
    Row,
    Splits,
    estimate_tokens,
    judge_request,
)
from ..judges.models import Forecast, ModelSettings
from .brief import MOST_QUOTED
from .holdout.unanswered import ROUNDS
from .invariants import EXAMPLE_TOKENS, token_cap
from .losses.classes import Classes
from .losses.loss import RETURNS
from .losses.objective import Objective
from .losses.request import LISTED_PAIRS, loss_request, scale_facts, slice_facts
from .proposers.proposer import Proposer, StepBound, StepSizes
from .proposers.texts import TEXT_LIMIT
from .racing.schedule import RaceSettings
from .settings import RunSettings

Who = Literal["judge", "optimizer", "either", "screen"]

ASKED_AGAIN = "rows unanswered at the gate, asked again"
_REFUSAL_TOKENS = 2_000
"""Tokens that the reasons against one loss may take in the next request."""
_BRIEF_SHARE = 2
"""The budget reserves half a token a byte, where a brief counts a quarter."""
_SLICE_TOKENS = 500
_MOST_SHOWN = 16
"""Demonstrations that a candidate is taken to show at most, for the template around each."""

SEARCHED = 0.75
"""Share of its calls that a search takes."""
VALIDATED = 0.6
"""Share of the verdicts that validating every candidate would take: some are unusable, some behind
at half of the rows.
"""
KEPT = 0.2
"""Share of the steps whose candidate is kept."""
MOST_OVER = 1.6
"""How many times as many calls or tokens as usual a run seldom exceeds: of 36 runs with the
simulated model none took more than 1.1 times the calls and 1.6 times the tokens.
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
    screened: bool = False
    """Whether a cheaper model looks at candidates before they race."""
    judge_model: ModelSettings = field(default_factory=ModelSettings)
    optimizer_model: ModelSettings = field(default_factory=ModelSettings)

    @property
    def candidates(self) -> int:
        """Proposals of a step."""
        return self.settings.candidates_a_step

    @property
    def verdict_limit(self) -> int:
        """Tokens of a verdict at most."""
        return self.settings.judge.max_tokens or self.judge_model.max_tokens or VERDICT_LIMIT

    @property
    def step(self) -> StepBound | None:
        """What one proposal may ask, as the proposer says it."""
        return self.proposer.bound(
            StepSizes(
                prompt=token_cap(self.prompt),
                brief=_BRIEF_SHARE * self.settings.brief_tokens,
                reply=self.optimizer_model.optimizer_max_tokens or TEXT_LIMIT,
                training_rows=len(self.parts.training),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of the hard bound."""

    what: str
    who: Who
    calls: int
    usual: float = 1.0
    """The share of these calls that a run usually makes."""
    tokens_in: int | None
    """Of all these calls together; None where the length of a request is not bounded."""
    tokens_out: int | None
    longest: int
    """Tokens of the longest single request."""


def bound_run(planned: PlannedRun) -> tuple[Asked, ...] | None:
    """Return what the run asks at most, line by line; None where its proposer has no known bound.

    Tokens in are counted as the budget reserves them: half a token a UTF-8 byte and what a chat
    template may add, with candidates as long as the invariants allow; tokens out by the limit of
    each reply.
    """
    step, settings = planned.step, planned.settings
    if step is None:
        return None
    reply = planned.verdict_limit
    every, train, validation = (
        _row_sizes(planned, rows.rows)
        for rows in (planned.dataset, planned.parts.training, planned.parts.validation)
    )
    sealed = _Sizes(
        calls=every.calls - train.calls - validation.calls,
        tokens=every.tokens - train.tokens - validation.tokens,
        longest=every.longest,
    )
    more, later = _growth(planned), max(settings.steps - 1, 0)
    candidates = settings.steps * planned.candidates
    batch = min(settings.batch_rows(validation.calls), train.calls)
    lines = [
        _judged("benchmark of the open rows", (train, 1, 0), (validation, 1, 0), reply=reply),
        _loss_line(planned),
        *_proposal_lines(step, candidates),
        # The batch where a candidate was kept; those that were not, on the rows that were shown.
        _judged(
            "training rows of new prompts",
            (_some(train, batch), later, more),
            (_some(train, min(MOST_QUOTED, batch)), later * (planned.candidates - 1), more),
            reply=reply,
            usual=KEPT,
        ),
        _judged(
            "validations of candidates",
            (validation, candidates, more),
            reply=reply,
            usual=VALIDATED,
        ),
    ]
    if planned.screened and planned.candidates > 1:
        looked = _some(validation, min(RaceSettings().screening, validation.calls))
        screening = _judged(
            "screening of candidates", (looked, candidates + settings.steps, more), reply=reply
        )
        lines.append(replace(screening, who="screen"))
    if settings.steps:
        # The gate judges both prompts on the holdout, the closing report both on the final rows,
        # and the finalist on the training rows, some of them before; what either has answered
        # before is cached.
        closing = ((sealed, 1, 0), (sealed, 1, more), (train, 1, more))
        if settings.hunks:
            # Each hunk left out and added alone; both whole prompts were validated before.
            lines.append(_judged("hunks", (validation, 2 * settings.hunks, more), reply=reply))
        lines.append(_judged("gate and closing report", *closing, reply=reply))
        # Rows that one side leaves unanswered at the gate are asked again on both. Only the number
        # of the holdout's rows is known here, not which they are: their tokens are bounded by those
        # of all sealed rows.
        again = replace(sealed, calls=min(sealed.calls, len(planned.parts.holdout)))
        twice = ((again, ROUNDS, 0), (again, ROUNDS, more))
        lines.append(_judged(ASKED_AGAIN, *twice, reply=reply, usual=0.0))
    return tuple(line for line in lines if line.calls)


def count_exchanges(planned: PlannedRun, *, judge: bool, optimizer: bool) -> int | None:
    """Return how many exchanges of batches or files a run takes at most, one after the other.

    Replies that come back incomplete or cut take further ones.

    Args:
        planned: The run.
        judge: Whether the judge is asked through batches or files; a screening judge is asked in
            the same way.
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
        # The benchmark; the training rows of a new prompt, the trial, the race, a screening.
        screenings = steps if planned.screened and planned.candidates > 1 else 0
        count += 1 + 3 * steps + screenings
    if judge and steps:
        # The benchmark has the first prompt's training rows. The finalist, the hunks, the gate,
        # what it asks again, and the closing table.
        count += -1 + 1 + min(1, planned.settings.hunks) + 1 + ROUNDS + 1
    if optimizer:
        once = step.exchanges if step.once and steps else 0
        count += _loss_line(planned).calls + once + steps * step.exchanges
    return count


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How many of some rows are sent, with how many tokens in all, and in the longest."""

    calls: int
    tokens: int
    longest: int


def _some(rows: _Sizes, calls: int) -> _Sizes:
    """Return the sizes of so many of some rows at most, whichever they are."""
    return _Sizes(calls, calls * rows.longest, rows.longest)


def _row_sizes(planned: PlannedRun, rows: Sequence[Row]) -> _Sizes:
    judge_settings = planned.settings.judge
    forecast = Forecast()
    sent = [row for row in rows if sum(map(len, row.inputs.values())) <= judge_settings.max_chars]
    sizes = [
        forecast.before(judge_request(planned.prompt, row, settings=judge_settings))[0]
        for row in sent
    ]
    return _Sizes(len(sizes), sum(sizes), max(sizes, default=0))


def _growth(planned: PlannedRun) -> int:
    """Tokens by which a candidate's request may be longer than the prompt's own, by the
    invariants.
    """
    prompt, parts = planned.prompt, planned.proposer.parts
    own = estimate_tokens(f"{prompt.system}\n{prompt.criteria}\n{prompt.reply}")
    text = (token_cap(prompt) - own + 1) * (1 + len(prompt.examples) if "reply" in parts else 1)
    if "examples" not in parts:
        return text
    frames = estimate_tokens(f"{prompt.template}\n{prompt.reply}") + 16 * (2 + len(prompt.inputs))
    return text + EXAMPLE_TOKENS + frames * _MOST_SHOWN


def _judged(what: str, *rows: tuple[_Sizes, int, int], reply: int, usual: float = 1.0) -> Asked:
    """Add up judge calls: each set of rows with how often it is asked, and how much longer the
    request may be.
    """
    calls = sum(sizes.calls * times for sizes, times, _ in rows)
    return Asked(
        what=what,
        who="judge",
        calls=calls,
        usual=usual,
        tokens_in=sum((sizes.tokens + sizes.calls * more) * times for sizes, times, more in rows),
        tokens_out=calls * reply,
        longest=max((sizes.longest + more for sizes, _, more in rows), default=0),
    )


def _loss_line(planned: PlannedRun) -> Asked:
    scale = planned.prompt.scale
    classes = None
    facts = scale_facts(scale, planned.dataset.labels)
    if scale.kind == "choice":
        classes = Classes.of(scale, planned.objective.target)
        longest_name = max(scale.labels, key=len)
        # In the slice and outside of it.
        facts = [f"{len(planned.dataset)} {longest_name!r} called {longest_name!r}"] * (
            2 * LISTED_PAIRS
        )
    facts += slice_facts(planned.settings.saved_slices)
    request = planned.optimizer_model.apply(
        loss_request(planned.objective, "", classes=classes, facts=facts)
    )
    asked = not planned.settings.unguided and planned.settings.loss is None
    calls = 1 + RETURNS if asked else 0
    longest = Forecast().before(request)[0] + _SLICE_TOKENS + RETURNS * _REFUSAL_TOKENS
    return Asked(
        what="loss, with every refusal",
        who="optimizer",
        calls=calls,
        usual=1 / (1 + RETURNS),
        tokens_in=calls * longest,
        tokens_out=calls * (request.max_tokens or request.default_max_tokens or 0),
        longest=longest,
    )


def _proposal_lines(step: StepBound, times: int) -> list[Asked]:
    """Return the lines of all proposals; a search may try prompts that the invariants would
    refuse, however long.
    """
    written = times * step.optimizer + (step.once if times else 0)
    usual = 1 - step.again / step.optimizer if step.optimizer else 1.0
    bounded = step.request is not None
    searched: tuple[tuple[Who, int], ...] = (("judge", step.judge), ("either", step.either))
    return [
        Asked(
            what="proposals",
            who="optimizer",
            calls=written,
            usual=usual,
            tokens_in=written * (step.request or 0) if bounded else None,
            tokens_out=written * step.reply if bounded else None,
            longest=step.request or 0,
        ),
        *(
            Asked(
                what="proposals",
                who=who,
                calls=times * calls,
                usual=SEARCHED,
                tokens_in=None,
                tokens_out=None,
                longest=0,
            )
            for who, calls in searched
        ),
    ]
