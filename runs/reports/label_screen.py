"""What an annotator sees: one row's texts, the question first, and the keys; nothing of any
judge.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...judges import OutputScale, Row
from ..terminal import visible

HEADING = "── "
"""What a line begins with that names a text."""
WIDEST = 100
"""Columns of text; longer lines are hard to read."""
REASONS: Mapping[str, str] = {
    "1": "cannot tell from this text",
    "2": "the text is broken",
    "3": "not for me to judge",
}
"""Reasons for a skip that one key gives."""
_DIGITS = range(10)
_YES_NO = ("no", "yes")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKeys:
    """What is typed for each grade of a scale."""

    scale: OutputScale
    grades: Mapping[str, float]
    """A key to its grade; empty where grades are typed as numbers."""

    @classmethod
    def of(cls, scale: OutputScale) -> AnswerKeys:
        """Give yes and no their letters, and other grades their digits."""
        if scale.kind == "binary":
            return cls(scale=scale, grades={"y": 1.0, "n": 0.0})
        if scale.kind == "choice" and len(scale.labels) < len(_DIGITS):
            return cls(scale=scale, grades={str(i + 1): float(i) for i in range(len(scale.labels))})
        if scale.kind == "graded" and scale.low >= 0 and scale.high in _DIGITS:
            return cls(scale=scale, grades={f"{level:g}": level for level in scale.levels})
        return cls(scale=scale, grades={})

    def read(self, text: str) -> float | None:
        """Return the grade that was typed; None for none."""
        typed = text.strip().casefold()
        if self.grades:
            words = {"yes": "y", "no": "n"} if self.scale.kind == "binary" else {}
            return self.grades.get(words.get(typed, typed))
        try:
            grade = float(typed)
        except ValueError:
            return None
        return grade if self.scale.contains(grade) else None

    def legend(self) -> list[str]:
        """Return a line for each grade that has a name or a meaning, or one for all."""
        scale = self.scale
        if scale.kind == "binary":
            negative, positive = scale.labels or _YES_NO
            return [f"y {positive}   n {negative}"]
        if scale.kind == "choice":
            return [f"{i + 1} {label}" for i, label in enumerate(scale.labels)]
        if scale.kind == "graded" and scale.labels:
            return [f"{i} {label}" for i, label in enumerate(scale.labels)]
        if scale.kind == "graded":
            named = [
                f"{level:g} {scale.anchors[f'{level:g}']}"
                for level in scale.levels
                if f"{level:g}" in scale.anchors
            ]
            return named or [f"{scale.low} (least) to {scale.high} (most)"]
        if scale.low_is_good:
            return ["a number from 0 (worst) to 1 (best), then Enter"]
        return ["a number from 0 to 1, then Enter"]

    def question(self) -> str:
        """Return what is asked where nobody said it in words of their own."""
        if self.scale.kind == "binary":
            return "Should a judge say yes or no to this row?"
        if self.scale.kind == "choice":
            return "Which of these should a judge choose for this row?"
        return "Which grade should a judge give this row?"

    def listed(self) -> str:
        """Return the keys for grades, in a few words."""
        if not self.grades:
            return "a number of the scale and Enter"
        keys = list(self.grades)
        return ", ".join(keys) if self.scale.kind == "binary" else f"{keys[0]} to {keys[-1]}"


def row_lines(
    row: Row, order: Sequence[str], *, width: int, before: Row | None = None
) -> list[str]:
    """Return a row's texts as lines, each under its name.

    Args:
        row: The row.
        order: The names of the texts; see `label_queue.reading_order`.
        width: Columns of a line.
        before: The row that was read just before; a text that is the same there is said to be.
    """
    lines: list[str] = []
    for name in order:
        text = row.inputs.get(name, "")
        same = (
            ", the same as before" if before is not None and before.inputs.get(name) == text else ""
        )
        lines += [
            f"{HEADING}{name.replace('_', ' ')}{same} ──",
            *_wrapped(text, min(width, WIDEST)),
            "",
        ]
    return lines[:-1]


def _wrapped(text: str, width: int) -> list[str]:
    if not text.strip():
        return ["(empty)"]
    lines: list[str] = []
    # Runs of empty lines say nothing and push the text off the screen.
    for line in re.sub(r"\n\s*\n\s*", "\n\n", visible(text).strip("\n")).split("\n"):
        lines += textwrap.wrap(line, width, drop_whitespace=True) or [""]
    return lines
