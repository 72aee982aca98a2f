"""One command, one run: the same command goes on with its run, prints one that has ended, and
spends no second look.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import judgewright as jw
from judgewright.judges import BudgetSpent, Registry
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.actions import RunResult, read_run, start_run
from judgewright.runs.cli import main
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import (
    CallStore,
    HoldoutLedger,
    RunConfig,
    Workspace,
    get_run,
    list_runs,
)

from .fork_server import fork_server
from .test_exchange import answer
from .test_kills import PROGRESS, Reading, kill_at

OBJECTIVE = "do not call unsupported statements grounded"
PROMPT = Registry().get("groundedness")


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """About three hundred made-up labelled rows, in the folder where commands are given."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=45)
    return path


@pytest.fixture
def place(rows: Path) -> Iterator[Workspace]:
    """The workspace beside the rows."""
    with Workspace(rows.parent) as workspace:
        yield workspace


def config(rows: Path, **changes: Any) -> RunConfig:
    """A short walk that looks at its holdout."""
    plain = {
        "prompt": PROMPT.to_yaml(),
        "model": "simulated",
        "data": str(rows),
        "objective": OBJECTIVE,
        "target": "precision",
    }
    walk = {"proposer": "textgrad", "steps": 2, "gate_anyway": True}
    return RunConfig(**{**plain, **walk, **changes})


def start(place: Workspace, chosen: RunConfig, **options: Any) -> RunResult:
    """Start a run and watch nothing."""
    return start_run(place, chosen, Environment(), **options)


def count(place: Workspace) -> tuple[int, int]:
    """The runs of a workspace, and the looks at any holdout."""
    records = list_runs(place.database)
    holdouts = {
        run.split.seals["holdout"] for one in records if (run := read_run(place, one.run_id)).split
    }
    return len(records), sum(
        len(HoldoutLedger(place.database).history().looks(holdout)) for holdout in holdouts
    )


def test_the_same_run_again_is_the_run_that_has_ended(place: Workspace, rows: Path) -> None:
    """No call and no look; every event is passed on again. `new` begins another one, whose look is
    the second.
    """
    first = start(place, config(rows))
    seen: list[Any] = []
    told: list[str] = []
    options = {"watch": lambda *_: None, "on_event": seen.append, "tell": told.append}
    again = start_run(
        place, config(rows, concurrency=3, budget="9000000tokens"), Environment(), **options
    )
    assert (again.run_id, again.run.decided, again.stats) == (first.run_id, first.run.decided, ())
    assert again.run.cost == first.run.cost, "what the run took is not what printing it again takes"
    assert [event.kind for event in seen][-1] == "everything"
    assert told == [
        f"run {first.run_id} did the same and has ended: nothing is asked again; --new begins"
        " another run"
    ]
    assert count(place) == (1, 1)
    other = start(place, config(rows), new=True)
    assert other.run_id != first.run_id
    assert other.run.split is not None
    assert other.run.split.next_look is not None
    assert other.run.split.next_look["number"] == 2
    assert count(place) == (2, 2)
    assert start(place, config(rows)).run_id == other.run_id, "the last one of them"


def test_a_copy_of_the_file_is_the_same_run_and_a_grown_file_another(
    place: Workspace, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows are compared by content and by every column; the look that a new run costs is said
    before a call.
    """
    first = start(place, config(rows))
    lines = rows.read_text().splitlines()
    copy = rows.with_name("copy.jsonl")
    copy.write_text("\n".join(lines))
    assert start(place, config(copy)).run_id == first.run_id
    columned = [json.dumps({**json.loads(line), "weekday": i % 7}) for i, line in enumerate(lines)]
    copy.write_text("\n".join(columned))
    assert start(place, config(copy, steps=0)).run_id != start(place, config(rows, steps=0)).run_id
    place.close()
    grown = json.loads(lines[0])
    copy.write_text(
        "\n".join([*lines, json.dumps({**grown, "id": "new", "statement": "It is brand new."})])
    )
    words = [
        *shlex.split("optimize groundedness copy.jsonl --objective"),
        OBJECTIVE,
        "--target",
        "precision",
    ]
    with pytest.raises(SystemExit):
        main([*words, "--steps", "2", "--gate-anyway", "--model", "simulated"])
    out = capsys.readouterr().out
    assert out.index(
        "the gate would be look 2 at these rows (significance level 0.0076)"
    ) < out.index("1. Benchmark")


@pytest.mark.parametrize(
    "other",
    [
        {"objective": "find more of the supported ones"},
        {"target": "recall"},
        {"seed": 1},
        {"guards": ("recall:-0.05",)},
        {"proposer": "rewrite"},
        {"prompt": PROMPT.edited(criteria="Be strict.").to_yaml()},
    ],
)
def test_what_decides_a_run_makes_another(
    place: Workspace, rows: Path, other: dict[str, Any]
) -> None:
    """Judge, objective and settings are compared; the look at the rows, which are the same, is the
    second.
    """
    first = start(place, config(rows, steps=0))
    assert start(place, config(rows, **{"steps": 0, **other})).run_id != first.run_id


def test_a_stopped_run_goes_on_with_the_same_command_and_other_means(
    place: Workspace, rows: Path
) -> None:
    """A spent budget stops it; a larger one is no other run, and what was paid for is not asked
    again.
    """
    with pytest.raises(BudgetSpent):
        start(place, config(rows, budget="60000tokens"))
    told: list[str] = []
    result = start(place, config(rows, budget="90000000tokens"), tell=told.append)
    assert told[0].startswith(f"going on with run {result.run_id}, begun ")
    assert count(place) == (1, 1)
    assert CallStore(place.database, result.run_id).summary().repeated == 0


def test_from_python_the_same_call_is_the_same_run(rows: Path) -> None:
    """`new=True` begins another one."""
    asked = {
        "objective": OBJECTIVE,
        "target": "precision",
        "model": "simulated",
        "steps": 1,
        "workspace": rows.parent,
    }
    first, again = (jw.optimize("groundedness", rows, **asked) for _ in range(2))
    assert first.run_id == again.run_id
    assert jw.optimize("groundedness", rows, **asked, new=True).run_id != first.run_id


def test_the_command_prints_an_ended_run_again_with_its_exit_code(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that it printed, but for what it took; with `--new` it walks once more."""
    words = [
        *shlex.split("optimize groundedness rows.jsonl --objective"),
        OBJECTIVE,
        "--target",
        "precision",
    ]
    words += ["--steps", "2", "--gate-anyway", "--model", "simulated"]
    printed: list[tuple[int, str, str]] = []
    for more in ((), (), ("--new",)):
        code = 0
        try:
            main([*words, *more])
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        printed.append((code, out, err))
    (code, out, _), (same, out_again, err_again), (_, _, err_new) = printed
    assert same == code
    assert out_again.partition("\nRun ")[0] == out.partition("\nRun ")[0]
    assert "0 calls, 0 cached" in out_again
    assert "has ended: nothing is asked again" in err_again
    assert "has ended" not in err_new


def test_a_run_that_another_process_works_on_is_said_and_one_that_was_killed_is_stopped(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No second run and no waiting; nobody's clock decides that the process is gone."""
    with Server(make_app(Simulated(), Faults.parse("latency=0.2"))) as server:
        model = f"simulated@{server.base_url}"
        words = [
            *shlex.split("optimize groundedness rows.jsonl --objective"),
            OBJECTIVE,
            "--target",
            "precision",
        ]
        words += ["--model", model, "--concurrency", "2", "--json"]
        process = subprocess.Popen(
            [sys.executable, "-m", "judgewright", *words], stdout=subprocess.PIPE
        )
        reading = Reading(rows.parent)
        while not reading.count("SELECT count(*) FROM attempt"):
            assert process.poll() is None
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert f"process {process.pid} on " in error["message"]
        assert "--new begins another run" in error["hint"]
        with Workspace(rows.parent) as place:
            (run,) = list_runs(place.database)
            assert run.state == "running"
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert get_run(place.database, run.run_id).state == "stopped"
            assert list_runs(place.database) == (replace(run, state="stopped"),)


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix", reason="commands are forks, which spares them their imports"
)
def test_a_walk_over_files_by_repeating_one_command_is_one_run_and_one_look(
    rows: Path, measured: Callable[[str], None]
) -> None:
    """Killed with -9 at five points, from the reading of the objective to the gate; no reply is
    asked for twice.
    """
    write_demo_rows(rows, documents=30)
    words = (
        *shlex.split("optimize groundedness rows.jsonl --objective"),
        OBJECTIVE,
        *shlex.split("--yes --steps 1 --proposer rewrite --unguided"),
    )
    words = (*words, *shlex.split("--gate-anyway --model by-hand --via files=x --json"))
    calm, rough = rows.parent / "calm", rows.parent / "rough"
    ends: dict[Path, dict[str, Any]] = {}
    total, kills, exchanges = 0, 0, 0
    with fork_server() as commands:
        for folder in (calm, rough):
            folder.mkdir()
            (folder / "rows.jsonl").write_text(rows.read_text())
            reading, code = Reading(folder), 3
            points = (
                [int(share * total) for share in (0.0, 0.02, 0.4, 0.7, 0.97)]
                if folder == rough
                else []
            )
            while code == 3:
                commands.start(folder, *words)
                if points and kill_at(commands, lambda: reading.count(PROGRESS) > points[0], 0):  # noqa: B023
                    points.pop(0)
                    kills += 1
                    continue
                body = (
                    commands.finish(0, 1, 3)
                    if not points
                    else json.loads((folder / "said.txt").read_text())
                )
                ends[folder] = body
                code = 3 if "error" in body else 0
                if code == 3:
                    assert body["error"]["kind"] == "Waiting", body
                    exchanges += answer(folder / "x") > 0
                    if exchanges == 1:
                        with Workspace(folder) as place:
                            (run,) = list_runs(place.database)
                            assert (run.kind, run.config["reading"]) == ("optimize", None)
            total = reading.count(PROGRESS)
    assert kills == 5
    with Workspace(rough) as place:
        assert count(place) == (1, 1)
        (run,) = list_runs(place.database)
        summary = CallStore(place.database, run.run_id).summary()
        assert (summary.repeated, summary.in_doubt, summary.done) == (0, 0, summary.attempts)
    assert ends[rough]["decision"] == ends[calm]["decision"]
    measured(
        f"{kills} kills -9 of one command over {exchanges} exchanges: 1 run, 1 look, no request"
        " answered twice"
    )


def test_sigterm_says_how_to_go_on_and_a_killed_bench_leaves_nothing_in_flight(rows: Path) -> None:
    """A scheduler stops a command as Ctrl-C does. Of a killed one the next command says that it has
    stopped.
    """
    with Server(make_app(Simulated(), Faults.parse("latency=0.2"))) as server:
        model = ("--model", f"simulated@{server.base_url}", "--concurrency", "2")
        goal = (
            *shlex.split("optimize groundedness rows.jsonl --objective"),
            OBJECTIVE,
            "--target",
            "precision",
        )
        reading = Reading(rows.parent)
        for words, how in (
            (goal, signal.SIGTERM),
            (("bench", "groundedness", "rows.jsonl"), signal.SIGKILL),
        ):
            before = reading.count("SELECT count(*) FROM attempt")
            command = [sys.executable, "-m", "judgewright", *words, *model]
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            while reading.count("SELECT count(*) FROM attempt") == before:
                assert process.poll() is None
            process.send_signal(how)
            told = process.communicate()[1]
            if how == signal.SIGTERM:
                with Workspace(rows.parent) as place:
                    (run,) = list_runs(place.database)
                assert (process.returncode, run.state) == (3, "stopped")
                assert f"hint: judgewright runs resume {run.run_id}" in told
                assert CallStore(place.database, run.run_id).summary().in_doubt == 0
    assert reading.count("SELECT count(*) FROM attempt WHERE state = 'sent'") > 0
    with Workspace(rows.parent) as place:
        start(place, config(rows, steps=0))
        assert [one.state for one in list_runs(place.database)] == ["stopped", "stopped", "done"]
    assert reading.count("SELECT count(*) FROM attempt WHERE state = 'sent'") == 0
    assert reading.count("SELECT count(*) FROM run WHERE state = 'running'") == 0
