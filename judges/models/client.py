"""The endpoint client: the one place where calls are retried, limited, paid for and recorded.

Synchronous outside. `async` begins and ends in here, in an event loop of the client's own thread, so that it works
in a notebook, whose loop is already running.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import cast

from ..errors import BudgetSpent, InputError, Interrupted, ModelError
from .budget import Budget
from .call_record import CallRecord, FailedCall, MemoryRecord, Spending
from .counters import Call, ClientStats, Counters, Outcome
from .dispatcher import Asking, ClientContext
from .limits import AdaptiveLimit, Clock, SystemClock
from .model import Completion, Model, Request
from .price import Prices

_LOOKUP = 500
_REPORT_EVERY = 0.1
_IN_PROCESS = 512
"""In flight at an embedded model: it has no rate to find and bills nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an `ask` has come; all but `cost` and `tokens` count requests."""

    done: int
    total: int
    failed: int
    recorded: int
    cost: float | None
    """US dollars spent by this `ask`; None where a price is unknown."""
    tokens: int


class Client:
    """Ask a model many things at once, safely; several threads may ask at the same time.

    Args:
        model: Makes one try.
        record: Where calls are kept; in memory by default. Looked up from the calling thread, written from the
            client's own.
        budget: What may be spent; no limit by default.
        prices: What calls cost; the bundled prices by default.
        concurrency: The most attempts that are sent and not yet kept, at any moment.
        tries: The most attempts for one request.
        row_seconds: The longest one request may take, its waits included.
        clock: The time, for tests.
        rng: Draws the jitter of retries.

    Raises:
        InputError: A number is below 1.
    """

    def __init__(
        self,
        model: Model,
        *,
        record: CallRecord | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
        concurrency: int = 64,
        tries: int = 8,
        row_seconds: float = 600.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if concurrency < 1 or tries < 1 or row_seconds <= 0:
            raise InputError(
                f"concurrency {concurrency!r}, tries {tries!r}, row_seconds {row_seconds!r}: at least 1 each"
            )
        clock = clock or SystemClock()
        embedded = model.endpoint.startswith("simulated:")
        in_flight = max(_IN_PROCESS, concurrency) if embedded else concurrency
        start = in_flight if embedded else 20
        self.model = model
        self._stats = ClientStats()
        self._counting = threading.Lock()
        self._wiring = ClientContext(
            model=model,
            record=MemoryRecord() if record is None else record,
            budget=budget or Budget(money=None, tokens=None, spent=Spending()),
            prices=prices or Prices(),
            limit=AdaptiveLimit(clock, start=start, high=in_flight),
            clock=clock,
            rng=rng or random.Random(),
            concurrency=in_flight,
            lookahead=in_flight if embedded else max(4, concurrency // 4),
            tries=tries,
            row_seconds=row_seconds,
        )
        self._loop = _LoopThread()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stats(self) -> ClientStats:
        """What this client has done so far."""
        return self._stats

    def ask(self, requests: Sequence[Request], *, progress: Callable[[Progress], None] | None = None) -> list[Outcome]:
        """Ask, and return the outcomes in the order of the requests.

        What the record knows is not asked again; equal requests are sent once. A request that failed is a
        `ModelError` in the list; those left when the budget is spent are `BudgetSpent`.

        Args:
            requests: What to ask.
            progress: Called in this thread about ten times a second and at the end; an exception from it stops
                the ask as Ctrl-C does and is raised.

        Raises:
            ModelError: Every other request would fail as well: a wrong key, an unknown model, an endpoint
                that is down.
            InputError: The budget is in money and the price of the model is unknown.
            Interrupted: Ctrl-C; what was in flight has been awaited and kept. A second Ctrl-C gives it up.
            WorkspaceError: The record cannot be written.
        """
        calls = self._distinct(requests)
        tally = Counters(len(requests), self._stats)
        with self._counting:
            self._stats.asked += len(requests)
            self._look_up(calls, tally)
        open_calls = [call for call in calls if call.outcome is None]
        if open_calls:
            spent = self._run(open_calls, tally, progress)
            for call in open_calls:
                call.outcome = call.outcome or spent
        if progress is not None:
            progress(_progress(tally))
        return _in_order(calls, len(requests))

    def ask_one(self, request: Request) -> Completion:
        """Ask one thing.

        Raises:
            ModelError: It failed.
            BudgetSpent: The budget does not cover it.
        """
        outcome = self.ask([request])[0]
        if isinstance(outcome, Completion):
            return outcome
        raise outcome

    def close(self) -> None:
        """Release the model's connections and the thread; a closed client may be asked again."""
        self._loop.close(self.model.close)

    def _distinct(self, requests: Sequence[Request]) -> list[Call]:
        calls: dict[bytes, Call] = {}
        for position, request in enumerate(requests):
            key = request.key(endpoint=self.model.endpoint, model=self.model.name)
            calls.setdefault(key, Call(key, request, [])).positions.append(position)
        return list(calls.values())

    def _look_up(self, calls: Sequence[Call], tally: Counters) -> None:
        for start in range(0, len(calls), _LOOKUP):
            some = calls[start : start + _LOOKUP]
            known = self._wiring.record.lookup([call.key for call in some])
            for call in some:
                found = known.get(call.key)
                if found is None:
                    continue
                if isinstance(found, FailedCall):
                    call.outcome = ModelError(found.message, status=found.status)
                else:
                    call.outcome = _again(found)
                tally.count(call)

    def _run(
        self, calls: Sequence[Call], tally: Counters, progress: Callable[[Progress], None] | None
    ) -> BudgetSpent | None:
        """Run the calls in the loop while this thread reports; return why some have no outcome."""
        asking = Asking(self._wiring, calls, tally)
        work = self._loop.start(asking.run())
        try:
            _watch(work, tally, progress)
        except KeyboardInterrupt:
            self._drain(asking, work, tally)
        finally:
            if not work.done():  # the progress callback failed
                self._drain(asking, work, tally)
        work.result()
        if asking.stopped is None or isinstance(asking.stopped, BudgetSpent):
            return asking.stopped
        raise asking.stopped

    def _drain(self, asking: Asking, work: Future[None], tally: Counters) -> None:
        """Claim nothing more and await what is on the wire; a further Ctrl-C gives it up."""
        interrupted = Interrupted("", hint="resume the run: what was answered is not asked again")
        self._loop.call(lambda: asking.stop(interrupted))
        try:
            _watch(work, tally, None)
        except KeyboardInterrupt:
            work.cancel()
            raise Interrupted(
                "stopped at once: calls in flight were given up and may have been charged", hint=interrupted.hint
            ) from None
        interrupted.args = (f"stopped with {tally.done:,} of {tally.total:,} requests answered, all of them kept",)


def _watch(work: Future[None], tally: Counters, progress: Callable[[Progress], None] | None) -> None:
    """Return when the work is done; report meanwhile."""
    while not wait([work], timeout=_REPORT_EVERY).done:
        if progress is not None:
            progress(_progress(tally))


def _progress(tally: Counters) -> Progress:
    return Progress(
        done=tally.done,
        total=tally.total,
        failed=tally.failed,
        recorded=tally.recorded,
        cost=tally.cost if tally.price_known else None,
        tokens=tally.tokens,
    )


def _again(completion: Completion) -> Completion:
    return replace(completion, recorded=True, latency=0.0)


def _in_order(calls: Sequence[Call], n: int) -> list[Outcome]:
    """Return the outcomes by position; equal requests beyond the first count as recorded."""
    outcomes: list[Outcome | None] = [None] * n
    for call in calls:
        first, *others = call.positions
        outcomes[first] = call.outcome
        for position in others:
            outcomes[position] = _again(call.outcome) if isinstance(call.outcome, Completion) else call.outcome
    assert None not in outcomes, "every request has an outcome, or the ask has raised"
    return cast("list[Outcome]", outcomes)


class _LoopThread:
    """An event loop in a daemon thread, started on first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, work: Coroutine[None, None, None]) -> Future[None]:
        """Run a coroutine in the loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="judgewright-client", daemon=True)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, what: Callable[[], None]) -> None:
        """Call a function in the loop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(what)

    def close(self, last: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run a last coroutine and end the thread; nothing happens when it was never started."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        try:
            asyncio.run_coroutine_threadsafe(last(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
