"""How many requests and tokens may be sent in a minute: what the user set, and what the endpoint
says is left.

Both are arithmetic over a clock and never wait. What an endpoint says is believed within bounds: no
longer than a minute at a time, and not at all once it has said twice in a row, right after its own
reset, that less is left than a request that it answers takes. A refusal makes it credible again,
for twice as long each time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

_MINUTE = 60.0
_ROUNDING = 1e-9
_DISBELIEF = 2
"""Times in a row that an endpoint may say, right after its own reset, that too little is left."""
_NAMES = {
    "requests": (
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ),
    "tokens": (
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ),
}
"""Headers for what is left and when it is whole again: OpenAI, Groq and Azure; Anthropic; Together
and OpenRouter.
"""
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,30})?")
_DURATION = re.compile(
    r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m(?!s))?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)s)?(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)ms)?"
)
_UNITS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_EPOCH = 1e9
"""From here on a number of seconds is a moment since 1970; a thousand times as much, milliseconds.
"""


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> float:
        """Return seconds that only ever grow."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Remaining:
    """What an endpoint says is left of one of its limits."""

    units: float
    reset: float
    """Seconds until the limit is whole again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateReport:
    """What the headers of one answer say about the endpoint's limits."""

    requests: Remaining | None = None
    tokens: Remaining | None = None


def read_rates(headers: Mapping[str, str]) -> RateReport | None:
    """Read the headers of an answer; None where they say nothing that can be used.

    Args:
        headers: With lower-case names or case-insensitive.
    """
    requests, tokens = _remaining(headers, "requests"), _remaining(headers, "tokens")
    if requests is None and tokens is None:
        return None
    return RateReport(requests=requests, tokens=tokens)


def _remaining(headers: Mapping[str, str], kind: str) -> Remaining | None:
    for left, reset in _NAMES[kind]:
        units = headers.get(left)
        if units is None or not _NUMBER.fullmatch(units.strip()):
            continue
        seconds = read_seconds(headers.get(reset, ""), headers.get("date", ""))
        if seconds is not None:
            return Remaining(float(units), seconds)
    return None


def read_seconds(text: str, date: str = "") -> float | None:
    """Return the seconds until a reset, None where the text names none.

    Args:
        text: `1s`, `6m0s`, `17ms`, seconds, seconds or milliseconds since 1970, or a date (ISO
            8601, or of HTTP).
        date: The server's own `date` header; a moment is compared with it, since our clock may be
            off by minutes.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number < _EPOCH:
            return number
        moment = number / 1000.0 if number >= 1000.0 * _EPOCH else number
        return max(0.0, moment - _moment(date))
    match = _DURATION.fullmatch(text)
    if text and match:
        return sum(
            float(part or 0) * unit for part, unit in zip(match.groups(), _UNITS, strict=True)
        )
    reset = _parse_date(text)
    return None if reset is None else max(0.0, reset - _moment(date))


def _moment(date: str) -> float:
    now = _parse_date(date)
    return datetime.now(UTC).timestamp() if now is None else now


def _parse_date(text: str) -> float | None:
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(text)
        except (ValueError, TypeError, OverflowError):
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    return None


@dataclass(frozen=True, slots=True)
class Sent:
    """All that had been sent with a request, itself included."""

    requests: float
    tokens: float
    own_tokens: int
    """What the request itself may use."""


class RateLimits:
    """Requests and tokens in a minute.

    Args:
        clock: The time.
        requests_per_minute: The user's own limit; None for none.
        tokens_per_minute: Likewise, tokens in and out.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._requests = _Rate(clock, requests_per_minute)
        self._tokens = _Rate(clock, tokens_per_minute)

    def share(self, processes: int) -> None:
        """Take only a part of each limit: so many processes ask the same endpoint."""
        self._requests.share(processes)
        self._tokens.share(processes)

    def wait(self, tokens: int) -> float:
        """Return the seconds until a request that may use so many tokens may be sent; 0 when it
        may.
        """
        return max(self._requests.wait(1), self._tokens.wait(tokens))

    def take(self, tokens: int) -> Sent:
        """Count a request that is sent now."""
        return Sent(self._requests.take(1), self._tokens.take(tokens), tokens)

    def give_back(self, tokens: int) -> None:
        """Correct a request that used so many tokens fewer than were counted."""
        self._tokens.give_back(tokens)

    def learn(self, sent: Sent, report: RateReport, *, refused: bool = False) -> None:
        """Hear what the endpoint says, in its answer to a request, is left.

        Args:
            sent: What `take` returned for the request.
            report: Its headers.
            refused: The endpoint turned the request away, as its headers may have foretold.
        """
        if refused:
            self._requests.believe_again()
            self._tokens.believe_again()
        if report.requests is not None:
            self._requests.learn(sent.requests, 1, report.requests)
        if report.tokens is not None:
            self._tokens.learn(sent.tokens, sent.own_tokens, report.tokens)

    @property
    def disbelieved(self) -> set[str]:
        """Of what the endpoint's headers were not believed at some time: `requests`, `tokens`."""
        rates = {"requests": self._requests, "tokens": self._tokens}
        return {name for name, rate in rates.items() if rate.disbelieved}


class _Rate:
    """One unit, requests or tokens: a token bucket for the user's limit, a ceiling for the
    endpoint's.
    """

    def __init__(self, clock: Clock, per_minute: float | None) -> None:
        self._clock = clock
        self._per_minute = per_minute
        self._limited = per_minute is not None
        self._processes = 1
        self._divide()
        self._level = self._burst
        self._level_at = clock.now()
        self._sent = 0.0
        self._ceiling = math.inf
        """How much may have been sent in all before the endpoint's reset."""
        self._reset_at = 0.0
        self._learned_at = 0.0
        """What had been sent with the request whose answer set the ceiling."""
        self._after_reset: float | None = None
        """What had been sent with the first request that went out above the ceiling, after the
        reset.
        """
        self._contradictions = 0
        self._credit = _DISBELIEF
        """Contradictions in a row from which on the endpoint is not believed."""
        self.disbelieved = False

    def share(self, processes: int) -> None:
        if processes != self._processes:
            self._processes = processes
            self._refill(self._clock.now())
            self._divide()
            self._level = min(self._level, self._burst)

    def _divide(self) -> None:
        """Set what is refilled in a second, and how much may go out at once."""
        # A second's worth may go out at once. What is refilled is less by as much, so that no
        # minute holds more.
        self._rate = (self._per_minute or 0.0) / _MINUTE / self._processes
        self._burst = max(1.0, self._rate)
        if self._burst > 1.0:
            self._rate -= self._burst / _MINUTE

    def wait(self, units: float) -> float:
        if not self._limited and self._sent + units <= self._ceiling:
            return 0.0
        now = self._clock.now()
        seconds = 0.0
        if self._limited:
            self._refill(now)
            missing = min(units, self._burst) - self._level
            if missing > _ROUNDING:
                seconds = missing / self._rate
        if self._sent + units > self._ceiling and self._reset_at - now > _ROUNDING:
            seconds = max(seconds, self._reset_at - now)
        return seconds

    def take(self, units: float) -> float:
        self._level -= units
        self._sent += units
        if self._sent > self._ceiling:
            self._ceiling = math.inf
            self._after_reset = self._sent
        return self._sent

    def give_back(self, units: float) -> None:
        self._level += units

    def believe_again(self) -> None:
        if self._contradictions >= self._credit:
            self._contradictions = 0
            self._credit *= 2

    def learn(self, sent: float, units: float, remaining: Remaining) -> None:
        # The answer to an earlier request says less about what is left now.
        if sent < self._learned_at or self._contradictions >= self._credit:
            return
        if sent == self._after_reset:
            self._contradictions = (
                self._contradictions + 1 if remaining.units < max(1, units) else 0
            )
            self._after_reset = None
        self._learned_at = sent
        self._ceiling = sent + remaining.units / self._processes
        self._reset_at = self._clock.now() + min(remaining.reset, _MINUTE)
        if self._contradictions >= self._credit:
            self._ceiling = math.inf
            self.disbelieved = True

    def _refill(self, now: float) -> None:
        self._level = min(self._burst, self._level + (now - self._level_at) * self._rate)
        self._level_at = now
