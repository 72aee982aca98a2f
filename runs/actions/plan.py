"""What `optimize` would ask and cost, and which gain its gate could tell from none, before anything
is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from ...judges import Model, Prices
from ...judges.claims import FIELD, split_sentences
from ...judges.files import TokenSummary, count_row_tokens
from ...judges.models.batch_queue import PRICE_SHARE
from ...judges.models.question import REPLY_TOKENS
from ...optimize import Objective, open_rows
from ...optimize.forecast import (
    ASSUMED,
    MOST_OVER,
    Asked,
    PlannedRun,
    bound_run,
    count_exchanges,
)
from ...optimize.holdout.guards import MIN_GROUPS
from ...optimize.holdout.ledger import split_with_memory
from ...optimize.proposers.proposer import view_of
from ...optimize.settings import require_probability
from ..config.command_options import Via
from ..config.environment import Allowance, Environment, open_model, parse_budget
from ..store.banks import rows_seen
from ..store.calls import CallStore
from ..store.run_config import RunConfig, show_cases
from ..store.workspace import Workspace
from .add_cases import tokens_added
from .detectable_gain import MinimumDetectableEffect, measured_before, minimum_detectable_gain
from .prepare_run import PreparedRun, prepare_run

_WITH_CASES = "judge with cases"
"""What a call to the judge is called in which it is shown decided cases."""
VERDICT_TOKENS = 120
"""Tokens of a verdict."""
TEXT_TOKENS = 475
"""Tokens of an optimizer's reply; its request is taken to be as long as its brief may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a run probably takes, and what it cannot exceed; None where it is not known."""

    likely: float | None = None
    at_most: float | None = None
    reason: str = ""
    """Why a number is missing."""


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
    exchanges: int | None
    """Batches or request files that follow one another, at most; None where nobody can say."""
    budget: str
    """What is to be said about the budget; empty where it is enough, or where there is none."""
    detectable: MinimumDetectableEffect
    row_tokens: TokenSummary
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `optimize --plan --json` prints."""
        return {
            "judge": self.judge,
            "objective": self.objective.to_json(),
            "simulated": self.simulated,
            "model": self.models[0],
            "optimizer_model": self.models[1],
            "rows": self.sizes,
            "calls": asdict(self.calls),
            "tokens": asdict(self.tokens),
            "money": asdict(self.money),
            "exchanges": self.exchanges,
            "budget": self.budget,
            "bound": [asdict(line) | {"likely": line.likely} for line in self.lines],
            "detectable": self.detectable.to_json(),
            "notes": list(self.notes),
        }


def plan_run(workspace: Workspace, config: RunConfig, environment: Environment) -> Plan:
    """Plan the run that `start_run` would start with the same configuration; nothing is asked.

    Raises:
        InputError: The run could not start: the data, a name or the split cannot be used.
    """
    wanted = prepare_run(workspace, config, environment)
    prepared = within_budget(workspace, wanted)
    config, environment = prepared.config, prepared.environment
    planned = _planned(workspace, prepared)
    judge = f"{planned.prompt.name}@{planned.prompt.version}"
    writer, writer_via = config.optimizer_access
    exchanges = count_exchanges(planned, judge=config.via != "live", optimizer=writer_via != "live")
    lines = bound_run(planned)
    models, summary, rates = _rates(planned, prepared)
    calls, tokens, money = _spans(lines, rates)
    budget = _weigh_budget(parse_budget(config.budget), tokens=tokens, money=money)
    if prepared is not wanted:
        budget = "; ".join(filter(None, (describe_split(wanted.config.folds), budget)))
    return Plan(
        judge=judge,
        objective=planned.objective,
        sizes={
            part: len(getattr(planned.parts, part))
            for part in ("train", "validation", "holdout", "final")
        },
        models=(config.model, writer),
        simulated=any(model.simulated for model in models.values()),
        lines=lines or (),
        calls=calls,
        tokens=tokens,
        money=money,
        exchanges=exchanges,
        budget=budget,
        detectable=minimum_detectable_gain(
            workspace, planned, measured_before(workspace, judge, config.model)
        ),
        row_tokens=summary,
        notes=(
            *_notes(planned),
            *_case_notes(rates),
            *_speed_notes(workspace, {config.model: models["judge"], writer: models["optimizer"]}),
        ),
    )


def within_budget(workspace: Workspace, prepared: PreparedRun) -> PreparedRun:
    """Return the run with a split in the place of folds where its budget does not pay for these.

    Raises:
        InputError: The data cannot be split.
    """
    allowance = parse_budget(prepared.config.budget)
    if allowance.money is None and allowance.tokens is None:
        return prepared
    planned = _planned(workspace, prepared)
    if planned.folds < 2:
        return prepared
    _, tokens, money = _spans(bound_run(planned), _rates(planned, prepared)[2])
    span, limit, _ = _limit(allowance, tokens=tokens, money=money)
    if limit is None or span.likely is None or limit >= span.likely:
        return prepared
    config = replace(prepared.config, folds=1)
    return replace(prepared, config=config, settings=config.settings())


def describe_split(folds: int) -> str:
    """Say what becomes of folds that a budget does not pay for."""
    return (
        f"--budget does not pay for {folds} folds: prompts are written from one half of the open"
        " rows and judged on the other"
    )


def _rates(
    planned: PlannedRun, prepared: PreparedRun
) -> tuple[dict[str, Model], TokenSummary, dict[str, _Rate]]:
    """Return judge and optimizer, the tokens of rows, and what a usual call to each takes."""
    config, environment = prepared.config, prepared.environment
    writer, writer_via = config.optimizer_access
    names = {"judge": config.model, "optimizer": writer}
    models = {who: open_model(name, environment) for who, name in names.items()}
    summary = count_row_tokens(
        planned.dataset.rows,
        model=models["judge"].name,
        prompt=planned.prompt,
        api=environment.settings(config.model).api,
    )
    verdict = summary.total / max(summary.calls, 1), _verdict_tokens(planned)
    sizes = {
        "judge": verdict,
        _WITH_CASES: (verdict[0] + _case_tokens(planned, config), verdict[1]),
        "optimizer": (_brief_tokens(planned), TEXT_TOKENS),
    }
    rates: dict[str, _Rate] = {}
    for what, size in sizes.items():
        who = "optimizer" if what == "optimizer" else "judge"
        prices = Prices(environment.settings(names[who]).price)
        via = writer_via if who == "optimizer" else config.via
        rates[what] = _Rate.of(models[who], prices, via, *size)
    if (cascade := planned.prompt.cascade) is not None:
        slow = open_model(cascade.model, environment)
        prices = Prices(environment.settings(cascade.model).price)
        for what in ("judge", _WITH_CASES):
            second = _Rate.of(slow, prices, "live", sizes[what][0], VERDICT_TOKENS)
            rates[what] = rates[what].then(second, cascade.share)
    return models, summary, rates


def _verdict_tokens(planned: PlannedRun) -> int:
    return REPLY_TOKENS if planned.settings.decides else VERDICT_TOKENS


def _case_tokens(planned: PlannedRun, config: RunConfig) -> int:
    """Return how many tokens decided cases add to a row in the arms that show them."""
    if not any("cases" in proposer.parts for proposer in planned.proposers):
        return 0
    parts, prompt = planned.parts, planned.prompt
    rows = (*parts.training.rows, *parts.validation.rows)
    dataset = replace(planned.dataset, rows=rows)
    new = show_cases(config).made_of(prompt, dataset, config.explanation)
    return tokens_added(new, rows) - tokens_added(prompt, rows)


def _case_notes(rates: Mapping[str, _Rate]) -> Iterator[str]:
    added = round(rates[_WITH_CASES].tokens_in - rates["judge"].tokens_in)
    if added > 0:
        yield (
            f"decided cases add about {added:,} tokens to a row, which is counted in the folds; a"
            " finalist with cases adds as much to each of its calls at the gate"
        )


def _planned(workspace: Workspace, prepared: PreparedRun) -> PlannedRun:
    """Split the rows and read the objective as the run would."""
    config, history = prepared.config, workspace.history()
    beside = rows_seen(workspace, prepared.prompt)
    parts = split_with_memory(
        replace(history, memories=(*history.memories, *beside)),
        None,
        prepared.dataset,
        config.shares,
        allow_opened=config.allow_opened,
    )
    # Neither benchmark nor gate sees the rows that were not drawn evenly.
    even = tuple(row for row in prepared.dataset.rows if row.sampling_probability == 1)
    objective = config.objective_words.read(prepared.prompt, slices=config.saved_slices or {})
    require_probability(prepared.prompt, objective, prepared.settings)
    return PlannedRun(
        prompt=prepared.prompt,
        dataset=replace(prepared.dataset, rows=(*even, *parts.drawn.rows)),
        parts=parts,
        proposers=prepared.proposers,
        settings=prepared.settings,
        objective=objective,
    )


def _brief_tokens(planned: PlannedRun) -> float:
    """Return how long a brief may be, on average over the arms."""
    budgets = [planned.settings.brief_budget(view_of(one)) for one in planned.proposers]
    return sum(budgets) / len(budgets)


# Calls, tokens, money.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rate:
    """What a usual call to one model takes."""

    tokens_in: float
    tokens_out: float
    dollars: float | None
    """None where no price is known."""
    calls: float = 1.0
    """More than one where a slow model is asked about some rows too."""

    def then(self, slow: _Rate, share: float) -> _Rate:
        """Return what it takes to ask a slow model besides, about a share of the rows."""
        unknown = self.dollars is None or slow.dollars is None
        return _Rate(
            tokens_in=self.tokens_in + share * slow.tokens_in,
            tokens_out=self.tokens_out + share * slow.tokens_out,
            dollars=None if unknown else (self.dollars or 0) + share * (slow.dollars or 0),
            calls=1 + share,
        )

    @classmethod
    def of(
        cls, model: Model, prices: Prices, via: Via, tokens_in: float, tokens_out: float
    ) -> _Rate:
        """Price a call of this size."""
        tokens = math.ceil(tokens_in), math.ceil(tokens_out)
        dollars = prices.cost(model.name, model.endpoint, *tokens)
        if dollars is not None and via == "batch":
            dollars *= PRICE_SHARE
        return cls(tokens_in=tokens_in, tokens_out=tokens_out, dollars=dollars)


def _spans(lines: Sequence[Asked] | None, rates: Mapping[str, _Rate]) -> tuple[Span, Span, Span]:
    """Return calls, tokens and money; a search's own calls are taken for the judge's."""
    if lines is None:
        unknown = Span(reason="nobody has counted what this proposer asks")
        return unknown, unknown, unknown
    paired: list[tuple[Asked, _Rate]] = []
    for line in lines:
        who = "judge" if line.who == "either" else line.who
        paired.append((line, rates[_WITH_CASES if line.cases else who]))
    sizes = [rate.tokens_in + rate.tokens_out for _, rate in paired]
    prices = [rate.dollars for _, rate in paired]
    money = Span(reason="the price of a model is unknown; `models add --set price=` names it")
    dollars = [price for price in prices if price is not None]
    if len(dollars) == len(prices):
        money = _span(lines, dollars)
    return _span(lines, [rate.calls for _, rate in paired]), _span(lines, sizes), money


def _span(lines: Sequence[Asked], of_a_call: Sequence[float]) -> Span:
    pairs = list(zip(lines, of_a_call, strict=True))
    return Span(
        likely=sum(line.likely * one for line, one in pairs),
        at_most=sum(line.calls * one for line, one in pairs),
    )


def _limit(allowance: Allowance, *, tokens: Span, money: Span) -> tuple[Span, float | None, str]:
    """Return what a budget is of, how large it is, and how it is written."""
    if allowance.money is not None:
        return money, allowance.money, "${:.4f}"
    return tokens, allowance.tokens, "{:,.0f} tokens"


def _weigh_budget(allowance: Allowance, *, tokens: Span, money: Span) -> str:
    """Say where a budget of dollars or tokens does not cover what the run probably takes."""
    span, limit, form = _limit(allowance, tokens=tokens, money=money)
    if limit is None:
        return ""
    budget = f"--budget {form.format(limit)}"
    if span.likely is None:
        return f"whether {budget} is enough is not known: {span.reason}"
    most = min(MOST_OVER * span.likely, span.at_most or math.inf)
    takes = f"the run probably takes {form.format(span.likely)}"
    if limit < span.likely:
        return f"{budget} is too small and would stop it on the way: {takes}"
    if limit < most:
        return f"{budget} may be too small: {takes}, and seldom more than {form.format(most)}"
    return ""


def _speed_notes(workspace: Workspace, models: Mapping[str, Model]) -> Iterator[str]:
    """Say how long the last calls of each model took in this workspace."""
    if not workspace.exists:
        return
    record = CallStore(workspace.database, "")
    for name, model in models.items():
        calls = record.recent(endpoint=model.endpoint, model=model.name)
        seconds = [reply.latency for _, reply in calls if reply.latency > 0]
        if seconds and not model.simulated:
            took = f"{median(seconds):.2g} s each (median)"
            yield f"{name}: its last {len(seconds):,} calls took {took}"


def _notes(planned: PlannedRun) -> tuple[str, ...]:
    notes = [
        f"likely: {ASSUMED}",
        (
            "at most: every call that the settings allow, at the usual length; what an endpoint"
            " bills for requests that failed, and replies that are cut and asked for once more with"
            " twice the room, come on top, and only --budget stops them"
        ),
        f"a verdict is taken to have {_verdict_tokens(planned)} tokens",
    ]
    notes.append("answers that the workspace has already cost nothing and are not taken off")
    if (cascade := planned.prompt.cascade) is not None:
        notes.append(
            f"{cascade.model} is taken to be asked about {cascade.share:.0%} of the rows, at most"
            " too; a new wording moves the probabilities: choose the band again for it"
        )
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
