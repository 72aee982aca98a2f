"""Groups that no column names: the input that repeats far more than the others, alike in every
reader.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import Dataset, OutputScale, Row, load_dataset, load_verdicts
from judgewright.judges.files import (
    RawRoles,
    VerdictColumns,
    group_by_text,
    read_raw_rows,
    stream_verdicts,
)
from judgewright.judges.files.groups import UNGROUPED, repeating_input

INPUTS = ("query", "passage")


def search_rows(queries: int = 30, each: int = 5) -> list[dict[str, object]]:
    """Rows of a search: a short query, and a longer passage that is like no other."""
    return [
        {
            "id": f"r{q}-{i}",
            "query": f"hotels in town {q}",
            "passage": f"House {q}.{i} stands at the lake and has a garden with {i} trees.",
            "label": (q + i) % 2,
            "score": (q + i + (q % 7 == 0)) % 2,
        }
        for q in range(queries)
        for i in range(each)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_search_rows_are_grouped_by_their_query_in_every_reader(tmp_path: Path) -> None:
    """One query's passages stay together, and a note says so; the longest input would have split
    them.
    """
    path = write(tmp_path / "rows.jsonl", search_rows())
    note = (
        "rows that share the same query are one group (30 groups), as it repeats far more than"
        " other texts (--group COLUMN or --group none says otherwise)"
    )
    loaded = load_dataset(path, inputs=INPUTS, scale=OutputScale(kind="binary", threshold=1.0))
    raw = read_raw_rows(path, RawRoles(), judges={"search": INPUTS})
    verdicts = load_verdicts(path)
    streamed = stream_verdicts(path, VerdictColumns())
    for notes in (loaded.notes, raw.notes, verdicts.dataset.notes, streamed.dataset.notes):
        assert note in notes
    keys = [row.group for row in loaded.rows]
    assert keys == [row.group for row in raw.rows] == [row.group for row in verdicts.dataset.rows]
    assert len(set(keys)) == 30
    assert streamed.shared_groups is not None
    assert len(set(streamed.shared_groups.tolist())) == 30


def test_a_column_or_none_beats_it_and_what_falls_away_is_named(tmp_path: Path) -> None:
    """`--group none` makes each row a group of its own, and says that no ranking is left."""
    path = write(tmp_path / "rows.jsonl", search_rows())
    scale = OutputScale(kind="binary", threshold=1.0)
    for alone in (
        load_dataset(path, inputs=INPUTS, scale=scale, group="none"),
        load_verdicts(path, group="none").dataset,
    ):
        assert not any(row.group for row in alone.rows)
        assert any(
            "--group none" in note and "metrics of rankings are left out" in note
            for note in alone.notes
        )
    named = load_dataset(path, inputs=INPUTS, scale=scale, group="passage")
    assert len({row.group for row in named.rows}) == 150
    assert not any("repeats far more" in note for note in named.notes)


# By column: of how many rows in a row the text stays; less than 0, after how many it comes again.
# One query is no more repeated than one passage where every query meets every passage; then too few
# values, an instruction beside them, and a text that hardly repeats. A right answer repeats because
# its question does. Three questions a source: the source makes the groups; of a dozen sources their
# questions are too fine.
@pytest.mark.parametrize(
    ("rows", "repeats", "expected"),
    [
        (100, {"query": 5, "passage": 1}, "query"),
        (100, {"source": 5, "statement": 1}, "source"),
        (400, {"query": -20, "passage": 20}, None),
        (190, {"query": -19, "passage": 1}, None),
        (99, {"query": 1, "instruction": 99}, None),
        (100, {"instruction": 100, "query": 5}, "query"),
        (100, {"q": 5, "the gold": 5, "the whole answer": 1}, "the gold"),
        (360, {"a source": 12, "q": 4, "answer": 1}, "a source"),
        (360, {"a very long source": 30, "q": 10, "answer": 1}, None),
    ],
)
def test_what_repeats_far_more(rows: int, repeats: dict[str, int], expected: str | None) -> None:
    """The rule of the module's first lines."""
    texts = {
        name: [f"{name} {i % -each if each < 0 else i // each}" for i in range(rows)]
        for name, each in repeats.items()
    }
    assert repeating_input(texts) == expected


def test_a_text_with_few_values_is_named_and_not_taken(tmp_path: Path) -> None:
    """Eight queries are too few to be the default; a note says how to take them."""
    path = write(tmp_path / "rows.jsonl", search_rows(queries=8, each=20))
    loaded = load_dataset(path, inputs=INPUTS, scale=OutputScale(kind="binary", threshold=1.0))
    assert len({row.group for row in loaded.rows}) == 160
    note = (
        "query has 8 values in 160 rows: for a decision about a new query, rather than a new"
        " passage, say --group"
    )
    assert any(one.startswith(note) for one in loaded.notes)


def test_verdicts_without_texts_stand_alone(tmp_path: Path) -> None:
    """Ids, labels, scores and short columns make no groups."""
    rows = [
        {**row, "query": None, "passage": None, "genre": f"g{n % 25}"}
        for n, row in enumerate(search_rows())
    ]
    read = load_verdicts(write(tmp_path / "v.jsonl", rows)).dataset
    assert UNGROUPED in read.notes
    assert not any(row.group for row in read.rows)


def dataset_of(inputs: list[dict[str, str]]) -> Dataset:
    """Rows without groups."""
    rows = [Row(id=str(i), inputs=texts, label=float(i % 2)) for i, texts in enumerate(inputs)]
    return Dataset.of(rows, labels=OutputScale(kind="binary", threshold=1.0), notes=[UNGROUPED])


def test_rows_that_get_their_texts_later_are_grouped_by_them() -> None:
    """Also by fewer values, where nothing is split by it; the note that they stand alone goes."""
    rows = dataset_of(
        [{"query": f"q{i // 5}", "passage": f"p{i}", "told": "judge"} for i in range(60)]
    )
    assert group_by_text(rows) is rows
    grouped = group_by_text(rows, fewest=10)
    assert len({row.group for row in grouped.rows}) == 12
    assert UNGROUPED not in grouped.notes
    assert "share the same query are one group (12 groups)" in grouped.notes[-1]
    bare = dataset_of([{} for _ in range(60)])
    assert group_by_text(bare, fewest=10) is bare
