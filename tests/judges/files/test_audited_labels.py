"""Labels that a person looked at again: read from a file, brought into rows, and never a way to
another holdout.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from judgewright.judges import (
    BINARY,
    DataError,
    Dataset,
    OutputScale,
    Row,
    load_dataset,
)
from judgewright.judges.files import Finding, read_audit, with_audited_labels

GRADES = OutputScale()
CLASSES = OutputScale(kind="choice", labels=("orders", "support"))


def write(path: Path, lines: Sequence[Mapping[str, object]]) -> Path:
    """A file of one object a line."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def rows(labels: Mapping[str, float | None], scale: OutputScale = BINARY) -> Dataset:
    """Rows with these labels."""
    return Dataset.of(
        (Row(id=id, inputs={"text": id}, label=y) for id, y in labels.items()),
        labels=scale,
        name="d",
    )


def test_marks_correct_confirm_and_doubt(tmp_path: Path) -> None:
    """The other class is the right one of two; a row that nobody looked at has no review."""
    marks = [
        {"id": "a", "mark": "wrong label"},
        {"id": "b", "mark": "real error"},
        {"id": "c", "mark": "unclear"},
    ]
    path = write(tmp_path / "m.jsonl", [*marks, {"id": "d", "mark": ""}])
    audited = with_audited_labels(rows({"a": 1, "b": 0, "c": 1, "d": 0}), path)
    said = [
        (row.id, row.label, row.review and (row.review.mark, row.review.before))
        for row in audited.rows
    ]
    assert said == [
        ("a", 0.0, ("wrong label", 1)),
        ("b", 0, ("real error", 0)),
        ("c", 1, ("unclear", 1)),
        ("d", 0, None),
    ]
    assert (
        audited.notes[-1]
        == "m.jsonl: 1 labels corrected, 1 confirmed, 1 unclear, of 3 rows that were looked at"
        " again"
    )


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("m.csv", "id,right_label\na,3\nb,0\n"),
        ("m.csv", "id,label\na,3\nb,0\n"),
        ("m.jsonl", '{"id": "a", "label": 3}\n{"id": "b", "label": 0}\n'),
    ],
)
def test_a_person_writes_the_file_by_hand(tmp_path: Path, name: str, body: str) -> None:
    """Ids and labels are enough; a label that is as it was confirms it."""
    (tmp_path / name).write_text(body, encoding="utf-8")
    audited = with_audited_labels(rows({"a": 1, "b": 0}, GRADES), tmp_path / name)
    assert [(row.label, row.review and row.review.mark) for row in audited.rows] == [
        (3, "wrong label"),
        (0, "real error"),
    ]


def test_the_label_column_of_a_written_audit_is_the_old_one(tmp_path: Path) -> None:
    """`--audit` writes the label that people gave beside the empty mark: it corrects nothing."""
    path = write(tmp_path / "m.jsonl", [{"id": "a", "mark": "", "right_label": None, "label": 1}])
    assert read_audit(path) == {}


def test_classes_are_corrected_by_name(tmp_path: Path) -> None:
    """As people write them in the data."""
    path = write(tmp_path / "m.jsonl", [{"id": "a", "right_label": "Support"}])
    assert read_audit(path, labels=CLASSES) == {"a": Finding(mark="wrong label", right_label=1.0)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": "x", "mark": "unclear"}, "field 'id': row 'x' is not among the rows of 'd'"),
        ({"id": "a", "mark": "wrong label"}, "row 'a' has a wrong label and no right_label"),
        ({"id": "a", "right_label": 7}, "field 'right_label': 7 is not on the scale"),
        ({"id": "a", "right_label": "much"}, "field 'right_label': 'much' is neither a number"),
        ({"id": "n", "right_label": 2}, "row 'n' has no label that could be looked at again"),
    ],
)
def test_what_does_not_fit_is_named_by_file_line_and_field(
    tmp_path: Path, line: Mapping[str, object], said: str
) -> None:
    """Nothing is corrected then."""
    path = write(tmp_path / "m.jsonl", [line])
    with pytest.raises(DataError, match=f"m.jsonl, line 1: {said}"):
        with_audited_labels(rows({"a": 1, "n": None}, GRADES), path)
    write(path, [{"id": "a", "verdict": 2}])
    with pytest.raises(DataError, match="no column is named mark, right_label or label"):
        with_audited_labels(rows({"a": 1}, GRADES), path)


def test_a_limit_leaves_marked_rows_out_and_says_so(tmp_path: Path) -> None:
    """Where only the first rows are read, a mark of another row is no mistake."""
    data = write(
        tmp_path / "d.jsonl",
        [{"id": f"r{i}", "text": f"text {i}", "label": i % 2} for i in range(6)],
    )
    marks = write(
        tmp_path / "m.jsonl",
        [{"id": "r1", "mark": "wrong label"}, {"id": "r5", "mark": "wrong label"}],
    )
    some = load_dataset(data, inputs=("text",), scale=BINARY, limit=3, audited=marks)
    assert [row.label for row in some.rows] == [0, 0, 0]
    assert "1 rows of m.jsonl are not among the rows" in some.notes
    whole = load_dataset(data, inputs=("text",), scale=BINARY, audited=marks)
    assert [row.label for row in whole.rows] == [0, 0, 0, 1, 0, 0]
