"""`judgewright search tune`: from files to a table, joined by ids or by texts; what does not fit is
named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgewright.runs.cli import main

QUICK = ("--trials", "8", "--folds", "2")
TOPICS = ("red fox", "lazy dog", "old wine", "blue whale", "green tea", "dark matter")


def run(*arguments: str) -> int:
    """Run the command in this process and return its exit code."""
    try:
        main(["rag", "search", "tune", *arguments])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def write(path: str, lines: list[dict[str, Any]]) -> None:
    """Write JSON Lines."""
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Six queries with eight passages each: more words of the query, a better grade; and the
    judge's verdicts.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines: list[dict[str, Any]] = []
    for q, topic in enumerate(TOPICS):
        first, second = topic.split()
        for d in range(8):
            grade = d % 4
            has = [first] * (grade >= 1) + [second] * (grade >= 2) + ["answer"] * (grade >= 3)
            text = " ".join([*has, *rng.choice(["some", "other", "words", "here"], 4), f"n{q}{d}"])
            line = {
                "id": f"{q}-{d}",
                "query_id": f"q{q}",
                "document_id": f"d{d}",
                "query": topic,
                "passage": text,
            }
            lines.append(line | {"label": grade, "clicks": grade + float(rng.normal())})
    write("pairs.jsonl", lines)
    write(
        "verdicts.jsonl",
        [{"id": line["id"], "score": line["label"], "simulated": True} for line in lines],
    )
    return lines


def test_pairs_are_tuned_the_simulated_judge_is_named_and_the_weights_are_written(
    folder: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Features from the texts and a column; the same command gives the same figures."""
    given = ("pairs.jsonl", "--verdicts", "verdicts.jsonl", "--feature", "clicks", *QUICK)
    assert run(*given, "--out", "fusion.json", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["pairs"], body["queries"], body["judged_pairs"], body["simulated"]) == (
        48,
        6,
        48,
        True,
    )
    assert list(body["rankings"]) == [
        "clicks",
        "bm25",
        "tfidf",
        "svd",
        "coverage",
        "equal weights",
        "tuned",
    ]
    weights = json.loads(Path("fusion.json").read_text())
    assert weights["weights"] == body["fusion"]["weights"]
    assert weights["simulated"] is True
    assert run(*given, "--json") == 0
    assert json.loads(capsys.readouterr().out) == body | {"out": None}
    assert run(*given) == 0
    out = capsys.readouterr().out
    assert "[SIMULATED: says nothing about real models]" in out
    assert "gain over " in out


def test_verdicts_of_another_file_are_joined_by_the_texts(
    folder: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """White space apart; a text that was judged twice has the mean, and a pair of other texts is
    counted.
    """
    verdicts = [
        {
            "id": f"v{i}",
            "score": line["label"],
            "inputs": {"query": line["query"], "passage": f" {line['passage']}\n"},
        }
        for i, line in enumerate(folder)
    ]
    verdicts += [
        {**verdicts[0], "id": "again", "score": 3},
        {"id": "x", "score": 1, "inputs": {"query": "a", "passage": "b"}},
    ]
    write("theirs.jsonl", verdicts)
    assert run("pairs.jsonl", "--verdicts", "theirs.jsonl", *QUICK, "--json") == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert (
        "theirs.jsonl: 49 pairs have the judge's grade, joined by texts; 1 verdicts are about other"
        " pairs" in notes
    )
    assert "pairs with several grades of the judge, of which the mean counts: 1" in notes


def test_what_does_not_fit_is_named(
    folder: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """File, line, field, and what to do; nothing is written."""
    write(
        "strange.jsonl",
        [{**line, "clicks": "many"} if i == 3 else line for i, line in enumerate(folder)],
    )
    write("twice.jsonl", [*folder, {**folder[0], "id": "z"}])
    write(
        "other.jsonl",
        [{"id": "0-0", "score": 1, "inputs": {"query": "red fox", "passage": "no such text"}}],
    )
    write("far.jsonl", [{"id": "nobody", "score": 1}])
    judged = ("--verdicts", "verdicts.jsonl", *QUICK)
    cases = {
        ("pairs.jsonl", *QUICK): "judge labels are needed",
        (
            "strange.jsonl",
            "--feature",
            "clicks",
            *judged,
        ): "strange.jsonl, line 4: field 'clicks': 'many' is not a number",
        (
            "twice.jsonl",
            *judged,
        ): "line 49: the pair of query 'q0' and document 'd0' stands on line 1 too",
        (
            "pairs.jsonl",
            "--verdicts",
            "other.jsonl",
        ): "is about other texts than pairs.jsonl, line 1 has",
        (
            "pairs.jsonl",
            "--verdicts",
            "far.jsonl",
        ): "none of its verdicts is about one of the pairs",
        ("pairs.jsonl", "--label", "grade", *judged): "the column 'grade' is missing",
        ("pairs.jsonl", "--column", "text=passage", *judged): "--column 'text' is none of",
        (
            "pairs.jsonl",
            "--verdicts",
            "verdicts.jsonl",
            "--folds",
            "7",
        ): "6 queries have a label of the judge, fewer than 7",
        ("verdicts.jsonl", *judged): "no column says which query a pair has",
    }
    for given, message in cases.items():
        assert run(*given, "--out", "fusion.json", "--json") == 2, given
        assert message in json.loads(capsys.readouterr().out)["error"]["message"]
    assert not Path("fusion.json").exists()
