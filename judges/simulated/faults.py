"""Injected errors: what a served model does wrong on purpose, how often, and always the same way
for a seed.

A spec is a comma-separated list such as `429=0.10,503=0.05,garbage=0.05,retry_after=0.05,seed=3`:

* `408 409 429 5xx = RATE` answer with that status; `timeout = RATE` hold the connection, then drop
  it; `badjson = RATE` answer with a body that is no JSON. These are drawn anew for every attempt of
  a body.
* `garbage = RATE` answer 200 with a text that holds no verdict; `truncate = RATE` cut the text and
  say `length`; `refusal = RATE` decline. These are properties of a body: asked again, it gives the
  same.
* `reasoning = 2500` thinks with so many tokens before every answer; a lower limit of tokens cuts it
  there.
* `latency`, `retry_after`, `hold` are seconds; `refuse = temperature+logprobs` names parameters to
  refuse; `seed` is an integer; `once = true` spares all attempts of a body but the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ..errors import InputError
from ..models.model import REFUSABLE


def _status(status: int) -> int:
    if status not in {408, 409, 429} and not 500 <= status <= 599:
        raise ValueError("a status is 408, 409, 429 or 5xx")
    return status


def _refusable(parameter: str) -> str:
    if parameter not in REFUSABLE:
        raise ValueError(f"it cannot be refused; one of {', '.join(REFUSABLE)} can")
    return parameter


_Rate = Annotated[float, Field(ge=0, le=1)]
_Seconds = Annotated[float, Field(ge=0, le=3600)]


class Faults(BaseModel):
    """The errors to inject, as rates in [0, 1] and durations in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statuses: tuple[tuple[Annotated[int, AfterValidator(_status)], _Rate], ...] = ()
    """HTTP status and the share of attempts that get it."""
    garbage: _Rate = 0.0
    truncate: _Rate = 0.0
    refusal: _Rate = 0.0
    timeout: _Rate = 0.0
    badjson: _Rate = 0.0
    reasoning: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Tokens spent before each answer."""
    latency: _Seconds = 0.0
    retry_after: _Seconds | None = None
    """Seconds in the Retry-After header of a 429 or 503; None sends no header."""
    hold: _Seconds = 2.0
    """Seconds a connection is held before it is dropped by `timeout`."""
    refuse: frozenset[Annotated[str, AfterValidator(_refusable)]] = frozenset()
    seed: int = 0
    once: bool = False

    @model_validator(mode="after")
    def _at_most_one_each(self) -> Self:
        per_attempt = sum(rate for _, rate in self.statuses) + self.timeout + self.badjson
        units = {
            "attempt": per_attempt,
            "body": self.garbage + self.truncate + self.refusal,
        }
        for unit, total in units.items():
            if total > 1.0 + 1e-9:
                raise ValueError(
                    f"those drawn per {unit} add up to {total:g}; at most 1 is possible"
                )
        return self

    @classmethod
    def parse(cls, spec: str) -> Faults:
        """Read a spec; the empty one injects no errors.

        Raises:
            InputError: A token is unknown, given twice, or its value is out of range; the message
                names it.
        """
        values: dict[str, str | list[str]] = {}
        statuses: dict[str, str] = {}
        for token in filter(None, map(str.strip, spec.split(","))):
            name, equals, value = (piece.strip() for piece in token.partition("="))
            if not equals:
                raise InputError(f"fault {token!r} is not NAME=VALUE")
            if name in values or name in statuses:
                raise InputError(f"fault {token!r}: {name!r} is given twice")
            if name.isdecimal():
                statuses[name] = value
            else:
                values[name] = value.split("+") if name == "refuse" else value
        try:
            return cls.model_validate({**values, "statuses": tuple(statuses.items())})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            if not first["loc"]:
                raise InputError(f"faults: {first['msg']}") from None
            name, names = first["loc"][0], ", ".join(["a status", *list(cls.model_fields)[1:]])
            hint = f"known are {names}" if first["type"] == "extra_forbidden" else None
            raise InputError(
                f"fault {name!r}: {first['input']!r}: {first['msg']}", hint=hint
            ) from None

    def transient(self, body: bytes, attempt: int) -> str | None:
        """Return what goes wrong with this attempt (counted from 1): a status, `timeout`, `badjson`
        or None.
        """
        if self.once and attempt > 1:
            return None
        rates = [(str(status), rate) for status, rate in self.statuses]
        rates += [("timeout", self.timeout), ("badjson", self.badjson)]
        return self._draw(rates, body, f"attempt {attempt}")

    def sticky(self, body: bytes) -> str | None:
        """Return what goes wrong with every answer to this body: `garbage`, `truncate`, `refusal`
        or None.
        """
        kinds = ("garbage", "truncate", "refusal")
        return self._draw([(kind, getattr(self, kind)) for kind in kinds], body, "body")

    def garbage_text(self, body: bytes) -> str:
        """Return letters without a digit, a bracket or a word, the same for the same body."""
        # No digit, bracket or word: nothing in it may be read as a verdict.
        digest = hashlib.blake2b(body, digest_size=32, key=str(self.seed).encode()).digest()
        letters = "".join("bcdfghjklmpqrstvwxz"[byte % 19] for byte in digest)
        return " ".join(letters[i : i + 6] for i in range(0, 30, 6))

    def _draw(self, rates: Iterable[tuple[str, float]], body: bytes, salt: str) -> str | None:
        digest = hashlib.blake2b(f"{self.seed}/{salt}/".encode() + body, digest_size=8).digest()
        # One uniform number, and each kind has its share of [0, 1): at most one of them happens.
        draw = int.from_bytes(digest, "big") / 2**64
        for kind, rate in rates:
            if draw < rate:
                return kind
            draw -= rate
        return None
