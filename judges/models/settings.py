"""What a person sets once for a model, for every command that asks it; the defaults change
nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import InputError
from .model import REFUSABLE, Request
from .price import Price
from .question import DecisionApi
from .transport import TransportName

OMIT = "omit"
"""A setting for a field that is not sent, for endpoints that refuse it."""
_OURS = {"model", "messages", "stream", "stream_options", "n", "top_logprobs", *REFUSABLE}
"""Fields of a request that have a setting of their own, or that every reply depends on."""
_FRAMING = {
    "host",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "expect",
    "transfer-encoding",
    "accept",
    "accept-encoding",
    "te",
    "trailer",
    "upgrade",
    "x-stainless-raw-response",
}
"""Headers that the HTTP client sets."""
_SECRET = re.compile(
    r"authorization|api-?_?key|cookie|secret|password|credential|(?:^|[-_])token$|(?:^|[-_])auth$",
    re.I,
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The settings of one model.

    `Client` applies those of a request; headers and timeout are given to the `Endpoint`, the price
    to the `Prices`.

    Raises:
        InputError: A value cannot be used; the message begins with the field's name.
    """

    extra_body: Mapping[str, Any] = field(
        default_factory=dict
    )  # Any: JSON as the endpoint defines it
    """Further fields of each request, such as `reasoning_effort`; part of the request's key."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers; none of them secret, and not part of the key."""
    temperature: float | Literal["omit"] | None = None
    """Instead of what the caller asks for; `omit` sends none. None leaves it to the caller."""
    response_format: Literal["json_schema", "json_object", "omit"] | None = None
    """The most that is asked for of a reply's form. None finds out what the endpoint takes, and
    keeps to that.
    """
    max_tokens: int | None = None
    """Tokens of a verdict, where the command states no limit; None for the usual 512."""
    optimizer_max_tokens: int | None = None
    """Tokens of a reply for the optimizer or the loss writer; None for what each usually gets."""
    timeout: float = 120.0
    """Seconds for one try."""
    concurrency: int | None = None
    """Calls in flight at most, where the command states no limit."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    price: Price | None = None
    """Instead of the bundled price."""
    api: DecisionApi | None = None
    """The interface of a decision model, which answers typed questions with probabilities; None for
    a chat model. Part of the request's key.
    """
    transport: TransportName | None = None
    """What sends the requests; None for `plain`, or `openai` where the environment needs it."""

    def __post_init__(self) -> None:
        for name in (
            "max_tokens",
            "optimizer_max_tokens",
            "concurrency",
            "requests_per_minute",
            "tokens_per_minute",
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}: {value} is below 1")
        if not (math.isfinite(self.timeout) and 0 < self.timeout <= 86_400):
            raise InputError(f"timeout: {self.timeout!r} is not a number of seconds up to a day")
        if isinstance(self.temperature, float | int) and not 0 <= self.temperature <= 2:
            raise InputError(
                f"temperature: {self.temperature!r} is not between 0 and 2", hint=f"or write {OMIT}"
            )
        for name in self.extra_body:
            _check_extra(name)
        for name, value in self.headers.items():
            _check_header(name, value)

    def apply(self, request: Request) -> Request:
        """Return a request as it is sent to this model; its limit of tokens is then settled."""
        limit = request.max_tokens
        if limit is None:
            limit = self.max_tokens if request.purpose == "judge" else self.optimizer_max_tokens
            limit = request.default_max_tokens if limit is None else limit
        temperature = request.temperature
        if self.temperature is not None:
            temperature = None if self.temperature == OMIT else float(self.temperature)
        form = request.response_format
        if form is not None and self.response_format in (OMIT, "json_object"):
            form = None if self.response_format == OMIT else {"type": "json_object"}
        same = (
            limit == request.token_limit
            and temperature == request.temperature
            and form is request.response_format
        )
        if not self.extra_body and same:
            return request
        extra_body = self.extra_body
        if request.extra_body:
            extra_body = {**extra_body, **request.extra_body}
        return replace(
            request,
            max_tokens=limit,
            temperature=temperature,
            response_format=form,
            extra_body=extra_body,
        )

    def answering(self) -> dict[str, Any]:  # Any: JSON
        """Return the settings that may change an answer, as far as they are set; a run keeps
        them.
        """
        values = {name: getattr(self, name) for name in ANSWERING}
        return {name: value for name, value in values.items() if value not in (None, {})}

    def answering_as(self, values: Mapping[str, Any]) -> ModelSettings:  # Any: JSON
        """Return these settings with what `answering` returned of others."""
        usual = ModelSettings()
        return replace(self, **{name: values.get(name, getattr(usual, name)) for name in ANSWERING})


ANSWERING = (
    "extra_body",
    "temperature",
    "response_format",
    "max_tokens",
    "optimizer_max_tokens",
    "api",
)
"""The settings that may change an answer: they are part of a request."""


def _check_extra(name: str) -> None:
    if name in _OURS:
        hint = (
            "it has a setting of its own"
            if name in ("temperature", "max_tokens")
            else "Judgewright sets it"
        )
        raise InputError(f"extra_body.{name}: this field cannot be set here", hint=hint)
    if _SECRET.search(name):
        # The extra body is stored with each call.
        raise InputError(
            f"extra_body.{name}: no key belongs here",
            hint="key_variable names the variable it is in",
        )


def _check_header(name: str, value: str) -> None:
    if not _HEADER.fullmatch(name):
        raise InputError(f"headers: {name!r:.80} is not the name of a header")
    if _SECRET.search(name):
        # The value is not quoted: it may be a key.
        raise InputError(
            f"headers.{name}: a secret header is not allowed here",
            hint="in your own models.yaml key_variable names the variable that holds the key",
        )
    if name.lower() in _FRAMING:
        raise InputError(f"headers.{name}: the HTTP client sets this header")
    if not (value.isascii() and value.isprintable()):
        raise InputError(f"headers.{name}: the value has characters that cannot stand in a header")
