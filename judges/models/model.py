"""The seam to a language model: a request, a completion, and the protocol between them.

A `Model` makes exactly one try. Retries, rate limits, the budget and the record of calls belong to
`client.Client`, which is the only place where they are done, for every model alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

REQUEST_SCHEMA = 1
REFUSABLE = (
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "logprobs",
    "response_format",
    "seed",
)
"""Parameters of a request that an endpoint may refuse."""

Purpose = Literal["judge", "optimizer", "loss", "reading"]
"""Who asks: a judge about a row, a proposer about a prompt, the loss writer. Not part of the key.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat completion asked for; everything that may change the answer is a field of it."""

    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    max_tokens: int | None = None
    """The most tokens of the reply; None: what the model's settings say, else `default_max_tokens`.
    """
    default_max_tokens: int | None = None
    """None for no limit."""
    top_logprobs: int | None = None
    """How many alternatives per token to ask log-probabilities for; None asks for none."""
    response_format: Mapping[str, Any] | None = None  # Any: JSON as the endpoint defines it
    repeat: int = 0
    """Which repetition of an otherwise equal request this is; sent as `seed`, and part of the key.
    """
    extra_body: Mapping[str, Any] = field(
        default_factory=dict
    )  # Any: JSON as the endpoint defines it
    """Further fields to send, such as `reasoning_effort`; see `ModelSettings`."""
    purpose: Purpose = "judge"

    @property
    def token_limit(self) -> int | None:
        """The most tokens of the reply; None for no limit."""
        return self.default_max_tokens if self.max_tokens is None else self.max_tokens

    def body(self) -> dict[str, Any]:  # Any: JSON
        """The parameters as an OpenAI-compatible endpoint names them, without the model."""
        messages = [{"role": message.role, "content": message.content} for message in self.messages]
        body: dict[str, Any] = {**self.extra_body, "messages": messages}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.token_limit is not None:
            body["max_tokens"] = self.token_limit
        if self.top_logprobs is not None:
            body["logprobs"] = True
            body["top_logprobs"] = self.top_logprobs
        if self.response_format is not None:
            body["response_format"] = dict(self.response_format)
        # Always sent: repeats of one request must be different requests to the endpoint too.
        body["seed"] = self.repeat
        return body

    def key(self, *, endpoint: str, model: str) -> bytes:
        """32 bytes that identify this request at this model; never depends on key, timeout or
        headers.
        """
        # The purpose is not in it: the same question answered for a judge answers a proposer as
        # well.
        body = {"schema": REQUEST_SCHEMA, "endpoint": endpoint, "model": model, **self.body()}
        return hashlib.blake2b(
            orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=32
        ).digest()


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One generated token, its log-probability, and the alternatives the endpoint returned."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


REASONING = "reasoning_tokens"
"""The name in `Completion.extra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model answered."""

    text: str
    finish_reason: str = "stop"
    """`stop`, `length` (truncated), `content_filter` (refused), `tool_calls` (a tool was called,
    though none was offered), or what else the endpoint says; see `FINISHES` of
    `reply_reading.py`."""
    token_limit: int | None = None
    """Of a reply that was cut: how many tokens it was allowed in the end; not recorded."""
    refusal: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    model_returned: str = ""
    fingerprint: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    dropped: tuple[str, ...] = ()
    """Parameters that were asked for and left out because the endpoint refuses them."""
    cost: float | None = None
    """US dollars this completion cost when it was made; None where the price is unknown."""
    latency: float = 0.0
    """Seconds on the wire; 0 for a cached answer."""
    recorded: bool = False
    """Whether it was cached and cost nothing now."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further notes of the endpoint's; stored with the call."""

    @property
    def reasoning_tokens(self) -> int | None:
        """How many of `tokens_out` the model thought with before it answered; None where it does
        not say.
        """
        noted = self.extra.get(REASONING)
        return None if noted is None else int(noted)

    @property
    def reply_hash(self) -> str:
        """Sixteen hexadecimal digits of the text's hash."""
        return hashlib.blake2b(
            self.text.encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest()


class Model(Protocol):
    """A chat model that makes one try per call."""

    @property
    def name(self) -> str:
        """The model's name at its endpoint, such as `your-model`."""
        ...

    @property
    def endpoint(self) -> str:
        """The endpoint's base URL, or `simulated:VERSION` for the embedded model."""
        ...

    @property
    def simulated(self) -> bool:
        """Whether its answers say nothing about real models."""
        ...

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Make one try.

        Args:
            request: What to ask.
            unsupported_parameters: What to leave out (`temperature`, `max_tokens`, `logprobs`,
                `response_format`, `seed`), because the endpoint has refused them. Leaving out
                `max_tokens` means trying `max_completion_tokens`; leaving out both names sends no
                limit.

        Raises:
            ModelError: The try failed; the error says whether another may help.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
