"""Leases: one call is never two processes' at a time, and who died is found out."""

import subprocess
import sys
from pathlib import Path

import pytest

from judgewright.judges import WorkspaceError
from judgewright.judges.errors import LeaseLost
from judgewright.judges.models import Completion, FailedCall, Message, Request
from judgewright.plugins.dask.leases import LeasedCallStore, WorkerLeases, Workers, spent_on
from judgewright.plugins.dask.lent_database import LentDatabase
from judgewright.runs.store import MIGRATIONS, Database, SqliteDatabase
from judgewright.runs.store.journal import create_run

KEYS = [bytes([number]) * 32 for number in range(5)]
ANSWER = Completion(text="{}", tokens_in=30, tokens_out=10, cost=0.25)


def worker(database: Database, driver: str = "d", place: str = "tls://a") -> WorkerLeases:
    """A process that sends calls."""
    return WorkerLeases(database, run_id="r", driver=driver, place=place)


def ask(number: int) -> Request:
    """One of many requests."""
    return Request(messages=(Message("user", f"row {number}"),))


def test_a_call_is_leased_once(database: Database) -> None:
    """Of two workers one gets a call, the other the rest; once released it is free."""
    one, two = worker(database), worker(database)
    assert one.claim(KEYS[:3]) == set(KEYS[:3])
    assert two.claim(KEYS) == set(KEYS[3:])
    one.release(KEYS[:2])
    assert two.claim(KEYS) == set(KEYS[:2])


def test_two_threads_of_one_process_do_not_share_a_lease(database: Database) -> None:
    """A shard that comes twice to one worker is worked on once."""
    one = worker(database)
    assert one.claim(KEYS) == set(KEYS)
    assert one.claim(KEYS) == set()


def test_many_calls_are_leased_at_once(database: Database) -> None:
    """More than one statement holds."""
    keys = [number.to_bytes(32, "big") for number in range(1200)]
    assert worker(database).claim(keys) == set(keys)
    assert Workers(database, "r").leased(keys) == set(keys)


def test_a_worker_that_beats_is_never_taken_for_dead(database: Database) -> None:
    """However short the lease, a beat between two looks keeps it."""
    workers = Workers(database, "r", lease=0.0001)
    one = worker(database, workers.owner)
    workers.look()
    for _ in range(5):
        one.beat()
        living, dead = workers.look()
        assert (living, dead) == ({"tls://a"}, [])


def test_a_worker_that_hangs_loses_its_leases_and_sends_nothing_more(database: Database) -> None:
    """Another one gets the calls; the first may neither enter an attempt, nor give a call up, nor
    lease any.
    """
    run = create_run(database, "bench", {})
    workers = Workers(database, run, lease=0.0)
    one = worker(database, workers.owner)
    record = LeasedCallStore(database, run, one)
    one.claim(KEYS[:2])
    record.put_into("shard", KEYS[:2])
    workers.look()
    _, dead = workers.look()
    assert dead == ["tls://a"]
    assert worker(database, place="tls://b").claim(KEYS) == set(KEYS)
    with pytest.raises(LeaseLost):
        record.sent(KEYS[0], reserved_cost=1.0, reserved_tokens=5).result()
    with pytest.raises(LeaseLost):
        record.failed(KEYS[0], FailedCall(message="no")).result()
    with pytest.raises(LeaseLost):
        one.claim(KEYS[4:])
    with pytest.raises(LeaseLost):
        one.beat()
    assert database.read("SELECT count(*) FROM attempt") == [(0,)]


def test_a_late_reply_is_paid_and_the_first_reply_stays(database: Database) -> None:
    """A worker hangs with a call in flight, another answers it, then the first: both costs count,
    one reply does.
    """
    run = create_run(database, "bench", {})
    workers = Workers(database, run, lease=0.0)
    first, second = worker(database), worker(database, place="tls://b")
    records = [LeasedCallStore(database, run, one) for one in (first, second)]
    key = ask(1).key(endpoint="e", model="m")

    def enter(leases: WorkerLeases, record: LeasedCallStore, shard: str) -> None:
        assert leases.claim([key]) == {key}
        record.put_into(shard, [key])
        record.sent(key, reserved_cost=1.0, reserved_tokens=100).result()

    enter(first, records[0], "one")
    for _ in range(2):
        second.beat()
        workers.look()
    enter(second, records[1], "two")
    texts = iter(["second", "first"])
    for record in reversed(records):
        answer = Completion(text=next(texts), tokens_in=30, tokens_out=10, cost=0.25)
        record.done(key, answer, request=ask(1), endpoint="e", model="m").result()
    [kept] = records[0].lookup([key]).values()
    assert isinstance(kept, Completion)
    assert kept.text == "second"
    spending = records[0].spending()
    assert (spending.settled_cost, spending.in_doubt_cost) == (0.5, 0.0)
    assert [spent_on(database, shard) for shard in ("one", "two")] == [(0.25, 40)] * 2
    assert records[0].summary().repeated == 0


def test_what_a_shard_cost_counts_attempts_in_doubt(database: Database) -> None:
    """An attempt that failed after it was sent, and the one that was answered."""
    run = create_run(database, "bench", {})
    one = worker(database)
    record = LeasedCallStore(database, run, one)
    key = ask(1).key(endpoint="e", model="m")
    one.claim([key])
    record.put_into("shard", [key])
    for _ in range(2):
        record.sent(key, reserved_cost=1.0, reserved_tokens=100).result()
    record.done(key, ANSWER, request=ask(1), endpoint="e", model="m").result()
    assert spent_on(database, "shard") == (1.25, 140)


def test_who_was_killed_on_this_machine_is_known_at_once(tmp_path: Path) -> None:
    """No lease has to run out: the lock that a worker held is free."""
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from judgewright.plugins.dask.lent_database import LentDatabase\n"
        "from judgewright.plugins.dask.leases import WorkerLeases\n"
        "database = LentDatabase(Path(sys.argv[1]))\n"
        "WorkerLeases(database, run_id='r', driver='d', place='tls://x').claim([bytes(32)])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    database = SqliteDatabase(tmp_path / "judgewright.db")
    database.claim()  # and lent to the worker
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "judgewright.db")], check=False)
    alive = worker(database)
    workers = Workers(database, "r", lease=1e9)
    assert workers.leased([bytes(32)]) == {bytes(32)}
    _, dead = workers.look()
    assert dead == ["tls://x"]
    assert alive.claim([bytes(32)]) == {bytes(32)}
    alive.leave()
    assert not list(tmp_path.glob("worker-*.lock"))
    database.close()


def test_orders_reach_the_workers_of_their_driver_only(database: Database) -> None:
    """What a driver says, its workers hear with their next beat; where it has gone, they hear
    that.
    """
    workers = Workers(database, "r")
    mine, other = worker(database, workers.owner), worker(database)
    workers.order(sharing=3, in_flight=5, stopping=True)
    orders = mine.beat()
    assert (orders.sharing, orders.in_flight, orders.stopping) == (3, 5, True)
    assert orders.driver_beat == 1
    orders = other.beat()
    assert (orders.sharing, orders.stopping, orders.driver_beat) == (1, False, None)


def test_a_lent_database_is_neither_made_nor_upgraded(tmp_path: Path) -> None:
    """A worker elsewhere, and a worker of another version, are refused with what to do."""
    with pytest.raises(WorkspaceError, match=r"no workspace .* on this machine") as missing:
        LentDatabase(tmp_path / "none.db")
    assert "PostgreSQL" in str(missing.value.hint)
    assert not list(tmp_path.iterdir())
    with SqliteDatabase(tmp_path / "old.db", migrations=MIGRATIONS[:-1]):
        pass
    with pytest.raises(
        WorkspaceError,
        match=f"has format {len(MIGRATIONS) - 1}, and this worker's .* {len(MIGRATIONS)}",
    ):
        LentDatabase(tmp_path / "old.db")
