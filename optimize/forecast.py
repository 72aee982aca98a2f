"""What a run will ask: at most, by its rules, and probably, by assumptions that are stated.

The hard bound follows from two facts: an equal request is answered once and then is cached, and
every step of the run is bounded by its settings. Each line of it stands for one step of
`loop.optimize`. Requests that fail are not answers; what an endpoint bills for them, and for the
second request after a reply that was cut, only `--budget` bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ..judges import (
    VERDICT_LIMIT,
    Dataset,
    FloatArray,
    IntArray,
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
from .proposers import FewShot, Gepa, Guidelines, HumanEdit, Mipro, Proposer, Rewrite, TextGrad
from .proposers.demonstrations import MAX_CHARS
from .proposers.guidelines import EACH, MOST_REASONS, REASON_BYTES, ROW_BYTES, RULE_BYTES
from .proposers.textgrad import MOMENTUM
from .proposers.texts import TEXT_LIMIT
from .racing.schedule import RaceSettings
from .settings import RACE_SHARE, RunSettings

Who = Literal["judge", "optimizer", "either", "screen"]

ASKED_AGAIN = "rows unanswered at the gate, asked again"
_REFUSAL_TOKENS = 2_000
"""Tokens that the reasons against one loss may take in the next request."""
_FRAME_TOKENS = 4_000
"""Tokens of the fixed texts around what an optimizer request is about; TextGrad's longest has about
1,500.
"""
_BRIEF_SHARE = 2
"""The budget reserves half a token a byte, where a brief counts a quarter."""
_RESENT = 3
"""Tokens that the estimate may make of one token of a reply, when the reply is part of the next
request.
"""
_SLICE_TOKENS = 500
_LINE_BYTES = 300
"""What stands around a reason or a rule in its line: names of inputs, a number, a grade."""
_MOST_SHOWN = 16
"""Demonstrations that a candidate is taken to show at most, for the template around each."""

DRAWS = 4_000
USABLE = (8.0, 2.0)
"""Beta parameters of the share of steps whose proposal reaches validation: 0.8, give or take."""
KEPT = (2.0, 8.0)
"""Of the share of validated candidates that are kept: 0.2, give or take."""
AGAIN = (1.0, 9.0)
"""Of the share of the optimizer's replies that are asked for again: 0.1, give or take."""
ASSUMED = (
    "per run, about 80 % of the steps reach validation, 20 % of the validated candidates are kept"
    " and 10 % of the optimizer's replies are asked for again (each drawn from a Beta of 10"
    " observations); a search uses half to all of its cap, a fifth of it for the optimizer model"
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
    def text_limit(self) -> int:
        """Tokens of a proposer's reply at most."""
        own = self.proposer.max_tokens if isinstance(self.proposer, TextGrad | Rewrite) else None
        return own or self.optimizer_model.optimizer_max_tokens or TEXT_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of the hard bound."""

    what: str
    who: Who
    calls: int
    tokens_in: int | None
    """Of all these calls together; None where the length of a request is not bounded."""
    tokens_out: int | None
    longest: int
    """Tokens of the longest single request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBound:
    """What one proposal may ask, at most."""

    optimizer: int = 0
    judge: int = 0
    either: int = 0
    """Calls of both kinds together, whichever they are."""
    again: int = 0
    """Optimizer calls among these that only follow an unusable reply."""
    once: int = 0
    """Optimizer calls that the first proposal makes beside these; later ones find them cached."""
    once_again: int = 0
    """Calls among these that only follow an unusable reply."""
    request: int | None = 0
    """Tokens of one optimizer request; None where they are not bounded."""
    reply: int = 0
    """Tokens of one optimizer reply."""


def bound_proposal(planned: PlannedRun) -> StepBound | None:
    """Return what one step of the run's proposer may ask; None for a proposer that is not known
    here.

    Args:
        planned: The run.
    """
    proposer = planned.proposer
    match proposer:
        case TextGrad():
            parts = len(proposer.parts)
            shares = proposer.gradients
            reply = planned.text_limit
            prompt = token_cap(planned.prompt)
            shown = (
                2 * prompt + _BRIEF_SHARE * planned.settings.brief_tokens
            )  # the part, the rest of the prompt, the brief
            request = _FRAME_TOKENS + shown + shares * _RESENT * reply + (2 + MOMENTUM) * prompt
            again = parts * proposer.retries
            return StepBound(
                optimizer=parts * (shares + 1) + again,
                again=again,
                request=request,
                reply=reply,
            )
        case Rewrite():
            request = (
                _FRAME_TOKENS
                + 2 * token_cap(planned.prompt)
                + _BRIEF_SHARE * planned.settings.brief_tokens
            )
            return StepBound(
                optimizer=len(proposer.parts) * (1 + proposer.retries),
                again=len(proposer.parts) * proposer.retries,
                request=request,
                reply=planned.text_limit,
            )
        case Guidelines():
            batches = -(-min(MOST_REASONS, len(planned.parts.training)) // EACH)
            shown = 2 * token_cap(planned.prompt) + _BRIEF_SHARE * planned.settings.brief_tokens
            notes = EACH * (ROW_BYTES + REASON_BYTES + _LINE_BYTES)
            rules = MOST_REASONS * (RULE_BYTES + _LINE_BYTES)
            return StepBound(
                optimizer=1 + proposer.retries,
                again=proposer.retries,
                once=batches * (1 + proposer.retries),
                once_again=batches * proposer.retries,
                request=_FRAME_TOKENS + max(shown + rules // 2, notes // 2),
                reply=planned.text_limit,
            )
        case FewShot():
            # A demonstration has at most so many characters; four bytes are the most of one.
            request = _FRAME_TOKENS + 2 * token_cap(planned.prompt) + 2 * MAX_CHARS
            return StepBound(
                optimizer=proposer.choose_from,
                judge=proposer.calls,
                request=request,
                reply=planned.text_limit,
            )
        case Gepa() | Mipro():
            return StepBound(either=proposer.calls, request=None)
        case HumanEdit():
            return StepBound()
        case _:
            return None


def bound_run(planned: PlannedRun) -> tuple[Asked, ...] | None:
    """Return what the run asks at most, line by line; None where its proposer has no known bound.

    Tokens in are counted as the budget reserves them: half a token a UTF-8 byte and what a chat
    template may add, with candidates as long as the invariants allow; tokens out by the limit of
    each reply.
    """
    step = bound_proposal(planned)
    if step is None:
        return None
    settings = planned.settings
    reply = planned.verdict_limit
    sizes = _row_sizes(planned, planned.dataset.rows)
    train, validation = (
        _row_sizes(planned, part.rows)
        for part in (planned.parts.training, planned.parts.validation)
    )
    sealed = _Sizes(
        calls=sizes.calls - train.calls - validation.calls,
        tokens=sizes.tokens - train.tokens - validation.tokens,
        longest=sizes.longest,
    )
    more = _growth(planned)
    # A search may try what the invariants would refuse, however long.
    bounded = isinstance(planned.proposer, TextGrad | Rewrite | Guidelines | HumanEdit)
    trial = sizes.longest + more if bounded else None
    candidates = settings.steps * planned.candidates
    batch = min(settings.batch_rows(validation.calls), train.calls)
    later = max(settings.steps - 1, 0)
    lines = [
        _judged("benchmark of the open rows", (train, 1, 0), (validation, 1, 0), reply=reply),
        _loss_line(planned),
        *_proposal_lines(step, candidates, trial, reply),
        # The batch where a candidate was kept; those that were not, on the rows that were shown.
        _judged(
            "training rows of new prompts",
            (_some(train, batch), later, more),
            (_some(train, min(MOST_QUOTED, batch)), later * (planned.candidates - 1), more),
            reply=reply,
        ),
    ]
    lines.append(_judged("validations of candidates", (validation, candidates, more), reply=reply))
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
        lines.append(_judged(ASKED_AGAIN, (again, ROUNDS, 0), (again, ROUNDS, more), reply=reply))
    return tuple(line for line in lines if line.calls)


def _some(rows: _Sizes, calls: int) -> _Sizes:
    """Return the sizes of so many of some rows at most, whichever they are."""
    return _Sizes(calls, calls * rows.longest, rows.longest)


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
    settings, proposer = planned.settings, planned.proposer
    count = 0
    if judge:
        count += 1  # the benchmark
        # The training rows of a new prompt, the trial and the race; the benchmark has the first
        # prompt's rows.
        count += 3 * settings.steps - min(1, settings.steps)
        if planned.screened and planned.candidates > 1:
            count += settings.steps
        if settings.steps:
            count += 1  # the finalist
            # The gate, what it asks again, and the closing table.
            count += min(1, settings.hunks) + 1 + ROUNDS + 1
    if optimizer:
        count += _loss_line(planned).calls
    match proposer:
        case TextGrad():
            each = len(proposer.parts) + 1 + proposer.retries
        case Rewrite():
            each = 1 + proposer.retries
        case Guidelines():
            each = 1 + proposer.retries
            count += (1 + proposer.retries) * (optimizer and settings.steps > 0)
        case HumanEdit():
            each = 0
        case _:
            return None
    return count + settings.steps * each if optimizer else count


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How many of some rows are sent, with how many tokens in all, and in the longest."""

    calls: int
    tokens: int
    longest: int


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
    if "examples" not in parts or isinstance(planned.proposer, TextGrad | Rewrite):
        return text
    frames = estimate_tokens(f"{prompt.template}\n{prompt.reply}") + 16 * (2 + len(prompt.inputs))
    return text + EXAMPLE_TOKENS + frames * _MOST_SHOWN


def _judged(what: str, *rows: tuple[_Sizes, int, int], reply: int | None) -> Asked:
    """Add up judge calls: each set of rows with how often it is asked, and how much longer the
    request may be.
    """
    calls = sum(sizes.calls * times for sizes, times, _ in rows)
    tokens = sum((sizes.tokens + sizes.calls * more) * times for sizes, times, more in rows)
    longest = max((sizes.longest + more for sizes, _, more in rows), default=0)
    out = None if reply is None else calls * reply
    return Asked(
        what=what, who="judge", calls=calls, tokens_in=tokens, tokens_out=out, longest=longest
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
    calls = 1 + RETURNS if _asks_for_loss(planned.settings) else 0
    longest = Forecast().before(request)[0] + _SLICE_TOKENS + RETURNS * _REFUSAL_TOKENS
    return Asked(
        what="loss, with every refusal",
        who="optimizer",
        calls=calls,
        tokens_in=calls * longest,
        tokens_out=calls * (request.max_tokens or request.default_max_tokens or 0),
        longest=longest,
    )


def _asks_for_loss(settings: RunSettings) -> bool:
    return not settings.unguided and settings.loss is None


def _proposal_lines(
    step: StepBound, times: int, trial: int | None, reply: int | None
) -> list[Asked]:
    once = step.once if times else 0
    kinds: tuple[tuple[Who, int, int | None, int | None], ...] = (
        ("optimizer", times * step.optimizer + once, step.request, step.reply),
        ("judge", times * step.judge, trial, reply),
        ("either", times * step.either, None, None),
    )
    return [
        Asked(
            what="proposals",
            who=who,
            calls=calls,
            tokens_in=None if request is None else calls * request,
            tokens_out=None if request is None or out is None else calls * out,
            longest=request or 0,
        )
        for who, calls, request, out in kinds
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Calls of made-up runs, by what is assumed of proposals; shapes (draws,)."""

    judge: IntArray
    optimizer: IntArray


def draw_runs(planned: PlannedRun, *, draws: int = DRAWS, seed: int = 0) -> Drawn | None:
    """Draw how many calls runs like this one make; None where the proposer has no known bound.

    Each draw takes the steps by shares that are drawn from `USABLE`, `KEPT` and `AGAIN`; rows and
    settings are the run's own. It never goes over `bound_run`.
    """
    step = bound_proposal(planned)
    if step is None:
        return None
    rng = np.random.default_rng(seed)
    usable, accepted, again = (rng.beta(*shape, size=draws) for shape in (USABLE, KEPT, AGAIN))
    train, validation, settings = (
        len(planned.parts.training),
        len(planned.parts.validation),
        planned.settings,
    )
    sealed = len(planned.dataset) - train - validation
    judge = np.full(draws, train + validation)
    optimizer = np.zeros(draws, np.int64)
    if _asks_for_loss(settings):
        optimizer += 1 + rng.binomial(RETURNS, again)
    if settings.steps:
        optimizer += step.once - step.once_again + rng.binomial(step.once_again, again)
    entered = np.zeros(draws, np.bool_)
    changed = np.zeros(draws, np.bool_)
    batch = min(settings.batch_rows(validation), train)
    new = changed
    for _ in range(settings.steps):
        judge += np.where(new, batch, 0)
        for _ in range(planned.candidates):
            requests, trials = _draw_proposal(step, again, rng)
            optimizer, judge = optimizer + requests, judge + trials
        running = rng.binomial(planned.candidates, usable)
        judge += _draw_race(running, validation, rng)
        entered |= running > 0
        new = (running > 0) & (rng.random(draws) < accepted)
        changed |= new
    judge += np.where(entered, train, 0) + np.where(changed, 2 * sealed, 0)
    return Drawn(judge=judge.astype(np.int64), optimizer=optimizer.astype(np.int64))


def _draw_race(running: IntArray, validation: int, rng: np.random.Generator) -> IntArray:
    """Draw the judge's calls of a step's race; shape (draws,).

    One candidate runs over some or all rows; of several, a race spends a share and the winner is
    validated whole.
    """
    share = RACE_SHARE
    one = np.ceil(validation * rng.uniform(share, 1.0, len(running)))
    several = np.minimum(running, 1 + np.ceil(share * running)) * validation
    return np.where(running == 0, 0, np.where(running == 1, one, several)).astype(np.int64)


def _draw_proposal(
    step: StepBound, again: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw the optimizer's and the judge's calls of one proposal; both of shape (draws,)."""
    n = len(again)
    searched = np.floor((step.judge + step.either) * rng.uniform(0.5, 1.0, n)).astype(np.int64)
    own_requests = searched // 5 if step.either else np.zeros(n, np.int64)
    written = step.optimizer - step.again + rng.binomial(step.again, again)
    return own_requests + written, searched - own_requests
