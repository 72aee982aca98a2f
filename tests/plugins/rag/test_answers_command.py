"""`judgewright answers`: from a made-up corpus to a table; nothing is asked twice, and what does
not fit is named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.plugins.rag.answers import read_documents, read_questions, write_reports
from judgewright.runs.cli import main

COMPARE = ("rag", "answers", "compare", "few.jsonl", "asked.jsonl", "--model", "simulated")


def run(*arguments: str) -> int:
    """Run the command in this process and return its exit code."""
    try:
        main(list(arguments))
    except SystemExit as left:
        return int(left.code or 0)
    return 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve of the sample's reports and the questions about them."""
    monkeypatch.chdir(tmp_path)
    documents, questions = write_reports(tmp_path / "reports")
    few = documents.read_text().splitlines(keepends=True)[:12]
    names = {json.loads(line)["id"] for line in few}
    asked = [
        line
        for line in questions.read_text().splitlines(keepends=True)
        if json.loads(line)["document_id"] in names
    ]
    (tmp_path / "few.jsonl").write_text("".join(few))
    (tmp_path / "asked.jsonl").write_text("".join(asked))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the one JSON object a command printed."""
    return json.loads(capsys.readouterr().out)


def test_the_sample_is_the_same_each_time_and_its_evidence_is_in_its_documents(
    tmp_path: Path,
) -> None:
    """Each question names a document that holds its evidence and its answer."""
    first, again = write_reports(tmp_path / "a"), write_reports(tmp_path / "b")
    assert [path.read_text() for path in first] == [path.read_text() for path in again]
    documents = read_documents(first[0])
    questions = read_questions(first[1], documents)
    assert (len(documents), len(questions)) == (36, 144)
    for question in questions:
        assert question.document is not None
        assert question.evidence is not None
        start, end = question.evidence
        assert question.gold[0] in documents[question.document].text[start:end]


def test_ways_are_compared_each_with_each_and_nothing_is_asked_twice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chunk that does not say whose report it is from is found for the wrong firm."""
    ways = (
        "--context",
        "none",
        "--context",
        "document",
        "--k",
        "1",
        "--size",
        "900",
        "--overlap",
        "100",
    )
    assert run(*COMPARE, *ways, "--out", "outcomes.jsonl", "--json") == 0
    body = printed(capsys)
    assert (body["documents"], body["questions"], body["simulated"]) == (12, 48, True)
    plain, titled = body["setups"]
    assert (plain["context"], titled["context"], plain["change"]) == ("none", "document", None)
    assert titled["evidence_found"]["value"] > plain["evidence_found"]["value"]
    assert titled["change"]["low"] > 0
    outcomes = [json.loads(line) for line in (folder / "outcomes.jsonl").read_text().splitlines()]
    assert len(outcomes) == 96
    right = [one["correct"] for one in outcomes if "context document" in one["setup"]]
    assert titled["correct"]["value"] == pytest.approx(sum(right) / len(right))
    assert all(one["simulated"] for one in outcomes)
    assert run(*COMPARE, *ways) == 0
    told = capsys.readouterr().out
    assert "SIMULATED" in told
    assert "0 calls" in told


def test_what_does_not_fit_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options, judges and budgets; what was answered before the budget ended is shown."""
    for words, said in (
        (("--chunker", "magic"), "none of recursive, markdown"),
        (("--size", "200"), "an overlap of 300"),
        (("--judge", "groundedness"), "a question, a right answer and an answer"),
    ):
        assert run(*COMPARE, *words) == 2
        assert said in capsys.readouterr().err
    assert run(*COMPARE, "--budget", "60000tokens", "--json") == 3
    body = printed(capsys)
    assert body["error"]["kind"] == "BudgetSpent"
    assert any(setup["failed"] for setup in body["setups"])
