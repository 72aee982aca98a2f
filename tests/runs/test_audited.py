"""`--audited`: corrected labels in every command that reads labels, and the holdout that stays the
same.
"""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from judgewright import bench, load_rows
from judgewright.runs.demo import write_demo_rows

from .run_command import run_code as run

MODEL = ("--model", "simulated")
AIM = (*MODEL, "--objective", "raise precision", "--steps", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows and marks of some of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JUDGEWRIGHT_WORKSPACE", raising=False)
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str]) -> Mapping[str, Any]:  # Any: JSON
    """The object that a command printed."""
    body: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    return body


def mark(folder: Path, *, every: int, mark: str = "wrong label") -> list[str]:
    """Mark every so many rows; return their ids."""
    rows = [
        json.loads(line)
        for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    ids = [row["id"] for row in rows[::every]]
    lines = (json.dumps({"id": id, "mark": mark, "right_label": 0}) + "\n" for id in ids)
    (folder / "marks.jsonl").write_text("".join(lines), encoding="utf-8")
    return ids


def events(run_id: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:  # Any: JSON
    """The last event of each kind."""
    assert run("runs", "show", run_id, "--json") == 0
    return {event["kind"]: event["payload"] for event in printed(capsys)["events"]}


def test_a_run_goes_by_the_corrected_labels_on_the_same_holdout(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another benchmark, the same parts, the next look; a changed file of marks stops a resume."""
    run("optimize", "groundedness", "rows.jsonl", *AIM, "--gate-anyway", "--json")
    first = printed(capsys)
    mark(folder, every=5)
    run(
        "optimize",
        "groundedness",
        "rows.jsonl",
        *AIM,
        *shlex.split("--gate-anyway --audited marks.jsonl --json"),
    )
    second = printed(capsys)
    assert second["benchmark"]["n"] == first["benchmark"]["n"]
    assert (
        second["benchmark"]["metrics"]["precision"]["value"]
        < first["benchmark"]["metrics"]["precision"]["value"]
    )
    before, after = events(first["run"], capsys), events(second["run"], capsys)
    assert after["split"]["rows"] == before["split"]["rows"]
    assert any("labels that an audit corrected: " in note for note in after["split"]["notes"])
    assert any("marks.jsonl: " in note for note in after["started"]["notes"])
    assert (first["decision"]["look"], second["decision"]["look"]) == (1, 2)
    mark(folder, every=5, mark="unclear")
    assert run("runs", "resume", second["run"]) == 2
    assert "marks.jsonl has changed since the run started" in capsys.readouterr().err


def test_rows_that_nobody_could_decide_are_in_no_brief(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They keep their label in every figure, and no step is shown one."""
    options = ("--proposer", "rewrite", "--audited", "marks.jsonl", "--json")
    unclear = set(mark(folder, every=2, mark="unclear"))
    run("optimize", "groundedness", "rows.jsonl", *AIM, *options)
    body = printed(capsys)
    step = events(body["run"], capsys)["step"]
    quoted = {
        row for proposal in (step, *step.get("others", ())) for row in proposal.get("rows") or ()
    }
    assert quoted
    assert not quoted & unclear
    (folder / "marks.jsonl").unlink()
    assert run("bench", "groundedness", "rows.jsonl", *MODEL, "--json") == 0
    assert body["benchmark"]["n"] < printed(capsys)["n"]


def test_every_other_command_reads_the_marks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """plan, calibrate, slices of a file and of a run, gate of prompts and of files, and Python's
    `load_rows`.
    """
    mark(folder, every=3)
    audited = ("--audited", "marks.jsonl")
    run("bench", "groundedness", "rows.jsonl", *MODEL, "--out", "v.jsonl", "--all")
    run("bench", "groundedness_no_reason", "rows.jsonl", *MODEL, "--out", "w.jsonl", "--all")
    capsys.readouterr()

    def precision(*options: str) -> float:
        where = ("--where", "metadata.source_words >= 1", "--group", "group", "--json")
        assert run("slices", "v.jsonl", *where, *options) == 0
        return float(printed(capsys)["value"]["value"])

    assert precision(*audited) < precision()
    rows = load_rows("rows.jsonl", audited="marks.jsonl")
    corrected = bench("groundedness", rows, model="simulated", workspace=folder)
    assert (
        corrected["precision"].value
        < bench("groundedness", "rows.jsonl", model="simulated")["precision"].value
    )  # type: ignore[operator]
    assert run("optimize", "groundedness", "rows.jsonl", *AIM, *audited, "--plan") == 0
    assert run("calibrate", "groundedness", "rows.jsonl", *MODEL, *audited) == 0
    assert "labels corrected" in capsys.readouterr().out
    run(
        "gate",
        "groundedness",
        "groundedness_no_reason",
        "rows.jsonl",
        *MODEL,
        "--target",
        "f1",
        "--allow-opened",
        *audited,
        "--json",
    )
    asked = printed(capsys)["decision"]["target"]["before"]
    run("gate", "v.jsonl", "w.jsonl", "--target", "f1", "--allow-opened", *audited, "--json")
    body = printed(capsys)
    assert "error" not in body, body
    assert body["decision"]["target"]["before"] == pytest.approx(asked)
