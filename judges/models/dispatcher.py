"""One `Client.ask` inside the event loop: claim, send, retry, keep.

A request goes fresh -> entering (its attempt is being committed to the record) -> entered -> on the wire -> kept.
One coroutine moves them along; only attempts are tasks, so that ten thousand rows are not ten thousand tasks, and a
request that waits for its retry or for a pause holds no slot. Sent and not yet committed are never more than
`concurrency`: that is what a crash may bill again.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from ..errors import JudgewrightError, ModelError
from .budget import Budget, Forecast
from .call_record import CallRecord, FailedCall
from .counters import Call, Counters, Outcome
from .limits import AdaptiveLimit, Clock
from .model import Completion, Model, Request
from .price import Prices
from .retries import OUTAGE, backoff, closed, free_of_charge, given_up, outage, poisonous, refused, sent_elsewhere

_BUDGET_POLL = 0.2


@dataclass(slots=True, kw_only=True)
class ClientContext:
    """What the asks of one client share."""

    model: Model
    record: CallRecord
    budget: Budget
    prices: Prices
    limit: AdaptiveLimit
    clock: Clock
    rng: random.Random
    concurrency: int
    """The most attempts sent and not yet committed."""
    lookahead: int
    """The most attempts entered in the record ahead of being sent."""
    tries: int
    row_seconds: float
    forecast: Forecast = field(default_factory=Forecast)
    leave_out: set[str] = field(default_factory=set)
    """Parameters the endpoint has refused."""
    on_the_wire: int = 0
    """Attempts sent and not yet committed."""
    wakes: set[asyncio.Event] = field(default_factory=set)
    """One per ask under way: a slot that one of them frees is for any of them."""


class Asking:
    """The requests of one `ask` on their way; `run` ends when each has an outcome or the ask was stopped."""

    def __init__(self, wiring: ClientContext, calls: Sequence[Call], tally: Counters) -> None:
        self._wiring = wiring
        self._tally = tally
        self._fresh = deque(calls)
        self._ready: deque[Call] = deque()
        self._entered: deque[Call] = deque()
        self._entering = 0
        self._delayed = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._successes = 0
        self._lost: list[tuple[Call, FailedCall]] = []
        self._redirect: ModelError | None = None
        self.stopped: BaseException | None = None
        """Why no more requests are claimed: a fatal error, the spent budget, or an interrupt."""

    async def run(self) -> None:
        """Move every request to its outcome; after a stop, only those already on the wire."""
        self._wiring.wakes.add(self._wake)
        try:
            while not self._over():
                self._claim()
                if self._admit():
                    continue  # what was sent left room to claim more
                if not self._over():
                    await self._wake.wait()
                    self._wake.clear()
            if self.stopped is None and self._redirect and not (self._successes or self._tally.recorded):
                self.stop(self._redirect)
            if self.stopped is None:
                await self._record_lost()
        finally:
            self._wiring.wakes.discard(self._wake)
            for task in self._tasks | self._timers:
                task.cancel()
            await asyncio.gather(*self._tasks, *self._timers, return_exceptions=True)

    def stop(self, reason: BaseException) -> None:
        """Claim nothing more; what is on the wire is awaited and kept. The first reason stays."""
        self.stopped = self.stopped or reason
        self._wake.set()

    def _over(self) -> bool:
        if self._tasks or self._entered:
            return False
        return self.stopped is not None or not (self._fresh or self._ready or self._delayed)

    # Claiming and sending.

    def _claim(self) -> None:
        """Reserve and enter the next requests, as far as there is room to send them soon."""
        wiring = self._wiring
        while self.stopped is None and not wiring.limit.paused:
            # Without this bound a failing endpoint would draw every request into the retries.
            queue = self._ready or (self._fresh if self._delayed < wiring.concurrency else None)
            if not queue or self._entering + len(self._entered) >= wiring.lookahead:
                return
            try:
                reserved = self._reserve(queue[0])
            except JudgewrightError as error:
                self.stop(error)
                return
            if not reserved:
                return
            self._enter(queue.popleft())

    def _reserve(self, call: Call) -> bool:
        wiring, model = self._wiring, self._wiring.model
        tokens_in, tokens_out = wiring.forecast.before(call.request)
        cost = wiring.prices.cost(model.name, model.endpoint, tokens_in, tokens_out)
        call.reservation = wiring.budget.reserve(cost=cost, tokens=tokens_in + tokens_out, model=model.name)
        if call.reservation is None and not (self._tasks or self._entered):
            self._start_timer(_BUDGET_POLL)  # what it waits for is in flight at another client of the run
        return call.reservation is not None

    def _enter(self, call: Call) -> None:
        """Have the attempt committed to the record before it is sent."""
        wiring, reservation = self._wiring, call.reservation
        assert reservation is not None
        if not call.deadline:
            call.deadline = wiring.clock.now() + wiring.row_seconds
            call.successes_before = self._successes
        committed = wiring.record.sent(
            call.key,
            call.request,
            endpoint=wiring.model.endpoint,
            model=wiring.model.name,
            reserved_cost=reservation.cost,
            reserved_tokens=reservation.tokens,
        )
        if committed.done():
            committed.result()
            self._entered.append(call)
        else:
            self._entering += 1
            self._start(self._await_entry(call, committed))

    async def _await_entry(self, call: Call, committed: Future[None]) -> None:
        try:
            await asyncio.wrap_future(committed)
        finally:
            self._entering -= 1
        self._entered.append(call)

    def _admit(self) -> bool:
        """Send entered requests while there is a slot, and say whether any was; after a stop, take them back."""
        wiring = self._wiring
        sent = False
        while self._entered:
            if self.stopped is not None:
                call = self._entered.popleft()
                self._settle_free(call)
                self._start(_durable(wiring.record.not_charged(call.key)))
            elif wiring.on_the_wire < wiring.concurrency and (ticket := wiring.limit.admit()) is not None:
                wiring.on_the_wire += 1
                self._start(self._attempt(self._entered.popleft(), ticket))
                sent = True
            else:
                break
        paused = wiring.limit.paused
        if paused and (self._alarm is None or self._alarm.done()):
            self._alarm = self._start_timer(paused)
        return sent

    # One attempt.

    async def _attempt(self, call: Call, ticket: int) -> None:
        wiring = self._wiring
        leave_out = frozenset(wiring.leave_out)
        self._tally.stats.attempts += 1
        self._tally.stats.retries += call.tries > 0
        call.tries += 1
        began = wiring.clock.now()
        try:
            answer = await self._complete(call, ticket, leave_out)
            if isinstance(answer, Completion):
                seconds = 0.0 if wiring.model.simulated else wiring.clock.now() - began
                await self._keep(call, replace(answer, latency=answer.latency or seconds), leave_out)
            else:
                await self._failed(call, answer, leave_out)
        finally:
            wiring.on_the_wire -= 1
            self._wake_all()

    async def _complete(self, call: Call, ticket: int, leave_out: frozenset[str]) -> Completion | ModelError:
        answer: Completion | ModelError | None = None
        try:
            answer = await self._wiring.model.complete(call.request, leave_out=leave_out)
        except ModelError as error:
            answer = error
        finally:
            if answer is None:  # cancelled, or a fault of our own
                self._settle_in_doubt(call)
            turned_away = isinstance(answer, ModelError) and refused(answer)
            self._wiring.limit.release(ticket, refused=turned_away, answered=isinstance(answer, Completion))
            self._wake_all()
        assert answer is not None
        return answer

    async def _keep(self, call: Call, answer: Completion, leave_out: frozenset[str]) -> None:
        wiring, model = self._wiring, self._wiring.model
        cost = wiring.prices.cost(model.name, model.endpoint, answer.tokens_in, answer.tokens_out, answer.tokens_cached)
        dropped = tuple(sorted({*answer.dropped, *_dropped(call.request, leave_out)}))
        kept = replace(answer, cost=cost, dropped=dropped)
        assert call.reservation is not None
        wiring.budget.settle(call.reservation, cost=cost, tokens=kept.tokens_in + kept.tokens_out)
        wiring.forecast.learn(call.request, kept)
        self._tally.charge(kept)
        await _durable(wiring.record.done(call.key, kept))
        self._successes += 1
        self._finish(call, kept)
        await self._record_lost()

    async def _failed(self, call: Call, error: ModelError, leave_out: frozenset[str]) -> None:
        news = error.refused_parameter is not None and error.refused_parameter not in leave_out
        if sent_elsewhere(error):
            self._redirect = self._redirect or error
            error = given_up(error, call.tries)  # fatal only where no other request is answered, see `run`
        self._heed(error)  # before anything is awaited: what concerns every request must not be sent meanwhile
        if free_of_charge(error):
            self._settle_free(call)
            await _durable(self._wiring.record.not_charged(call.key))
        else:
            self._settle_in_doubt(call)
        if news:
            call.tries -= 1
            self._ready.append(call)
        elif not error.fatal:
            await self._retry_or_give_up(call, error)

    def _heed(self, error: ModelError) -> None:
        """Take in what an error says about the endpoint and not about its request."""
        wiring = self._wiring
        if error.fatal:
            self.stop(error)
        if error.refused_parameter is not None:
            wiring.leave_out.add(error.refused_parameter)
        if error.retryable and error.retry_after:
            if error.retry_after > wiring.row_seconds:
                self.stop(closed(error))
            if wiring.limit.crowded:
                wiring.limit.pause(error.retry_after)

    async def _retry_or_give_up(self, call: Call, error: ModelError) -> None:
        wiring = self._wiring
        delay = max(error.retry_after or 0.0, backoff(wiring.rng, call.tries))
        late = wiring.clock.now() + delay > call.deadline
        call.same_status = call.same_status + 1 if error.status == call.last_status else 1
        call.last_status = error.status
        poison = self._successes > call.successes_before and poisonous(error, call.same_status)
        if error.retryable and self.stopped is not None:
            return  # a resumed run tries again
        if not error.retryable or call.tries >= wiring.tries or late or poison:
            await self._give_up(call, error)
        else:
            self._delayed += 1
            self._start_timer(delay, call)

    async def _give_up(self, call: Call, error: ModelError) -> None:
        final = given_up(error, call.tries)
        failure = FailedCall(message=str(final), status=error.status)
        if error.retryable or sent_elsewhere(error):
            self._lost.append((call, failure))
            if len(self._lost) >= OUTAGE:
                self.stop(outage(error))
        else:
            await _durable(self._wiring.record.failed(call.key, failure))
        self._finish(call, final)

    async def _record_lost(self) -> None:
        """Record the requests that were given up, once a success shows that the endpoint works.

        Until then the fault may be the endpoint's, and a resumed run is to ask again.
        """
        while self._lost and self._successes:
            call, failure = self._lost.pop()
            await _durable(self._wiring.record.failed(call.key, failure))

    # Book-keeping.

    def _finish(self, call: Call, outcome: Outcome) -> None:
        call.outcome = outcome
        self._tally.count(call)

    def _settle_free(self, call: Call) -> None:
        if call.reservation is not None:
            self._wiring.budget.release(call.reservation)

    def _settle_in_doubt(self, call: Call) -> None:
        if call.reservation is not None:
            self._wiring.budget.doubt(call.reservation)

    def _wake_all(self) -> None:
        for wake in self._wiring.wakes:
            wake.set()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.stop(error)
        self._wake.set()

    def _start_timer(self, seconds: float, call: Call | None = None) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._after(seconds, call))
        self._timers.add(task)
        task.add_done_callback(self._timers.discard)
        return task

    async def _after(self, seconds: float, call: Call | None) -> None:
        await self._wiring.clock.sleep(seconds)
        if call is not None:
            self._delayed -= 1
            self._ready.append(call)
        self._wake.set()


async def _durable(future: Future[None]) -> None:
    if future.done():
        future.result()  # a record in memory is done at once; wrapping would cost a turn of the loop
    else:
        await asyncio.wrap_future(future)


def _dropped(request: Request, leave_out: frozenset[str]) -> set[str]:
    """Return the parameters this request asked for and did not get; a limit under its other name is no loss."""
    if not leave_out:
        return set()
    asked = {"logprobs" if name == "top_logprobs" else name for name in request.body()}
    lost = asked & leave_out
    return lost if "max_completion_tokens" in leave_out else lost - {"max_tokens"}
