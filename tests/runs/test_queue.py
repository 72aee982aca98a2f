"""Several commands in one workspace: readers beside a run, runs that wait for their turn, and how
runs are named.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from judgewright.judges import InputError, Registry
from judgewright.optimize.events import RunEvent
from judgewright.runs.actions import read_run, start_run
from judgewright.runs.cli import cli
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review import review_app
from judgewright.runs.store import RunConfig, Workspace, create_run, find_run, list_runs, set_state

from .run_command import run_code as run

PROMPT = Registry().get("groundedness")
EDIT = PROMPT.edited(criteria=f"{PROMPT.criteria}\nCompare each number with the source.")
BENCH = ("bench", "groundedness", "rows.jsonl", "--model", "simulated", "--json")
WRITER = ("loss", "write", "raise precision", "--model", "simulated", "--json")
"""A command that writes a run and is quick."""


@dataclass(frozen=True)
class Made:
    """A workspace with a finished optimization."""

    root: Path
    run_id: str


def config(root: Path) -> RunConfig:
    """A run that tries one edit."""
    return RunConfig(
        prompt=PROMPT.to_yaml(),
        model="simulated",
        data=str(root / "rows.jsonl"),
        objective="precision",
        proposer="human",
        edit=EDIT.to_yaml(),
        slice="all",
        steps=1,
        gate_anyway=True,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Made once."""
    root = tmp_path_factory.mktemp("finished")
    write_demo_rows(root / "rows.jsonl", documents=45)
    with Workspace(root) as place:
        result = start_run(place, config(root), Environment())
    return Made(root=root, run_id=result.run_id)


@pytest.fixture
def made(finished: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A copy of one's own, as the working folder."""
    root = tmp_path / "work"
    shutil.copytree(finished.root, root)
    monkeypatch.chdir(root)
    return Made(root=root, run_id=finished.run_id)


def program(*arguments: str) -> "subprocess.Popen[str]":
    """Start a command in a process of its own."""
    command = [sys.executable, "-m", "judgewright", *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def readers(run_id: str) -> list[tuple[str, ...]]:
    """Commands that only read."""
    return [
        ("runs", "list"),
        ("runs", "show", run_id),
        ("runs", "show", run_id, "--flips"),
        ("runs", "show", run_id, "--out", "report"),
        ("diff", run_id),
        ("slices", run_id),
        ("judges", "list"),
        ("judges", "list", "groundedness"),
        ("judges", "show", "groundedness"),
        ("data", "check", "rows.jsonl", "--judge", "groundedness"),
        ("export", "groundedness", "--to", "yaml"),
    ]


def test_readers_work_beside_a_running_run(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    """While a run holds the workspace, what reads answers as ever; the running run can be looked at
    too.
    """
    from starlette.testclient import TestClient

    codes: dict[str, int] = {}

    def on_event(event: RunEvent) -> None:
        if event.kind != "benchmark":
            return
        for words in [*readers(made.run_id), ("runs", "show", "latest")]:
            codes[" ".join(words)] = run(*words, "--json")
        app = review_app(made.root, token="t", port=80, environment=Environment())
        with TestClient(app, base_url="http://127.0.0.1") as page:
            codes["page"] = page.get("/?token=t").status_code
        codes["writer"] = run(*BENCH, "--no-wait")

    with Workspace(made.root) as place:
        start_run(place, config(made.root), Environment(), on_event=on_event)
    assert (codes.pop("writer"), codes.pop("page")) == (3, 200)
    assert set(codes.values()) == {0}, codes
    assert "is writing to the workspace" in capsys.readouterr().err


def test_a_second_run_waits_and_says_for_what(made: Made) -> None:
    """It names the run and its process, goes on when that ends, and its answer is one object on
    stdout.
    """
    with Workspace(made.root) as place:
        holding = create_run(place.database, "optimize", {})
        with program(*WRITER) as second:
            assert second.stderr is not None
            told = second.stderr.readline()
            place.database.release()
            out, _ = second.communicate(timeout=120)
    assert f"waiting for run {holding} (optimize), process {os.getpid()} on" in told
    assert "Ctrl-C stops waiting" in told
    assert second.returncode == 0
    assert json.loads(out)["schema_version"] == 1


def test_a_killed_run_lets_the_next_one_go_on(made: Made) -> None:
    """The lock is the operating system's: it ends with its holder, and nothing has to be cleaned
    up.
    """
    hold = (
        "import sys; from pathlib import Path; from judgewright.runs.store.workspace import"
        " Workspace\n"
    )
    hold += (
        "place = Workspace(Path(sys.argv[1])); place.database.claim(); print('held', flush=True);"
        " input()"
    )
    command = [sys.executable, "-c", hold, str(made.root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with program(*WRITER) as second:
            assert second.stderr is not None
            assert f"waiting for process {first.pid} on" in second.stderr.readline()
            first.kill()
            first.communicate()
            second.communicate(timeout=120)
    assert second.returncode == 0


def test_a_run_that_waited_sees_what_was_written_meanwhile(tmp_path: Path) -> None:
    """Two runs that wait with different splits of the same rows: the second to go on keeps the
    parts of the first.
    """
    rows = tmp_path / "rows.jsonl"
    write_demo_rows(rows, documents=45)
    options = ("--model", "simulated", "--objective", "precision", "--steps", "0", "--json")
    with Workspace(tmp_path) as place:
        place.database.claim()
        words = ("optimize", "groundedness", str(rows), *options, "--workspace", str(tmp_path))
        walks = [program(*words, "--split", split) for split in ("30/20/30/20", "40/20/20/20")]
        for walk in walks:
            assert walk.stderr is not None
            assert "waiting for" in walk.stderr.readline()
    for walk in walks:
        walk.communicate(timeout=300)
        assert walk.returncode in (0, 1)
    with Workspace(tmp_path) as place:
        ids = [info.run_id for info in list_runs(place.database) if info.kind == "optimize"]
        first, second = (read_run(place, run_id).split for run_id in ids)
    assert first is not None
    assert second is not None
    assert first.seals == second.seals
    assert any("stay in the part they were in" in note for note in second.notes)


def taking_a_run() -> dict[str, str]:
    """Commands of the tree that take a run, with the name of the argument."""
    found: dict[str, str] = {}

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                inner = command.get_command(click.Context(command), name)
                assert inner is not None
                walk(inner, (*path, name))
        for parameter in command.params:
            if parameter.name in ("run", "run_or_verdicts"):
                found[" ".join(path)] = parameter.name

    walk(cli, ())
    return found


RUNS = {
    "runs show": (),
    "runs show --flips": (),
    "runs show --out report": (),
    "runs resume": (),
    "runs edit": ("criteria.txt",),
    "runs name": ("stricter-numbers",),
    "runs tag": ("faq",),
    "diff": (),
    "slices": (),
    "accept": (),
    "reject": (),
}


def test_the_commands_that_take_a_run_are_known() -> None:
    """A new one belongs into the test below."""
    assert set(taking_a_run()) == {command.partition(" --")[0] for command in RUNS}


@pytest.mark.parametrize("command", RUNS)
def test_every_command_takes_latest_and_the_beginning_of_an_id(
    made: Made, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bench that came later is not the latest optimization; `show` and `name` take any run."""
    with Workspace(made.root) as place:
        set_state(place.database, create_run(place.database, "bench", {}), "done")
    (made.root / "criteria.txt").write_text("Compare each number and name with the source.")
    said: list[dict[str, Any]] = []
    names = (made.run_id, "latest", made.run_id[:-1])
    for name in names[1:] if command in ("accept", "reject") else names:
        if command in ("runs show", "runs name", "runs tag") and name == "latest":
            continue
        code = run(*command.split(), name, *RUNS[command], "--json")
        body = json.loads(capsys.readouterr().out)
        decided = ("was already", "the criteria are as they were")
        assert code in (0, 1, 4) or any(words in body["error"]["message"] for words in decided), (
            body
        )
        said.append(body)
    if command == "runs edit":  # it makes runs of its own
        return
    told = {body.get("run", body.get("run_id")) for body in said} - {None}
    assert told <= {made.run_id}


def test_a_name_that_fits_several_runs_lists_them(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    """The beginning that two runs share is no name; the candidates stand in the error."""
    with Workspace(made.root) as place:
        other = create_run(place.database, "optimize", {})
        bench = create_run(place.database, "bench", {})
        database = place.database
        assert find_run(database, "latest") == bench
        assert find_run(database, "latest", kinds=("optimize",)) == other
        assert find_run(database, other[:-1]) == other
        assert (
            find_run(database, bench, kinds=("optimize",)) == bench
        )  # a whole id is never another run's beginning
        with pytest.raises(InputError, match="there is no plan in this workspace yet"):
            find_run(database, "latest", kinds=("plan",))
        for unknown in ("", "1999", made.run_id + "0", bench[1:]):
            with pytest.raises(InputError, match="there is no run"):
                find_run(database, unknown)
        with pytest.raises(InputError, match="begins 3 runs") as several:
            find_run(database, "20")
        assert all(info.run_id in str(several.value) for info in list_runs(database))
    assert run("diff", "20", "--json") == 2
    message = json.loads(capsys.readouterr().out)["error"]["message"]
    assert made.run_id in message
    assert other in message
    assert bench not in message
