"""What `optimize` would ask and cost, and which gain its gate could tell from none, before anything
is spent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...judges import Completion, FloatArray, Model, Prices, Progress, Request
from ...judges.claims import FIELD, split_sentences
from ...judges.files import TokenSummary, count_row_tokens
from ...judges.models import ignored_parameters, unused_settings
from ...judges.models.batch_queue import PRICE_SHARE
from ...optimize import Objective, Unsettled, open_rows
from ...optimize.forecast import (
    ASSUMED,
    Asked,
    Drawn,
    PlannedRun,
    StepBound,
    bound_proposal,
    bound_run,
    count_exchanges,
    draw_runs,
)
from ...optimize.holdout.guards import MIN_GROUPS
from ...optimize.holdout.ledger import split_with_memory
from ...optimize.settings import require_judging, require_probability
from ..config.environment import SIMULATED, Allowance, Environment, open_model, parse_budget
from ..config.options import Via
from ..store.calls import CallStore
from ..store.ledger import HoldoutLedger
from ..store.model_tests import find_test
from ..store.run_config import RunConfig, open_proposer, require_what_is_read
from ..store.sides import sides_beside
from ..store.workspace import Workspace
from .bench import describe_parameters
from .optimize import require_effect
from .pilot import MinimumDetectableEffect, Pilot, minimum_detectable_gain, run_pilot
from .read_objective import asks_model, named_slice, saved_slices

Watch = Callable[[str, Progress], None]

VERDICT_TOKENS = (40.0, 200.0)
"""Tokens of a verdict, where no pilot has seen any: drawn evenly between these."""
TEXT_TOKENS = (150.0, 800.0)
"""Tokens of an optimizer's reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a run probably takes, and what it cannot exceed; None where it is not known."""

    p50: float | None
    p95: float | None
    at_most: float | None
    reason: str = ""
    """Why a number is missing."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the three numbers, and the reason where one is missing."""
        body = {"p50": self.p50, "p95": self.p95, "at_most": self.at_most}
        return body | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetForecast:
    """Whether the budget that was given covers what the run probably takes."""

    money: float | None
    tokens: int | None
    enough: bool | None
    """For at least 95 of 100 runs; None where no budget was given, or where that is not known."""
    note: str = ""
    """What is to be said about it; empty where it is enough, or where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run will ask and cost, and what its gate could show."""

    judge: str
    objective: Objective
    """As it was read, with what was left out in its notes."""
    sizes: dict[str, int]
    """Rows of each part."""
    models: tuple[str, str]
    """Of the judge and of the optimizer."""
    simulated: bool
    lines: tuple[Asked, ...]
    """The hard bound, step by step; empty where the proposer has none."""
    calls: Span
    tokens: Span
    money: Span
    """US dollars."""
    by_exchange: bool
    """Whether a model is asked through batches or files."""
    exchanges: int | None
    """Batches or request files that follow one another, at most; None without such, or where nobody
    can say.
    """
    budget: BudgetForecast
    detectable: MinimumDetectableEffect
    row_tokens: TokenSummary
    pilot: Pilot | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `plan --json` prints."""
        lines = [
            {
                "what": x.what,
                "who": x.who,
                "calls": x.calls,
                "tokens_in": x.tokens_in,
                "tokens_out": x.tokens_out,
            }
            for x in self.lines
        ]
        return {
            "judge": self.judge,
            "objective": self.objective.to_json(),
            "simulated": self.simulated,
            "model": self.models[0],
            "optimizer_model": self.models[1],
            "rows": self.sizes,
            "calls": self.calls.to_json(),
            "tokens": self.tokens.to_json(),
            "money": self.money.to_json(),
            "exchanges": self.exchanges,
            "budget": asdict(self.budget),
            "bound": lines,
            "detectable": self.detectable.to_json(),
            "pilot": self.pilot and self.pilot.to_json(),
            "notes": list(self.notes),
        }


def plan_run(
    workspace: Workspace, config: RunConfig, environment: Environment, *, pilot: bool, watch: Watch
) -> Plan:
    """Plan the run that `start_run` would start with the same configuration; without a pilot it
    spends nothing.

    Args:
        workspace: Whose ledger is read, and where the pilot's replies are kept.
        pilot: Whether to judge up to `PILOT_ROWS` open rows, with the judge and with a rewording of
            it.

    Raises:
        InputError: The run could not start: the data, a name or the split cannot be used.
        WorldError: The endpoint or the budget stopped the pilot.
    """
    require_effect(config, environment)
    planned = _read_plan(workspace, config, environment)
    seen = run_pilot(workspace, planned, config, environment, watch=watch) if pilot else None
    names = (
        config.model,
        config.optimizer_model or config.model,
        config.screen_model or config.model,
    )
    models = [open_model(name, environment) for name in names]
    judge_model = models[0]
    summary = count_row_tokens(planned.dataset.rows, model=judge_model.name, prompt=planned.prompt)
    ways = (config.via, config.optimizer_access[1], config.via)
    rates = tuple(
        _Rates(
            model=model,
            prices=Prices(environment.prices, environment.settings(name).price),
            via=via,
        )
        for name, model, via in zip(names, models, ways, strict=True)
    )
    by_exchange = [via != "live" for via in ways]
    exchanges = None
    if any(by_exchange):
        exchanges = count_exchanges(planned, judge=by_exchange[0], optimizer=by_exchange[1])
    lines, drawn, step = bound_run(planned), draw_runs(planned), bound_proposal(planned)
    spans = _spans(lines, drawn, _sizes(summary, step, seen), rates)
    return Plan(
        judge=f"{planned.prompt.name}@{planned.prompt.version}",
        objective=planned.objective,
        sizes={
            part: len(getattr(planned.parts, part))
            for part in ("train", "validation", "holdout", "final")
        },
        models=names[:2],
        simulated=any(model.simulated for model in models),
        lines=lines or (),
        calls=spans[0],
        tokens=spans[1],
        money=spans[2],
        by_exchange=any(by_exchange),
        exchanges=exchanges,
        budget=_weigh_budget(parse_budget(config.budget), tokens=spans[1], money=spans[2]),
        detectable=minimum_detectable_gain(workspace, planned, seen),
        row_tokens=summary,
        pilot=seen,
        notes=(
            *_notes(planned, seen),
            *_settings_notes(workspace, dict(zip(names, models, strict=True)), config.confidence),
            *_unused_notes(config, environment),
        ),
    )


def _read_plan(workspace: Workspace, config: RunConfig, environment: Environment) -> PlannedRun:
    """Read everything the run would start from, and refuse what it would refuse."""
    slices = saved_slices(workspace)
    config = replace(config, slice=named_slice(config.slice, slices), saved_slices=slices)
    require_judging(config.judge, config.settings())
    dataset = config.dataset()
    require_what_is_read(config, dataset)
    if kept := workspace.registry.kept_rule(config.judge):
        config = replace(config, rule=kept.rule.to_json())
    proposer = open_proposer(config)
    remembered = HoldoutLedger(workspace.database).memories() if workspace.exists else ()
    memories = (*remembered, *sides_beside(Path(config.data)))
    parts = split_with_memory(
        memories, None, dataset, config.shares, allow_opened=config.allow_opened
    )
    # Neither benchmark nor gate sees the rows that were not drawn evenly.
    even = tuple(row for row in dataset.rows if row.sampling_probability == 1)
    objective = _read_objective(workspace, config, environment)
    require_probability(config.judge, objective, config.settings())
    return PlannedRun(
        prompt=config.judge,
        dataset=replace(dataset, rows=(*even, *parts.drawn.rows)),
        parts=parts,
        proposer=proposer,
        settings=config.settings(),
        objective=objective,
        screened=config.screen_model is not None,
        judge_model=environment.settings(config.model),
        optimizer_model=environment.settings(config.optimizer_model or config.model),
    )


def _read_objective(workspace: Workspace, config: RunConfig, environment: Environment) -> Objective:
    """Read the objective by rules alone, which costs nothing; what a model may still settle is a
    note.

    Raises:
        InputError: They read no target, or nobody will be asked for what they left over.
    """
    model, slices = config.optimizer_access[0], saved_slices(workspace)
    if not asks_model(config.words, model, environment):
        return config.words.read(config.judge, slices=slices)
    asked = (
        f"the run first asks {model} to read the objective, one call more, and stops where the"
        " readings differ"
    )
    try:
        objective = config.words.read(config.judge, slices=slices)
    except Unsettled:
        objective = replace(config.words, yes=True).read(config.judge, slices=slices)
        asked = f"the rules alone did not understand all of the objective; {asked}"
    return replace(objective, notes=(*objective.notes, asked))


# Calls, tokens, money.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """Dollars a token at one model; None where no price is known."""

    model: Model
    prices: Prices
    via: Via

    def cost(self, calls: float, tokens_in: float, tokens_out: float) -> float | None:
        """Return what calls of this size cost: long requests may cost more a token, so one is
        priced, then counted.
        """
        one = self.prices.cost(
            self.model.name, self.model.endpoint, math.ceil(tokens_in), math.ceil(tokens_out)
        )
        if one is None:
            return None
        return one * calls * (PRICE_SHARE if self.via == "batch" else 1.0)

    def bound(self, line: Asked) -> float | None:
        """Return what a line costs at most, every token at the rate of the longest request."""
        if line.tokens_in is None or line.tokens_out is None:
            return None
        out = math.ceil(line.tokens_out / max(line.calls, 1))
        longest = max(line.longest, 1)
        whole, read = self.cost(1, longest, out), self.cost(1, longest, 0)
        if whole is None or read is None:
            return None
        return line.tokens_in * read / longest + line.calls * (whole - read)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CallSizes:
    """Tokens of a typical call."""

    verdict_in: float
    verdict_out: tuple[float, float]
    text_in: float
    text_out: tuple[float, float] = TEXT_TOKENS


def _sizes(summary: TokenSummary, step: StepBound | None, seen: Pilot | None) -> _CallSizes:
    """An optimizer request holds the prompt, a critique and some frame; about a third of what it
    may hold.
    """
    request = step.request if step and step.request else None
    out = (seen.tokens_out, seen.tokens_out) if seen and seen.tokens_out else VERDICT_TOKENS
    return _CallSizes(
        verdict_in=summary.total / max(summary.calls, 1),
        verdict_out=out,
        text_in=request / 3 if request else 4.0 * summary.median + 2_000,
    )


def _spans(
    lines: Sequence[Asked] | None, drawn: Drawn | None, sizes: _CallSizes, rates: tuple[_Rates, ...]
) -> tuple[Span, Span, Span]:
    if lines is None or drawn is None:
        unknown = Span(
            p50=None, p95=None, at_most=None, reason="nobody has counted what this proposer asks"
        )
        return unknown, unknown, unknown
    judge_rate, writer_rate, screen_rate = rates
    of = {"judge": judge_rate, "screen": screen_rate}
    rng = np.random.default_rng(1)
    verdict, text = (
        rng.uniform(*ends, len(drawn.judge)) for ends in (sizes.verdict_out, sizes.text_out)
    )
    tokens = drawn.judge * (sizes.verdict_in + verdict) + drawn.optimizer * (sizes.text_in + text)
    loose = any(line.tokens_in is None or line.tokens_out is None for line in lines)
    why = (
        "how long this proposer's requests may get is not bounded; --budget bounds it"
        if loose
        else ""
    )
    most = None if loose else float(sum((x.tokens_in or 0) + (x.tokens_out or 0) for x in lines))
    costs = [of.get(line.who, writer_rate).bound(line) for line in lines]
    priced = [
        rate.cost(1, size, float(np.mean(out)))
        for rate, size, out in (
            (judge_rate, sizes.verdict_in, verdict),
            (writer_rate, sizes.text_in, text),
        )
    ]
    calls = drawn.judge + drawn.optimizer
    money = Span(
        p50=None,
        p95=None,
        at_most=None,
        reason="the price of a model is unknown; name it in a price file",
    )
    one_verdict, one_text = priced
    if one_verdict is not None and one_text is not None:
        known = [cost for cost in costs if cost is not None]
        at_most = sum(known) if len(known) == len(costs) else None
        money = _span(drawn.judge * one_verdict + drawn.optimizer * one_text, at_most, why)
    return (
        _span(calls.astype(np.float64), float(sum(line.calls for line in lines))),
        _span(tokens, most, why),
        money,
    )


def _weigh_budget(allowance: Allowance, *, tokens: Span, money: Span) -> BudgetForecast:
    """Hold a budget of dollars or tokens against the forecast."""
    given = BudgetForecast(money=allowance.money, tokens=allowance.tokens, enough=None)
    if allowance.money is not None:
        limit, span, written = allowance.money, money, lambda value: f"${value:.4f}"
    elif allowance.tokens is not None:
        limit, span, written = float(allowance.tokens), tokens, lambda value: f"{value:,.0f} tokens"
    else:
        return given
    budget = f"--budget {written(limit)}"
    if span.p50 is None or span.p95 is None:
        return replace(given, note=f"whether {budget} is enough is not known: {span.reason}")
    likely = (
        f"the run probably takes {written(span.p50)}, and one in twenty {written(span.p95)} or more"
    )
    if limit < span.p50:
        return replace(
            given,
            enough=False,
            note=f"{budget} is too small and would stop it on the way: {likely}",
        )
    if limit < span.p95:
        return replace(given, enough=False, note=f"{budget} may be too small: {likely}")
    return replace(given, enough=True)


def _span(draws: FloatArray, most: float | None, reason: str = "") -> Span:
    middle, high = (float(q) for q in np.quantile(draws, [0.5, 0.95]))
    if most is not None:
        middle, high = min(middle, most), min(high, most)
    return Span(p50=middle, p95=high, at_most=most, reason=reason if most is None else "")


def _settings_notes(
    workspace: Workspace, models: Mapping[str, Model], confidence: str
) -> list[str]:
    """Say which settings the endpoints refuse or ignore, as the workspace's calls and tests
    show.
    """
    notes: list[str] = []
    for name, model in models.items():
        if name == SIMULATED:
            continue
        calls: list[tuple[Request, Completion]] = []
        if workspace.exists:
            calls = CallStore(workspace.database, "").recent(
                endpoint=model.endpoint, model=model.name
            )
        test = find_test(workspace, model)
        if test is not None and (note := test.note(confidence=confidence)):
            notes.append(f"{name}: {note}")
        if not calls and test is None:
            notes.append(
                f"{name!r} was not asked here yet: `judgewright models test {name}` says what it"
                " honours"
            )
        dropped = {parameter for _, completion in calls for parameter in completion.dropped}
        ignored = Counter(parameter for call in calls for parameter in ignored_parameters(*call))
        notes += [f"{name}: {note}" for note in describe_parameters(dropped, ignored)]
    return notes


def _unused_notes(config: RunConfig, environment: Environment) -> Iterator[str]:
    for name, via in config.model_access:
        if via != "live":
            settings = environment.settings(name)
            settings = replace(settings, concurrency=config.concurrency or settings.concurrency)
            for note in unused_settings(settings, by_hand=via == "files"):
                yield f"{name}: {note}"


def _notes(planned: PlannedRun, seen: Pilot | None) -> tuple[str, ...]:
    notes = [
        f"likely figures assume that {ASSUMED}",
        (
            "at most: every answer at the length the budget reserves for it (half a token a byte of"
            " text) and its reply at its limit; what an endpoint bills for requests that failed,"
            " and replies that are cut and asked for once more with twice the room, come on top,"
            " and only --budget stops them"
        ),
    ]
    if seen is None:
        notes.append(
            f"a verdict is taken to have {VERDICT_TOKENS[0]:.0f} to {VERDICT_TOKENS[1]:.0f} tokens;"
            " --pilot measures it"
        )
    else:
        notes.append(
            "the pilot's verdicts of the judge are kept: the run will not ask for them again"
        )
        notes.append(
            "a rewording changes less than a real edit does, so that the gain shown may be too"
            " small a one"
        )
    notes.append("answers that the workspace has already cost nothing and are not taken off")
    if planned.settings.claims is not None:
        texts = [row.inputs[FIELD] for row in planned.dataset.rows]
        sentences = sum(len(split_sentences(text)) for text in texts) / max(len(texts), 1)
        notes.append(
            "by claim: these figures take each response for one call; a response has"
            f" {sentences:.1f} sentences, each a call of its own, and a model that splits responses"
            " or sorts claims is asked besides, once a response"
        )
    groups = planned.parts.holdout.groups
    if groups < MIN_GROUPS:
        notes.append(
            f"the holdout has {groups} groups; with fewer than {MIN_GROUPS} the gate cannot decide"
        )
    notes += _hopeless(planned)
    return (*notes, *planned.parts.notes)


def _hopeless(planned: PlannedRun) -> Iterator[str]:
    """Say which metrics no candidate can show anything about, as too few groups of the holdout have
    rows they count.
    """
    dataset = open_rows(planned.parts)
    every = {row.group_key for row in dataset.rows}
    for metric in planned.objective.metrics:
        if metric not in ("recall", "specificity") or not every:
            continue
        side = metric == "recall"
        bearing = {
            row.group_key
            for row in dataset.rows
            if row.label is not None and dataset.positive(row) == side
        }
        groups = round(planned.parts.holdout.groups * len(bearing) / len(every))
        if groups < MIN_GROUPS:
            rows = "positive" if side else "negative"
            yield (
                f"about {groups} groups of the holdout have {rows} rows, as far as the open rows"
                f" tell; {metric} wants {MIN_GROUPS}, so that the gate cannot accept any candidate:"
                " label more rows first"
            )
