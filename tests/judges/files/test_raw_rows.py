"""Rows read for looking at them: inputs are found, gaps are no errors."""

import json
from pathlib import Path

import pytest

from judgewright.judges import DataError
from judgewright.judges.files import RawRoles, RawRows, read_raw_rows

JUDGES = {"short": ("query", "answer"), "full": ("query", "passage", "answer")}


def read(folder: Path, rows: list[dict[str, object]], **roles: object) -> RawRows:
    """Write rows as JSONL and read them."""
    path = folder / "rows.jsonl"
    path.write_text("\n\n".join(json.dumps(row) for row in rows))
    return read_raw_rows(path, RawRoles(**roles), judges=JUDGES)  # type: ignore[arg-type]


def test_the_judge_that_finds_most_of_its_inputs_names_them(tmp_path: Path) -> None:
    """A column that is mostly empty is no input of these rows."""
    body = {"query": "what is it", "passage": "a lamp it is", "answer": "a lamp", "label": 1}
    assert list(read(tmp_path, [body]).rows[0].inputs) == ["query", "passage", "answer"]
    raw = read(tmp_path, [body | {"passage": None}])
    assert list(raw.rows[0].inputs) == ["query", "answer"]
    assert any("as the judge short reads them" in note for note in raw.notes)


def test_columns_of_running_text_are_the_inputs_where_no_judge_fits(tmp_path: Path) -> None:
    """Codes, numbers and single words are not."""
    raw = read(
        tmp_path, [{"essay": "Many words stand in this column.", "topic": "lamps", "words": 6}]
    )
    assert list(raw.rows[0].inputs) == ["essay"]
    assert raw.rows[0].meta == {"topic": "lamps", "words": 6}
    with pytest.raises(DataError, match="no column holds running text"):
        read(tmp_path, [{"topic": "lamps"}])


def test_a_missing_input_is_empty_text_and_lines_are_remembered(tmp_path: Path) -> None:
    """What `load_dataset` refuses is looked at here."""
    rows: list[dict[str, object]] = [
        {"q": "one", "label": "yes"},
        {"q": None, "n": 1},
        {"label": 0},
    ]
    raw = read(tmp_path, rows, inputs={"query": "q"})
    assert [row.inputs["query"] for row in raw.rows] == ["one", "", ""]
    assert [row.label for row in raw.rows] == [1.0, None, 0.0]
    assert raw.lines == (1, 3, 5)


def test_rows_without_a_group_column_share_the_group_of_their_longest_input(tmp_path: Path) -> None:
    """As `load_dataset` has it, and a note says so."""
    rows: list[dict[str, object]] = [
        {"query": name, "answer": text}
        for name, text in (("a", "long text"), ("b", "long  text"), ("c", "other text"))
    ]
    raw = read(tmp_path, rows)
    assert raw.group is None
    assert raw.rows[0].group == raw.rows[1].group != raw.rows[2].group
    assert any("the same answer are one group" in note for note in raw.notes)
    named = read(tmp_path, [row | {"group_id": i // 2} for i, row in enumerate(rows)])
    assert (named.group, [row.group for row in named.rows]) == ("group_id", ["0", "0", "1"])


@pytest.mark.parametrize(
    ("roles", "option"),
    [({"label": "gold"}, "--label"), ({"inputs": {"query": "qq"}}, "--column query=COLUMN")],
)
def test_a_named_column_that_is_missing_is_an_error_with_its_option(
    tmp_path: Path, roles: dict[str, object], option: str
) -> None:
    """The hint says which option names it."""
    with pytest.raises(DataError, match="is missing") as caught:
        read(tmp_path, [{"query": "a b c d", "answer": "e"}], **roles)
    assert option.split("=")[0] in (caught.value.hint or "")
