"""Commands that are killed at any moment, and given again. docs/reliability.md."""

import contextlib
import os
import random
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import Registry
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.optimize import VOLATILE
from judgewright.runs.actions import read_run
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import CallStore, HoldoutLedger, JobQueue, Workspace, list_runs

from .fork_server import ForkServer, fork_server

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="commands are forks, which spares them their imports"
)

OBJECTIVE = "do not call unsupported statements grounded"
HERE = ("--json", "--workspace", ".")
OPTIMIZE = (
    "--model",
    "simulated",
    "--objective",
    OBJECTIVE,
    *shlex.split("--target precision --steps 3 --proposer rewrite"),
    *HERE,
)
ENDS = (0, 1, 4)
"""Exit codes of a command that came to its end, whatever it found."""
EMBEDDED, OVER_HTTP = 512, 16
"""Calls in flight at most."""


@pytest.fixture(scope="module")
def commands() -> Iterator[ForkServer]:
    """What starts commands."""
    with fork_server() as server:
        yield server


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About a hundred and fifty made-up labelled rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=40)
    return path


class Reading:
    """What a workspace in a folder holds, read while others write it and without a lock."""

    def __init__(self, folder: Path) -> None:
        self._address = f"file:{folder / '.judgewright' / 'judgewright.db'}?mode=ro"
        self._file: sqlite3.Connection | None = None

    def count(self, sql: str) -> int:
        """Return a number; 0 where there is no workspace yet."""
        with contextlib.suppress(sqlite3.OperationalError):  # not made yet
            if self._file is None:
                self._file = sqlite3.connect(self._address, uri=True)
            return self._file.execute(sql).fetchone()[0]
        return 0


def kill_at(commands: ForkServer, reached: Callable[[], bool], delay: float) -> bool:
    """Kill a command that was started a moment after it has come so far; return whether it had not
    ended before.
    """
    while not reached():
        if commands.ended(0.005) is not None:
            return False
    if commands.ended(delay) is not None:
        return False
    commands.kill()
    return True


def folder_in(parent: Path, name: str) -> Path:
    """Make a folder for a workspace."""
    (parent / name).mkdir()
    return parent / name


def events_of(folder: Path, run_id: str) -> list[tuple[str, Any]]:  # Any: JSON
    """Every event of a run, without what a resumed one may tell otherwise: how many calls it
    needed.
    """
    with Workspace(folder) as place:
        events = read_run(place, run_id).events
    return [(event.kind, {**event.payload, VOLATILE: None}) for event in events]


PROGRESS = (
    "SELECT (SELECT count(*) FROM attempt) + (SELECT count(*) FROM call) + (SELECT count(*) FROM"
    " event)"
)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["errors", "all"])
def test_a_command_that_is_killed_again_and_again_ends_as_an_undisturbed_one(
    commands: ForkServer,
    rows: Path,
    tmp_path: Path,
    nightly: bool,
    measured: Callable[[str], None],
    view: str,
) -> None:
    """SIGKILL of `optimize`, given again and again: the same events at the end; no finished call is
    asked again. With all rows in view, which are read in parts, too.
    """
    calm = folder_in(tmp_path, "calm")
    walk = ("optimize", "groundedness", str(rows), *OPTIMIZE)
    if view == "all":
        walk += ("--proposer", "textgrad", "--view", "all", "--brief-tokens", "2500")
    commands.start(calm, *walk)
    run_id = commands.finish(*ENDS)["run"]
    expected, total = events_of(calm, run_id), Reading(calm).count(PROGRESS)
    dice, kills, runs, same, repeated = random.Random(11), 0, 0, 0, 0
    while kills < (200 if nightly else 5):
        runs += 1
        rough = folder_in(tmp_path, f"rough{runs}")
        reading, here, aim = Reading(rough), 0, dice.randrange(total // 3)
        while aim < total:
            commands.start(rough, *walk)
            if not kill_at(commands, lambda: reading.count(PROGRESS) >= aim, dice.uniform(0, 0.02)):  # noqa: B023
                break
            here += 1
            aim = reading.count(PROGRESS) + dice.randrange(1, total // 4)
        if reading.count("SELECT count(*) FROM run WHERE state != 'done'"):
            commands.start(rough, *walk)
            commands.finish(*ENDS)
        with Workspace(rough) as place:
            (run,) = list_runs(place.database)
            summary = CallStore(place.database, run.run_id).summary()
            assert HoldoutLedger(place.database).verify() > 0
        kills, repeated = kills + here, repeated + summary.repeated
        same += events_of(rough, run.run_id) == expected
        assert summary.in_doubt <= here * EMBEDDED
    measured(
        f"{kills} kills -9 of {runs} `optimize`, each given again until it ended: {same} of {runs}"
        f" end with all {len(expected)} events of an undisturbed one; {repeated} calls repeated"
    )
    assert (same, repeated) == (runs, 0)


LOOKS = 'SELECT count(*) FROM ledger WHERE entry_json LIKE \'%"entry": "begin"%\''
DONE = "SELECT count(*) FROM call"


def test_a_gate_that_is_killed_inside_its_look_spends_one_look(
    commands: ForkServer, rows: Path, tmp_path: Path, nightly: bool, measured: Callable[[str], None]
) -> None:
    """The look is entered and rows are open: the same command goes on in it, and decides as an
    undisturbed one.
    """
    prompt = Registry().get("groundedness")
    edited = prompt.edited(criteria=f"{prompt.criteria}\nCompare each number with the source.")
    (tmp_path / "edited.yaml").write_text(edited.to_yaml())
    with Server(make_app(Simulated(), Faults.parse("latency=0.02"))) as endpoint:
        words = (
            "gate",
            "groundedness",
            str(tmp_path / "edited.yaml"),
            str(rows),
            "--objective",
            OBJECTIVE,
            "--target",
            "precision",
            *HERE,
        )
        words = (
            *words,
            "--model",
            f"simulated@{endpoint.base_url}",
            "--concurrency",
            str(OVER_HTTP),
        )
        calm = folder_in(tmp_path, "calm")
        commands.start(calm, *words)
        expected, total = commands.finish(*ENDS)["decision"], Reading(calm).count(DONE)
        dice, kills, gates, looks, same, repeated = random.Random(7), 0, 0, 0, 0, 0
        while kills < (40 if nightly else 3):
            gates += 1
            rough = folder_in(tmp_path, f"rough{gates}")
            reading, here = Reading(rough), 0
            for share in (0.0, dice.uniform(0.1, 0.9), 0.99):
                commands.start(rough, *words)
                aim = int(share * total)
                here += kill_at(
                    commands,
                    lambda: reading.count(LOOKS) > 0 and reading.count(DONE) >= aim,  # noqa: B023 - it is called here
                    dice.uniform(0, 0.02),
                )
            commands.start(rough, *words)
            same += commands.finish(*ENDS)["decision"] == expected
            with Workspace(rough) as place:
                ledger = HoldoutLedger(place.database)
                looks += sum(record.look.purpose == "gate" for record in ledger.history().records)
                (run,) = list_runs(place.database)
                summary = CallStore(place.database, run.run_id).summary()
                assert ledger.verify() > 0
            kills, repeated = kills + here, repeated + summary.repeated
            assert summary.done == total
            # What is on the wire, and what was answered and is not yet written down.
            assert summary.in_doubt <= here * 2 * OVER_HTTP
    measured(
        f"{kills} kills -9 of {gates} gates: {looks} looks, {same} of {gates} decisions equal to an"
        f" undisturbed one's; {repeated} calls repeated"
    )
    assert (looks, same, repeated) == (gates, gates, 0)


def test_a_worker_of_jobs_that_is_killed_again_and_again_works_each_job_once(
    commands: ForkServer, rows: Path, tmp_path: Path, nightly: bool, measured: Callable[[str], None]
) -> None:
    """SIGKILL of `runs work`: the next worker goes on with the same run, and each job is done
    once.
    """

    def queue_in(folder: Path) -> JobQueue:
        queue = JobQueue(folder, Environment().jobs_key)
        here = ("--workspace", str(queue.root), "--json")
        queue.add("improve", ["optimize", "groundedness", str(rows), *OPTIMIZE[:-3], *here])
        queue.add("write", ["loss", "write", "--model=simulated", OBJECTIVE, *here])
        return queue

    work = ("runs", "work", *HERE)
    calm = folder_in(tmp_path, "calm")
    queue_in(calm)
    commands.start(calm, *work)
    commands.finish(0)
    with Workspace(calm) as place:
        (run,) = list_runs(place.database, "optimize")
    expected, total = events_of(calm, run.run_id), Reading(calm).count(PROGRESS)
    dice, kills, queues, same, repeated = random.Random(13), 0, 0, 0, 0
    while kills < (30 if nightly else 3):
        queues += 1
        rough = folder_in(tmp_path, f"rough{queues}")
        queue, reading, here = queue_in(rough), Reading(rough), 0
        for aim in sorted(
            dice.randrange(total) for _ in range(3)
        ):  # a job is begun four times at most
            commands.start(rough, *work)
            here += kill_at(commands, lambda: reading.count(PROGRESS) >= aim, dice.uniform(0, 0.02))  # noqa: B023
        commands.start(rough, *work)
        commands.finish(0)
        with Workspace(rough) as place:
            (run,) = list_runs(place.database, "optimize")
            summary = CallStore(place.database, run.run_id).summary()
            assert run.state == "done"
        kills, repeated = kills + here, repeated + summary.repeated
        jobs = queue.list()
        assert all(queue.is_ours(job) for job in jobs)
        same += events_of(rough, run.run_id) == expected and [job.state for job in jobs] == [
            "done",
            "done",
        ]
    measured(
        f"{kills} kills -9 of the workers of {queues} queues: {same} of {queues} runs with all"
        f" {len(expected)} events of an undisturbed one, each job done once; {repeated} calls"
        " repeated"
    )
    assert (same, repeated) == (queues, 0)
