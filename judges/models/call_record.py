"""The call record: what was asked, what came back, what may have been charged; why nothing is paid
for twice.

The client looks a request up before it asks, enters each attempt *before* it is sent, and settles
it when the answer is stored. `MemoryRecord` serves a notebook or a test; the workspace's record in
SQLite (`runs.store.calls.CallStore`) keeps the same promises across crashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from .model import Completion, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """A call that was given up in this run; replayed as the same failure when the run is
    resumed.
    """

    message: str
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What calls have cost so far, in the three amounts a budget needs."""

    settled_cost: float = 0.0
    """US dollars of finished calls with a known price."""
    settled_tokens: int = 0
    in_doubt_cost: float = 0.0
    """US dollars reserved for attempts that were sent and never answered: they may have been
    charged.
    """
    in_doubt_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAttempt:
    """An attempt that was sent and has no answer yet."""

    reserved_cost: float | None
    reserved_tokens: int
    own: bool
    """Whether this run entered it, so that its spending has it in doubt."""


class CallRecord(Protocol):
    """Where calls are stored. Writes return a future that is done only once they are durable."""

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """Return the stored answers for these keys; keys without one are absent.

        A failed call is returned only inside the run that gave it up; elsewhere it is asked again.
        """
        ...

    def sent(
        self, key: bytes, *, reserved_cost: float | None, reserved_tokens: int
    ) -> Future[None]:
        """Enter one attempt that is about to be sent; await the future before sending it."""
        ...

    def adopt(self, keys: Sequence[bytes]) -> Mapping[bytes, OpenAttempt]:
        """Take over the attempts that are open under these keys, whichever run entered them, and
        return them.

        For requests that outlive the process that sent them, in a batch or in a file.
        """
        ...

    def done(
        self, key: bytes, completion: Completion, *, request: Request, endpoint: str, model: str
    ) -> Future[None]:
        """Store the completion of the attempt last entered under this key, with what was asked; for
        a `recorded` one, which came with another's, none was entered.
        """
        ...

    def not_charged(self, key: bytes) -> Future[None]:
        """Settle the last attempt at zero: the server refused it before doing any work."""
        ...

    def failed(self, key: bytes, failure: FailedCall) -> Future[None]:
        """Give the call up in this run."""
        ...

    def spending(self) -> Spending:
        """Return what this run has spent and may have spent, earlier sessions included."""
        ...


_SETTLED: Future[None] = Future()
"""What is in memory is as durable as it gets."""
_SETTLED.set_result(None)


class MemoryRecord:
    """A record that lives as long as the process."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Completion | FailedCall] = {}
        self._open: dict[bytes, tuple[float, int]] = {}
        """Dollars and tokens reserved for attempts that have no answer yet."""
        self._cost = 0.0
        self._tokens = 0

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """See `CallRecord.lookup`."""
        return {key: self._answers[key] for key in keys if key in self._answers}

    def sent(
        self, key: bytes, *, reserved_cost: float | None, reserved_tokens: int
    ) -> Future[None]:
        """See `CallRecord.sent`."""
        self._open[key] = (reserved_cost or 0.0, reserved_tokens)
        return _SETTLED

    def adopt(self, keys: Sequence[bytes]) -> Mapping[bytes, OpenAttempt]:
        """See `CallRecord.adopt`."""
        attempts: dict[bytes, OpenAttempt] = {}
        for key in keys:
            if key in self._open:
                cost, tokens = self._open[key]
                attempts[key] = OpenAttempt(reserved_cost=cost, reserved_tokens=tokens, own=True)
        return attempts

    def done(
        self, key: bytes, completion: Completion, *, request: Request, endpoint: str, model: str
    ) -> Future[None]:
        """See `CallRecord.done`; the first outcome stays, which has been used."""
        self._open.pop(key, None)
        self._answers.setdefault(key, completion)
        if not completion.recorded:
            self._cost += completion.cost or 0.0
            self._tokens += completion.tokens_in + completion.tokens_out
        return _SETTLED

    def not_charged(self, key: bytes) -> Future[None]:
        """See `CallRecord.not_charged`."""
        self._open.pop(key, None)
        return _SETTLED

    def failed(self, key: bytes, failure: FailedCall) -> Future[None]:
        """See `CallRecord.failed`."""
        self._answers[key] = failure
        return _SETTLED

    def spending(self) -> Spending:
        """See `CallRecord.spending`."""
        return Spending(
            settled_cost=self._cost,
            settled_tokens=self._tokens,
            in_doubt_cost=sum(cost for cost, _ in self._open.values()),
            in_doubt_tokens=sum(tokens for _, tokens in self._open.values()),
        )
