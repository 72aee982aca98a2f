"""Ask a model a few small things, and say which settings its endpoint honours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    Prices,
    Registry,
    Request,
    Unscored,
    load_dataset,
    without_thinking,
)
from ...judges.files.rows_in_memory import rows_in_memory
from ...judges.judge import AskedText, asked_judge
from ...judges.models import OMIT, Client, FailedCall, MemoryRecord, ignored_parameters
from ..config.environment import Environment, open_model
from ..demo import JUDGE, demo_rows

Outcome = Literal["honoured", "ignored", "refused", "not sent", "cannot tell"]

_TRIAL_SECONDS = 60.0
"""For which one question is awaited, with a person looking on."""
_AT_ONCE = 4
_TRIES = 3
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrial:
    """What came back from one question to a model."""

    simulated: bool
    reply: Completion
    verdict: str
    """What was read in the reply; empty where there is no verdict in it."""
    unreadable: str
    """Why there is none."""


def try_model(name: str, environment: Environment) -> ModelTrial:
    """Ask a model one question, about a built-in row that is made up; nothing is recorded.

    Args:
        name: The model, as `--model` takes it.
        environment: Names, base URL, keys and prices. The user names the model in this command.

    Raises:
        InputError: The name cannot be used, or its key is missing.
        ModelError: The endpoint cannot be asked.
    """
    prompt = Registry().get(JUDGE)
    source = rows_in_memory(demo_rows(documents=1), name="the built-in rows")
    rows = load_dataset(source, inputs=prompt.inputs, scale=prompt.scale, limit=1)
    quiet = replace(environment, watch=None)
    with _open_client(name, quiet, tries=1, seconds=_TRIAL_SECONDS) as client:
        asked = asked_judge(prompt, client, JudgeSettings())
        reply = client.ask_one(asked.request(rows.rows[0]))
        answer = asked.read(reply)
        if isinstance(answer, Unscored):
            verdict, unreadable = "", f"{answer.reason}: {answer.detail}"
        else:
            verdict, unreadable = "grounded" if answer.positive else "not grounded", ""
        return ModelTrial(
            simulated=client.model.simulated,
            reply=reply,
            verdict=verdict,
            unreadable=unreadable,
        )


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
        prompt: The judge that is asked about the rows.
        tell: Called with a line as each check begins and ends; while answers are awaited the
            environment's `watch` is.

    Raises:
        InputError: The name cannot be used, its key is missing, or there is no row.
        ModelError: The endpoint cannot be asked at all.
    """
    if not len(rows):
        raise InputError("there is no row to ask about")
    # What took as long takes as long another time.
    seconds = environment.settings(name).timeout
    with _open_client(name, environment, tries=_TRIES, seconds=seconds) as client:
        return _check(name, _Asker(client, tell), prompt, rows, judge)


def _open_client(name: str, environment: Environment, *, tries: int, seconds: float) -> Client:
    environment.require_named(name, who=f"the model {name!r}")
    environment.require_keys(name)
    settings, watch = environment.settings(name), environment.watch
    return Client(
        open_model(name, environment),
        settings=settings,
        record=_NoRecord(),
        prices=Prices(environment.prices, settings.price),
        watch=None if watch is None else lambda _, progress: watch("the test", progress),
        concurrency=_AT_ONCE,
        tries=tries,
        row_seconds=seconds,
        widens=False,
    )


def _check(
    name: str,
    asker: _Asker,
    prompt: JudgePrompt,
    rows: Dataset,
    judge: JudgeSettings | None,
) -> ModelReport:
    checks: list[Check] = []
    asked = asked_judge(prompt, asker.client, judge or JudgeSettings())
    verdict_requests = list(map(asked.request, rows.rows))
    # The first alone: a wrong key or name is then said once.
    asker.begin(f"{len(verdict_requests)} rows of {prompt.name}")
    replies = [asker.ask(verdict_requests[0]), *asker.ask_all(verdict_requests[1:])]
    of_chat = {
        "a JSON schema": _json_schema,
        "temperature and seed": _sampling,
        "log-probabilities": partial(_log_probabilities, verdict=verdict_requests[0]),
        "the token limit": partial(_token_limit, verdict=verdict_requests[0], answered=replies[0]),
    }
    # A decision model takes none of these.
    for doing, check in of_chat.items() if isinstance(asked, AskedText) else ():
        asker.begin(doing)
        outcomes = check(asker)
        for outcome in outcomes:
            asker.tell(f"  {outcome.setting}: {outcome.outcome}, {outcome.reason}")
        checks += outcomes
    unreadable = [one for one in map(asked.read, replies) if isinstance(one, Unscored)]
    thoughts = [reply.reasoning_tokens for reply in replies if reply.reasoning_tokens is not None]
    costs = [reply.cost for reply in replies if reply.cost is not None]
    model, stats = asker.client.model, asker.client.stats
    return ModelReport(
        name=name,
        model=model.name,
        base_url=model.endpoint,
        simulated=model.simulated,
        checks=(*checks, _reasoning(replies), _usage(replies)),
        latency=median(reply.latency for reply in replies),
        rows=len(replies),
        readable=len(replies) - len(unreadable),
        unreadable=f"{unreadable[0].reason}: {unreadable[0].detail}" if unreadable else "",
        tokens_in=mean(reply.tokens_in for reply in replies),
        tokens_out=mean(reply.tokens_out for reply in replies),
        reasoning=mean(thoughts) if thoughts else None,
        thousand_rows=1000 * mean(costs) if len(costs) == len(replies) else None,
        calls=stats.calls,
        cost=stats.cost if stats.price_known else None,
    )


class _NoRecord(MemoryRecord):
    """Answers nothing from what was asked before: equal requests are compared."""

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """Return nothing."""
        return {}


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks one model."""

    client: Client
    tell: Callable[[str], None]

    @property
    def refused(self) -> set[str]:
        """What the endpoint refuses, as `Completion.dropped` has it."""
        return self.client.stats.dropped

    def ask(self, request: Request) -> Completion:
        """Return the reply, asked for as the endpoint takes it."""
        return self.client.ask_one(request)

    def ask_all(self, requests: Sequence[Request]) -> list[Completion]:
        """Return the replies; raise the error of the first request that has none."""
        replies: list[Completion] = []
        for outcome in self.client.ask(requests):
            if not isinstance(outcome, Completion):
                raise outcome
            replies.append(outcome)
        return replies

    def begin(self, doing: str) -> None:
        """Say what is asked about from now on."""
        model, per_second = self.client.model, self.client.stats.speed
        speed = f", {per_second:.3g} tokens/s" if per_second else ""
        self.tell(f"asking {model.name} at {model.endpoint} about {doing}{speed}")

    def request(self, text: str, **fields: Any) -> Request:  # Any: the fields of a request
        """Return a request that is no judge's."""
        limit = _CHAT_LIMIT
        if (per_second := self.client.stats.speed) is not None:
            limit = max(_LIMIT, min(limit, int(_CHAT_SECONDS * per_second)))
        own_limit = self.client.settings.max_tokens  # a model that thinks needs it
        fields = {"default_max_tokens": limit, "max_tokens": own_limit, **fields}
        return Request(messages=(Message("user", text),), purpose="optimizer", **fields)


def _json_schema(asker: _Asker) -> list[Check]:
    """Ask for an object that no prompt mentions: only an endpoint that reads the schema can answer
    with it.
    """
    choices = {"kel": ["vip", "mot"], "sab": ["nuk", "dor"]}
    properties = {name: {"type": "string", "enum": values} for name, values in choices.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*choices],
        "additionalProperties": False,
    }
    form = {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }
    requests = [asker.request(_GREETING, response_format=form, repeat=k) for k in range(2)]
    replies = asker.ask_all(requests)
    fits = [_in_schema(reply.text, choices) for reply in replies]
    outcome: Outcome = "refused"
    if "response_format" in asker.refused:
        reason = "it is left out; replies are read from text"
    elif "json_schema" in asker.refused:
        reason = "json_object is sent; fields are read from text"
    elif all(fits):
        outcome, reason = "honoured", "replies keep to a schema that the prompt does not name"
    elif reason := _cut(replies):
        outcome = "cannot tell"
    else:
        outcome = "ignored"
        reason = f"{fits.count(False)} of {len(fits)} replies are not in the schema"
    return [Check("JSON schema", outcome, reason)]


def _in_schema(text: str, choices: dict[str, list[str]]) -> bool:
    try:
        body = json.loads(without_thinking(text))
    except ValueError:
        return False
    return (
        isinstance(body, dict)
        and set(body) == set(choices)
        and all(body[key] in choices[key] for key in choices)
    )


def _sampling(asker: _Asker) -> list[Check]:
    """Compare answers at temperature 1 and 0, and of equal and different seeds."""
    # What the endpoint does is asked, not what the settings say; a temperature that must be left
    # out is left out.
    settings = asker.client.settings
    if settings.temperature != OMIT:
        asker.client.settings = replace(settings, temperature=None)
    hot: dict[str, Any] = {"temperature": 1.0}  # Any: the fields of a request
    sampled = asker.ask_all([asker.request(_RANDOM, **hot, repeat=k) for k in range(_TEXTS)])
    again = asker.ask(asker.request(_RANDOM, **hot, repeat=0))
    cold = asker.ask_all([asker.request(_RANDOM, temperature=0.0, repeat=k) for k in range(_TEXTS)])
    asker.client.settings = settings
    replies = [*sampled, again, *cold]
    varied, fixed = len({reply.text for reply in sampled}), len({reply.text for reply in cold})
    empty = ""
    if not all(reply.text.strip() for reply in replies):
        empty = _cut(replies) or "a reply is empty"
    same = sampled[0].text == again.text
    return [_temperature(asker, varied, fixed, empty), _seed(asker, varied, same, empty)]


def _temperature(asker: _Asker, varied: int, fixed: int, empty: str) -> Check:
    name = "temperature"
    if asker.client.settings.temperature == OMIT:
        return Check(name, "not sent", f"the settings say {OMIT}")
    if name in asker.refused:
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
    if name in asker.refused:
        return Check(name, "refused", "it is left out; --repeat may get equal answers")
    if empty:
        return Check(name, "cannot tell", empty)
    if not same:
        return Check(name, "ignored", "the same seed at temperature 1 gave another answer")
    if varied < _TEXTS:
        return Check(name, "cannot tell", "different seeds gave equal answers too")
    return Check(name, "honoured", "the same seed gives the same answer, another one another")


def _log_probabilities(asker: _Asker, verdict: Request) -> list[Check]:
    reply = asker.ask(replace(verdict, top_logprobs=3))
    name, useless = "log-probabilities", "--confidence tok cannot be used"
    if "logprobs" in asker.refused:
        return [Check(name, "refused", useless)]
    if reply.logprobs:
        return [Check(name, "honoured", f"of {len(reply.logprobs)} tokens")]
    return [Check(name, "ignored", f"the reply has none; {useless}")]


def _token_limit(asker: _Asker, verdict: Request, answered: Completion) -> list[Check]:
    limit, request = _LIMIT, asker.request(_STORY, max_tokens=_LIMIT)
    reply = asker.ask(request)
    if reply.finish_reason != "length" and reply.tokens_out <= limit and answered.tokens_out > 1:
        # It tells no long stories; a verdict that was complete before is cut at half its length.
        limit = answered.tokens_out // 2
        request = replace(verdict, max_tokens=limit)
        reply = asker.ask(request)
    if "max_tokens" in asker.refused:
        reason = "neither max_tokens nor max_completion_tokens"
        return [Check("token limit", "refused", reason)]
    name = "max_completion_tokens" if "max_tokens_name" in asker.refused else "max_tokens"
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
