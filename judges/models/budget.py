"""The budget: money or tokens are reserved before a call is sent and settled after it.

Checking what was spent and then spending lets every call in flight pass the same check. Here each
call holds its worst case until it is settled, so that the limit holds with any number in flight;
near the end calls wait for the reservations of others to be settled for less.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from ..errors import BudgetSpent, InputError
from .call_record import Spending
from .model import Completion, Request
from .tokens import estimate_tokens

_REQUEST_OVERHEAD = 32
"""Tokens a chat template may add of its own, such as a default system text."""
_MESSAGE_OVERHEAD = 8
"""Tokens it may add around one message."""
_UNLIMITED_REPLY = 1024
"""Tokens to reserve for a reply nobody limited, until a longer one has been seen."""
_ROUNDING = 1e-9


@dataclass(slots=True, eq=False)
class Reservation:
    """What one attempt may cost; it is closed once, by `settle`, `release` or `doubt`."""

    cost: float | None
    """US dollars; None where no price is known (the budget is then in tokens)."""
    tokens: int
    closed: bool = False


class Budget:
    """A limit on what calls may cost, shared by the clients of a run. Thread-safe.

    Args:
        money: US dollars; None for no limit.
        tokens: Tokens in and out; None for no limit.
        spent: What earlier sessions of the run spent. Attempts that were sent and never answered
            count in full: they may have been charged.

    Raises:
        InputError: A limit is negative or not a number.
    """

    def __init__(self, *, money: float | None, tokens: int | None, spent: Spending) -> None:
        for limit in (money, tokens):
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                raise InputError(
                    f"a budget of {limit!r} is not an amount",
                    hint="write --budget 5.00 or 200000tokens",
                )
        self.money = money
        self.tokens = tokens
        self._lock = threading.Lock()
        self._cost = spent.settled_cost + spent.in_doubt_cost
        self._used = spent.settled_tokens + spent.in_doubt_tokens
        self._held_cost = 0.0
        self._held_tokens = 0
        self._open = 0

    @property
    def cost(self) -> float:
        """US dollars spent or in doubt, without what is reserved now."""
        return self._cost

    @property
    def used(self) -> int:
        """Tokens spent or in doubt, without what is reserved now."""
        return self._used

    def extend(self, *, money: float, tokens: int) -> None:
        """Raise each limit that there is by so much; a negative amount lowers it."""
        with self._lock:
            if self.money is not None:
                self.money += money
            if self.tokens is not None:
                self.tokens += tokens

    def reserve(self, *, cost: float | None, tokens: int, model: str) -> Reservation | None:
        """Hold the worst case of one attempt.

        Args:
            cost: US dollars; None where the price is unknown.
            tokens: Tokens in and out.
            model: Its name, for errors.

        Returns:
            The reservation, or None when it may fit once others in flight are settled: ask again
            then.

        Raises:
            BudgetSpent: It does not fit even with nothing in flight.
            InputError: The budget is in money and the price is unknown.
        """
        if self.money is not None and cost is None:
            raise InputError(
                f"the price of model {model!r} is unknown, so a budget of ${self.money:.2f} cannot"
                " be kept",
                hint=(
                    "give the budget in tokens (--budget 200000tokens), or say what the model"
                    " costs: judgewright models add NAME --set price=INPUT/OUTPUT"
                ),
            )
        dollars = cost or 0.0
        with self._lock:
            if not self._fits(self._cost + dollars, self._used + tokens):
                hint = "raise --budget and go on, with the same command or `runs resume`"
                raise BudgetSpent(self._shortfall(dollars, tokens), hint=hint)
            # It fits once others in flight have cost less than they hold.
            if not self._fits(
                self._cost + self._held_cost + dollars, self._used + self._held_tokens + tokens
            ):
                return None
            # Held in the same lock as the check, or two calls could pass it with the last dollar.
            self._open += 1
            self._held_cost += dollars
            self._held_tokens += tokens
            return Reservation(cost, tokens)

    def hold(self, *, cost: float | None, tokens: int, counted: bool) -> Reservation:
        """Hold what an attempt that an earlier session sent, and that is still awaited, may cost.

        Args:
            cost: US dollars; None where the price is unknown.
            tokens: Tokens in and out.
            counted: Whether it is in what earlier sessions of this run spent, as an attempt in
                doubt.
        """
        with self._lock:
            if counted:
                self._cost -= cost or 0.0
                self._used -= tokens
            self._open += 1
            self._held_cost += cost or 0.0
            self._held_tokens += tokens
            return Reservation(cost, tokens)

    def settle(self, reservation: Reservation, *, cost: float | None, tokens: int) -> None:
        """Replace a reservation by what the call cost; an unknown cost counts as reserved."""
        self._close(reservation, reservation.cost if cost is None else cost, tokens)

    def release(self, reservation: Reservation) -> None:
        """Drop a reservation: nothing was charged."""
        self._close(reservation, 0.0, 0)

    def doubt(self, reservation: Reservation) -> None:
        """Count a reservation as spent: the attempt was sent and may have been charged."""
        self._close(reservation, reservation.cost, reservation.tokens)

    def _close(self, reservation: Reservation, cost: float | None, tokens: int) -> None:
        with self._lock:
            if reservation.closed:
                return
            reservation.closed = True
            self._open -= 1
            self._held_cost -= reservation.cost or 0.0
            # With nothing open the sum is exactly nothing: rounding must not pile up over a long
            # run.
            if not self._open:
                self._held_cost = 0.0
            self._held_tokens -= reservation.tokens
            self._cost += cost or 0.0
            self._used += tokens

    def _fits(self, cost: float, tokens: int) -> bool:
        if self.money is not None and cost > self.money + _ROUNDING:
            return False
        return self.tokens is None or tokens <= self.tokens

    def _shortfall(self, cost: float, tokens: int) -> str:
        if self.money is not None and self._cost + cost > self.money + _ROUNDING:
            return (
                f"the budget of ${self.money:.2f}: ${self._cost:.4f} is spent and the next call may"
                f" cost ${cost:.4f}"
            )
        return (
            f"the budget of {self.tokens:,} tokens: {self._used:,} are used and the next call may"
            f" use {tokens:,}"
        )


class Forecast:
    """How many tokens a call may use, at worst; learns from the calls that were answered."""

    def __init__(self) -> None:
        self._ratio = 1.0
        self._longest = _UNLIMITED_REPLY
        self._overrun = 0

    @property
    def learned(self) -> tuple[float, int, int]:
        """What it has learned, for `learn_from`."""
        return self._ratio, self._longest, self._overrun

    def learn_from(self, learned: tuple[float, int, int]) -> None:
        """Take over what another process has learned."""
        ratio, longest, overrun = learned
        self._ratio = max(self._ratio, ratio)
        self._longest, self._overrun = max(self._longest, longest), max(self._overrun, overrun)

    def before(self, request: Request) -> tuple[int, int]:
        """Return the tokens in and out to reserve for a request."""
        tokens_in = math.ceil(self._ratio * _estimate(request))
        limit = request.token_limit
        return tokens_in, self._longest if limit is None else max(limit, self._overrun)

    def learn(self, request: Request, completion: Completion) -> None:
        """Remember a call that used more than was foreseen."""
        # Only upwards: a reservation that is too low would let the budget be overspent.
        self._ratio = max(self._ratio, completion.tokens_in / _estimate(request))
        self._longest = max(self._longest, completion.tokens_out)
        # Some servers ignore the limit.
        limit = request.token_limit
        if limit is not None and completion.tokens_out > limit:
            self._overrun = max(self._overrun, completion.tokens_out)


def _estimate(request: Request) -> int:
    tokens = _REQUEST_OVERHEAD
    for message in request.messages:
        tokens += estimate_tokens(message.content) + _MESSAGE_OVERHEAD
    return tokens
