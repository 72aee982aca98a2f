"""Columns are guessed from names and contents; what is in doubt is said to be so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import DataError, OutputScale, Registry
from judgewright.judges.files import (
    GuessedColumns,
    UnclearColumnsError,
    guess_columns,
    load_dataset,
    rows_in_memory,
)

HEADERS = sorted((Path(__file__).parents[2] / "data" / "headers").glob("*.jsonl"))
"""Headers as people have them, a line each: `name`, `header`, `rows` (lists in its order), `judge`
(a shipped one, or its inputs) and `expected` (a role to its column, null for none).
"""
LONG = "The Matterhorn is a mountain of the Alps; its summit is 4,478 metres high."


def guessed(case: dict[str, Any]) -> GuessedColumns:  # Any: JSON
    """Guess the columns of a case."""
    judge = case["judge"]
    inputs = Registry().get(judge).inputs if isinstance(judge, str) else judge
    rows = [dict(zip(case["header"], row, strict=True)) for row in case["rows"]]
    return guess_columns(rows, inputs)


def guess(header: list[str], *rows: list[Any]) -> GuessedColumns:  # Any: cells
    """Guess the columns that groundedness would read."""
    return guessed({"judge": "groundedness", "header": header, "rows": rows})


LEAST = {
    "as_people_have_them": 19,
    "written_apart": 0,
    "written_apart_2": 9,
    "written_apart_3": 3,
}
"""Headers that are read rightly without a model; the others are asked about."""


@pytest.mark.parametrize("file", HEADERS, ids=lambda file: file.stem)
def test_without_a_model_no_header_is_guessed_wrongly_unsaid(file: Path) -> None:
    """What the known names leave open is asked about; only a column of the very name that is asked
    for may hold something else.
    """
    right = 0
    for line in file.read_text("utf-8").splitlines():
        case = json.loads(line)
        found, expected = guessed(case), case["expected"]
        for one in found.guesses:
            if one.sure and one.role in expected and one.column != one.role:
                assert one.column in ("", expected[one.role]), case["name"]
        right += all(found.column_of(role) == (name or "") for role, name in expected.items())
    assert right >= LEAST[file.stem]


def test_two_columns_that_fit_as_well_are_asked_about() -> None:
    """Neither is taken silently, and both are named."""
    found = guess(
        ["context", "answer", "response", "label"], [LONG, "It is high.", "It is low.", 1]
    )
    [statement] = [one for one in found.guesses if one.role == "statement"]
    assert not found.sure
    assert (statement.column, statement.candidates) == ("", ("answer", "response"))
    assert "not sure of statement" in found.doubts()[0]


def test_a_column_of_the_usual_name_that_holds_something_else_is_not_taken(tmp_path: Path) -> None:
    """`source` may be where a row is from; named by a person it is read all the same."""
    header = ["source", "context", "statement", "label"]
    rows = [["news", f"{LONG} {at}", f"It is {at} metres high.", at % 2] for at in range(6)]
    found = guess(header, *rows)
    assert (found.column_of("source"), found.exact) == ("context", False)
    objects = rows_in_memory([dict(zip(header, row, strict=True)) for row in rows])
    with pytest.raises(UnclearColumnsError, match="'source' holds a few short values"):
        load_dataset(objects, inputs=("source", "statement"), scale=OutputScale())
    said = {"source": "source"}
    read = load_dataset(objects, inputs=("source", "statement"), scale=OutputScale(), columns=said)
    assert read.rows[0].inputs["source"] == "news"


def test_a_label_that_begins_late_is_read(tmp_path: Path) -> None:
    """Whatever the first rows lack, and though a column of theirs holds a few short values."""
    rows = [{"source": "news", "statement": f"It is {at}."} for at in range(300)]
    rows += [{**row, "label": str(at % 2)} for at, row in enumerate(rows)]
    read = load_dataset(
        rows_in_memory(rows), inputs=("source", "statement"), scale=OutputScale(kind="binary")
    )
    assert sum(row.label is not None for row in read.rows) == 300


def test_an_exact_header_is_exact_whatever_stands_beside_it() -> None:
    """`context` beside a `source` that is text changes nothing."""
    header = ["source", "context", "statement", "answer", "label"]
    found = guess(header, [LONG, "wiki", "It is high.", "yes", 1], [LONG[9:], "news", "No.", "", 0])
    assert found.exact
    assert found.options() == []


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["messages", "label"], [json.dumps([{"role": "user", "content": "Say hi"}]), 1]),
        (["prompt", "chosen", "rejected"], ["Say hi to me.", "Hello to you.", "Leave me alone."]),
        (["question", "response_a", "response_b"], ["How high?", "It is high.", "It is low."]),
    ],
)
def test_of_conversations_and_pairs_no_answer_is_proposed(
    header: list[str], row: list[Any]
) -> None:
    """A conversation is no text, and of two answers neither is more meant than the other."""
    assert guess(header, row).column_of("statement") == ""


@pytest.mark.parametrize("name", ["hallucination", "Fehler", "is_toxic"])
def test_an_unknown_label_is_asked_about_with_what_to_say_where_1_is_bad(name: str) -> None:
    """Whoever names the column reads beside the question that its figures may be the wrong way."""
    rows = [[LONG, f"It is {at} metres high.", at % 2] for at in range(6)]
    found = guess(["source", "statement", name], *rows)
    assert found.column_of("label") == ""
    assert "if 1 is bad, add --label-scale low-probability" in found.doubts()[0]


def test_label_values_are_shown_as_they_will_be_read() -> None:
    """A word that says nothing by itself has a question mark."""
    found = guess(["context", "answer", "label"], [LONG, "A b.", "pass"], [LONG, "C d.", "purple"])
    assert found.labels == "'pass' as 1, 'purple' as ?"


def test_the_error_names_the_options_of_all_columns(tmp_path: Path) -> None:
    """A column that no name resembles is left to the person."""
    (tmp_path / "rows.csv").write_text("kontext,Urteil\nEin langer Text steht hier.,ja\n", "utf-8")
    with pytest.raises(DataError) as caught:
        load_dataset(tmp_path / "rows.csv", inputs=("source", "statement"), scale=OutputScale())
    hint = caught.value.hint or ""
    assert "--column source=kontext --column statement=COLUMN --label Urteil" in hint


@pytest.mark.parametrize(
    ("row", "advice"),
    [
        ({"messages": '[{"role": "user", "content": "Hi"}]', "label": 1}, "one row per answer"),
        ({"conversations": '[{"from": "human", "value": "Hi"}]'}, "hold conversations"),
        ({"turns": '[{"parts": [{"text": "Hi"}], "role": "user"}]'}, "hold conversations"),
        ({"turns": '[{"speaker": "Ann", "text": "Hi, cut off'}, "hold conversations"),
        ({"prompt": "Hi", "chosen": "Hello.", "rejected": "What?"}, "two rows for each pair"),
    ],
)
def test_conversations_and_pairs_are_refused_with_what_can_be_done(
    row: dict[str, Any], advice: str
) -> None:
    """In one line, and no column is proposed."""
    with pytest.raises(UnclearColumnsError, match=advice) as caught:
        load_dataset(rows_in_memory([row]), inputs=("source", "statement"), scale=OutputScale())
    assert "\n" not in str(caught.value)
    assert not caught.value.guessed.complete


@pytest.mark.parametrize(
    "document",
    [
        {"content": LONG, "metadata": {"page": 3}},
        {"value": LONG, "score": 0.8},
        {"text": LONG, "role": "appendix"},
    ],
)
def test_retrieved_documents_are_no_conversation(document: dict[str, Any]) -> None:
    """Lists of documents share single fields with turns, and stay a source."""
    found = guess(["context", "answer", "label"], [json.dumps([document]), "It is high.", 1])
    assert (found.no_rows, found.column_of("source")) == ("", "context")
