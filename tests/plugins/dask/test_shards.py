"""The driver and its workers, over a real endpoint: every call once, one budget, and nothing lost
when a worker is.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import (
    BudgetSpent,
    Completion,
    InputError,
    Interrupted,
    ModelError,
    Progress,
)
from judgewright.judges.models import Budget, Spending
from judgewright.judges.simulated import Server, make_app
from judgewright.plugins.dask.driver import ShardFuture
from judgewright.plugins.dask.leases import WorkerLeases
from judgewright.plugins.dask.shard import Errand, Shard, ShardReport
from judgewright.plugins.dask.worker import close_sender, send_shard
from judgewright.runs.config import read_environment
from judgewright.runs.config.environment import open_client
from judgewright.runs.store import CallStore, Database, SqliteDatabase
from judgewright.runs.store.journal import create_run

from .counting import Counting, Threads, client_on, requests


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty workspace database, which this process may write."""
    with SqliteDatabase(tmp_path / "judgewright.db") as database:
        yield database


def test_every_request_is_answered_once_and_in_order(database: Database) -> None:
    """Replies, counts and progress are those of a client that sends by itself."""
    model, seen = Counting(), list[Progress]()
    asked = [*requests(120), *requests(5)]
    with Server(make_app(model)) as server:
        client, engine = client_on(Threads(), database, server.base_url)
        outcomes = client.ask(asked, progress=seen.append)
        engine.close()
    alone = Counting()
    with Server(make_app(alone)) as server:
        name = f"simulated@{server.base_url}"
        with open_client(name, read_environment().naming(name)) as client_here:
            expected = client_here.ask(asked)
    texts = [outcome.text for outcome in outcomes if isinstance(outcome, Completion)]
    assert texts == [outcome.text for outcome in expected if isinstance(outcome, Completion)]
    assert len(texts) == 125
    assert (len(model.billed), model.paid_twice) == (120, 0)
    here, there = client_here.stats, client.stats
    assert (
        (there.calls, there.attempts, there.recorded)
        == (here.calls, here.attempts, here.recorded)
        == (120, 120, 5)
    )
    assert (there.tokens_in, there.tokens_out) == (here.tokens_in, here.tokens_out)
    assert (seen[-1].done, seen[-1].total, seen[-1].failed) == (125, 125, 0)
    assert not database.read("SELECT owner FROM worker")
    assert not database.read("SELECT key FROM lease")


def test_a_shard_that_runs_twice_is_paid_once(database: Database) -> None:
    """What a scheduler believes to be lost may still be working."""
    model = Counting(latency=0.05)

    class Twice(Threads):
        def submit(self, errand: Errand, shard: Shard, *, avoid: Collection[str]) -> ShardFuture:
            super().submit(errand, shard, avoid=avoid)
            return super().submit(errand, shard, avoid=avoid)

    with Server(make_app(model)) as server:
        client, engine = client_on(Twice(), database, server.base_url)
        outcomes = client.ask(requests(60))
        engine.close()
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    assert (len(model.billed), model.paid_twice) == (60, 0)


def test_the_budget_holds_over_all_workers(database: Database) -> None:
    """In tokens: what is spent never exceeds it, the rest has no outcome but that, and more money
    goes on with it.
    """
    model = Counting()
    run = create_run(database, "bench", {})
    record = CallStore(database, run)
    with Server(make_app(model)) as server:
        budget = Budget(money=None, tokens=2_500, spent=Spending())
        client, engine = client_on(Threads(), database, server.base_url, run_id=run, budget=budget)
        outcomes = client.ask(requests(200))
        engine.close()
        spent = record.spending()
        answered = sum(isinstance(outcome, Completion) for outcome in outcomes)
        assert 10 < answered < 200
        assert all(isinstance(outcome, Completion | BudgetSpent) for outcome in outcomes)
        assert 2_000 < spent.settled_tokens + spent.in_doubt_tokens <= 2_500
        assert budget.used == spent.settled_tokens + spent.in_doubt_tokens
        budget = Budget(money=None, tokens=100_000, spent=record.spending())
        client, engine = client_on(Threads(), database, server.base_url, run_id=run, budget=budget)
        assert all(isinstance(outcome, Completion) for outcome in client.ask(requests(200)))
        engine.close()
    assert (len(model.billed), model.paid_twice) == (200, 0)


def test_a_request_that_fails_is_a_failure_of_its_own(database: Database) -> None:
    """The others are answered; in the same run it is not asked again. Where it is refused before
    any other is answered, a parameter may have been refused: it is tried once more without.
    """
    model = Counting(refuses="<7>")
    run = create_run(database, "bench", {})
    refusals: list[int] = []
    with Server(make_app(model)) as server:
        for _ in range(2):
            client, engine = client_on(Threads(), database, server.base_url, run_id=run)
            outcomes = client.ask(requests(20))
            engine.close()
            assert [
                at for at, outcome in enumerate(outcomes) if isinstance(outcome, ModelError)
            ] == [7]
            assert "this row is refused" in str(outcomes[7])
            ((count,),) = database.read("SELECT count(*) FROM attempt WHERE state = 'not_charged'")
            refusals.append(count)
    assert (len(model.billed), model.paid_twice) == (19, 0)
    assert refusals in ([1, 1], [2, 2])


def test_what_every_request_would_meet_stops_all(database: Database) -> None:
    """An address with nothing behind it that answers: the error of one machine, and nothing is
    given out for ever.
    """
    with Server(make_app(Counting())) as server:
        wrong = server.base_url.replace("/v1", "/nothing")
        client, engine = client_on(Threads(), database, wrong)
        with pytest.raises(ModelError):
            client.ask(requests(50))
        engine.close()


def test_ctrl_c_keeps_what_was_answered(database: Database) -> None:
    """What is on the wire is awaited, and the same requests go on where they were."""
    model = Counting(latency=0.02)
    run = create_run(database, "bench", {})

    def stop(progress: Progress) -> None:
        if progress.done >= 20:
            raise KeyboardInterrupt

    with Server(make_app(model)) as server:
        client, engine = client_on(Threads(), database, server.base_url, run_id=run)
        with pytest.raises(
            Interrupted, match=r"stopped with \d+ of 150 requests answered, all of them kept"
        ):
            client.ask(requests(150), progress=stop)
        engine.close()
        answered = len(model.billed)
        assert 20 <= answered < 150
        assert database.read("SELECT count(*) FROM attempt WHERE state = 'sent'") == [(0,)]
        client, engine = client_on(Threads(), database, server.base_url, run_id=run)
        client.ask(requests(150))
        engine.close()
    assert client.stats.recorded == answered
    assert (len(model.billed), model.paid_twice) == (150, 0)


def test_a_sender_is_closed_only_when_what_is_on_the_wire_was_answered(database: Database) -> None:
    """A shard that comes after Ctrl-C closes the sender of the one before, which may still be
    working.
    """
    model = Counting(latency=0.1)

    def work(errand: Errand, shard: Shard, place: str) -> ShardReport:
        def close() -> None:
            while not model.billed:
                time.sleep(0.01)
            close_sender(errand.driver)

        closing = threading.Thread(target=close)
        closing.start()
        try:
            return send_shard(errand, shard, place)
        finally:
            closing.join()

    with Server(make_app(model)) as server:
        client, engine = client_on(Threads(work=work), database, server.base_url)
        outcomes = client.ask(requests(40))
        engine.close()
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    assert (len(model.billed), model.paid_twice) == (40, 0)


def test_the_work_of_a_worker_that_hangs_goes_on(
    database: Database, measured: Callable[[str], None]
) -> None:
    """It had leased its calls and is not heard of: others get them when the lease is over, and the
    person is told.
    """
    model = Counting()

    class OneHangs(Threads):
        def __init__(self) -> None:
            super().__init__()
            self.hung = 0

        def submit(self, errand: Errand, shard: Shard, *, avoid: Collection[str]) -> ShardFuture:
            if not self.hung:
                self.hung = len(shard.calls)
                leases = WorkerLeases(
                    database, run_id=errand.run_id, driver=errand.driver, place="tls://hangs"
                )
                leases.claim([call.key for call in shard.calls])
                return Future[ShardReport]()
            return super().submit(errand, shard, avoid=avoid)

    with Server(make_app(model)) as server:
        cluster = OneHangs()
        client, engine = client_on(cluster, database, server.base_url, lease=1.0)
        outcomes = client.ask(requests(100))
        engine.close()
    kept = sum(isinstance(outcome, Completion) for outcome in outcomes)
    measured(
        f"100 calls, {cluster.hung} of them with it: {kept} kept, {model.paid_twice} paid twice"
    )
    assert cluster.hung
    assert kept == 100
    assert (len(model.billed), model.paid_twice) == (100, 0)
    assert [
        note for note in client.stats.notes if "tls://hangs was not heard of for 1 seconds" in note
    ]


def test_a_worker_that_fails_is_told(database: Database) -> None:
    """Whatever it raises: the work stops with words, and what was answered is kept."""

    def breaks(errand: Errand, shard: Shard, place: str) -> ShardReport:
        return send_shard(replace(errand, version="0.0.1"), shard, place)

    with Server(make_app(Counting())) as server:
        client, engine = client_on(Threads(work=breaks), database, server.base_url)
        with pytest.raises(InputError, match=r"has Judgewright .*, and the command 0\.0\.1"):
            client.ask(requests(50))
        engine.close()


def test_two_runs_at_once_pay_a_call_once(database: Database) -> None:
    """What another run's workers have leased is waited for, and then found answered."""
    model = Counting(latency=0.1)
    with Server(make_app(model)) as server:
        leases = WorkerLeases(database, run_id="other", driver="other", place="elsewhere")
        client, engine = client_on(Threads(), database, server.base_url)
        key = requests(1)[0].key(endpoint=client.model.endpoint, model="simulated")
        leases.claim([key])

        def let_go(progress: Progress) -> None:
            if progress.done == 29:
                leases.leave()

        outcomes = client.ask(requests(30), progress=let_go)
        engine.close()
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    assert (len(model.billed), model.paid_twice) == (30, 0)
