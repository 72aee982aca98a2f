"""What labels can be for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Question = Literal["gain", "guard", "slice", "threshold", "doubts"]
QUESTIONS: Mapping[Question, str] = {
    "gain": "whether a gain is real: any rows",
    "guard": "whether a guarded metric holds: rows that the metric counts",
    "slice": "whether a slice is real: rows of the slice",
    "threshold": "where the threshold lies: rows that score next to it",
    "doubts": "whether labels are right: labelled rows that a judge contradicts",
}
"""What labels can be for, and which rows tell most about it."""
