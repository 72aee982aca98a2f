"""Send the requests of one `Client.ask` inside the event loop: reserve, record, send, retry,
settle.

One request moves through these states:

| state       | meaning                                                           | held in       |
|-------------|-------------------------------------------------------------------|---------------|
| fresh       | nothing was done for it yet                                       | `_fresh`      |
| entering    | its cost is reserved; the attempt is being written to the record  | a callback    |
| entered     | the record is durable; it waits for a free slot                   | `_entered`    |
| on the wire | it was sent; the reply is awaited and read                        | a task        |
| keeping     | the reply is being written to the record; it still holds its slot | a callback    |
| delayed     | it failed and waits for its next attempt; it holds no slot        | a timer       |
| ready       | it may be entered again                                           | `_ready`      |
| finished    | `Call.outcome` is a completion or an error                        | the call      |

One coroutine moves requests along and only attempts are tasks: ten thousand rows are not ten
thousand tasks. Never more than `concurrency` requests are on the wire: that is what a crash may
bill again.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from ..errors import JudgewrightError, ModelError, UnreachedError
from .budget import Budget, Forecast, Reservation
from .call_record import CallRecord, FailedCall
from .counters import Call, Counters, Outcome
from .ladder import Ladder, changed, dropped_parameters
from .limits import AdaptiveLimit, Ticket
from .model import Completion, Model, Request
from .price import Prices
from .rates import Clock
from .retries import (
    LATE_TRIES,
    NO_MODEL,
    OUTAGE,
    UNREACHED_TRIES,
    backoff,
    closed,
    free_of_charge,
    given_up,
    no_model,
    outage,
    poisonous,
    redirected,
    refused,
)
from .settings import ModelSettings
from .speed import Speed

_BUDGET_POLL = 0.2
"""Seconds between looks at a budget whose rest is held by another client of the run."""


@dataclass(slots=True, kw_only=True)
class ClientContext:
    """What all calls of `Client.ask` on one client share."""

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
    """The most attempts that are entered in the call record and not yet sent."""
    tries: int
    row_seconds: float
    price_share: float = 1.0
    """What a token costs here, as a share of its price."""
    forecast: Forecast = field(default_factory=Forecast)
    ladder: Ladder = field(default_factory=Ladder)
    """What is changed in requests, because the endpoint refuses it otherwise."""
    speed: Speed = field(default_factory=lambda: Speed(ModelSettings().timeout))
    """Of the model."""
    on_the_wire: int = 0
    """Attempts sent and not yet committed."""
    wakes: set[asyncio.Event] = field(default_factory=set)
    """One per running dispatcher: a slot that one of them frees may be taken by any of them."""

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float | None:
        """Return US dollars; None where the price is unknown."""
        model = self.model
        cost = self.prices.cost(model.name, model.endpoint, tokens_in, tokens_out, cached)
        return None if cost is None else cost * self.price_share

    def reserve(self, request: Request) -> Reservation | None:
        """Reserve the worst case of a request; None while others hold what is left.

        Raises:
            BudgetSpent: The budget does not cover it.
        """
        cost, tokens = self._worst_case(request)
        return self.budget.reserve(cost=cost, tokens=tokens, model=self.model.name)

    def hold(self, request: Request) -> Reservation:
        """Hold what a request may cost that was sent already, whatever the budget says."""
        cost, tokens = self._worst_case(request)
        return self.budget.hold(cost=cost, tokens=tokens, counted=False)

    def _worst_case(self, request: Request) -> tuple[float | None, int]:
        tokens_in, tokens_out = self.forecast.before(request)
        return self.cost(tokens_in, tokens_out), tokens_in + tokens_out

    def enter(self, key: bytes, reservation: Reservation) -> Future[None]:
        """Write an attempt to the call record, so that a crash cannot hide that it was paid for."""
        return self.record.sent(
            key, reserved_cost=reservation.cost, reserved_tokens=reservation.tokens
        )

    def settle(
        self,
        request: Request,
        reply: Completion,
        reservation: Reservation,
        omitted: frozenset[str],
        counters: Counters,
    ) -> Completion:
        """Count a reply where money and tokens are counted; return it with its cost and with what
        was left out of its request.
        """
        cost = self.cost(reply.tokens_in, reply.tokens_out, reply.tokens_cached)
        dropped = reply.dropped
        if omitted:
            dropped = tuple(sorted({*dropped, *dropped_parameters(request, omitted)}))
        if (cost, dropped) != (reply.cost, reply.dropped):
            reply = replace(reply, cost=cost, dropped=dropped)
        self.budget.settle(reservation, cost=cost, tokens=reply.tokens_in + reply.tokens_out)
        self.forecast.learn(request, reply)
        counters.charge(request, reply)
        return reply

    def keep(self, key: bytes, reply: Completion, request: Request) -> Future[None]:
        """Write a reply to the call record."""
        model = self.model
        return self.record.done(
            key, reply, request=request, endpoint=model.endpoint, model=model.name
        )


class Dispatcher:
    """Bring the requests of one `ask` to their outcomes; `run` ends when all have one, or after
    `stop`.
    """

    def __init__(
        self,
        context: ClientContext,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
    ) -> None:
        self._context = context
        self._make = make
        """Makes the request at a position, for calls that come without theirs."""
        self._commits = _Commits()
        self._counters = counters
        self._fresh = deque(calls)
        self._ready: deque[Call] = deque()
        self._entered: deque[Call] = deque()
        self._entering = 0
        self._keeping = 0
        """Replies that are being written to the record."""
        self._delayed = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.Task[None]] = set()
        self._pause_timer: asyncio.Task[None] | None = None
        self._pause_ends = 0.0
        self._wake = asyncio.Event()
        self._successes = 0
        self._given_up: list[tuple[Call, FailedCall]] = []
        """Failures that may be the endpoint's fault; not yet in the call record."""
        self._redirect: ModelError | None = None
        self._no_model: int | None = 0
        """Answers that may come from no model; None once anything else came."""
        self.stopped: BaseException | None = None
        """Why no more requests are sent: a fatal error, the spent budget, or an interrupt."""

    async def run(self) -> None:
        """Move every request to its outcome; after a stop, only those already on the wire."""
        self._context.wakes.add(self._wake)
        try:
            while not self._over():
                self._enter_next()
                # What was sent made room to enter more, so look again before waiting.
                if self._send_entered():
                    continue
                if not self._over():
                    await self._wake.wait()
                    self._wake.clear()
            answered = self._successes or self._counters.recorded
            if self.stopped is None and self._redirect is not None and not answered:
                self.stop(self._redirect)
            if self.stopped is None:
                await self._record_given_up()
        finally:
            self._context.wakes.discard(self._wake)
            for task in self._tasks | self._timers:
                task.cancel()
            await asyncio.gather(*self._tasks, *self._timers, return_exceptions=True)

    def stop(self, reason: BaseException) -> None:
        """Send nothing more; what is on the wire is awaited and recorded. The first reason
        stays.
        """
        if self.stopped is None:
            self.stopped = reason
        self._wake.set()

    def _over(self) -> bool:
        if self._tasks or self._entered or self._entering or self._keeping:
            return False
        return self.stopped is not None or not (self._fresh or self._ready or self._delayed)

    # Entering and sending.

    def _enter_next(self) -> None:
        """Reserve and enter the next requests, as far as there is room to send them soon."""
        context = self._context
        while self.stopped is None and not context.limit.paused:
            queue = self._ready
            # Without this bound a failing endpoint would draw every request into the retries.
            if not queue and self._delayed < context.concurrency:
                queue = self._fresh
            if not queue or self._entering + len(self._entered) >= context.lookahead:
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
        call.reservation = self._context.reserve(call.request_by(self._make))
        if call.reservation is None and not (self._tasks or self._entered):
            # The money is held by another client of the run, which cannot wake this one.
            self._start_timer(_BUDGET_POLL)
        return call.reservation is not None

    def _enter(self, call: Call) -> None:
        """Write the attempt to the call record before it is sent, so that a crash cannot hide that
        it was paid for.
        """
        context, reservation = self._context, call.reservation
        assert reservation is not None
        committed = context.enter(call.key, reservation)
        self._entering += 1
        self._commits.when_done(committed, lambda: self._entry_committed(call, committed))

    def _entry_committed(self, call: Call, committed: Future[None]) -> None:
        self._entering -= 1
        error = committed.exception()
        if error is None:
            self._entered.append(call)
        else:
            self.stop(error)
        self._wake.set()

    def _send_entered(self) -> bool:
        """Send entered requests while there is a slot, and say whether any was; after a stop, take
        them back.
        """
        context = self._context
        sent, seconds = False, 0.0
        while self._entered:
            if self.stopped is not None:
                call = self._entered.popleft()
                self._settle_free(call)
                self._start(self._commits.durable(context.record.not_charged(call.key)))
                continue
            if context.on_the_wire >= (1 if context.ladder.climbing else context.concurrency):
                break
            tokens = _reserved_tokens(self._entered[0])
            seconds = context.limit.wait(tokens)
            ticket = None if seconds else context.limit.admit(tokens)
            if ticket is None:
                break
            context.on_the_wire += 1
            self._start(self._attempt(self._entered.popleft(), ticket))
            sent = True
        seconds = seconds or context.limit.paused
        if seconds:
            self._wake_in(seconds)
        return sent

    def _wake_in(self, seconds: float) -> None:
        """Look again after so many seconds, or earlier."""
        until = self._context.clock.now() + seconds
        if until < self._pause_ends or self._pause_timer is None or self._pause_timer.done():
            self._pause_ends = until
            self._pause_timer = self._start_timer(seconds)

    # One attempt.

    async def _attempt(self, call: Call, ticket: Ticket) -> None:
        context = self._context
        # More may be refused while this one is on the wire; it must know what it was sent without.
        omitted = context.ladder.omitted
        self._counters.stats.attempts += 1
        self._counters.stats.retries += call.tries > 0
        call.tries += 1
        began = context.clock.now()
        if not call.deadline:
            call.deadline = began + context.row_seconds
            call.successes_before = self._successes
        try:
            answer = await self._complete(call, ticket, omitted, began)
            if isinstance(answer, ModelError):
                await self._handle_failure(call, answer, omitted)
            else:
                self._handle_success(call, answer, omitted, began)
        finally:
            context.on_the_wire -= 1
            self._wake_all()

    async def _complete(
        self, call: Call, ticket: Ticket, omitted: frozenset[str], began: float
    ) -> Completion | ModelError:
        answer: Completion | ModelError | None = None
        try:
            request = changed(call.request_by(self._make), omitted)
            if not self._context.model.simulated:
                request = self._context.speed.fitted(request)
            call.sent_limit = request.token_limit
            answer = await self._context.model.complete(request, unsupported_parameters=omitted)
        except ModelError as error:
            answer = error
        finally:
            # Cancelled, or an error of our own: the endpoint may have done the work and charged for
            # it.
            if answer is None:
                self._settle_in_doubt(call)
            self._release(call, ticket, answer, self._context.clock.now() - began)
            # At the ceiling a slot is free only once the answer is committed.
            if self._context.on_the_wire < self._context.concurrency:
                self._wake_all()
        assert answer is not None
        return answer

    def _release(
        self, call: Call, ticket: Ticket, answer: Completion | ModelError | None, seconds: float
    ) -> None:
        limit, speed = self._context.limit, self._context.speed
        patience = seconds / speed.seconds
        if isinstance(answer, Completion):
            unused = _reserved_tokens(call) - answer.tokens_in - answer.tokens_out
            limit.release(ticket, answered=True, unused=unused, patience=patience)
            speed.learn(answer, seconds)
            self._counters.stats.speed = speed.per_second
        elif answer is not None:
            limit.release(ticket, refused=refused(answer), patience=1.0 if answer.late else 0.0)
            if answer.late:
                speed.late()
        else:
            limit.release(ticket)

    def _handle_success(
        self, call: Call, answer: Completion, omitted: frozenset[str], began: float
    ) -> None:
        context, model = self._context, self._context.model
        latency = answer.latency
        # The simulated model answers at once; a measured time would make equal runs differ.
        if not latency and not model.simulated:
            latency = context.clock.now() - began
        self._no_model = None
        request = call.request_by(self._make)
        context.ladder.accept(request, omitted)
        assert call.reservation is not None
        answer = replace(answer, latency=latency)
        completion = context.settle(request, answer, call.reservation, omitted, self._counters)
        if completion.finish_reason == "length" and (call.sent_limit or 0) < (
            changed(request, omitted).token_limit or 0
        ):
            if context.speed.may_widen(call.sent_limit or 0):
                # It was cut where the speed was not known yet.
                call.tries -= 1
                self._ready.append(call)
                return
            self._counters.stats.notes[context.speed.note(model.name)] = None
        commit = context.keep(call.key, completion, request)
        # The slot is freed only once it is committed, so that a crash can lose no more than
        # `concurrency` replies.
        context.on_the_wire += 1
        self._keeping += 1
        self._commits.when_done(commit, lambda: self._reply_committed(call, completion, commit))

    def _reply_committed(self, call: Call, completion: Completion, commit: Future[None]) -> None:
        self._context.on_the_wire -= 1
        self._keeping -= 1
        error = commit.exception()
        if error is not None:
            self.stop(error)
        else:
            self._successes += 1
            self._finish(call, completion)
            if self._counters.in_vain is not None:
                self.stop(self._counters.in_vain)
            if self._given_up:
                self._start(self._record_given_up())
        self._wake_all()

    async def _handle_failure(self, call: Call, error: ModelError, omitted: frozenset[str]) -> None:
        refusal = self._context.ladder.refuse(call.request_by(self._make), omitted, error)
        refused_now, error = refusal is None, refusal or error
        if redirected(error):
            self._redirect = self._redirect or error
            # No longer fatal here: `run` stops for it only where no other request was answered.
            error = given_up(error, call.tries)
        # Before anything is awaited: a request that the whole endpoint would refuse must not be
        # sent meanwhile.
        self._apply_to_all(error)
        if free_of_charge(error):
            self._settle_free(call)
            await self._commits.durable(self._context.record.not_charged(call.key))
        else:
            self._settle_in_doubt(call)
        if refused_now:
            # Asking for it otherwise is not a retry.
            call.tries -= 1
            self._ready.append(call)
        elif not error.fatal:
            await self._retry_or_give_up(call, error)

    def _apply_to_all(self, error: ModelError) -> None:
        """Act on what an error says about the endpoint, and not about its own request."""
        context = self._context
        if error.fatal:
            self.stop(error)
        self._no_model = (
            self._no_model + 1 if error.no_model and self._no_model is not None else None
        )
        if self._no_model == NO_MODEL and not self._counters.recorded:
            self.stop(no_model(error))
        if error.retryable and error.retry_after:
            if error.retry_after > context.row_seconds:
                self.stop(closed(error))
            # A single refusal delays its own request only; many mean that everybody is too fast.
            if context.limit.crowded:
                context.limit.pause(error.retry_after)

    async def _retry_or_give_up(self, call: Call, error: ModelError) -> None:
        context = self._context
        delay = max(error.retry_after or 0.0, backoff(context.rng, call.tries))
        late = context.clock.now() + delay > call.deadline
        if error.status != call.last_status:
            call.same_status = 0
        call.same_status += 1
        call.last_status = error.status
        poison = self._successes > call.successes_before and poisonous(error, call.same_status)
        # No outcome is written after a stop: the resumed run tries again.
        if error.retryable and self.stopped is not None:
            return
        tries = context.tries
        if isinstance(error, UnreachedError) and not self._counters.stats.calls:
            tries = min(tries, UNREACHED_TRIES)
        if error.late:
            tries = min(tries, LATE_TRIES)
        if not error.retryable or call.tries >= tries or late or poison:
            await self._give_up(call, error)
        else:
            self._delayed += 1
            self._start_timer(delay, call)

    async def _give_up(self, call: Call, error: ModelError) -> None:
        final = given_up(error, call.tries)
        failure = FailedCall(message=str(final), status=error.status)
        if error.retryable or redirected(error) or not (self._successes or self._counters.recorded):
            self._given_up.append((call, failure))
            if len(self._given_up) >= OUTAGE:
                self.stop(outage(error))
        else:
            await self._commits.durable(self._context.record.failed(call.key, failure))
        self._finish(call, final)

    async def _record_given_up(self) -> None:
        """Record the requests that were given up, once a success shows that the endpoint works.

        Until then the fault may be the endpoint's, and a resumed run is to ask again.
        """
        while self._given_up and self._successes:
            call, failure = self._given_up.pop()
            await self._commits.durable(self._context.record.failed(call.key, failure))

    # Outcomes, reservations, tasks and timers.

    def _finish(self, call: Call, outcome: Outcome) -> None:
        call.outcome = outcome
        call.request = None
        self._counters.count(call)

    def _settle_free(self, call: Call) -> None:
        if call.reservation is not None:
            self._context.budget.release(call.reservation)

    def _settle_in_doubt(self, call: Call) -> None:
        if call.reservation is not None:
            self._context.budget.doubt(call.reservation)

    def _wake_all(self) -> None:
        for wake in self._context.wakes:
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
        await self._context.clock.sleep(seconds)
        if call is not None:
            self._delayed -= 1
            self._ready.append(call)
        self._wake.set()


def _reserved_tokens(call: Call) -> int:
    return 0 if call.reservation is None else call.reservation.tokens


class _Commits:
    """Tells the loop what the record has committed, once for all writes that share a future."""

    def __init__(self) -> None:
        self._actions: dict[Future[None], list[Callable[[], object]]] = {}

    def when_done(self, future: Future[None], action: Callable[[], object]) -> None:
        """Run an action in the running loop once a write is durable or has failed; at once where it
        is.
        """
        # A record in memory is done at once.
        if future.done():
            action()
            return
        actions = self._actions.get(future)
        if actions is not None:
            actions.append(action)
            return
        self._actions[future] = [action]
        loop = asyncio.get_running_loop()

        def tell(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._act, future)

        future.add_done_callback(tell)

    async def durable(self, future: Future[None]) -> None:
        """Return once a write is durable; raise what kept it from being written."""
        if not future.done():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.when_done(future, lambda: waiter.done() or waiter.set_result(None))
            await waiter
        future.result()

    def _act(self, future: Future[None]) -> None:
        for action in self._actions.pop(future):
            action()
