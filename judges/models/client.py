"""The client of a model: the one place where calls are retried, limited, paid for and recorded.

It is synchronous outside. `async` begins and ends in here, in an event loop of the client's own
thread, so that it also works in a notebook, whose loop is already running. Where requests are sent
from is an `engine`; what happens to each is in `dispatcher`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from ..errors import BudgetSpent, InputError, ModelError
from .budget import Budget
from .call_record import CallRecord, FailedCall, MemoryRecord, Spending
from .counters import ASKERS, MOST_UNREADABLE, Call, ClientStats, Counters, Outcome, Progress
from .dispatcher import ClientContext
from .engine import Engine, Here
from .heap import heap_at_rest
from .in_flight import CallsInFlight
from .ladder import Ladder
from .limits import AdaptiveLimit, SystemClock
from .model import Completion, Model, Request
from .price import Prices
from .rates import Clock, RateLimits
from .recorded import Recorded
from .settings import ModelSettings
from .speed import Speed

if TYPE_CHECKING:
    from ..cases import Encode
    from .exchange import Exchange

_LOOKUP = 500
"""Keys looked up at once; SQLite limits how many values one statement may have."""
_KEPT = 2 * _LOOKUP
"""Requests that are kept until they are sent; later ones are made again."""
_CONCURRENCY = 64
"""Requests in flight at most, where the caller names no number."""
_FIRST_LIMIT = 4
"""Requests in flight at first, where the caller names no number; the limit adapts from there."""
_IN_PROCESS = 512
"""Requests in flight at an embedded model: it has no rate to find and bills nothing."""


class Client:
    """Ask a model many things at once, safely; several threads may ask at the same time.

    Args:
        model: Makes one try.
        record: Where calls are stored; in memory by default. It is read from the calling thread and
            written from the client's own.
        settings: What the person has set for this model; it is applied to each request, and its
            rates are kept to.
        budget: What may be spent; no limit by default.
        prices: What calls cost; the bundled prices by default.
        exchange: Asks through batches or files in place of single calls.
        engine: Where a judge's requests are sent from; here, unless given. It belongs to the
            caller, who closes it.
        encoder: Returns the embeddings model of a name, by which a judge's decided cases may be
            chosen; on the same record and budget.
        opener: Returns the client of another model by its name, on the same record and budget.
        watch: Told whom an `ask` without a progress of its own is for, and how far it has come.
        omitted: What the endpoint is known to refuse; see `Ladder`.
        concurrency: The most attempts that are sent and not yet recorded, at any moment, and where
            the adaptive limit starts; None for the setting, else for 64, reached from 4 by
            doubling.
        max_unreadable: How many of a judge's first twenty replies may have no readable verdict; the
            rest is not sent where there are more.
        tries: The most attempts for one request.
        row_seconds: The longest one request may take, its waits included.
        widens: Whether a reply that was cut is asked for once more, with twice the room.
        clock: The time, for tests.
        rng: Draws the jitter of retries.

    Raises:
        InputError: A number is below 1.
    """

    def __init__(
        self,
        model: Model,
        *,
        settings: ModelSettings | None = None,
        record: CallRecord | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
        exchange: Exchange | None = None,
        engine: Engine | None = None,
        encoder: Callable[[str], Encode] | None = None,
        opener: Callable[[str], Client] | None = None,
        watch: Callable[[str, Progress], None] | None = None,
        omitted: Collection[str] = (),
        concurrency: int | None = None,
        max_unreadable: int = MOST_UNREADABLE,
        tries: int = 8,
        row_seconds: float = 600.0,
        widens: bool = True,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings = settings or ModelSettings()
        concurrency = settings.concurrency if concurrency is None else concurrency
        in_flight = _CONCURRENCY if concurrency is None else concurrency
        if in_flight < 1 or tries < 1 or row_seconds <= 0:
            raise InputError(
                f"concurrency {concurrency!r}, tries {tries!r}, row_seconds {row_seconds!r}: at"
                " least 1 each"
            )
        clock = clock or SystemClock()
        first_limit = _FIRST_LIMIT if concurrency is None else concurrency
        lookahead = max(4, in_flight)
        if model.endpoint.startswith("simulated:"):
            in_flight = first_limit = lookahead = max(_IN_PROCESS, in_flight)
        rates = RateLimits(
            clock,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
        )
        self.model = model
        self._stats = ClientStats()
        self._max_unreadable = max_unreadable
        self._widens = widens
        self._counting = threading.Lock()
        self._in_flight = CallsInFlight()
        self._context = ClientContext(
            model=model,
            record=MemoryRecord() if record is None else record,
            budget=budget or Budget(money=None, tokens=None, spent=Spending()),
            prices=prices or Prices(),
            limit=AdaptiveLimit(clock, start=first_limit, high=in_flight, rates=rates),
            clock=clock,
            rng=rng or random.Random(),
            concurrency=in_flight,
            lookahead=lookahead,
            tries=tries,
            row_seconds=row_seconds,
            price_share=1.0 if exchange is None else exchange.price_share,
            ladder=Ladder(omitted, tries=settings.api is None),
            speed=Speed(settings.timeout),
        )
        self._watch = watch
        self._exchange = exchange
        self._engine = engine
        self.encoder = encoder
        self._opener = opener
        self._others: dict[str, Client] = {}
        self._here = Here(model)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stats(self) -> ClientStats:
        """What this client has done so far, and those that it opened."""
        return self._stats.with_those_of([other.stats for other in self._others.values()])

    def second(self, name: str) -> Client:
        """Return the client of another model, on the same record and budget, opened once.

        Raises:
            InputError: Nothing here opens another model, or this user may not ask it.
        """
        if self._opener is None:
            raise InputError(f"{name!r} cannot be asked here beside {self.model.name}")
        with self._counting:
            if name not in self._others:
                self._others[name] = self._opener(name)
            return self._others[name]

    @property
    def by_exchange(self) -> bool:
        """Whether requests go out together, as a batch or in files, and their replies may take
        days.
        """
        return self._exchange is not None

    @heap_at_rest()
    def ask(
        self,
        requests: Sequence[Request],
        *,
        progress: Callable[[Progress], None] | None = None,
        unreadable: Callable[[Completion], str] | None = None,
    ) -> list[Outcome]:
        """Ask, and return the outcomes in the order of the requests.

        What is in the call record is not asked again; equal requests are sent once. A reply that
        was cut at its limit of tokens is asked for once more, with twice the room. A request that
        failed is a `ModelError` in the list; those left when the budget is spent are `BudgetSpent`.

        Args:
            requests: What to ask.
            progress: Called in this thread about ten times a second and at the end; an exception
                from it stops everything as Ctrl-C does, and is raised.
            unreadable: Says why a reply of a judge cannot be read; empty where it can.

        Raises:
            ModelError: Every other request would fail as well: a wrong key, an unknown model, an
                endpoint that is down, a limit of tokens that leaves a judge no room for its
                verdicts, most of the first replies unreadable.
            InputError: The budget is in money and the price of the model is unknown.
            Interrupted: Ctrl-C; what was in flight was awaited and recorded. A second Ctrl-C gives
                it up.
            Waiting: Batches or files are out whose replies have not come back.
            WorkspaceError: The record cannot be written.
        """
        counters = Counters(
            len(requests), self._stats, unreadable=unreadable, most_unreadable=self._max_unreadable
        )
        counters.asked = f"{self.model.name} at {self.model.endpoint}"
        seen = self._in_flight.ended
        calls = self._prepare(requests)
        with self._counting:
            self._stats.requests += len(requests)

        def make(position: int) -> Request:
            return self.settings.apply(requests[position])

        self._complete(calls, make, counters, progress, seen)
        if self._widens:
            self._ask_with_more_room(calls, make, counters, progress)
        if progress is not None:
            progress(counters.progress())
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

    def recorded(self, requests: Sequence[Request]) -> list[bool]:
        """Return for each request whether `ask` would take its outcome from the call record."""
        recorded = [False] * len(requests)
        for call in self._prepare(requests):
            for position in call.positions:
                recorded[position] = call.outcome is not None
        return recorded

    def keep(self, answers: Iterable[tuple[Request, Completion]]) -> None:
        """Record answers that came with others in one request, each under a request of its own."""
        endpoint, model = self.model.endpoint, self.model.name
        written: list[Future[None]] = []
        for asked, answer in answers:
            request, answer = self.settings.apply(asked), replace(answer, recorded=True)
            key, done = request.key(endpoint=endpoint, model=model), self._context.record.done
            written.append(done(key, answer, request=request, endpoint=endpoint, model=model))
        for one in written:
            one.result()

    def close(self) -> None:
        """Release the model's connections and the thread; a closed client may be asked again."""
        self._here.close()

    def _prepare(self, requests: Sequence[Request]) -> list[Call]:
        """Return the distinct calls; those that are recorded have their outcome.

        Equal requests are one call: they would get one answer and two bills. Requests are kept only
        for the calls that are sent first; the others are made again, so that memory does not grow
        with their texts.
        """
        apply = self.settings.apply
        endpoint, model = self.model.endpoint, self.model.name
        by_key: dict[bytes, Call] = {}
        calls: list[Call] = []
        for position, request in enumerate(requests):
            request = apply(request)
            key = request.key(endpoint=endpoint, model=model)
            call = by_key.get(key)
            if call is not None:
                call.positions.append(position)
                continue
            call = Call(
                key, request, [position], purpose=request.purpose, token_limit=request.token_limit
            )
            by_key[key] = call
            calls.append(call)
            if len(calls) % _LOOKUP == 0:
                self._look_up(calls[-_LOOKUP:], keep=len(calls) <= _KEPT)
        self._look_up(calls[len(calls) - len(calls) % _LOOKUP :], keep=len(calls) <= _KEPT)
        return calls

    def _look_up(self, calls: Sequence[Call], *, keep: bool) -> None:
        answers = self._context.record.lookup([call.key for call in calls])
        for call in calls:
            answer = answers.get(call.key)
            if isinstance(answer, FailedCall):
                call.outcome = ModelError(answer.message, status=answer.status)
            elif answer is not None:
                call.outcome = _from_record(answer)
            if call.outcome is not None or not keep:
                call.request = None

    def _complete(
        self,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
        progress: Callable[[Progress], None] | None,
        seen: int,
    ) -> None:
        """Count the calls that were recorded, and ask the model for the others.

        Args:
            seen: `CallsInFlight.ended` before the calls were looked up.
        """
        # Several threads may ask; the counters are plain integers.
        with self._counting:
            for call in calls:
                if call.outcome is not None:
                    counters.count(call)
        open_calls = [call for call in calls if call.outcome is None]
        while open_calls:
            with self._in_flight.claim(open_calls) as (mine, others):
                if self._in_flight.ended != seen:
                    self._look_up_again(mine, counters)
                    mine = [call for call in mine if call.outcome is None]
                if mine:
                    budget_spent = self._run(mine, make, counters, progress)
                    for call in mine:
                        call.outcome = call.outcome or budget_spent
            self._in_flight.wait(others)
            open_calls = others

    def _look_up_again(self, calls: Sequence[Call], counters: Counters) -> None:
        """Take what other threads were answered since this one looked."""
        for first in range(0, len(calls), _LOOKUP):
            self._look_up(calls[first : first + _LOOKUP], keep=True)
        with self._counting:
            for call in calls:
                if call.outcome is not None:
                    counters.count(call)

    def _ask_with_more_room(
        self,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """Ask once more for each reply that was cut, with twice the tokens; a request of its own in
        the record.
        """
        cut: list[tuple[Call, Call]] = []
        for call in calls:
            if not isinstance(call.outcome, Completion) or call.outcome.finish_reason != "length":
                continue
            request = make(call.positions[0])
            speed = self._context.speed
            if speed.per_second is not None and not speed.may_widen(call.outcome.tokens_out):
                continue
            if request.token_limit is not None:
                request = replace(request, max_tokens=2 * request.token_limit)
                key = request.key(endpoint=self.model.endpoint, model=self.model.name)
                limit = request.max_tokens
                cut.append(
                    (call, Call(key, request, call.positions, token_limit=limit, again=True))
                )
                counters.reopen(call)
        wider = [second for _, second in cut]
        seen = self._in_flight.ended
        self._look_up(wider, keep=True)
        if isinstance(self.model, Recorded):
            # It sends nothing: what earlier versions did not ask again stays as it was.
            wider = [call for call in wider if call.outcome is not None]
        self._complete(wider, make, counters, progress, seen)
        for first, second in cut:
            if second.outcome is None:
                counters.count(first)
            first.outcome = _joined(first.outcome, second)

    def _run(
        self,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
        progress: Callable[[Progress], None] | None,
    ) -> BudgetSpent | None:
        """Run the calls in the loop while this thread reports; return why some have no outcome."""
        if counters.in_vain is not None:
            raise counters.in_vain
        if progress is None and self._watch is not None and calls:
            progress = partial(self._watch, ASKERS[calls[0].purpose])
        if self._exchange is not None:
            for call in calls:
                call.request_by(make)

            def report(note: str) -> None:
                if progress is not None:
                    progress(replace(counters.progress(), note=note))

            return self._exchange.ask(self._context, calls, counters, report)
        # Only a judge's requests are many; who writes prompts and losses asks from here.
        others = any(call.purpose != "judge" for call in calls)
        engine = self._here if self._engine is None or others else self._engine
        return engine.ask(self._context, calls, make, counters, progress)


def _joined(first: Outcome | None, again: Call) -> Outcome | None:
    """Return the outcome of a request that was asked again: the later reply, at the price of
    both.
    """
    second = again.outcome
    if isinstance(second, BudgetSpent):
        return second  # a resumed run asks it again
    if not isinstance(first, Completion) or not isinstance(second, Completion):
        return first
    cost = None if first.cost is None or second.cost is None else first.cost + second.cost
    return replace(
        second,
        token_limit=again.token_limit if second.finish_reason == "length" else None,
        tokens_in=first.tokens_in + second.tokens_in,
        tokens_out=first.tokens_out + second.tokens_out,
        tokens_cached=first.tokens_cached + second.tokens_cached,
        cost=cost,
        latency=first.latency + second.latency,
        recorded=first.recorded and second.recorded,
    )


def _from_record(completion: Completion) -> Completion:
    if completion.recorded and not completion.latency:
        return completion
    return replace(completion, recorded=True, latency=0.0)


def _in_order(calls: Sequence[Call], n: int) -> list[Outcome]:
    """Return the outcomes by position; equal requests beyond the first count as recorded."""
    outcomes: list[Outcome | None] = [None] * n
    for call in calls:
        outcomes[call.positions[0]] = call.outcome
        for position in call.positions[1:]:
            outcomes[position] = (
                _from_record(call.outcome) if isinstance(call.outcome, Completion) else call.outcome
            )
    assert None not in outcomes, "every request has an outcome, or the ask has raised"
    return cast("list[Outcome]", outcomes)
