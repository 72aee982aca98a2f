"""`judgewright judges add`: a file or an export goes in, a judge that `bench` takes comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import read_prompt
from judgewright.runs.cli import main

TEXT = (
    "Compare them.\n\nBe strict.\n\nDocument: {document}\nClaim: {claim}\n\nReply with a line"
    " Score: and 0 to 3.\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command in a folder with a prompt and rows; return its exit code and what it
    printed.
    """
    monkeypatch.chdir(tmp_path)
    Path("judge.txt").write_text(TEXT, encoding="utf-8")
    rows = [
        {
            "id": str(i),
            "source": f"An owl on branch {i}.",
            "statement": f"An owl on {i + i % 2}.",
            "label": 1 - i % 2,
        }
        for i in range(6)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def invoke(*args: str) -> tuple[int, str]:
        try:
            main(list(args))
        except SystemExit as left:
            return int(left.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return invoke


def test_an_added_judge_is_benched(run) -> None:
    """`bench added.yaml rows.jsonl` just works."""
    fields = ("--field", "document=source", "--field", "claim=statement")
    code, out = run(
        "judges", "add", "judge.txt", "--as", "theirs", *fields, "--out", "theirs.yaml", "--json"
    )
    assert code == 0
    body = json.loads(out)
    assert body["version"] == read_prompt(Path("theirs.yaml")).version
    assert body["fields"] == {"document": "source", "claim": "statement"}
    code, out = run("bench", "theirs.yaml", "rows.jsonl", "--model", "simulated", "--json")
    assert code == 0
    assert json.loads(out)["n"] == 6


def test_an_export_of_ours_comes_home(run) -> None:
    """Whatever the tool it was written for."""
    assert run("export", "groundedness", "--to", "messages", "--out", "handover")[0] == 0
    code, out = run("judges", "add", "handover", "--out", "back.yaml")
    assert code == 0
    assert "From manifest.json" in out
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
