"""A fast decision model and a slow chat model as one judge, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.judges import Registry
from judgewright.runs.actions import read_run
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.store import Workspace, list_runs

from .cascade_server import CascadeServer, write_rows
from .decision_server import decision_server
from .run_command import run

FEW = [(0.05, 0, 0), (0.45, 3, 1), (0.55, 0, 0), (0.5, None, 1), (0.95, 3, 1), (0.9, 0, 1)]
BENCH = ("bench", "both.yaml", "rows.jsonl", "--model", "one", "--json")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CascadeServer]:
    """Stand in a folder with few rows, whose `models.yaml` names a fast and a slow model."""
    monkeypatch.chdir(tmp_path)
    models = tmp_path / "own" / "models.yaml"
    models.parent.mkdir()
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(models))
    write_rows(tmp_path / "rows.jsonl", FEW)
    write_cascade("both.yaml")
    with decision_server(tmp_path / "rows.jsonl", models, CascadeServer) as serving:
        yield serving


def write_cascade(path: str, *, model: str = "chat", low: float = 0.3, high: float = 0.7) -> None:
    """Write the shipped judge with a cascade."""
    text = Registry().get("groundedness").to_yaml(lineage=False)
    cascade = f"cascade: {{model: {model}, low: {low}, high: {high}}}\n"
    Path(path).write_text(text + cascade, encoding="utf-8")


def test_the_slow_model_decides_in_the_band_and_nowhere_else(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each verdict says who decided; where the slow one fails, the row is unscored."""
    code, out, _ = run(capsys, *BENCH, "--out", "verdicts.jsonl")
    assert code == 0
    lines = [json.loads(line) for line in Path("verdicts.jsonl").read_text().splitlines()]
    assert [line.get("decided_by") for line in lines] == [None, "chat", "chat", None, None, None]
    assert [line["verdict"] for line in lines] == [0, 1, 0, None, 1, 1]
    assert [line["score"] for line in lines] == [0.05, 1.0, 0.0, None, 0.95, 0.9]
    assert lines[1]["confidence"] == 0.9
    assert lines[3]["unscored"] == "parse"
    assert lines[3]["detail"].startswith("chat: ")
    assert (len(server.decided), len(server.written)) == (6, 3)
    body = json.loads(out)
    assert body["calls"] == 9
    assert body["cost"] == pytest.approx((6 * 200 * 0.04 + 3 * (100 + 2 * 20)) / 1e6)


def test_what_was_asked_of_either_model_is_not_paid_for_again(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by another band, nor by the judge without a cascade on the fast or the slow one."""
    run(capsys, *BENCH)
    write_cascade("both.yaml", low=0.45, high=0.52)
    _, out, _ = run(capsys, *BENCH)
    assert json.loads(out)["calls"] == 0
    for model, calls in (("one", 0), ("chat", 3)):
        _, out, _ = run(capsys, "bench", "groundedness", *BENCH[2:-2], model, "--json")
        assert json.loads(out)["calls"] == calls


def test_a_band_of_all_asks_the_slow_model_alone(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that the gate can hold a cascade against it."""
    write_cascade("both.yaml", low=0, high=1)
    assert run(capsys, *BENCH)[0] == 0
    assert (len(server.decided), len(server.written)) == (0, 6)


@pytest.mark.parametrize("model", ["stranger", "one-1.0"])
def test_a_model_that_only_the_judge_names_is_sent_nothing(
    server: CascadeServer, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    """Nor is the fast one; the message says how to name it."""
    write_cascade("both.yaml", model=model)
    code, _, err = run(capsys, *BENCH)
    assert code == 2
    assert f"judgewright models add {model}" in err
    assert server.decided == server.written == []


def test_the_workspace_cannot_name_the_slow_model(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its models.yaml may come with the judge."""
    write_cascade("both.yaml", model="theirs")
    Path("models.yaml").write_text("theirs: {model: chat}\n")
    code, _, err = run(capsys, *BENCH)
    assert (code, server.written) == (2, [])
    assert "neither this command nor your models.yaml names" in err


def test_rows_of_a_bench_are_shown_from_the_record(
    server: CascadeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page finds both models' answers without asking."""
    _, first, _ = run(capsys, *BENCH)
    with Workspace(Path()) as place:
        shown = shown_rows(place, read_run(place, list_runs(place.database)[0].run_id))
    assert shown.judged.unscored == json.loads(first)["unscored"] == {"parse": 1}
    assert [getattr(one, "model", None) for one in shown.judged.answers][:3] == ["", "chat", "chat"]
    assert (len(server.decided), len(server.written)) == (6, 3)
