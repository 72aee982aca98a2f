"""Faults of a workspace in a folder, and the page that lists all faults with their figures."""

import contextlib
import json
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import WorkspaceError
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import (
    HoldoutLedger,
    RunJournal,
    Workspace,
    create_run,
    list_runs,
)

from ..look_requests import look_at

SECONDS = 240.0


def billed(server: Server) -> dict[str, Any]:
    """What the endpoint counted."""
    with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


def test_a_clock_that_is_set_back_changes_nothing_but_times(
    tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """What was written before lies ahead of the clock: runs, events and looks keep their order and
    their chains.
    """
    with Workspace(tmp_path) as workspace:
        database = workspace.database
        future = "2099-01-01T00:00:00.000000+00:00"
        first = create_run(database, "optimize", {})
        RunJournal(database, first).record("split", {})
        HoldoutLedger(database).begin(look_at("h", first, "a", "b"))
        # What the clock said then lies ahead of what it says now.
        database.submit(
            lambda c: (
                c.execute("UPDATE run SET created = ?, updated = ?", (future, future)) and None
            )
        ).result()
        second = create_run(database, "optimize", {})
        RunJournal(database, first).append("step", {})
        assert [run.run_id for run in list_runs(database)] == [first, second]
        assert [event.kind for event in RunJournal(database, first).events()] == ["split", "step"]
        assert HoldoutLedger(database).begin(look_at("h", second, "a", "c")).number == 2
        links = HoldoutLedger(database).verify()
        measured(f"1 run dated in 2099: order kept, {links} links of the ledger whole")
        assert links == 2


def test_a_folder_that_is_deleted_in_the_middle_is_said(
    tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """Whoever deletes the workspace loses it: the next write is an error, and a command says so and
    sends no more.
    """
    root = tmp_path / "work"
    workspace = Workspace(root)
    run_id = create_run(workspace.database, "optimize", {})
    journal = RunJournal(workspace.database, run_id)
    journal.record("split", {})
    shutil.rmtree(root)
    with pytest.raises(WorkspaceError):
        HoldoutLedger(workspace.database).begin(look_at("h", run_id, "a", "b"))
    with contextlib.suppress(WorkspaceError):
        workspace.close()
    assert not Workspace(root).exists

    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    with Server(make_app(Simulated(), Faults.parse("latency=0.3"))) as endpoint:
        command = [
            sys.executable,
            *shlex.split("-m judgewright bench groundedness rows.jsonl --workspace work"),
        ]
        command += ["--model", f"simulated@{endpoint.base_url}", "--concurrency", "4"]
        bench = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        deadline = time.monotonic() + SECONDS
        while billed(endpoint)["billed"] < 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        shutil.rmtree(root)
        before = billed(endpoint)["billed"]
        _, said = bench.communicate(timeout=SECONDS)
        sent_after = billed(endpoint)["billed"] - before
    assert bench.returncode == 3, said
    assert "was deleted" in said
    assert not root.exists()
    assert sent_after <= 40
    measured(
        "1 deletion under a run: the next look refused; 1 under a `bench` of 200 rows: it ended and"
        " said so"
    )


def test_every_fault_of_the_page_names_its_test() -> None:
    """The page and the tests are about the same faults."""
    tests = Path(__file__).parents[1]
    lines = (tests.parent / "docs" / "reliability.md").read_text(encoding="utf-8").splitlines()
    named = [line.split("|")[5].strip(" `") for line in lines if line.startswith("|")][2:]
    written = "".join(path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py"))
    assert len(named) >= 10
    assert [name for name in named if f"def {name}(" not in written] == []


def test_the_page_has_the_figures_of_the_last_run() -> None:
    """`make faults` writes both from what the tests counted; neither is written by hand."""
    root = Path(__file__).parents[2]
    lines = (root / "docs" / "reliability.md").read_text(encoding="utf-8").splitlines()
    cells = [line.split("|") for line in lines if line.startswith("| ")][1:]
    said = {line[5].strip(" `"): line[3].strip() for line in cells}
    assert said == json.loads((root / "benchmarks" / "faults.json").read_text(encoding="utf-8"))
