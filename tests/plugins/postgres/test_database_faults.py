"""Faults of a workspace's database: what is kept, what is paid twice, and when it is given up.
docs/reliability.md.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import Registry, WorkspaceError
from judgewright.judges.models import Client, Completion, Endpoint, Message, Request
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.actions import resume_run, start_run
from judgewright.runs.config import Environment
from judgewright.runs.config.place import Place
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import (
    CallStore,
    HoldoutLedger,
    RunConfig,
    Workspace,
    create_run,
    list_runs,
)

from .server import PostgresServer, find_programs

OBJECTIVE = "do not call unsupported statements grounded"
IN_FLIGHT = 16
ROWS = 300
SECONDS = 240.0


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may stop; what it acknowledges is on the disk."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = find_programs()
    if programs is None:
        pytest.skip("Debian's package postgresql is not installed")
    server = PostgresServer(programs, settings=("fsync=on",))
    yield server
    server.remove()


def requests() -> list[Request]:
    """So many different requests."""
    return [Request(messages=(Message("user", f"row {number}"),)) for number in range(ROWS)]


def billed(server: Server) -> dict[str, Any]:
    """What the endpoint counted."""
    with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


@pytest.mark.slow
def test_a_server_that_goes_away_and_comes_back_costs_no_call(
    own_server: PostgresServer, tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """Stopped three times as by a crash, in the middle of calls: each is answered, stored and
    billed once.
    """
    place = Place(tmp_path, own_server.address(own_server.new()))
    with (
        Server(make_app(Simulated(), Faults.parse("latency=0.1"))) as endpoint,
        Workspace(place) as workspace,
    ):
        run_id = create_run(workspace.database, "bench", {})
        workspace.database.claim(run_id)
        stops = 0

        def trouble() -> None:
            nonlocal stops
            for share in (0.2, 0.5, 0.8):
                while billed(endpoint)["billed"] < share * ROWS:
                    time.sleep(0.01)
                own_server.stop("immediate")
                stops += 1
                time.sleep(0.5)
                own_server.start()

        troubling = threading.Thread(target=trouble)
        troubling.start()
        model = Endpoint(name="m", base_url=endpoint.base_url, api_key=None)
        with Client(
            model, record=CallStore(workspace.database, run_id), concurrency=IN_FLIGHT
        ) as client:
            answers = client.ask(requests())
        troubling.join()
        summary = CallStore(workspace.database, run_id).summary()
        paid = billed(endpoint)["billed"]
        measured(
            f"{ROWS} calls, {stops} crashes: {paid} billed, {summary.done} kept, {summary.repeated}"
            " repeated"
        )
        assert stops == 3
        assert all(isinstance(answer, Completion) for answer in answers)
        assert paid == summary.done == summary.attempts == ROWS
        assert (summary.repeated, summary.in_doubt, summary.damaged) == (0, 0, 0)
        with Workspace(place) as second, pytest.raises(WorkspaceError, match="at work on"):
            second.database.claim(run_id)


@pytest.mark.slow
def test_a_server_that_stays_away_is_given_up_and_the_run_goes_on_later(
    own_server: PostgresServer, tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """After its patience the client gives up; then at most the calls that were in flight are paid
    for again.
    """
    from judgewright.plugins.postgres.database import PostgresDatabase

    address = own_server.address(own_server.new())
    with Server(make_app(Simulated(), Faults.parse("latency=0.1"))) as endpoint:
        model = Endpoint(name="m", base_url=endpoint.base_url, api_key=None)
        database = PostgresDatabase(address, tmp_path, patience=1.0)
        run_id = create_run(database, "bench", {})

        def trouble() -> None:
            while billed(endpoint)["billed"] < ROWS / 2:
                time.sleep(0.01)
            own_server.stop("immediate")

        troubling = threading.Thread(target=trouble)
        troubling.start()
        record = CallStore(database, run_id)
        with pytest.raises(WorkspaceError, match="has not answered for 1 s"):  # noqa: SIM117 - it is raised inside
            with Client(model, record=record, concurrency=IN_FLIGHT) as client:
                client.ask(requests())
        troubling.join()
        with contextlib.suppress(WorkspaceError):
            database.close()
        own_server.start()
        paid = billed(endpoint)["billed"]
        with PostgresDatabase(address, tmp_path) as again:
            record = CallStore(again, run_id)
            kept = record.summary().done
            assert paid - kept <= 2 * IN_FLIGHT
            with Client(model, record=record, concurrency=IN_FLIGHT) as client:
                assert all(isinstance(answer, Completion) for answer in client.ask(requests()))
            summary = record.summary()
        again_billed = billed(endpoint)["billed"] - ROWS
        measured(
            f"{ROWS} calls, {IN_FLIGHT} in flight: {again_billed} billed again, of at most"
            f" {2 * IN_FLIGHT}"
        )
        assert again_billed <= 2 * IN_FLIGHT
        assert (summary.done, summary.repeated) == (ROWS, 0)
        # The record never says less than was billed.
        assert summary.done + summary.in_doubt >= billed(endpoint)["billed"]


def reached(workspace: Workspace) -> int:
    """Count the finished calls and the events."""
    counted = (
        "SELECT (SELECT count(*) FROM call WHERE state = 'done') + (SELECT count(*) FROM event)"
    )
    return workspace.database.read(counted)[0][0]


def test_a_run_on_a_server_whose_process_is_killed_ends_as_an_undisturbed_one(
    postgres: PostgresServer, tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """SIGKILL in the middle and resume: the same events, no finished call is asked again, the
    ledger is whole.
    """
    rows = tmp_path / "rows.jsonl"
    write_demo_rows(rows, documents=40)
    prompt = Registry().get("groundedness").to_yaml()
    config = RunConfig(
        prompt=prompt,
        model="simulated",
        data=str(rows),
        objective=OBJECTIVE,
        target="precision",
        steps=1,
    )
    with Workspace(tmp_path / "calm") as calm:
        expected = start_run(calm, config, Environment())
        total = reached(calm)
    rough = Place(tmp_path, postgres.address(postgres.new()))
    asked = (
        "optimize",
        "groundedness",
        str(rows),
        "--model",
        "simulated",
        "--objective",
        OBJECTIVE,
        "--target",
        "precision",
        "--steps",
        "1",
    )
    with Workspace(rough) as workspace:
        assert list_runs(workspace.database) == ()
        words = [sys.executable, "-m", "judgewright", *asked, "--workspace", str(rough)]
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and reached(workspace) < total / 2:
            time.sleep(0.005)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        (run,) = list_runs(workspace.database)
        kept = CallStore(workspace.database, run.run_id).summary()
        assert 0 < kept.done < total
        found = resume_run(workspace, run.run_id, Environment())
        summary = CallStore(workspace.database, run.run_id).summary()
        assert HoldoutLedger(workspace.database).verify() > 0
    events, calm_events = (
        [(e.kind, e.payload) for e in one.run.events] for one in (found, expected)
    )
    same = sum(one == other for one, other in zip(events, calm_events, strict=True))
    measured(
        f"1 kill -9 at half of an `optimize`: {same} of {len(calm_events)} events equal,"
        f" {summary.repeated} repeated"
    )
    assert events == calm_events
    assert summary.repeated == 0
    assert summary.attempts - summary.done == summary.in_doubt
