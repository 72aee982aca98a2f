"""The errors of a slice as a person sees them, and the marks as they come and are kept."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import BINARY, Dataset, JudgedDataset, OutputScale, Row, Verdict
from judgewright.judges.reliability import Finding, read_audit
from judgewright.slices import (
    KEYS,
    SliceAudit,
    annotate_errors,
    audit_slice,
    parse_predicate,
    show_error,
    write_marks,
)

GRADES = OutputScale()


def graded(scale: OutputScale) -> tuple[JudgedDataset, SliceAudit]:
    """Thirty rows, six of them false positives of `kind = a`."""
    rows, answers = [], []
    for i in range(30):
        inside, positive = i < 12, i % 2 == 0
        top = float(scale.high)
        source = "A source.\n" + "word " * 400
        rows.append(
            Row(
                id=f"r{i}",
                inputs={"source": source, "statement": f"Statement {i}\x1b[31m."},
                label=top if positive else float(scale.low),
                group=f"d{i}",
                meta={"kind": "a" if inside else "b"},
            )
        )
        answers.append(
            Verdict(
                row_id=f"r{i}",
                score=top,
                positive=True,
                confidence=0.5 + i / 100,
                rationale="It says so.",
            )
            if inside or positive
            else Verdict(row_id=f"r{i}", score=float(scale.low), positive=False, confidence=0.9)
        )
    judged = JudgedDataset(
        dataset=Dataset(rows=tuple(rows), labels=scale), answers=tuple(answers), scale=scale
    )
    return judged, audit_slice(judged, parse_predicate("kind = a"))


def marked(
    audit: SliceAudit, scale: OutputScale, said: list[str]
) -> tuple[dict[str, Finding], list[str], list[str]]:
    """Mark with these answers; returns the marks, the questions and what was shown."""
    answers: Iterator[str] = iter(said)
    asked: list[str] = []
    shown: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return next(answers)

    return dict(annotate_errors(audit, scale, ask=ask, show=shown.append)), asked, shown


def test_an_error_is_shown_whole_but_short_beside_its_label() -> None:
    """Both inputs, shortened, on the left; label, verdict, confidence and reason on the right;
    lines that fit.
    """
    _, audit = graded(BINARY)
    text = show_error(audit.errors.suspects[0], BINARY)
    lines = text.splitlines()
    assert lines[0].startswith("row r11, group d11; labels are ")
    for part in (
        "people: 0 (negative)",
        "judge:  1 (positive), confidence 0.61",
        "It says so.",
        "statement: Statement 11",
    ):
        assert part in text
    assert "more characters)" in text
    assert len(lines) < 25
    assert max(map(len, lines)) <= 110


def test_answers_become_marks_as_they_come() -> None:
    """Letters and whole words are understood, Enter leaves an error for later, q ends it, nonsense
    is asked again.
    """
    _, audit = graded(BINARY)
    ids = [suspect.row.id for suspect in audit.errors.suspects]
    assert len(ids) == 6
    found, asked, shown = marked(audit, BINARY, ["w", "", "what?", "E", " real error ", "u", "q"])
    assert found == {
        ids[0]: Finding(mark="wrong label"),
        ids[2]: Finding(mark="real error"),
        ids[3]: Finding(mark="real error"),
        ids[4]: Finding(mark="unclear"),
    }
    assert len(asked) == 7
    assert sum("is none of these" in text for text in shown) == 1
    assert sum("[6 of 6]" in text for text in shown) == 1


def test_on_grades_the_right_label_is_asked_for_until_it_is_on_the_scale() -> None:
    """A wrong label on four levels needs a right one."""
    _, audit = graded(GRADES)
    found, asked, _ = marked(audit, GRADES, ["w", "many", "9", "2", "q"])
    assert list(found.values()) == [Finding(mark="wrong label", right_label=2.0)]
    assert sum("the right label" in question for question in asked) == 3


def test_marks_made_before_the_end_of_input_are_kept() -> None:
    """Each mark is handed out before the next question, so that an interruption loses none."""
    _, audit = graded(BINARY)
    answers = iter(["e"])

    def ask(question: str) -> str:
        said = next(answers, None)
        if said is None:
            raise EOFError(question)
        return said

    marks = annotate_errors(audit, BINARY, ask=ask, show=lambda text: None)
    assert next(marks)[1] == Finding(mark="real error")
    with pytest.raises(EOFError):
        next(marks)


def test_marks_are_written_and_read_back(tmp_path: Path) -> None:
    """What is marked comes back as it was; what is not is left to mark in the file."""
    _, audit = graded(GRADES)
    ids = [suspect.row.id for suspect in audit.errors.suspects]
    findings = {
        ids[0]: Finding(mark="wrong label", right_label=2.0),
        ids[4]: Finding(mark="unclear"),
    }
    path = tmp_path / "marks.jsonl"
    write_marks(audit, findings, path)
    assert read_audit(path) == findings
    assert len(path.read_text().splitlines()) == len(ids)


def test_every_mark_has_a_key() -> None:
    """The three marks of an audit, no more."""
    assert sorted(KEYS.values()) == ["real error", "unclear", "wrong label"]
    assert np.unique(list(KEYS)).size == 3
