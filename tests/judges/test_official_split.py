"""Splits that somebody prescribes: followed exactly, the test part sealed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    Registry,
    Row,
    SealedRows,
    load_dataset,
    split_dataset,
    with_holdout_file,
    with_split_column,
)

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def rows(values: list[str], *, name: str = "rows", first: int = 0) -> Dataset:
    """Rows of different texts, each with a value in the column `part`."""
    made = tuple(
        Row(
            id=str(i),
            inputs={"x": f"text number {i} speaks of {'abcdefghij'[i % 10] * 9} and of {i * 7919}"},
            label=float(i % 2),
            group=f"g{i // 2}",
            meta={"part": value},
        )
        for i, value in enumerate(values, first)
    )
    return Dataset.of(made, labels=BINARY, name=name)


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to open a sealed part."""

    holdout: str


def ids(part: Dataset | SealedRows) -> set[str]:
    """The ids of a part; a sealed one is opened with its own hash."""
    if isinstance(part, SealedRows):
        part = part.open(Permit(part.content_hash))
    return {row.id for row in part.rows}


@pytest.mark.parametrize(
    ("train", "dev", "test"),
    [("train", "dev", "test"), ("Training", "VAL", "held-out"), ("trn", "valid", "eval")],
)
def test_a_column_is_followed_row_by_row(train: str, dev: str, test: str) -> None:
    """In any usual spelling; the shares decide nothing, and there is no final part."""
    values = [train] * 20 + [dev] * 10 + [test] * 30
    parts = split_dataset(with_split_column(rows(values), "part"), shares=(90, 5, 3, 2))
    assert ids(parts.train) == {str(i) for i in range(20)}
    assert ids(parts.validation) == {str(i) for i in range(20, 30)}
    assert ids(parts.holdout) == {str(i) for i in range(30, 60)}
    assert len(parts.final) == 0
    assert (
        parts.notes[0]
        == "the split is prescribed: train 20 rows, validation 10 rows, holdout 30 rows"
    )


def test_with_one_open_part_training_and_validation_rows_are_drawn_from_it() -> None:
    """By whole groups and in the ratio of their shares; the test part stays as it is."""
    parts = split_dataset(with_split_column(rows(["dev"] * 50 + ["test"] * 10), "part"))
    assert ids(parts.holdout) == {str(i) for i in range(50, 60)}
    assert (len(parts.train), len(parts.validation)) == (30, 20)
    assert not {row.group for row in parts.train.rows} & {
        row.group for row in parts.validation.rows
    }


def test_test_rows_like_open_rows_are_told_and_stay() -> None:
    """The split is official: neither a shared group nor a shared text moves a row."""
    dataset = rows(["train"] * 21 + ["dev"] * 10 + ["test"] * 21)
    copied = replace(dataset.rows[40], inputs=dataset.rows[3].inputs)
    dataset = replace(dataset, rows=(*dataset.rows[:40], copied, *dataset.rows[41:]))
    parts = split_dataset(with_split_column(dataset, "part"))
    assert ids(parts.holdout) == {str(i) for i in range(31, 52)}
    assert (
        "1 test rows are of groups of open rows, too; they stay where the split has them"
        in parts.notes
    )
    assert (
        "1 test rows are nearly the same as open rows; they stay where the split has them"
        in parts.notes
    )


def test_the_rows_of_a_file_are_sealed_and_no_other() -> None:
    """Ids that stand in both files get the file's name in front; the open rows are split as
    ever.
    """
    merged = with_holdout_file(rows(["x"] * 60), rows(["x"] * 40, name="official.jsonl", first=100))
    parts = split_dataset(merged)
    assert ids(parts.holdout) == {str(i) for i in range(100, 140)}
    assert len(parts.train) + len(parts.validation) == 60
    clash = replace(rows(["x"] * 40, name="official.jsonl", first=100))
    clash = replace(clash, rows=tuple(replace(row, id=str(i)) for i, row in enumerate(clash.rows)))
    assert "official.jsonl:0" in ids(
        split_dataset(with_holdout_file(rows(["x"] * 60), clash)).holdout
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["train", "dev", "elsewhere"], "'elsewhere' in 1 rows"),
        (["train", "dev"], "names no test rows"),
        (["test", "test"], "names no training or validation rows"),
    ],
)
def test_a_column_that_does_not_say_it_of_every_row_is_refused(
    values: list[str], says: str
) -> None:
    """Nothing is guessed about a row of which nobody said where it belongs."""
    with pytest.raises(InputError, match=says):
        with_split_column(rows(values), "part")
    with pytest.raises(InputError, match="no row has a column 'spilt'"):
        with_split_column(rows(values), "spilt")


def test_a_row_in_both_files_is_refused() -> None:
    """It cannot be open and sealed."""
    with pytest.raises(InputError, match=r"row '5' of official\.jsonl is row '5' of rows"):
        with_holdout_file(rows(["x"] * 10), rows(["x"] * 5, name="official.jsonl", first=5))


@pytest.mark.skipif(
    not (SHARED / "groundedness_wice.jsonl").exists(), reason="no shared data beside this checkout"
)
def test_a_published_split_is_followed_exactly() -> None:
    """WiCE has a dev and a test part: the test part is sealed, all of it."""
    prompt = Registry().get("groundedness")
    dataset = load_dataset(
        SHARED / "groundedness_wice.jsonl", inputs=prompt.inputs, scale=prompt.scale
    )
    parts = split_dataset(with_split_column(dataset, "orig_split"))
    test = {row.id for row in dataset.rows if row.meta["orig_split"] == "test"}
    assert ids(parts.holdout) == test
    assert ids(parts.train) | ids(parts.validation) == {row.id for row in dataset.rows} - test
