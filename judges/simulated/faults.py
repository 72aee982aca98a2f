"""Injected errors: what a served model does wrong on purpose, how often, and always the same way
for a seed.

A spec is a comma-separated list such as `429=0.10,503=0.05,garbage=0.05,retry_after=0.05,seed=3`:

* `408 409 429 5xx = RATE` answer with that status; `timeout = RATE` hold the connection, then drop
  it; `badjson = RATE` answer with a body that is no JSON. These are drawn anew for every attempt of
  a body.
* `garbage = RATE` answer 200 with a text that holds no verdict; `truncate = RATE` cut the text and
  say `length`. These are properties of a body: asked again, it gives the same.
* `reasoning = 2500` thinks with so many tokens before every answer; a lower limit of tokens cuts it
  there.
* `batch_rejected batch_expired = RATE` of the batches: nothing is done, or half of it;
  `batch_failed batch_lost = RATE` of their requests: in the error file, or in none. `batch_looks`
  is how often a batch is looked at before it moves on.
* `latency`, `retry_after`, `hold` are seconds; `refuse = temperature+logprobs` names parameters to
  refuse; `seed` is an integer; `once = true` spares all attempts of a body, and all batches, but
  the first.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..models.wire import REFUSABLE

_BATCH_RATES = ("batch_rejected", "batch_expired", "batch_failed", "batch_lost")
_RATES = ("garbage", "truncate", "timeout", "badjson", *_BATCH_RATES)
_COUNTS = ("seed", "batch_looks")
_SECONDS = ("latency", "retry_after", "hold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The errors to inject, as rates in [0, 1] and durations in seconds."""

    statuses: tuple[tuple[int, float], ...] = ()
    """HTTP status and the share of attempts that get it."""
    garbage: float = 0.0
    truncate: float = 0.0
    timeout: float = 0.0
    badjson: float = 0.0
    reasoning: int = 0
    """Tokens spent before each answer."""
    latency: float = 0.0
    retry_after: float | None = None
    """Seconds in the Retry-After header of a 429 or 503; None sends no header."""
    hold: float = 2.0
    """Seconds a connection is held before it is dropped by `timeout`."""
    batch_rejected: float = 0.0
    batch_expired: float = 0.0
    batch_failed: float = 0.0
    batch_lost: float = 0.0
    batch_looks: int = 1
    """Looks at a batch that find it still validating."""
    refuse: frozenset[str] = frozenset()
    seed: int = 0
    once: bool = False

    def __post_init__(self) -> None:
        per_attempt = sum(rate for _, rate in self.statuses) + self.timeout + self.badjson
        units = {
            "attempt": per_attempt,
            "body": self.garbage + self.truncate,
            "batch": self.batch_rejected + self.batch_expired,
            "request of a batch": self.batch_failed + self.batch_lost,
        }
        for unit, total in units.items():
            if total > 1.0 + 1e-9:
                raise InputError(
                    f"the faults drawn per {unit} add up to {total:g}; at most 1 is possible"
                )

    @classmethod
    def parse(cls, spec: str) -> Faults:
        """Read a spec; the empty one injects no errors.

        Raises:
            InputError: A token is unknown, given twice, or its value is out of range; the message
                names it.
        """
        fields: dict[str, Any] = {}  # Any: each field has its own type, made by _read below
        statuses: dict[int, float] = {}
        for part in spec.split(","):
            token = part.strip()
            if not token:
                continue
            name, equals, value = (piece.strip() for piece in token.partition("="))
            if not equals:
                raise InputError(f"fault {token!r} is not NAME=VALUE")
            if name in fields or (name.isdecimal() and int(name) in statuses):
                raise InputError(f"fault {token!r}: {name!r} is given twice")
            if name.isdecimal():
                status = int(name)
                if status not in {408, 409, 429} and not 500 <= status <= 599:
                    raise InputError(
                        f"fault {token!r}: status {name!r} is not 408, 409, 429 or 5xx"
                    )
                statuses[status] = _number(token, value, high=1.0)
            else:
                fields[name] = _read(token, name, value)
        return cls(statuses=tuple(statuses.items()), **fields)

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
        """Return what goes wrong with every answer to this body: `garbage`, `truncate` or None."""
        return self._draw([("garbage", self.garbage), ("truncate", self.truncate)], body, "body")

    def batch(self, number: int) -> str | None:
        """Return what goes wrong with the batch of this number, from 1: `batch_rejected`,
        `batch_expired` or None.
        """
        if self.once and number > 1:
            return None
        rates = [("batch_rejected", self.batch_rejected), ("batch_expired", self.batch_expired)]
        return self._draw(rates, b"", f"batch {number}")

    def batch_line(self, body: bytes, attempt: int) -> str | None:
        """Return what goes wrong with one request of a batch: `batch_failed`, `batch_lost` or
        None.
        """
        if self.once and attempt > 1:
            return None
        rates = [("batch_failed", self.batch_failed), ("batch_lost", self.batch_lost)]
        return self._draw(rates, body, f"line {attempt}")

    def garbage_text(self, body: bytes) -> str:
        """Return letters without a digit, a bracket or a word, the same for the same body."""
        # No digit, bracket or word: nothing in it may be read as a verdict.
        digest = hashlib.blake2b(body, digest_size=32, key=str(self.seed).encode()).digest()
        letters = "".join("bcdfghjklmpqrstvwxz"[byte % 19] for byte in digest)
        return " ".join(letters[i : i + 6] for i in range(0, 30, 6))

    def _draw(self, rates: Iterable[tuple[str, float]], body: bytes, salt: str) -> str | None:
        digest = hashlib.blake2b(f"{self.seed}/{salt}/".encode() + body, digest_size=8).digest()
        # One uniform number, and each kind has its share of [0, 1): at most one of them happens.
        left = int.from_bytes(digest, "big") / 2**64
        for kind, rate in rates:
            if left < rate:
                return kind
            left -= rate
        return None


def _read(token: str, name: str, value: str) -> float | int | bool | frozenset[str]:
    if name in _RATES:
        return _number(token, value, high=1.0)
    if name in _SECONDS:
        return _number(token, value, high=3600.0)
    if name in _COUNTS:
        if not value.removeprefix("-").isdecimal():
            raise InputError(f"fault {token!r}: {value!r} is not an integer")
        return int(value)
    if name == "reasoning":
        return int(_number(token, value, high=1_000_000.0))
    if name == "once":
        if value not in {"true", "false"}:
            raise InputError(f"fault {token!r}: {value!r} is neither 'true' nor 'false'")
        return value == "true"
    if name == "refuse":
        parameters = frozenset(value.split("+"))
        unknown = sorted(parameters - set(REFUSABLE))
        if unknown:
            hint = "one of " + ", ".join(REFUSABLE)
            raise InputError(f"fault {token!r}: {unknown[0]!r} cannot be refused", hint=hint)
        return parameters
    names = ", ".join(("a status", *_RATES, *_SECONDS, *_COUNTS, "reasoning", "refuse", "once"))
    raise InputError(f"fault {token!r}: {name!r} is unknown", hint=f"known are {names}")


def _number(token: str, value: str, *, high: float) -> float:
    try:
        number = float(value)
    except ValueError:
        raise InputError(f"fault {token!r}: {value!r} is not a number") from None
    if not math.isfinite(number) or not 0.0 <= number <= high:
        raise InputError(f"fault {token!r}: {value!r} is not between 0 and {high:g}")
    return number
