"""A student as a screen: it decides where it is sure, and the teacher is asked about the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...judges.errors import InputError
from ...judges.judged_dataset import JudgedDataset
from ...judges.scale import BINARY
from ...judges.verdict import Answer, Verdict

SCREENS = (0.6, 0.7, 0.8, 0.9, 0.95)
"""Confidences that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenedAt:
    """What comes of one confidence, on held-out rows."""

    confidence: float
    asked: float
    """The share of rows that the teacher is asked about."""
    agreement: float | None
    """With the teacher, on the rows that the student decides; None where it decides none."""
    judged: JudgedDataset
    """Student and teacher together; labels are people's."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the three numbers."""
        return {"confidence": self.confidence, "asked": self.asked, "agreement": self.agreement}


def is_sure(answer: Answer, confidence: float) -> bool:
    """Whether a student decides: its calibrated confidence in its own decision reaches one that is
    wanted.
    """
    return (
        isinstance(answer, Verdict)
        and answer.confidence is not None
        and answer.confidence >= confidence
    )


def screen_at(student: JudgedDataset, teacher: JudgedDataset, confidence: float) -> ScreenedAt:
    """Let a student decide where it is sure, and the teacher elsewhere.

    Args:
        student: Held-out verdicts.
        teacher: Verdicts on the same rows, in the same order.
        confidence: From which on the student decides.

    Raises:
        InputError: The confidence is none, or the rows are others.
    """
    if not 0.5 <= confidence <= 1.0:
        raise InputError(f"the confidence of a screen is between 0.5 and 1, not {confidence:g}")
    if [row.id for row in student.dataset.rows] != [row.id for row in teacher.dataset.rows]:
        raise InputError("student and teacher judged other rows")
    answers: list[Answer] = []
    same: list[bool] = []
    calls = 0
    for mine, theirs in zip(student.answers, teacher.answers, strict=True):
        if isinstance(mine, Verdict) and is_sure(mine, confidence):
            answers.append(replace(mine, score=float(mine.positive), before=None))
            if isinstance(theirs, Verdict):
                same.append(mine.positive == theirs.positive)
            continue
        calls += 1
        decided = isinstance(theirs, Verdict)
        answers.append(
            replace(theirs, score=float(theirs.positive), before=None) if decided else theirs
        )
    together = replace(
        teacher, answers=tuple(answers), scale=BINARY, rule=None, judge="student, then teacher"
    )
    return ScreenedAt(
        confidence=confidence,
        asked=calls / len(answers) if answers else 0.0,
        agreement=float(np.mean(same)) if same else None,
        judged=together,
    )


def screened(student: JudgedDataset, teacher: JudgedDataset) -> tuple[ScreenedAt, ...]:
    """Return what comes of each of `SCREENS`."""
    return tuple(screen_at(student, teacher, confidence) for confidence in SCREENS)
