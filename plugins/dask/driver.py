"""The engine that sends calls from the workers of a cluster: it gives out shards, and finds the
replies in the store.

Nothing is taken for sent or answered because a worker said so: what counts is the call table. A
shard whose worker is lost is given out again, and the leases see to it that no call is paid for
twice.
"""

from __future__ import annotations

import contextlib
import math
import queue
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Protocol

from ...judges import BudgetSpent, Completion, Interrupted, JudgewrightError, ModelError, WorldError
from ...judges.errors import LeaseLost
from ...judges.models import FailedCall, Progress, Request
from ...judges.models.budget import Reservation
from ...judges.models.counters import Call, Counters
from ...judges.models.dispatcher import ClientContext
from ...judges.models.engine import draining
from ...runs.store.calls import CallStore
from ...runs.store.database import Database
from .leases import LEASE, Workers, spent_on
from .shard import Errand, Shard, ShardCall, ShardReport
from .worker import BEAT

SHARD = 200
"""Calls in a shard at most."""
_SMALLEST = 10
"""Calls in a shard at least; towards the end they become so small, that all workers end together.
"""
_POLL = 0.1
_UNHEARD = 60.0
"""Seconds without any worker after which the work is given up."""
_ROUNDS = 50
"""How often a call is given out before that is taken for a fault."""


class ShardFuture(Protocol):
    """A shard that was given out."""

    def result(self) -> ShardReport:
        """Return what became of it, once it is done."""
        ...

    def cancel(self) -> object:
        """Ask for it no more."""
        ...

    def add_done_callback(self, tell: Callable[[ShardFuture], object]) -> object:
        """Call a function, from any thread, once it is done."""
        ...


class Cluster(Protocol):
    """The processes that work."""

    def threads(self) -> Mapping[str, int]:
        """Return how many shards each worker works on at a time, by its address."""
        ...

    def submit(self, errand: Errand, shard: Shard, *, avoid: Collection[str]) -> ShardFuture:
        """Give out a shard to any worker but some."""
        ...

    def close_senders(self, driver: str) -> None:
        """Let the workers close what they have open for a driver."""
        ...


@dataclass(slots=True)
class _Given:
    """A shard that was given out, and its calls without outcome."""

    shard: Shard
    calls: dict[bytes, Call]
    reservations: list[Reservation]


@dataclass
class ShardEngine:
    """Sends the calls of one client from a cluster. See `Engine`."""

    cluster: Callable[[], Cluster]
    """Returns where the workers are, once there is something to ask; it belongs to the caller."""
    database: Database
    """Where the calls are, claimed by this process."""
    run_id: str
    _: KW_ONLY
    errand: Callable[[ClientContext, str], Errand]
    """Makes what the shards have in common, of the client's context and of the driver's name."""
    record: CallStore
    """The run's calls."""
    lease: float = LEASE
    """Seconds without a beat after which a worker is taken for dead."""

    def __post_init__(self) -> None:
        self._workers: Workers | None = None

    def ask(
        self,
        context: ClientContext,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
        progress: Callable[[Progress], None] | None,
    ) -> BudgetSpent | None:
        """See `Engine.ask`."""
        self.database.claim()
        if self._workers is None:
            self._workers = Workers(self.database, self.run_id, lease=self.lease)
        work = _Work(
            cluster=self.cluster(),
            database=self.database,
            record=self.record,
            workers=self._workers,
            errand=self.errand(context, self._workers.owner),
            context=context,
            make=make,
            counters=counters,
        )
        return work.finish(calls, progress)

    def close(self) -> None:
        """Tell the workers that there is no more to do."""
        if self._workers is not None:
            self.cluster().close_senders(self._workers.owner)
            self._workers.leave()
            self._workers = None


@dataclass(kw_only=True)
class _Work:
    """One `ask`: the calls that wait, those that were given out, and those that others send."""

    cluster: Cluster
    database: Database
    record: CallStore
    workers: Workers
    errand: Errand
    context: ClientContext
    make: Callable[[int], Request]
    counters: Counters

    def __post_init__(self) -> None:
        self._waiting: deque[Call] = deque()
        self._given: dict[ShardFuture, _Given] = {}
        self._elsewhere: dict[bytes, Call] = {}
        self._rounds: dict[bytes, int] = {}
        self._finished: queue.SimpleQueue[ShardFuture] = queue.SimpleQueue()
        self._avoided: set[str] = set()
        self._threads: Mapping[str, int] = {}
        self._next_look = 0.0
        self._alone_since = time.monotonic()
        self._stopped: BaseException | None = None
        """Why nothing more is given out."""

    def finish(
        self, calls: Sequence[Call], progress: Callable[[Progress], None] | None
    ) -> BudgetSpent | None:
        """Give every call its outcome; see `Engine.ask`."""
        self._waiting.extend(calls)
        self._look()
        try:
            while not self._over():
                self._step()
                if progress is not None:
                    progress(self.counters.progress())
        except KeyboardInterrupt:
            self._drain()
        except BaseException:
            self._drain()
            raise
        if self._stopped is None or isinstance(self._stopped, BudgetSpent):
            return self._stopped
        raise self._stopped

    @property
    def _slots(self) -> int:
        return max(
            1, sum(n for address, n in self._threads.items() if address not in self._avoided)
        )

    def _over(self) -> bool:
        if self._given:
            return False
        return self._stopped is not None or not (self._waiting or self._elsewhere)

    def _step(self) -> None:
        """Give out what there is room for, take what is finished, and look after the workers now
        and then.
        """
        if self._stopped is None:
            self._give_out()
        with contextlib.suppress(queue.Empty):
            self._take(self._finished.get(timeout=_POLL))
        if time.monotonic() >= self._next_look:
            self._look()

    def _drain(self) -> None:
        """Send nothing more and await what is on the wire; a further Ctrl-C gives it up."""
        try:
            with draining(self.counters) as interrupted:
                self._stop(interrupted)
                while not self._over():
                    self._step()
        except Interrupted as error:
            self._given.clear()
            self._stopped = error

    def _stop(self, reason: BaseException) -> None:
        if self._stopped is None:
            self._stopped = reason
            self._next_look = 0.0

    # Giving out.

    def _give_out(self) -> None:
        """Keep every thread of the workers busy, and one more shard at hand for each worker."""
        room = self._slots + len(self._threads.keys() - self._avoided) - len(self._given)
        while room > 0 and self._waiting and self._stopped is None:
            lent = self._reserve_shard()
            if lent is None:
                return
            future = self.cluster.submit(
                self.errand.divided(len(self._threads) or 1), lent.shard, avoid=self._avoided
            )
            self._given[future] = lent
            future.add_done_callback(self._finished.put)
            room -= 1

    def _reserve_shard(self) -> _Given | None:
        """Reserve the worst case of the next calls, as many as the budget covers; None where it
        covers none now.
        """
        context = self.context
        calls: dict[bytes, Call] = {}
        shard_calls: list[ShardCall] = []
        reservations: list[Reservation] = []
        size = max(_SMALLEST, min(SHARD, math.ceil(len(self._waiting) / (2 * self._slots))))
        while self._waiting and len(calls) < size:
            call = self._waiting[0]
            request = call.request_by(self.make)
            try:
                reservation = context.reserve(request)
            except JudgewrightError as error:
                if not calls:
                    self._stop(error)
                break
            if reservation is None:
                break
            self._count_round(call)
            reservations.append(reservation)
            calls[call.key] = self._waiting.popleft()
            shard_calls.append(ShardCall(key=call.key, request=request, again=call.again))
        if not calls:
            return None
        shard = Shard(
            id=secrets.token_hex(8),
            calls=tuple(shard_calls),
            money=sum(one.cost or 0.0 for one in reservations),
            tokens=sum(one.tokens for one in reservations),
            limits=(context.budget.money is not None, context.budget.tokens is not None),
            unsupported=context.ladder.omitted,
            forecast=context.forecast.learned,
        )
        return _Given(shard, calls, reservations)

    def _count_round(self, call: Call) -> None:
        rounds = self._rounds[call.key] = self._rounds.get(call.key, 0) + 1
        if rounds > _ROUNDS:
            raise WorldError(
                f"a call was given out {_ROUNDS} times and has no outcome",
                hint="see what the logs of the workers say; what was answered is kept",
            )

    # Taking back.

    def _take(self, future: ShardFuture) -> None:
        """Take what became of a shard."""
        lent = self._given.pop(future, None)
        if lent is None:
            return  # given up
        try:
            report = future.result()
        except JudgewrightError as error:
            report = ShardReport(stopped=error)
        except Exception as error:  # noqa: BLE001  # what a shard does there may fail in any way
            message = f"a worker failed: {type(error).__name__}: {error}"
            hint = (
                "see the logs of the workers; what was answered is kept, and the same command goes"
                " on"
            )
            report = ShardReport(stopped=WorldError(message, hint=hint))
        stats, context = self.counters.stats, self.context
        stats.attempts += report.attempts
        stats.retries += report.retries
        stats.notes.update(dict.fromkeys(report.notes))
        context.ladder.add(report.unsupported)
        if report.forecast is not None:
            context.forecast.learn_from(report.forecast)
        self._take_answers(lent.calls)
        for key, error in report.failed.items():
            if key in lent.calls:
                self._finish(lent.calls.pop(key), error)
        self._settle(lent)
        elsewhere = set(report.elsewhere)
        for key, call in lent.calls.items():
            if key in elsewhere:
                self._elsewhere[key] = call
            else:
                self._waiting.append(call)
        stopped = report.stopped
        if stopped is not None and not isinstance(stopped, BudgetSpent | Interrupted | LeaseLost):
            self._stop(stopped)

    def _settle(self, lent: _Given) -> None:
        """Replace what was reserved for a shard by what it has cost, and may have cost, by the call
        table.
        """
        cost, tokens = spent_on(self.database, lent.shard.id)
        first, *others = lent.reservations
        self.context.budget.settle(first, cost=cost, tokens=tokens)
        for reservation in others:
            self.context.budget.release(reservation)

    def _take_answers(self, calls: dict[bytes, Call]) -> None:
        """Give an outcome to the calls that have one in the call table, and leave the others in
        place.
        """
        for key, answer in self.record.lookup(list(calls)).items():
            call = calls.pop(key)
            if isinstance(answer, FailedCall):
                self._finish(call, ModelError(answer.message, status=answer.status))
                continue
            # It was not there when the `ask` began: it has been made now.
            completion = replace(answer, recorded=False)
            request = call.request_by(self.make)
            self.context.forecast.learn(request, completion)
            self.counters.charge(request, completion)
            self._finish(call, completion)

    def _finish(self, call: Call, outcome: Completion | ModelError) -> None:
        call.outcome = outcome
        call.request = None
        self.counters.count(call)
        if self.counters.in_vain is not None:
            self._stop(self.counters.in_vain)

    # Looking after the workers.

    def _look(self) -> None:
        """Read what is answered, notice who has died, and divide the limits anew."""
        self._next_look = time.monotonic() + BEAT
        for lent in self._given.values():
            self._take_answers(lent.calls)
        self._take_answers(self._elsewhere)
        self._threads = self.cluster.threads()
        living, dead = self.workers.look()
        for address in dead:
            self._bury(address, living)
        # Who was avoided and beats again has begun anew.
        self._avoided = (self._avoided - set(living)) & self._threads.keys()
        self._fetch_free()
        self._order()
        if living or not self._given:
            self._alone_since = time.monotonic()
        elif time.monotonic() - self._alone_since > _UNHEARD:
            raise WorldError(
                f"no worker was heard of for {_UNHEARD:.0f} seconds",
                hint="see that the workers run; the same command goes on with what is left",
            )

    def _order(self) -> None:
        n = max(1, len(self._threads.keys() - self._avoided))
        self.workers.order(
            sharing=n,
            in_flight=max(1, self.context.concurrency // n),
            # What was given out is within the budget.
            stopping=not isinstance(self._stopped, BudgetSpent | None),
        )

    def _fetch_free(self) -> None:
        """Give out again what others had leased and have not answered."""
        if not self._elsewhere:
            return
        leased = self.workers.leased(list(self._elsewhere))
        free = [key for key in self._elsewhere if key not in leased]
        unleased = {key: self._elsewhere.pop(key) for key in free}
        # Between the look at the answers and the look at the leases one may have been answered.
        self._take_answers(unleased)
        self._waiting.extend(unleased.values())

    def _bury(self, address: str, living: Collection[str]) -> None:
        """Give out again the shards that were with a worker that has died, or may wait behind
        it.
        """
        if address in self._threads and address not in living:
            self._avoided.add(address)
        note = (
            f"the worker {address} was not heard of for {self.workers.lease:g} seconds: others have"
            " its calls now"
        )
        lost = 0
        for future, lent in list(self._given.items()):
            if self.workers.leased(list(lent.calls)):
                continue  # a living one has it
            del self._given[future]
            future.cancel()
            self._take_answers(lent.calls)
            self._settle(lent)
            lost += len(lent.calls)
            self._waiting.extend(lent.calls.values())
        if lost:
            self.counters.stats.notes[note] = None
