"""What the demo's stored rows promise: balanced, various, and labelled as a person would."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from judgewright.judges import InputError, Scalar
from judgewright.runs.demo import demo_rows, write_demo_rows

COLUMNS = [
    "id",
    "source",
    "statement",
    "label",
    "group_id",
    "genre",
    "channel",
    "statement_words",
    "source_words",
    "language",
    "writer",
]

# Read by a person in the rows: id, what stands in the source, the statement, whether it
# is supported.
READ_BY_HAND = [
    (
        "doc-0009-1",
        "Until 2039, spare parts are sold by Tannick Brothers.",
        "The sale of spare parts ends in 2039.",
        1,
    ),
    (
        "doc-0009-2",
        "After 95 minutes the timer",
        "A telephone app can start the appliance remotely.",
        0,
    ),
    ("doc-0010-1", "free every Thursday", "No admission is charged each Thursday.", 1),
    (
        "doc-0010-2",
        "Carved chest: made in 1622 by Annelie Quistad",
        "The carved chest was made in 1622 by Edda Skarvenik",
        0,
    ),
    (
        "doc-0010-3",
        "with Freya Thornaby, at most 14 people",
        "Guided tours are limited to 24 people.",
        0,
    ),
    (
        "doc-0011-2",
        "Signe Halvern, took over on 23 February",
        "Before 23 February someone else led the firm.",
        1,
    ),
    ("doc-0011-3", "Weakest part: Service Branch", "The Service Branch will be sold.", 0),
    (
        "doc-0013-1",
        "Title: Valley Line, Tormbrook",
        "It is not stated how many passengers are affected.",
        1,
    ),
]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Scalar]]:
    """The demo's rows."""
    return demo_rows()


def test_fewer_documents_are_the_first_of_more(rows: list[dict[str, Scalar]]) -> None:
    """Asking for fewer documents leaves those that remain as they were."""
    few = demo_rows(documents=25)
    assert few == rows[: len(few)]


@pytest.mark.parametrize("documents", [0, 601])
def test_a_number_of_documents_that_is_not_there_is_refused(documents: int) -> None:
    """The message names the number that was asked for."""
    with pytest.raises(InputError, match=f"documents is {documents}; ask for 1 to 600"):
        demo_rows(documents=documents)


def test_there_are_about_a_thousand_rows_with_the_promised_columns(
    rows: list[dict[str, Scalar]],
) -> None:
    """Every row has the same columns, a label of 0 or 1 and an id of its own."""
    assert 950 <= len(rows) <= 1150
    assert all(list(row) == COLUMNS for row in rows)
    assert {row["label"] for row in rows} == {0, 1}
    assert len({row["id"] for row in rows}) == len(rows)


def test_labels_are_balanced_in_every_channel(rows: list[dict[str, Scalar]]) -> None:
    """About half of the rows are supported, in tables as elsewhere, so the hard slice is no matter
    of base rate.
    """
    for channel in ("web", "pdf", "chat", "table"):
        labels = [int(str(row["label"])) for row in rows if row["channel"] == channel]
        assert len(labels) > 150
        assert 0.42 <= sum(labels) / len(labels) <= 0.58, channel


def test_a_group_is_one_document_with_three_or_four_statements(
    rows: list[dict[str, Scalar]],
) -> None:
    """Rows of a group share the source, and rows of different groups never do."""
    assert len({(row["group_id"], row["source"]) for row in rows}) == 300
    assert len({row["source"] for row in rows}) == 300
    assert set(Counter(row["group_id"] for row in rows).values()) == {3, 4}


def test_sources_are_sixty_to_a_hundred_and_forty_words(rows: list[dict[str, Scalar]]) -> None:
    """The word counts are in the promised range and are those of the text."""
    for row in rows:
        assert row["source_words"] == len(str(row["source"]).split())
        assert row["statement_words"] == len(str(row["statement"]).split())
        assert 60 <= len(str(row["source"]).split()) <= 140


def test_the_file_is_below_a_megabyte_and_reads_back(
    tmp_path: Path, rows: list[dict[str, Scalar]]
) -> None:
    """The written lines are the rows."""
    path = tmp_path / "demo.jsonl"
    assert write_demo_rows(path) == len(rows)
    assert path.stat().st_size < 1_000_000
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == rows


def test_statements_seldom_repeat_and_no_slot_stays_unfilled(rows: list[dict[str, Scalar]]) -> None:
    """At least three of four statements are worded differently from every other."""
    assert len({row["statement"] for row in rows}) > 0.75 * len(rows)
    assert not [
        row["id"] for row in rows if re.search(r"[{}]", f"{row['source']}{row['statement']}")
    ]


@pytest.mark.parametrize(("row_id", "passage", "statement", "label"), READ_BY_HAND)
def test_rows_read_by_hand_are_labelled_as_a_person_would(
    rows: list[dict[str, Scalar]], row_id: str, passage: str, statement: str, label: int
) -> None:
    """The source holds the passage, and the label is what follows from it."""
    row = next(row for row in rows if row["id"] == row_id)
    assert passage in str(row["source"])
    assert (row["statement"], row["label"]) == (statement, label)


def test_no_two_documents_are_near_duplicates(rows: list[dict[str, Scalar]]) -> None:
    """Sources share under 80 % of their five-word shingles, so no split joins two documents."""
    sources = {str(row["group_id"]): str(row["source"]) for row in rows}
    bare = [_shingles(source) for source in sources.values()]
    assert max(len(a & b) / len(a | b) for a, b in combinations(bare, 2)) < 0.8


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return frozenset(zip(*(words[start:] for start in range(5)), strict=False))
