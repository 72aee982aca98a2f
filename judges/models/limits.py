"""How many requests may be on the wire at once, learned from what the endpoint refuses.

The limit doubles with every round until the first crowded one. From then on it grows slowly, and
is cut by a share (the congestion control of TCP; Chiu and Jain 1989), with three gates. A refusal
counts as crowding only when refusals are frequent: some endpoints refuse one request in ten at any
rate, and slowing down for those would buy nothing. Refusals of requests that were sent before the
last cut belong to the same episode and cut nothing again. And the limit grows only after a whole
round that was not crowded and had no room left.

The limit is plain arithmetic over a clock: it never waits. Whoever sends asks `admit` and waits by
itself, so that a pause is nobody's occupied slot.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass

from .rates import Clock, RateLimits

CUT = 0.8
"""What a cut leaves of the limit."""
RAMP = 2.0
"""What a full round makes of it before any was crowded."""
GROWTH = 1.05
"""What a full round that was not crowded makes of it afterwards."""
_WINDOW = 20
"""Answers that are looked back on."""
_LATE = 0.5
"""Part of its time limit from which on a request took too long."""
_CROWDED = 0.25
"""Share of refusals among them from which on the endpoint has too much to do."""


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """See `rates.Clock.now`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `rates.Clock.sleep`."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A slot that was taken, to be given back."""

    episode: int
    """How often the limit had been cut."""


class AdaptiveLimit:
    """A limit on requests in flight that finds the endpoint's own, within the rates that are known.

    Args:
        clock: For the shared pause.
        start: The limit at first.
        low: It is never cut below this.
        high: It never grows above this.
        rates: Requests and tokens in a minute; without a limit by default.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        start: int = 20,
        low: int = 4,
        high: int = 100,
        rates: RateLimits | None = None,
    ) -> None:
        self._clock = clock
        self._rates = rates or RateLimits(clock)
        self._high = high
        self._low = min(low, high)
        self._limit = float(min(start, high))
        self._in_flight = 0
        self._episode = 0
        self._growth = RAMP
        self._answered = 0
        self._saturated = False
        self._pause_until = 0.0
        self._refusals: deque[bool] = deque(maxlen=_WINDOW)

    @property
    def limit(self) -> int:
        """How many requests may be in flight now."""
        return int(self._limit)

    @property
    def in_flight(self) -> int:
        """How many requests are in flight."""
        return self._in_flight

    @property
    def paused(self) -> float:
        """Seconds until anything may be sent again; 0 when it may."""
        if not self._pause_until:
            return 0.0
        return max(0.0, self._pause_until - self._clock.now())

    @property
    def crowded(self) -> bool:
        """Whether a quarter or more of the last twenty answers were refusals: the endpoint means
        everybody.
        """
        return sum(self._refusals) >= _CROWDED * max(1, len(self._refusals))

    def keep_below(self, high: int) -> None:
        """Let no more than so many be in flight from now on: the part of this process."""
        self._high = high
        self._low = min(self._low, high)
        self._limit = min(self._limit, high)

    def pause(self, seconds: float) -> None:
        """Let nobody send for so many seconds; of overlapping pauses the later end counts."""
        self._pause_until = max(self._pause_until, self._clock.now() + seconds)

    def wait(self, tokens: int = 0) -> float:
        """Return the seconds until the pause is over and the rates allow so many tokens; there may
        be no slot then.
        """
        return max(self.paused, self._rates.wait(tokens))

    def admit(self, tokens: int = 0) -> Ticket | None:
        """Take a slot for a request that may use so many tokens, or return None when there is no
        room or a pause.
        """
        if self._in_flight >= self.limit or self.wait(tokens):
            return None
        self._in_flight += 1
        self._saturated = self._saturated or self._in_flight >= self.limit
        self._rates.take(tokens)
        return Ticket(self._episode)

    def release(
        self,
        ticket: Ticket,
        *,
        refused: bool = False,
        answered: bool = False,
        unused: int = 0,
        patience: float = 0.0,
    ) -> None:
        """Give a slot back, and say what the endpoint said.

        Args:
            ticket: What `admit` returned.
            refused: The endpoint had too many requests, or asked for a pause.
            answered: The endpoint answered; neither counts for a failure that says nothing about
                the rate.
            unused: Tokens that `admit` was told of and that were not used.
            patience: The part of its time limit that the request took.
        """
        self._in_flight -= 1
        if unused:
            self._rates.give_back(unused)
        if refused or answered:
            self._refusals.append(refused)
        # Sent before the last cut: it says nothing about the limit there is now.
        if ticket.episode != self._episode:
            return
        if patience >= _LATE:
            # They wait for each other at the server; there may be room for one alone.
            self._limit = max(1.0, self._limit / 2)
            self._growth = GROWTH
            self._episode += 1
            self._new_round()
        elif refused and self.crowded:
            self._growth = GROWTH
            self._limit = max(self._low, self._limit * CUT)
            self._episode += 1
            self._new_round()
        elif answered:
            self._answered += 1
            if self._answered >= self.limit:
                # A limit that was never reached has not been tested; growing it would be a guess.
                if self._saturated and not self.crowded and patience < _LATE / 2:
                    self._limit = min(self._high, self._limit * self._growth)
                self._new_round()

    def _new_round(self) -> None:
        self._answered = 0
        self._saturated = False
