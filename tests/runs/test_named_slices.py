"""An objective may name a saved slice."""

import json
from pathlib import Path

import pytest

from .run_command import run


def test_plan_and_loss_write_take_a_slice_that_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is saved into the folder `slices` of the workspace, and its name is that of its file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slices").mkdir()
    lines = [
        {"id": f"r{i}", "source": f"s{i}", "statement": "t", "label": i % 2, "score": 1, "words": i, "group": f"g{i}"}
        for i in range(60)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run(capsys, "slices", "rows.jsonl", "--where", "words >= 30", "--save", "slices/long-context.yaml")[0] == 0
    wish = "raise precision on the slice long-context"
    code, out, err = run(capsys, "plan", "groundedness", "rows.jsonl", "--objective", wish, "--model", "simulated")
    assert code == 0, err
    assert "on the rows with words >= 30" in out
    code, out, err = run(capsys, "loss", "write", wish, "--model", "simulated")
    assert code == 0, err
    assert "on the rows with words >= 30" in out
    wish += "er"
    code, _, err = run(capsys, "plan", "groundedness", "rows.jsonl", "--objective", wish, "--model", "simulated")
    assert code == 2
    assert "saved are long-context" in err
