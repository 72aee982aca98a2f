"""Likely label errors: their order, their marks, and the judge measured again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    DataError,
    Dataset,
    JudgedDataset,
    OutputScale,
    Row,
    Unscored,
    Verdict,
)
from judgewright.judges.reliability import (
    Finding,
    likely_label_errors,
    read_audit,
    remeasure,
    write_audit,
)

GRADES = OutputScale()


def table(
    labels: list[int],
    probabilities: list[float | None],
    scale: OutputScale = BINARY,
    grades: list[int] | None = None,
) -> JudgedDataset:
    """Rows with labels and verdicts; a verdict is positive from a probability of 0.5, or by its
    grade.
    """
    rows = [
        Row(id=f"r{i}", inputs={"text": f"text {i}"}, label=float(y)) for i, y in enumerate(labels)
    ]
    answers = []
    for i, p in enumerate(probabilities):
        positive = scale.positive(grades[i]) if grades else (p or 0.0) >= 0.5
        sure = None if p is None else (p if positive else 1 - p)
        score = float(grades[i]) if grades else float(positive)
        answers.append(
            Verdict(
                row_id=f"r{i}", score=score, positive=positive, confidence=sure, rationale="why"
            )
        )
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=scale), answers=tuple(answers), scale=scale
    )


def ids(judged: JudgedDataset, *, limit: int = 20) -> list[str]:
    """The listed rows in order."""
    return [suspect.row.id for suspect in likely_label_errors(judged, limit=limit).suspects]


def test_confident_contradictions_come_first() -> None:
    """Only contradicted rows are listed, by the judge's confidence in the class people did not
    choose.
    """
    judged = table([1, 1, 0, 0, 1, 0], [0.9, 0.2, 0.97, 0.6, 0.01, 0.1])
    assert ids(judged) == ["r4", "r2", "r1", "r3"]
    assert ids(judged, limit=2) == ["r4", "r2"]
    found = likely_label_errors(judged, limit=1)
    assert (found.found, found.n, found.at_most.value) == (4, 6, pytest.approx(4 / 6))
    assert found.at_most.high is not None
    assert found.at_most.high > 4 / 6


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 64)), min_size=2, max_size=60))
@settings(max_examples=100, deadline=None)
def test_the_confident_ones_are_those_of_confident_learning(rows: list[tuple[int, int]]) -> None:
    """A contradicted row counts where its probability reaches the other class's mean on rows
    labelled with it.
    """
    labels, p = (
        np.array([y for y, _ in rows]),
        np.array([sixty_fourths / 64 for _, sixty_fourths in rows]),
    )
    by_class = np.stack([1 - p, p])
    expected = set()
    for i, label in enumerate(labels):
        other, members = 1 - label, labels == 1 - label
        contradicted = (p[i] >= 0.5) == bool(other)
        if contradicted and members.any() and by_class[other, i] >= by_class[other, members].mean():
            expected.add(f"r{i}")
    found = likely_label_errors(table(labels.tolist(), p.tolist()), limit=100)
    assert {s.row.id for s in found.suspects if s.confident} == expected
    assert found.confident is not None
    assert found.confident.value == pytest.approx(len(expected) / len(rows))


def test_marks_are_written_read_and_blank_ones_left_out(tmp_path: Path) -> None:
    """An auditor fills in `mark`; a row that nobody looked at is not in the answer."""
    judged = table([0, 0, 1], [0.9, 0.8, 0.1])
    path = tmp_path / "audit.jsonl"
    write_audit(likely_label_errors(judged), path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["mark"] for line in lines} == {""}
    assert read_audit(path) == {}
    marks = {"r0": "wrong label", "r1": "Real Error"}
    path.write_text(
        "\n".join(json.dumps(line | {"mark": marks.get(line["id"], "")}) for line in lines)
    )
    assert read_audit(path) == {"r0": Finding(mark="wrong label"), "r1": Finding(mark="real error")}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "a", "mark": "wrong"}], "line 1: field 'mark': 'wrong' is none of"),
        (
            [{"id": "a", "mark": "unclear"}, {"id": "a", "mark": "unclear"}],
            "line 2: field 'id': row 'a' is marked twice, first on 1",
        ),
        ([{"mark": "unclear"}], "line 1: field 'id': there is no id"),
        (
            [{"id": "a", "mark": "wrong label", "right_label": "two"}],
            "line 1: field 'right_label': 'two' is neither a number",
        ),
    ],
)
def test_marks_that_cannot_be_read_are_named(
    tmp_path: Path, lines: list[dict[str, str]], said: str
) -> None:
    """With their line."""
    path = tmp_path / "audit.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(DataError, match=said):
        read_audit(path)


def test_a_judge_is_measured_again_with_audited_labels(tmp_path: Path) -> None:
    """Of two false positives one was a wrong label: precision rises from 1/3 to 2/3, and the bias
    is said.
    """
    judged = table([0, 0, 1, 0], [0.9, 0.8, 0.9, 0.1])
    path = tmp_path / "marks.jsonl"
    path.write_text('{"id": "r0", "mark": "wrong label"}\n{"id": "r1", "mark": "unclear"}\n')
    found = remeasure(judged, path)
    assert found.before.metrics["precision"].value == pytest.approx(1 / 3)
    assert found.after.metrics["precision"].value == pytest.approx(2 / 3)
    assert found.marks == {"real error": 0, "wrong label": 1, "unclear": 1}
    assert "upper bound" in found.notes[0]
    path.write_text('{"id": "other", "mark": "unclear"}\n')
    with pytest.raises(DataError, match="'other' is not among the rows"):
        remeasure(judged, path)


def test_unscored_rows_are_no_suspects() -> None:
    """A judge without an answer contradicts nobody."""
    judged = table([0, 0], [0.9, 0.9])
    gone = replace(judged, answers=(Unscored(row_id="r0", reason="parse"), judged.answers[1]))
    assert ids(gone) == ["r1"]
    nothing = likely_label_errors(
        replace(judged, answers=tuple(Unscored(row_id=f"r{i}", reason="parse") for i in (0, 1)))
    )
    assert (nothing.found, nothing.at_most.value) == (0, None)
