"""`judgewright search pairs`: annotations become what sentence-transformers loads; what cannot is
named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import load_npz

from judgewright.runs.cli import main

QUERIES = {"a": "What do foxes eat?", "b": "Where do whales live?"}
PASSAGES = (
    *(
        "Foxes eat mice, berries and eggs.",
        "A fox is red.",
        "Whales live in all oceans.",
        "Berries are sweet.",
    ),
    *("The ocean is deep.", "Mice live in fields.", "Eggs are white.", "Nothing of this."),
)


def run(*arguments: str) -> int:
    """Run a command in this process and return its exit code."""
    try:
        main(list(arguments))
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def write(path: str, lines: list[dict[str, Any]]) -> None:
    """Write JSON Lines."""
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two queries and eight passages."""
    monkeypatch.chdir(tmp_path)
    write("queries.jsonl", [{"id": name, "query": text} for name, text in QUERIES.items()])
    write("corpus.jsonl", [{"id": f"d{i}", "passage": text} for i, text in enumerate(PASSAGES)])
    return tmp_path


def annotated(**changes: Any) -> list[dict[str, Any]]:
    """Four annotations of one query, hand-made."""
    said = [(1, 0.9), (0, 0.2), (0, 0.7), (0, 0.1)]
    return [
        {
            "id": f"a/d{i}",
            "query_id": "a",
            "document_id": f"d{i}",
            "verdict": verdict,
            "probability": probability,
            "inputs": {"query": QUERIES["a"], "passage": PASSAGES[i]},
        }
        | changes
        for i, (verdict, probability) in enumerate(said)
    ]


def test_what_annotate_writes_becomes_triplets_that_datasets_loads(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts alone, in the order that sentence-transformers reads; the mark stays."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    asked = ("--judge", "context_relevance", "--model", "simulated", "--k", "4", "--per-query", "8")
    assert (
        run(
            "rag", "annotate", "queries.jsonl", "corpus.jsonl", *asked, "--out", "a.jsonl", "--json"
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["pairs"] == 16
    out = ("--out", "triplets.jsonl", "--matrix", "m.npz", "--json")
    assert run("rag", "search", "pairs", "a.jsonl", *out) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["simulated"] is True
    loaded = datasets.load_dataset(
        "json", data_files="triplets.jsonl", split="train", cache_dir=str(folder / "cache")
    )
    assert loaded.column_names == ["anchor", "positive", "negative"]
    assert {feature.dtype for feature in loaded.features.values()} == {"string"}
    assert len(loaded) == body["written"] == body["triplets"]
    assert set(loaded["anchor"]) <= set(QUERIES.values())
    matrix = load_npz("m.npz").tocoo()
    assert matrix.nnz == body["relevant"] + body["not_relevant"]
    with np.load("m.npz") as arrays:
        queries, documents = arrays["query_ids"].tolist(), arrays["document_ids"].tolist()
    cells = zip(matrix.row, matrix.col, matrix.data, strict=True)
    relevant = {(queries[i], documents[j]) for i, j, label in cells if label}
    assert not {(line["anchor"], line["negative"]) for line in loaded} & {
        (QUERIES[query], PASSAGES[int(document[1:])]) for query, document in relevant
    }


def test_people_count_over_the_judge_and_doubtful_negatives_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge's .7 is no negative; a person's yes makes one positive; `--judge-only` forgets
    it.
    """
    lines = annotated()
    lines[3]["label"] = 1
    write("a.jsonl", lines)
    given = ("rag", "search", "pairs", "a.jsonl", "--out", "t.jsonl", "--matrix", "m.npz", "--json")
    assert run(*given) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["relevant"], body["by_people"], body["pairs"], body["left_out"]["doubtful"]) == (
        2,
        1,
        2,
        1,
    )
    written = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert [line["negative"] for line in written] == [PASSAGES[1]] * 2
    with np.load("m.npz") as arrays:
        assert arrays["human"].tolist() == [False, False, False, True]
    assert load_npz("m.npz").toarray().tolist() == [[1, 0, 0, 1]]
    assert run(*given, "--judge-only", "--below", "1") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["pairs"], body["triplets"], body["left_out"]["doubtful"]) == (1, 3, 0)


def test_what_cannot_be_trained_on_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """File, line, field, what to do; no file is written."""
    write("grades.jsonl", annotated(verdict=2))
    write("bare.jsonl", annotated(inputs={"query": "x"}))
    write("silent.jsonl", annotated(verdict=None))
    write("none.jsonl", annotated(verdict=0))
    write("words.jsonl", annotated(probability="much"))
    cases = {
        ("grades.jsonl",): "grades.jsonl, line 1, field 'verdict': 2 is no decision (0 or 1)",
        ("bare.jsonl",): "bare.jsonl, line 1: the pair lacks the text of its query or its document",
        ("silent.jsonl",): "no pair has a decision in column 'verdict', nor a label in 'label'",
        ("none.jsonl",): "there are no triplets: 1 of 1 queries have no relevant document",
        ("words.jsonl",): "field 'probability': 'much' is not a number",
        ("none.jsonl", "--below", "0"): "the threshold of negatives is above 0",
        (
            "none.jsonl",
            "--matrix",
            "m.csv",
        ): "--matrix 'm.csv' ends in none of .npz",
        ("gone.jsonl",): "gone.jsonl: there is no such file",
    }
    for given, message in cases.items():
        assert run("rag", "search", "pairs", *given, "--out", "t.jsonl", "--json") == 2, given
        assert message in json.loads(capsys.readouterr().out)["error"]["message"]
    assert not list(folder.glob("[tm].*"))
