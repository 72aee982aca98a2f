"""What a worker does: it leases the calls of a shard, sends them, and keeps the replies in the
workspace.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Generator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from ...judges import InputError, Interrupted, JudgewrightError, ModelError, WorkspaceError
from ...judges.models import (
    AdaptiveLimit,
    Budget,
    ClientStats,
    Here,
    Model,
    Progress,
    RateLimits,
    Spending,
    SystemClock,
)
from ...judges.models.counters import Call, Counters
from ...judges.models.dispatcher import ClientContext
from ...runs.config.environment import SIMULATED, open_model, read_environment
from ...runs.config.place import read_place
from ...runs.store.database import Database
from .leases import LeasedCallStore, WorkerLeases, spent_on
from .lent_database import LentDatabase
from .shard import Errand, Shard, ShardReport

BEAT = 0.5
"""Seconds between two beats of a worker, and between two orders of its driver."""
_ORPHANED = 60.0
"""Seconds without a beat of the driver after which a worker sends nothing more."""
_senders: dict[str, Sender] = {}
"""By driver: what sends its calls from this process. Threads share one, so that they share its
limits.
"""
_lock = threading.Lock()


def send_shard(errand: Errand, shard: Shard, place: str) -> ShardReport:
    """Send the calls of a shard that nobody else sends; the function that a worker is asked to run.

    Args:
        errand: What all shards of the client have in common.
        shard: The calls.
        place: The address of the worker, if it is not one of dask's; for tests.
    """
    try:
        sender = _sender_of(errand, place or _address())
    except JudgewrightError as error:
        return ShardReport(stopped=error)
    return sender.send(shard)


def close_sender(driver: str) -> None:
    """Let go of what this process has open for a driver."""
    with _lock:
        sender = _senders.pop(driver, None)
    if sender is not None:
        sender.close()


def own_version() -> str:
    """Return the version of Judgewright that is installed here."""
    return version("judgewright")


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _sender_of(errand: Errand, place: str) -> Sender:
    with _lock:
        sender = _senders.get(errand.driver)
        if sender is not None and sender.ended is not None:
            sender.close()
            sender = None
        if sender is None:
            sender = _senders[errand.driver] = Sender(errand, place)
        # Before the lock is given up: whoever closes it afterwards waits for this shard.
        sender.expect_shard()
        return sender


class Sender:
    """Sends calls of one client from this process: its database, its limits, and the beat that says
    that it lives.

    Args:
        errand: Whose calls.
        place: Where this is, for people.

    Raises:
        InputError: The model is not the same one here.
        WorkspaceError: The workspace is not here, or has another format.
    """

    def __init__(self, errand: Errand, place: str) -> None:
        if errand.version != own_version():
            raise InputError(
                f"the worker {place} has Judgewright {own_version()}, and the command"
                f" {errand.version}",
                hint="install the same version on all workers and where the command is given",
            )
        self.ended: Interrupted | WorkspaceError | None = None
        """Why it sends nothing more."""
        self._model = open_own_model(errand)
        self._database = open_lent(errand.workspace)
        try:
            self._leases = WorkerLeases(
                self._database, run_id=errand.run_id, driver=errand.driver, place=place
            )
        except WorkspaceError:
            self._database.close()
            raise
        self._record = LeasedCallStore(self._database, errand.run_id, self._leases)
        self._here = Here(self._model)
        clock = SystemClock()
        self._rates = RateLimits(
            clock,
            requests_per_minute=errand.settings.requests_per_minute,
            tokens_per_minute=errand.settings.tokens_per_minute,
        )
        self._errand = errand
        limit = AdaptiveLimit(
            clock, rates=self._rates, start=errand.first_limit, high=errand.concurrency
        )
        self._context = ClientContext(
            model=self._model,
            record=self._record,
            budget=Budget(money=None, tokens=None, spent=Spending()),
            prices=errand.prices,
            limit=limit,
            clock=clock,
            rng=random.Random(),
            concurrency=errand.concurrency,
            lookahead=max(4, errand.concurrency),
            tries=errand.tries,
            row_seconds=errand.row_seconds,
        )
        self._active = 0
        """Shards that are worked on, or soon will be."""
        self._counting = threading.Condition()
        self._closing = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="judgewright-beat", daemon=True)
        self._beating.start()

    def expect_shard(self) -> None:
        """Stay open until a shard was sent."""
        with self._counting:
            self._active += 1

    def send(self, shard: Shard) -> ShardReport:
        """Send what nobody else sends of a shard that is expected; threads may do so at the same
        time.
        """
        try:
            return self._send(shard)
        finally:
            with self._counting:
                self._active -= 1
                self._counting.notify_all()

    def _send(self, shard: Shard) -> ShardReport:
        keys = [call.key for call in shard.calls]
        try:
            claimed = self._leases.claim(keys)
        except WorkspaceError as error:
            return ShardReport(stopped=self.ended or error)
        try:
            # After the claim: whoever had a lease before wrote down what it got.
            answered = self._record.lookup(sorted(claimed))
            report = self._send_claimed(shard, claimed - answered.keys())
        except JudgewrightError as error:
            report = ShardReport(stopped=error)
        finally:
            self._record.forget(claimed)
            self._release(claimed)
        return replace(report, elsewhere=tuple(key for key in keys if key not in claimed))

    def _send_claimed(self, shard: Shard, keys: set[bytes]) -> ShardReport:
        shard_calls = [call for call in shard.calls if call.key in keys]
        calls: list[Call] = []
        for position, one in enumerate(shard_calls):
            request = one.request
            call = Call(
                one.key, request, [position], request.purpose, request.token_limit, again=one.again
            )
            calls.append(call)
        self._record.put_into(shard.id, keys)
        context, stats = self._context, ClientStats()
        context.ladder.add(shard.unsupported)
        context.forecast.learn_from(shard.forecast)
        counters = Counters(len(calls), stats)
        stopped: JudgewrightError | None = None
        with self._allowance(shard):
            try:
                stopped = self._here.ask(
                    context, calls, lambda at: shard_calls[at].request, counters, self._watch
                )
            except JudgewrightError as error:
                stopped = self.ended or error
        return ShardReport(
            failed={
                call.key: call.outcome for call in calls if isinstance(call.outcome, ModelError)
            },
            stopped=stopped,
            attempts=stats.attempts,
            retries=stats.retries,
            notes=tuple(stats.notes),
            unsupported=context.ladder.omitted,
            forecast=context.forecast.learned,
        )

    @contextlib.contextmanager
    def _allowance(self, shard: Shard) -> Generator[None]:
        """Let this process spend what a shard may; an earlier try at it has spent some."""
        before, tokens_before = spent_on(self._database, shard.id)
        self._allow(shard, shard.money - before, shard.tokens - tokens_before)
        try:
            yield
        finally:
            # What was spent stays counted, so only the rest is taken back.
            spent, tokens = spent_on(self._database, shard.id)
            self._allow(shard, spent - shard.money, tokens - shard.tokens)

    def _allow(self, shard: Shard, money: float, tokens: int) -> None:
        with self._counting:
            budget = self._context.budget
            if shard.limits[0] and budget.money is None:
                budget.money = 0.0
            if shard.limits[1] and budget.tokens is None:
                budget.tokens = 0
            budget.extend(money=money, tokens=tokens)

    def close(self) -> None:
        """Give back the leases and close what is open, once no shard is worked on: what is on the
        wire is awaited.
        """
        with self._counting:
            self._counting.wait_for(lambda: not self._active)
        self._closing.set()
        if threading.current_thread() is not self._beating:
            self._beating.join()
        self._here.close()
        with contextlib.suppress(WorkspaceError):  # the driver takes them back
            self._leases.leave()
        self._database.close()

    def _watch(self, _: Progress) -> None:
        if self.ended is not None:
            raise self.ended

    def _release(self, keys: set[bytes]) -> None:
        try:
            self._leases.release(keys)
        except WorkspaceError as error:
            self.ended = self.ended or error

    def _beat(self) -> None:
        """Beat until the end, and do as the driver says."""
        last, still = -1, 0.0
        while not self._closing.is_set():
            try:
                orders = self._leases.beat()
            except WorkspaceError as error:
                self.ended = error
                return
            still = 0.0 if orders.driver_beat != last else still + BEAT
            last = orders.driver_beat
            if orders.stopping:
                self.ended = self.ended or Interrupted("the driver said to stop")
            elif last is None or still > _ORPHANED:
                self.ended = self.ended or Interrupted("the driver has gone")
                if not self._active:
                    close_sender(self._errand.driver)
                    return
            if orders.in_flight is not None:  # else the driver has said nothing yet
                self._rates.share(orders.sharing)
                self._context.limit.keep_below(orders.in_flight)
                self._context.concurrency = orders.in_flight
                self._context.lookahead = max(4, orders.in_flight)
            self._closing.wait(BEAT)


def open_lent(workspace: str) -> Database:
    """Open the database of a driver's workspace; a password is this process's own, from PGPASSWORD
    or ~/.pgpass.

    Args:
        workspace: Its file, or its address.

    Raises:
        WorkspaceError: It is not here, cannot be reached, or has another format.
    """
    address = read_place(workspace)
    if isinstance(address, Path):
        return LentDatabase(address)
    # The folder is for files that a driver has; a worker makes none.
    return address.open(Path(), lent=True)


def open_own_model(errand: Errand) -> Model:
    """Open the model of an errand with the keys of this process's own environment.

    Raises:
        InputError: It is another one here.
    """
    environment = read_environment()
    if errand.model != SIMULATED:
        environment = environment.naming(errand.model)
    model = open_model(
        errand.model, environment, concurrency=errand.concurrency, settings=errand.settings
    )
    if model.endpoint != errand.endpoint:
        raise InputError(
            f"the model {errand.model!r} is at {model.endpoint} for this worker, "
            f"and at {errand.endpoint} for the command",
            hint="install the same version on all workers and where the command is given",
        )
    return model
