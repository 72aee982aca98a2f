"""Rows that were drawn to be labelled with a probability below 1 are no fair sample: they count in
no figure.
"""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import BINARY, DataError, load_dataset, load_verdicts
from judgewright.judges.files import RawRoles, read_raw_rows

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "one plain text of words", "label": 1, "score": 1},
    {"id": "b", "text": "another plain text of words", "label": 0, "score": 1},
    {"id": "c", "text": "a third plain text of words", "label": 1, "score": 0},
    {"id": "d", "text": "one that was drawn for a label", "label": 0, "score": 1},
]
for row, probability in zip(ROWS[1:], (1, None, 0.2), strict=True):
    row["sampling_probability"] = probability


def written(folder: Path, rows: list[dict[str, Any]], name: str = "rows.jsonl") -> Path:
    """A file of rows."""
    path = folder / name
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(ROWS[-1]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_they_are_left_out_of_what_is_measured_with_a_note(tmp_path: Path, name: str) -> None:
    """Of rows that a judge is asked about, of verdict files, and of rows read as they are."""
    path = written(tmp_path, ROWS, name)
    dataset = load_dataset(path, inputs=("text",), scale=BINARY)
    assert [row.id for row in dataset.rows] == ["a", "b", "c"]
    assert any(
        "1 rows were drawn to be labelled with a probability below 1" in note
        for note in dataset.notes
    )
    assert all("sampling_probability" not in row.meta for row in dataset.rows)
    assert [row.id for row in load_verdicts(path).dataset.rows] == ["a", "b", "c"]
    assert len(read_raw_rows(path, RawRoles(), judges={}).rows) == 3
    without = load_dataset(
        written(tmp_path, ROWS[:3], f"less-{name}"), inputs=("text",), scale=BINARY
    )
    assert dataset.content_hash == without.content_hash


def test_they_are_read_for_training_with_their_probability(tmp_path: Path) -> None:
    """`drawn` keeps them."""
    dataset = load_dataset(written(tmp_path, ROWS), inputs=("text",), scale=BINARY, drawn=True)
    assert [row.sampling_probability for row in dataset.rows] == [1, 1, 1, 0.2]


@pytest.mark.parametrize("value", [0, -0.1, 1.5, "often", True])
def test_what_is_no_probability_is_refused_by_line_and_field(tmp_path: Path, value: object) -> None:
    """A share in per cent would put every row into the figures, or none."""
    path = written(tmp_path, [*ROWS, {**ROWS[0], "id": "e", "sampling_probability": value}])
    with pytest.raises(DataError, match=r"line 5.*sampling_probability.*no number above 0"):
        load_dataset(path, inputs=("text",), scale=BINARY)


def test_a_file_of_nothing_else_measures_nothing(tmp_path: Path) -> None:
    """And says so, instead of a figure over no rows."""
    with pytest.raises(DataError, match="every row was drawn with a probability below 1"):
        load_verdicts(written(tmp_path, ROWS[3:]))
