"""No command of the plug-in asks a model that was not named."""

import json
from pathlib import Path

import pytest

from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows

ASKING = {
    "define": ("rows.jsonl", "--out", "x.jsonl"),
    "answers compare": ("rows.jsonl", "rows.jsonl"),
    "annotate": ("rows.jsonl", "rows.jsonl", "--judge", "context_relevance", "--out", "x.jsonl"),
    "route ask": ("rows.jsonl", "--catalog", "catalog.yaml"),
}


@pytest.mark.parametrize("name", ASKING)
def test_no_model_is_asked_that_was_not_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forgotten `--model` is an error with what to add."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=5)
    with pytest.raises(SystemExit) as left:
        main(["rag", *name.split(), *ASKING[name], "--json"])
    assert left.value.code == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["message"].startswith("no model is named: add --model NAME")
