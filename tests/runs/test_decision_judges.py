"""Judges on a decision model from the first figure to the next, over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.runs.demo import write_demo_rows

from .decision_server import DecisionServer, decision_server
from .run_command import run

BENCH = ("bench", "groundedness", "rows.jsonl", "--model", "one")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DecisionServer]:
    """Stand in a folder with rows, whose `models.yaml` names a decision model and a chat model."""
    monkeypatch.chdir(tmp_path)
    models = tmp_path / "own" / "models.yaml"
    models.parent.mkdir()
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(models))
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    with decision_server(tmp_path / "rows.jsonl", models) as serving:
        yield serving


def test_a_judge_is_shown_as_the_question_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """As YAML with a line on what falls away, and as JSON; nobody is asked."""
    show = ("judges", "show", "groundedness", "--as", "question", "--api", "systemone")
    code, out, _ = run(capsys, *show)
    assert code == 0
    assert "type: score" in out
    assert out.splitlines()[-1].startswith("# not sent: ")
    _, out, _ = run(capsys, *show, "--json")
    body = json.loads(out)
    assert body["question"]["state"] == {"source": "", "statement": ""}
    assert len(body["question"]["questions"]["q0"]["criteria"]) == 4
    assert "reasons and stated confidence" in body["left_out"]


def test_the_question_is_shown_once_before_it_is_paid_for(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the first bench of a judge on a model, on stderr; a second one says nothing of it."""
    code, _, err = run(capsys, *BENCH)
    assert code == 0
    assert "one is asked this" in err
    assert "# not sent: " in err
    calls = len(server.decided)
    _, _, err = run(capsys, *BENCH)
    assert "is asked this" not in err
    assert len(server.decided) == calls
