"""Ask a model a few small things, and say which settings its endpoint honours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from statistics import mean, median
from typing import Any, Literal

from ...judges import (
    Completion,
    Dataset,
    InputError,
    JudgePrompt,
    JudgeSettings,
    Message,
    Model,
    ModelError,
    Prices,
    Request,
    Unscored,
    judge_request,
    read_reply,
    without_thinking,
)
from ...judges.models import OMIT, Ladder, ModelSettings, Speed, changed, ignored_parameters
from ..config.environment import Environment, open_model

Outcome = Literal["honoured", "ignored", "refused", "not sent", "cannot tell"]

_AT_ONCE = 4
_TRIES = 3
_LONGEST_PAUSE = 20.0
"""Seconds to wait at most before an answer is asked for again."""
_LIMIT = 32
"""Tokens that a long answer is limited to."""
_CHAT_LIMIT = 400
"""Tokens for a short answer, where the model's settings have no limit."""
_CHAT_SECONDS = 15.0
"""For which a slow model may write on a short answer."""
_TEXTS = 3
"""Answers that are compared."""
_RANDOM = "Invent a sentence about any animal, and add a random number with eight digits."
_GREETING = "Wish somebody a good morning in one short sentence."
_STORY = "Tell a long story about a lighthouse."


@dataclass(frozen=True, slots=True)
class Check:
    """What became of one setting."""

    setting: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """What an endpoint honours, how fast it is, and what it costs."""

    name: str
    model: str
    base_url: str
    simulated: bool
    checks: tuple[Check, ...]
    latency: float
    """Median seconds of a verdict."""
    rows: int
    readable: int
    """Rows whose reply has a verdict."""
    unreadable: str
    """Why the first of the others has none."""
    tokens_in: float
    """Mean of a row."""
    tokens_out: float
    reasoning: float | None
    """Mean tokens of a row that the model thought with; None where the endpoint does not say."""
    thousand_rows: float | None
    """US dollars; None where the price is unknown."""
    calls: int
    cost: float | None
    """US dollars of this test."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `models test --json` prints."""
        return asdict(self)


def check_model(
    name: str,
    environment: Environment,
    prompt: JudgePrompt,
    rows: Dataset,
    *,
    judge: JudgeSettings | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> ModelReport:
    """Send about twenty requests to a model, and say what its endpoint honours; nothing is
    recorded.

    Args:
        name: The model, as `--model` takes it.
        environment: Names, base URL, keys and prices.
        prompt: The judge that is asked about the rows.
        rows: A few rows.
        judge: How the judge is asked.
        tell: Called with a line as each check begins and ends, and now and then while an answer is
            awaited.

    Raises:
        InputError: The name cannot be used, its key is missing, or there is no row.
        ModelError: The endpoint cannot be asked at all.
    """
    if not len(rows):
        raise InputError("there is no row to ask about")
    environment.require_named(name, who=f"the model {name!r}")
    environment.require_keys(name)
    settings = environment.settings(name)
    prices = Prices(environment.prices, settings.price)
    return asyncio.run(
        _check(name, open_model(name, environment), settings, prices, prompt, rows, judge, tell)
    )


async def _check(
    name: str,
    model: Model,
    settings: ModelSettings,
    prices: Prices,
    prompt: JudgePrompt,
    rows: Dataset,
    judge: JudgeSettings | None,
    tell: Callable[[str], None],
) -> ModelReport:
    asker = _Asker(model, settings, prices, Ladder(), Speed(settings.timeout), tell)
    checks: list[Check] = []
    try:
        asked = [judge_request(prompt, row, settings=judge or JudgeSettings()) for row in rows.rows]
        # The first alone: a wrong key or name is then said once.
        asker.begin(f"{len(asked)} rows of {prompt.name}")
        replies = [await asker.ask(asked[0])]
        replies += await asker.ask_all(asked[1:])
        for doing, check in {
            "a JSON schema": _json_schema,
            "temperature and seed": _sampling,
            "log-probabilities": partial(_log_probabilities, verdict=asked[0]),
            "the token limit": partial(_token_limit, verdict=asked[0], answered=replies[0]),
        }.items():
            asker.begin(doing)
            found = await check(asker)
            for one in found:
                tell(f"  {one.setting}: {one.outcome}, {one.reason}")
            checks += found
    finally:
        await model.close()
    unreadable = [
        answer for reply in replies if isinstance(answer := read_reply(prompt, reply), Unscored)
    ]
    thoughts = [reply.reasoning_tokens for reply in replies if reply.reasoning_tokens is not None]
    costs = [asker.cost(reply) for reply in replies]
    known = [cost for cost in costs if cost is not None]
    spent = [asker.cost(reply) for reply in asker.replies]
    paid = [cost for cost in spent if cost is not None]
    return ModelReport(
        name=name,
        model=model.name,
        base_url=model.endpoint,
        simulated=model.simulated,
        checks=(*checks, _reasoning(replies), _usage(replies)),
        latency=median(asker.latencies[: len(replies)]),
        rows=len(replies),
        readable=len(replies) - len(unreadable),
        unreadable=f"{unreadable[0].reason}: {unreadable[0].detail}" if unreadable else "",
        tokens_in=mean(reply.tokens_in for reply in replies),
        tokens_out=mean(reply.tokens_out for reply in replies),
        reasoning=mean(thoughts) if thoughts else None,
        thousand_rows=1000 * mean(known) if len(known) == len(costs) else None,
        calls=len(asker.replies),
        cost=sum(paid) if len(paid) == len(spent) else None,
    )


@dataclass(slots=True)
class _Asker:
    """Asks one model without a record, and notes what the endpoint refuses."""

    model: Model
    settings: ModelSettings
    prices: Prices
    ladder: Ladder
    speed: Speed
    tell: Callable[[str], None]
    replies: list[Completion] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    async def ask(self, request: Request) -> Completion:
        """Return the reply, asked for as the endpoint takes it, and as long as its time limit
        allows.
        """
        request = self.settings.apply(request)
        if not self.model.simulated:
            request = self.speed.fitted(request)
        tries, loop = 0, asyncio.get_running_loop()
        while True:
            omitted = self.ladder.omitted
            began = loop.time()
            try:
                reply = await self.model.complete(
                    changed(request, omitted), unsupported_parameters=omitted
                )
            except ModelError as error:
                refusal = self.ladder.refuse(request, omitted, error)
                if refusal is None:
                    continue
                tries += 1
                if not refusal.retryable or refusal.late or tries == _TRIES:
                    raise refusal from None
                await asyncio.sleep(min(error.retry_after or 1.0, _LONGEST_PAUSE))
                continue
            self.ladder.accept(request, omitted)
            self.latencies.append(loop.time() - began)
            self.speed.learn(reply, self.latencies[-1])
            self.replies.append(reply)
            return reply

    async def ask_all(self, requests: Sequence[Request]) -> list[Completion]:
        """Return the replies, a few asked for at once where the model is not slow."""
        replies: list[Completion] = []
        at_once = (
            1 if self.speed.room < _AT_ONCE * _CHAT_LIMIT and self.speed.per_second else _AT_ONCE
        )
        for start in range(0, len(requests), at_once):
            replies += await asyncio.gather(
                *(self.ask(request) for request in requests[start : start + at_once])
            )
        return replies

    def begin(self, doing: str) -> None:
        """Say what is asked about from now on."""
        speed = f", {self.speed.per_second:.3g} tokens/s" if self.speed.per_second else ""
        self.tell(f"asking {self.model.name} at {self.model.endpoint} about {doing}{speed}")

    def request(self, text: str, **fields: Any) -> Request:  # Any: the fields of a request
        """Return a request that is no judge's."""
        limit = _CHAT_LIMIT
        if self.speed.per_second is not None:
            limit = max(_LIMIT, min(limit, int(_CHAT_SECONDS * self.speed.per_second)))
        return Request(messages=(Message("user", text),), **{"default_max_tokens": limit, **fields})

    def cost(self, reply: Completion) -> float | None:
        """Return US dollars."""
        model = self.model
        return self.prices.cost(
            model.name, model.endpoint, reply.tokens_in, reply.tokens_out, reply.tokens_cached
        )


async def _json_schema(asker: _Asker) -> list[Check]:
    """Ask for an object that no prompt mentions: only an endpoint that reads the schema can answer
    with it.
    """
    wanted = {"kel": ["vip", "mot"], "sab": ["nuk", "dor"]}
    properties = {name: {"type": "string", "enum": values} for name, values in wanted.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*wanted],
        "additionalProperties": False,
    }
    form = {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }
    requests = [asker.request(_GREETING, response_format=form, repeat=k) for k in range(2)]
    replies = await asker.ask_all(requests)
    fits = [_in_schema(reply.text, wanted) for reply in replies]
    outcome: Outcome = "refused"
    if "response_format" in asker.ladder.omitted:
        reason = "it is left out; replies are read from text"
    elif "json_schema" in asker.ladder.omitted:
        reason = "json_object is sent; fields are read from text"
    elif all(fits):
        outcome, reason = "honoured", "replies keep to a schema that the prompt does not name"
    elif reason := _cut(replies):
        outcome = "cannot tell"
    else:
        outcome = "ignored"
        reason = f"{fits.count(False)} of {len(fits)} replies are not in the schema"
    return [Check("JSON schema", outcome, reason)]


def _in_schema(text: str, wanted: dict[str, list[str]]) -> bool:
    try:
        body = json.loads(without_thinking(text))
    except ValueError:
        return False
    return (
        isinstance(body, dict)
        and set(body) == set(wanted)
        and all(body[key] in wanted[key] for key in wanted)
    )


async def _sampling(asker: _Asker) -> list[Check]:
    """Compare answers at temperature 1 and 0, and of equal and different seeds."""
    # What the endpoint does is asked, not what the settings say; a temperature that must be left
    # out is left out.
    plain = asker
    if asker.settings.temperature != OMIT:
        plain = replace(asker, settings=replace(asker.settings, temperature=None))
    hot: dict[str, Any] = {"temperature": 1.0}  # Any: the fields of a request
    sampled = await plain.ask_all([plain.request(_RANDOM, **hot, repeat=k) for k in range(_TEXTS)])
    again = await plain.ask(plain.request(_RANDOM, **hot, repeat=0))
    cold = await plain.ask_all(
        [plain.request(_RANDOM, temperature=0.0, repeat=k) for k in range(_TEXTS)]
    )
    replies = [*sampled, again, *cold]
    varied, fixed = len({reply.text for reply in sampled}), len({reply.text for reply in cold})
    empty = ""
    if not all(reply.text.strip() for reply in replies):
        empty = _cut(replies) or "a reply is empty"
    same = sampled[0].text == again.text
    return [_temperature(asker, varied, fixed, empty), _seed(asker, varied, same, empty)]


def _temperature(asker: _Asker, varied: int, fixed: int, empty: str) -> Check:
    name = "temperature"
    if asker.settings.temperature == OMIT:
        return Check(name, "not sent", f"the settings say {OMIT}")
    if name in asker.ladder.omitted:
        return Check(name, "refused", "it is left out; the endpoint's own applies")
    if empty:
        return Check(name, "cannot tell", empty)
    if varied == 1:
        return Check(name, "ignored", f"{_TEXTS} answers at 1 with different seeds are equal")
    if fixed == 1:
        return Check(name, "honoured", "answers vary at 1 and are equal at 0")
    return Check(name, "cannot tell", f"{fixed} of {_TEXTS} answers at 0 differ, as they do at 1")


def _seed(asker: _Asker, varied: int, same: bool, empty: str) -> Check:
    name = "seed"
    if name in asker.ladder.omitted:
        return Check(name, "refused", "it is left out; --repeat may get equal answers")
    if empty:
        return Check(name, "cannot tell", empty)
    if not same:
        return Check(name, "ignored", "the same seed at temperature 1 gave another answer")
    if varied < _TEXTS:
        return Check(name, "cannot tell", "different seeds gave equal answers too")
    return Check(name, "honoured", "the same seed gives the same answer, another one another")


async def _log_probabilities(asker: _Asker, verdict: Request) -> list[Check]:
    reply = await asker.ask(replace(verdict, top_logprobs=3))
    name, useless = "log-probabilities", "--confidence tok cannot be used"
    if "logprobs" in asker.ladder.omitted:
        return [Check(name, "refused", useless)]
    if reply.logprobs:
        return [Check(name, "honoured", f"of {len(reply.logprobs)} tokens")]
    return [Check(name, "ignored", f"the reply has none; {useless}")]


async def _token_limit(asker: _Asker, verdict: Request, answered: Completion) -> list[Check]:
    limit, request = _LIMIT, asker.request(_STORY, max_tokens=_LIMIT)
    reply = await asker.ask(request)
    if reply.finish_reason != "length" and reply.tokens_out <= limit and answered.tokens_out > 1:
        # It tells no long stories; a verdict that was complete before is cut at half its length.
        limit = answered.tokens_out // 2
        request = replace(verdict, max_tokens=limit)
        reply = await asker.ask(request)
    refused = asker.ladder.omitted & {"max_tokens", "max_completion_tokens"}
    if len(refused) == 2:
        reason = "neither max_tokens nor max_completion_tokens"
        return [Check("token limit", "refused", reason)]
    name = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
    written = f"{reply.tokens_out} tokens where {limit} were allowed"
    if reply.extra.get("tokens") == "estimated":
        return [Check(name, "cannot tell", "the endpoint reports no tokens")]
    if "max_tokens" in ignored_parameters(request, reply):
        return [Check(name, "ignored", written)]
    if reply.finish_reason == "length":
        return [Check(name, "honoured", f"{written}, and the reply says that it was cut")]
    return [Check(name, "cannot tell", f"the reply ended by itself after {written}")]


def _reasoning(replies: Sequence[Completion]) -> Check:
    name = "reasoning tokens"
    thoughts = [reply.reasoning_tokens for reply in replies if reply.reasoning_tokens is not None]
    if thoughts:
        return Check(name, "honoured", f"reported: {median(thoughts):,.0f} in a verdict")
    if any(without_thinking(reply.text) != reply.text for reply in replies):
        return Check(name, "ignored", "not reported, and the model thinks in its text")
    return Check(name, "cannot tell", "not reported: the model may not think")


def _usage(replies: Sequence[Completion]) -> Check:
    if any(reply.extra.get("tokens") == "estimated" for reply in replies):
        reason = "tokens are estimated; a budget in money holds only roughly"
        return Check("usage", "ignored", reason)
    return Check("usage", "honoured", "tokens are reported")


def _cut(replies: Sequence[Completion]) -> str:
    """Say that a reply was cut at its limit, and where the tokens went; empty where none was."""
    for reply in replies:
        if reply.finish_reason == "length":
            thought = ""
            if reply.reasoning_tokens:
                thought = f", {reply.reasoning_tokens:,} of them of reasoning"
            return (
                f"a reply was cut after {reply.tokens_out:,} tokens{thought}; raise max_tokens of"
                " the model"
            )
    return ""
