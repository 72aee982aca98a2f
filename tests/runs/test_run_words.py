"""What a person reads of runs: the list, `latest`, the slices of a bench, two judges side by
side.
"""

import contextlib
import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

import judgewright as jw
from judgewright.judges import InputError
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace, create_run, find_run, set_state

GOAL = (
    *shlex.split("--objective 'do not call unsupported statements grounded'"),
    *shlex.split("--target precision --steps 1"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with made-up rows, where commands are given."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Give a command that may end with a decision, and return what it printed."""
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        main([*words])
    return capsys.readouterr().out


def test_the_list_says_what_each_run_was_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data, judge, model, the metric with its interval, and the decision: in the terminal, JSON and
    Python alike.
    """
    run(capsys, "bench", "groundedness", "rows.jsonl", "--model", "simulated")
    run(
        capsys,
        *shlex.split("optimize groundedness rows.jsonl --model simulated"),
        *GOAL,
        *shlex.split("--gate-anyway --proposer textgrad"),
    )
    listed = run(capsys, "runs", "list")
    head, _, optimized, benched = listed.splitlines()
    assert head.split() == [
        "run",
        "kind",
        "state",
        "data",
        "judge",
        "model",
        "figure",
        "(95",
        "%)",
        "decision",
    ]
    body = json.loads(run(capsys, "runs", "list", "--json"))
    lines: list[dict[str, Any]] = body["runs"]
    for line, shown in zip(lines, (optimized, benched), strict=True):
        assert line["run_id"] in shown
        for said in ("rows.jsonl", "groundedness@", "simulated"):
            assert said in shown
    assert "precision" in optimized
    assert lines[0]["outcome"] in optimized
    assert (lines[0]["metric"], lines[0]["change"]["metric"]) == ("precision", "precision")
    figure = lines[1]["value"]
    assert (
        f"{lines[1]['metric']} {figure['value']:.3f} ({figure['low']:.3f} .. {figure['high']:.3f})"
        in benched
    )
    assert [line.to_json()["judge"] for line in jw.list_runs(workspace=folder)] == [
        line["judge"] for line in lines
    ]
    assert "1 more; --limit shows them" in run(capsys, "runs", "list", "--limit", "1")


def test_the_list_has_nothing_where_a_run_names_no_judge(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reading of an objective that nobody confirmed is about no rows and no judge."""
    run(capsys, "loss", "write", "do not call unsupported statements good", "--model", "simulated")
    [_, _, reading] = run(capsys, "runs", "list").splitlines()
    assert reading.split()[1:] == ["reading", "failed", "simulated"]


def test_the_slices_of_a_bench_are_those_of_its_verdicts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the run's id and as `latest`, which is the latest run that has verdicts; no model is
    asked.
    """
    body = json.loads(
        run(capsys, "bench", "groundedness", "rows.jsonl", "--model", "simulated", "--json")
    )
    with Workspace(folder) as place:
        create_run(place.database, "plan", {})
        bench = find_run(place.database, "latest", kinds=("bench",))
    found = json.loads(run(capsys, "slices", "latest", "--metric", "precision", "--json"))
    assert found["overall"]["value"] == body["metrics"]["precision"]["value"]
    assert found == json.loads(run(capsys, "slices", bench, "--metric", "precision", "--json"))


def test_latest_is_the_latest_run_that_a_command_can_use(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that was cut off before it decided has no diff; it is the one to go on with."""
    run(
        capsys,
        *shlex.split("optimize groundedness rows.jsonl --model simulated"),
        *GOAL,
        "--gate-anyway",
    )
    with Workspace(folder) as place:
        database = place.database
        done = find_run(database, "latest", kinds=("optimize",))
        begun = create_run(database, "optimize", {})
        set_state(database, begun, "stopped")
        assert find_run(database, "latest", kinds=("optimize",), come_to=("decision",)) == done
        assert find_run(database, "latest", kinds=("optimize",), unfinished=True) == begun
        with pytest.raises(InputError, match="no optimize in this workspace has come far enough"):
            find_run(database, "latest", kinds=("optimize",), come_to=("reviewed",))
    assert "decision" in json.loads(run(capsys, "diff", "latest", "--json"))


def test_judges_on_other_scales_are_compared_by_what_they_decide(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both say yes or no of the same rows, one with 0/1, the other with a probability."""
    dice = random.Random(3)
    lines = []
    for i in range(80):
        label = dice.randrange(2)
        text = (
            f"Floods of the river in {1900 + i} covered the plain."
            if label
            else f"Page {i} lists the committee."
        )
        line = {
            "id": str(i),
            "question": f"Were there floods in {1900 + i}?",
            "relevance_definition": "About floods.",
        }
        lines.append(json.dumps({**line, "paragraph": text, "label": label}))
    (folder / "pages.jsonl").write_text("\n".join(lines))
    for judge in ("diras", "diras_probability"):
        run(capsys, "bench", judge, "pages.jsonl", "--model", "simulated")
    second, first = (
        line["run_id"] for line in json.loads(run(capsys, "runs", "list", "--json"))["runs"]
    )
    found = json.loads(run(capsys, "runs", "show", first, second, "--json"))
    assert {change["metric"] for change in found["changes"]} >= {"precision", "recall", "accuracy"}
    assert found["n"] > 60
    assert any("compared by yes and no" in note for note in found["notes"])
    shown = run(capsys, "runs", "show", first, "latest")
    assert "labelled rows that both judged" in shown
    assert "accuracy" in shown
    assert "recall itself is held at the same false positive rate" in shown
