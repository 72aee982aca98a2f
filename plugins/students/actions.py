"""Train a student on a verdict file, write chats to fine-tune on, and judge rows with a student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...judges import (
    Benchmark,
    InputError,
    JudgedDataset,
    Verdict,
    compare,
    measure,
)
from ...judges.files import VerdictColumns, group_by_text, load_judges
from ...judges.metrics.paired_comparison import Change
from ...judges.scale import BINARY
from ..students import StudentSettings, Trained, train_student
from ..verdict_texts import with_texts
from .training import Count

SHOWN = ("precision", "recall", "f1", "kappa", "accuracy", "auroc", "brier", "ece")
"""What is measured of each side."""
WORTH = 0.05
"""How far the student's F1 may lie under its teacher's, to be worth its name."""
ALWAYS_YES = "always yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentReport:
    """A trained student beside its teacher and people."""

    trained: Trained
    sides: dict[str, Benchmark]
    """Teacher, student, and who always says yes, by people's labels; empty without labels."""
    change: Change | None
    """The student's F1 less the teacher's, paired by row and clustered by group."""
    agreement: Benchmark
    """The student by the teacher's decisions."""
    notes: tuple[str, ...] = field(default=())

    @property
    def is_within(self) -> bool | None:
        """Whether the student is at most `WORTH` behind, by the interval; None where that is not
        shown either way.
        """
        if self.change is None or self.change.low is None or self.change.high is None:
            return None
        if self.change.low >= -WORTH:
            return True
        return False if self.change.high < -WORTH else None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `student train --json` prints."""
        student, held_out = self.trained.student, self.trained.held_out
        change = self.change
        difference = change and {"value": change.difference, "low": change.low, "high": change.high}
        return {
            "teacher": student.teacher,
            "simulated": student.simulated,
            "inputs": list(student.inputs),
            "rows": len(held_out.answers),
            "groups": int(held_out.groups.max(initial=-1)) + 1 if len(held_out.rows) else None,
            "labelled": len(held_out.scored),
            "folds": self.trained.folds,
            "by_people": {name: _figures(side) for name, side in self.sides.items()},
            "f1_difference": difference,
            "within_5_points": self.is_within,
            "by_teacher": _figures(self.agreement),
            "rule": student.rule.to_json(),
            "notes": [*held_out.dataset.notes, *self.notes],
        }


def _figures(side: Benchmark) -> dict[str, Any]:  # Any: JSON
    return {name: side.metrics[name].to_json() for name in SHOWN if name in side.metrics}


def read_teacher(
    path: Path, columns: VerdictColumns, *, rows: Path | None, inputs: Sequence[str]
) -> JudgedDataset:
    """Read a teacher's verdicts, with the texts of the rows that were judged where the file has
    none.

    Args:
        path: The verdict file, of one judge.
        columns: How it is read.
        rows: The data file that was judged; rows are joined by id.
        inputs: The texts that are wanted of it.

    Raises:
        InputError: There are several judges, or nobody says which texts are wanted.
        DataError: A file cannot be used, or the two share no row.
    """
    judges = load_judges(path, columns)
    if len(judges) > 1:
        raise InputError(
            f"{path} has {len(judges)} judges", hint="name the column of one with --score"
        )
    judged = next(iter(judges.values()))
    if judged.scale.kind == "choice":
        raise InputError(
            f"{path}: its judge chooses among classes; a student learns yes or no, or a grade"
        )
    if rows is not None:
        if not inputs:
            raise InputError(
                "--rows needs the texts that are read from it: --inputs source,statement"
            )
        judged = with_texts(judged, rows, inputs, flag="--inputs COLUMN,COLUMN")
    return replace(judged, dataset=group_by_text(judged.dataset))


def run_training(
    teacher: JudgedDataset, settings: StudentSettings, *, count: Count
) -> StudentReport:
    """Train a student, and measure it and its teacher on the same held-out rows; see
    `train_student`.
    """
    trained = train_student(teacher, settings, count=count)
    sides: dict[str, Benchmark] = {}
    change = None
    if len(trained.held_out.scored):
        decided = _decisions(trained.teacher)
        yes = tuple(
            Verdict(row_id=row.id, score=1.0, positive=True, parser="rule")
            for row in trained.teacher.dataset.rows
        )
        always = replace(decided, answers=yes, judge=ALWAYS_YES, simulated=False)
        sides = {"teacher": measure(trained.teacher), "student": measure(trained.held_out)}
        sides[ALWAYS_YES] = measure(always)
        change = compare("f1", decided, trained.held_out)
    notes: list[str] = []
    if not sides:
        notes.append("no row has people's label: the student is measured by its teacher alone")
    elif (floor := sides[ALWAYS_YES].metrics["f1"].value or 0.0) >= (
        sides["student"].metrics["f1"].value or 0.0
    ):
        notes.append(
            f"always saying yes has an F1 of {floor:.3f}, which the student does not exceed"
        )
    agreement = measure(trained.agreement)
    low = agreement.metrics["kappa"].low
    if low is None or low <= 0.0:
        notes.append(
            "the student may have learned nothing that holds on other groups: the interval of its"
            " kappa with the teacher reaches 0; more groups, or a fine-tuned model (`student"
            " data`), may do better"
        )
    return StudentReport(
        trained=trained,
        sides=sides,
        change=change,
        agreement=agreement,
        notes=tuple(notes),
    )


def _decisions(judged: JudgedDataset) -> JudgedDataset:
    """Return the same decisions as 0 and 1."""
    answers = (
        (
            replace(answer, score=float(answer.positive), before=None)
            if isinstance(answer, Verdict)
            else answer
        )
        for answer in judged.answers
    )
    return replace(judged, answers=tuple(answers), scale=BINARY, rule=None)
