"""`judgewright judges add` of an export of ours, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import read_prompt
from judgewright.runs.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command in a folder with a prompt; return its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    Path("judge.txt").write_text("Is it kind? {reply}", encoding="utf-8")

    def invoke(*args: str) -> tuple[int, str]:
        try:
            main(list(args))
        except SystemExit as left:
            return int(left.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return invoke


def test_an_export_of_ours_comes_home(run) -> None:
    """Whatever the tool it was written for."""
    assert run("export", "groundedness", "--to", "messages", "--out", "handover")[0] == 0
    code, out = run("judges", "add", "handover", "--out", "back.yaml")
    assert code == 0
    assert "from an export for messages" in out
    registry = json.loads(run("judges", "show", "groundedness", "--json")[1])
    assert read_prompt(Path("back.yaml")).version == registry["version"]


@pytest.mark.parametrize(
    "args",
    [
        ("nowhere.txt",),
        ("judge.txt", "--field", "claim"),
        ("judge.txt", "--fill", "claim=@nowhere.txt"),
        ("--from", "langchain"),
        ("--from", "langchain", "judge.txt"),
    ],
)
def test_what_cannot_be_added_is_the_caller_s_fault(args: tuple[str, ...], run) -> None:
    """Exit code 2 with the reason."""
    assert run("judges", "add", *args, "--out", "x.yaml")[0] == 2
    assert not Path("x.yaml").exists()
