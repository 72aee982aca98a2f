"""How many requests a second an endpoint takes, learned from what it refuses; for many processes
that share a limit.

A limit on requests in flight (see `limits`) finds the endpoint's own by being refused often.
Several processes would each do so. A pace is made to be refused rarely: it grows in large steps
until the first refusal, goes back one, grows in smaller steps until the next, and by a hundredth in
the end. A refusal of a request that was sent before the last cut says nothing new. The pace grows
only when it was used.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from ...judges.models import AdaptiveLimit, RateLimits
from ...judges.models.limits import Ticket
from ...judges.models.rates import Clock

GROWTH = (1.6, 1.2, 1.07, 1.02, 1.01)
"""What a window without refusals makes of the pace: before the first cut, after it, after the
second...
"""
CUT = 0.98
"""What a refusal leaves of it at most, once the smallest step is reached."""
_WINDOW = 0.5
"""Seconds after which it may grow."""
_STEADY = 100.0
"""Requests that are sent before it may, once its last step is reached."""
_USED = 0.8
"""Share of the pace that must have been sent in a window for it to grow."""
_RECENT = 20
"""Answers that are looked back on."""
_USUAL = 0.05
"""Share of refusals among them that costs no more than `CUT`."""
_BURST = 0.05
"""Seconds' worth of requests that may go out at once."""


class Pace:
    """Requests a second. It is arithmetic over a clock and never waits.

    Args:
        clock: The time.
        start: The pace at first.
    """

    def __init__(self, clock: Clock, *, start: float) -> None:
        self._clock = clock
        self.per_second = start
        self._level = 1.0
        self._level_at = self._window_at = clock.now()
        self._sent = 0
        self._cuts = 0
        self._calm = 0
        """Windows since the last cut, once the smallest step is reached."""
        self._answers: deque[bool] = deque(maxlen=_RECENT)

    def scale(self, factor: float) -> None:
        """Take a larger or a smaller part of what several processes have learned together."""
        self._refill()
        self.per_second = max(1.0, factor * self.per_second)

    def wait(self) -> float:
        """Return the seconds until a request may be sent; 0 when it may."""
        self._refill()
        return max(0.0, (1.0 - self._level) / self.per_second)

    def take(self) -> int:
        """Count a request that is sent now; return what `learn` wants to know of it."""
        self._level -= 1.0
        self._sent += 1
        return self._cuts

    def learn(self, sent: int, *, refused: bool) -> None:
        """Hear that a request was answered, or refused because of the rate.

        Args:
            sent: What `take` returned for it.
            refused: Whether it was refused.
        """
        self._answers.append(refused)
        if not refused or sent != self._cuts:
            return
        self._refill()
        crowd = (
            sum(self._answers) / len(self._answers) - _USUAL
            if len(self._answers) == _RECENT
            else 0.0
        )
        step = 1.0 / GROWTH[self._cuts] if self._cuts < len(GROWTH) - 1 else CUT
        self.per_second = max(1.0, self.per_second * min(step, 1.0 - crowd))
        self._cuts += 1
        self._calm = 0
        self._new_window()

    def _refill(self) -> None:
        now = self._clock.now()
        seconds, self._level_at = now - self._level_at, now
        self._level = min(
            max(1.0, _BURST * self.per_second), self._level + seconds * self.per_second
        )
        # At the end a step up is to cost one refusal in a hundred requests, however few there are
        # in a second.
        window = (
            _WINDOW if self._cuts < len(GROWTH) - 1 else max(_WINDOW, _STEADY / self.per_second)
        )
        if now - self._window_at >= window:
            if self._sent >= _USED * self.per_second * (now - self._window_at):
                self.per_second *= self._growth()
            self._new_window()

    def _growth(self) -> float:
        if self._cuts < len(GROWTH) - 1:
            return GROWTH[self._cuts]
        # The longer nothing was refused, the further off the limit may be.
        self._calm += 1
        return min(GROWTH[0], 1.0 + self._calm * (GROWTH[-1] - 1.0))

    def _new_window(self) -> None:
        self._window_at, self._sent = self._clock.now(), 0


@dataclass(frozen=True, slots=True)
class _PacedTicket(Ticket):
    paced: int
    """What the pace needs to learn from the request."""


class PacedLimit(AdaptiveLimit):
    """A limit on requests in flight that also keeps to a pace.

    Args:
        clock: As for `AdaptiveLimit`.
        pace: Requests a second.
        start: The limit at first.
        high: It never grows above this.
        rates: Requests and tokens in a minute.
    """

    def __init__(
        self, clock: Clock, pace: Pace, *, start: int, high: int, rates: RateLimits
    ) -> None:
        super().__init__(clock, start=start, high=high, rates=rates)
        self._pace = pace

    def wait(self, tokens: int = 0) -> float:
        """See `AdaptiveLimit.wait`."""
        return max(super().wait(tokens), self._pace.wait())

    def admit(self, tokens: int = 0) -> Ticket | None:
        """See `AdaptiveLimit.admit`."""
        ticket = super().admit(tokens)
        return ticket and _PacedTicket(ticket.episode, self._pace.take())

    def release(self, ticket: Ticket, **answer: Any) -> None:  # Any: as `AdaptiveLimit` types it
        """See `AdaptiveLimit.release`."""
        super().release(ticket, **answer)
        refused = answer.get("refused", False)
        if isinstance(ticket, _PacedTicket) and (refused or answer.get("answered")):
            self._pace.learn(ticket.paced, refused=refused)
