"""A real cluster of dask.distributed: two workers on this machine, keys that never travel, kills,
and refusals.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import Completion, InputError, WorldError
from judgewright.judges.models import ModelSettings, Prices
from judgewright.plugins.dask.cluster import DaskCluster, check_scheduler, open_cluster
from judgewright.plugins.dask.driver import ShardEngine
from judgewright.plugins.dask.shard import Errand, Shard
from judgewright.plugins.dask.start import address_of, errand_of
from judgewright.runs.config import read_environment
from judgewright.runs.config.environment import open_client
from judgewright.runs.store import CallStore, Database, SqliteDatabase
from judgewright.runs.store.journal import create_run

from ...runs.providers import Provider, serving
from .counting import requests

pytest.importorskip("distributed")

KEY = "sk-this-never-travels"
KILLS = Path(__file__).parents[3] / "benchmarks" / "dask_kills.py"


@dataclass
class Ground:
    """A cluster of two workers whose environment has a key, and an endpoint that lets in only who
    has it.
    """

    cluster: DaskCluster
    provider: Provider


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """Started once for all tests of this file."""
    with serving(Provider(demands=f"Bearer {KEY}")) as provider:
        environment = read_environment(
            {"JUDGEWRIGHT_API_KEY": KEY, "JUDGEWRIGHT_MODELS": "/nowhere/models.yaml"}
        )
        with open_cluster(2, None, environment) as cluster:
            yield Ground(cluster, provider)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty workspace database, lent to the workers."""
    with SqliteDatabase(tmp_path / "judgewright.db") as database:
        database.claim()
        yield database


def scheduler_memory(dask_scheduler: Any) -> str:  # Any: distributed is partly untyped
    """Everything that a scheduler holds of tasks, workers, clients, events and logs, as text."""
    parts = [repr(dask_scheduler.identity()), repr(list(dask_scheduler.get_events().items()))]
    for task in dask_scheduler.tasks.values():
        parts += [repr(task.run_spec), repr(pickle.dumps(task.run_spec)), repr(task.annotations)]
    parts += [repr(worker.extra) for worker in dask_scheduler.workers.values()]
    parts.append(repr(dask_scheduler.get_logs()))
    return "\n".join(parts)


def test_workers_ask_with_the_keys_of_their_own_environment(
    ground: Ground, database: Database
) -> None:
    """The driver has no key; both workers send; and neither scheduler nor logs ever held the
    key.
    """
    model = f"simulated@{ground.provider.url}"
    driver = read_environment({}).naming(model)
    run = create_run(database, "bench", {})
    record = CallStore(database, run)
    held: list[tuple[Errand, Shard]] = []

    class Watched(DaskCluster):
        def submit(self, errand: Errand, shard: Shard, *, avoid: Any) -> Any:  # Any: dask's
            held.append((errand, shard))
            future = super().submit(errand, shard, avoid=avoid)
            futures.append(future)  # so that the scheduler keeps its task
            return future

    futures: list[Any] = []  # Any: dask's
    watched = Watched(ground.cluster.client)
    errand = partial(errand_of, address_of(database), run, driver, model)
    engine = ShardEngine(lambda: watched, database, run, errand=errand, record=record)
    client = open_client(model, driver, record=record, engine=engine, concurrency=8)
    outcomes = client.ask(requests(80))
    said = ground.cluster.client.run_on_scheduler(scheduler_memory)
    logs = repr(ground.cluster.client.get_worker_logs()) + repr(
        ground.cluster.client.get_scheduler_logs()
    )
    engine.close()
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    assert set(ground.provider.seen) == {f"Bearer {KEY}"}
    assert "judgewright-shard" in said
    assert "row <7>" in said
    assert all(KEY not in text for text in (said, logs, repr(held), repr(pickle.dumps(held))))
    places = database.read("SELECT count(DISTINCT shard) FROM attempt")
    assert places[0][0] > 2


def test_a_worker_without_the_workspace_says_so(ground: Ground, tmp_path: Path) -> None:
    """As on another machine, where the file is not."""
    errand = Errand(
        version="0",
        workspace=str(tmp_path / "none.db"),
        run_id="r",
        driver="d",
        model="simulated",
        endpoint="simulated",
        settings=ModelSettings(),
        prices=Prices(),
        tries=1,
        row_seconds=1.0,
        concurrency=1,
        first_limit=1,
    )
    shard = Shard(
        id="s",
        calls=(),
        money=0.0,
        tokens=0,
        limits=(False, False),
        unsupported=frozenset(),
        forecast=(1.0, 1, 1),
    )
    report = ground.cluster.submit(errand, shard, avoid=()).result()
    assert isinstance(report.stopped, InputError)
    assert "and the command 0" in str(report.stopped)


@pytest.mark.parametrize("address", ["tcp://10.1.2.3:8786", "tcp://cluster.example:8786"])
def test_another_machine_is_spoken_to_through_tls_alone(address: str) -> None:
    """Rows would travel in the open, and a scheduler runs what it is sent."""
    with pytest.raises(InputError, match="is another machine") as refused:
        check_scheduler(address)
    assert f"tls://{address.removeprefix('tcp://')}" in str(refused.value.hint)


@pytest.mark.parametrize(
    "address",
    ["cluster:8786", "http://h:1", "tls://h", "tls://:1", "tls://h:x", "", "tls://u:p@h:1"],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """With how one is written, and without repeating a password."""
    with pytest.raises(InputError) as refused:
        check_scheduler(address)
    assert "u:p" not in str(refused.value)
    assert "tls://HOST:8786" in str(refused.value.hint)


def test_this_machine_and_tls_are_accepted() -> None:
    """Nothing is said of these."""
    for address in (
        "tcp://127.0.0.1:8786",
        "tcp://localhost:8786",
        "tcp://[::1]:8786",
        "tls://cluster.example:8786",
    ):
        check_scheduler(address)


def test_a_scheduler_that_cannot_be_reached_is_told() -> None:
    """Nobody listens there."""
    with (
        pytest.raises(WorldError, match=r"no scheduler can be reached at tcp://127\.0\.0\.1:9"),
        open_cluster(0, "tcp://127.0.0.1:9", read_environment({}), patience=0.5),
    ):
        pass


@pytest.mark.slow
def test_a_worker_that_is_stopped_keeps_nobody_from_leaving() -> None:
    """Its process answers nobody, and does not even end when it is told to."""
    with open_cluster(2, None, read_environment({})) as cluster:
        pids: dict[str, int] = cluster.client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGSTOP)
        cluster.close_senders("nobody")
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.values())


@pytest.mark.slow
def test_a_worker_and_then_the_driver_are_killed(
    nightly: bool, measured: Callable[[str], None]
) -> None:
    """`benchmarks/dask_kills.py`, smaller: nothing is lost, and only what was in flight may be paid
    twice.
    """
    rows, rounds = (600, 3) if nightly else (200, 1)
    command = [
        sys.executable,
        str(KILLS),
        "--rows",
        str(rows),
        "--rounds",
        str(rounds),
        "--latency",
        "0.3",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "all good"
    found = [
        [int(cell) for cell in line.split()[1:5]]
        for line in ran.stdout.replace(",", "").splitlines()[1:-1]
    ]
    out, _, twice, in_flight = map(sum, zip(*found, strict=True))
    measured(
        f"{len(found)} kills of one of two workers and of the driver: {out:,} of {rows * rounds:,}"
        f" rows out, {twice} billed twice of {in_flight} in flight"
    )
