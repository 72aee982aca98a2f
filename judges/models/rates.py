"""How many requests and tokens may be sent in a minute, as the user set it: arithmetic over a clock
that never waits.

What an endpoint takes is found by `limits` from its refusals.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

_MINUTE = 60.0
_ROUNDING = 1e-9
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,30})?")
_DURATION = re.compile(
    r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m(?!s))?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)s)?(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)ms)?"
)
_UNITS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> float:
        """Return seconds that only ever grow."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


def read_seconds(text: str, date: str = "") -> float | None:
    """Return the seconds that a `Retry-After` asks to wait, None where the text names none.

    Args:
        text: Seconds, a duration such as `1m30s` or `17ms`, or an HTTP date.
        date: The server's own `date` header; a moment is compared with it, since our clock may be
            off by minutes.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    match = _DURATION.fullmatch(text)
    if text and match:
        return sum(
            float(part or 0) * unit for part, unit in zip(match.groups(), _UNITS, strict=True)
        )
    moment, now = _moment(text), _moment(date)
    if now is None:
        now = datetime.now(UTC).timestamp()
    return None if moment is None else max(0.0, moment - now)


def _moment(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


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

    def take(self, tokens: int) -> None:
        """Count a request that is sent now."""
        self._requests.take(1)
        self._tokens.take(tokens)

    def give_back(self, tokens: int) -> None:
        """Correct a request that used so many tokens fewer than were counted."""
        self._tokens.give_back(tokens)


class _Rate:
    """A token bucket of one unit, requests or tokens; without a limit nobody waits."""

    def __init__(self, clock: Clock, per_minute: float | None) -> None:
        self._clock = clock
        self._per_minute = per_minute
        self._processes = 1
        self._divide()
        self._level = self._burst
        self._level_at = clock.now()

    def share(self, processes: int) -> None:
        if processes != self._processes:
            self._processes = processes
            self._refill()
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
        if self._per_minute is None:
            return 0.0
        self._refill()
        missing = min(units, self._burst) - self._level
        return missing / self._rate if missing > _ROUNDING else 0.0

    def take(self, units: float) -> None:
        self._level -= units

    def give_back(self, units: float) -> None:
        self._level += units

    def _refill(self) -> None:
        now = self._clock.now()
        self._level = min(self._burst, self._level + (now - self._level_at) * self._rate)
        self._level_at = now
