"""What is wrong with a data file, gathered so that one error names it all."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import DataError
from .rows_in_memory import RowSource, unit_of

_SHOWN = 10


@dataclass(slots=True)
class Problems:
    """What is wrong with a file: the first ten in words, all of them counted."""

    path: RowSource
    first: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0
    blank: int = 0
    """Rows without any content, which are skipped."""
    notes: list[str] = field(default_factory=list[str])
    """What was assumed about the file as a whole."""

    @property
    def unit(self) -> str:
        """What the number of a problem counts: `line` or `row`."""
        return unit_of(self.path)

    def said(self) -> list[str]:
        """Return what to know of a file that can be read."""
        if not self.blank:
            return self.notes
        return [*self.notes, f"blank rows, skipped: {self.blank:,}"]

    def add(self, at: int, message: str) -> None:
        """Enter one problem of the record at a line or row."""
        self.total += 1
        self.first.append((at, message))
        self.first.sort(key=lambda entry: entry[0])
        del self.first[_SHOWN:]

    def check(self, *others: Problems, hint: str | None = None) -> None:
        """Raise everything entered so far, here and in the others, as one error; do nothing if
        there was nothing.

        Raises:
            DataError: There was a problem.
        """
        total = self.total + sum(other.total for other in others)
        entries = list(self.first)
        for other in others:
            entries += other.first
        entries.sort(key=lambda entry: entry[0])
        lines = [f"{self.unit} {at}: {message}" for at, message in entries[:_SHOWN]]
        if total == 1:
            raise DataError(f"{self.path}, {lines[0]}", hint=hint)
        if total:
            if total > _SHOWN:
                lines.append(f"and {total - _SHOWN:,} more")
            body = "\n  ".join(lines)
            raise DataError(f"{self.path}: {total:,} problems\n  {body}", hint=hint)


def shorten(value: object) -> str:
    """Quote a value for a message, cut to sixty characters."""
    text = value if isinstance(value, str) else str(value)
    if len(text) > 60:
        return f"{text[:60]!r}… ({len(text):,} characters)"
    return repr(value)
