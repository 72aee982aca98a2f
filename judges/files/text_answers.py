"""Read written answers and the gold ones beside them: what ANLS compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from ..errors import DataError
from ..judged_dataset import IntArray
from .columns import as_text, refuse_missing
from .groups import UNGROUPED
from .problems import Problems
from .records import Cell, Record, read_records, unit_of
from .verdict_columns import GROUP_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAnswers:
    """The rows that have a gold answer and an answer, in order of the file."""

    answers: tuple[str, ...]
    gold: tuple[tuple[str, ...], ...]
    """The answers that are right for each row; at least one."""
    groups: IntArray | None
    """Codes 0..G-1; None where every row is its own group."""
    by: tuple[str, ...]
    """The value of the column asked for, `(none)` without one; empty where none was asked for."""
    unscored: int
    """Rows with a gold answer and none to compare; they enter no mean."""
    unlabelled: int
    notes: tuple[str, ...]

    def only(self, positions: Sequence[int]) -> TextAnswers:
        """Return the rows at some positions; what had no answer is not among them."""
        groups = None
        if self.groups is not None:
            # Numbered anew: codes without rows would count as groups.
            groups = np.unique(self.groups[list(positions)], return_inverse=True)[1].astype(
                np.int64
            )
        return TextAnswers(
            answers=tuple(self.answers[i] for i in positions),
            gold=tuple(self.gold[i] for i in positions),
            groups=groups,
            by=tuple(self.by[i] for i in positions),
            unscored=0,
            unlabelled=0,
            notes=(),
        )


def load_text_answers(
    path: Path,
    *,
    gold: str = "label",
    answer: str = "score",
    group: str | None = None,
    by: str | None = None,
) -> TextAnswers:
    """Read two columns of texts.

    A gold cell is one right answer, or a list of them. An empty text is an answer, and wrong unless
    a gold answer is empty too; a cell that is null or absent is none.
    The groups are those of the first of `GROUP_COLUMNS` where no column is named.

    Raises:
        DataError: The file cannot be read, lacks a column, or no row has both.
    """
    problems = Problems(path, unit_of(path))
    records = list(read_records(path, problems))
    problems.check()
    columns = {name for record in records for name in record.fields}
    named = {gold: "--label COLUMN", answer: "--score COLUMN"}
    if group:
        named[group] = "--group COLUMN"
    if by:
        named[by] = "--by COLUMN"
    if not named.keys() <= columns:
        refuse_missing(path, named, columns)
    group = group or next((name for name in GROUP_COLUMNS if name in columns), None)
    labelled = 0
    scored: list[Record] = []
    answers: list[str] = []
    for record in records:
        if record.fields.get(gold) is None:
            continue
        labelled += 1
        text = as_text(record.fields.get(answer))
        if text is not None:
            scored.append(record)
            answers.append(text)
    if not scored:
        hint = "name the columns with --label and --score"
        raise DataError(f"{path}: no row has a text in {gold!r} and in {answer!r}", hint=hint)
    categories: tuple[str, ...] = ()
    if by:
        values = [record.fields.get(by) for record in scored]
        categories = tuple("(none)" if value is None else str(value) for value in values)
    note = f"rows that share the same {group} are one group" if group else UNGROUPED
    return TextAnswers(
        answers=tuple(answers),
        gold=tuple(gold_answers(record.fields[gold]) for record in scored),
        groups=_groups(scored, group),
        by=categories,
        unscored=labelled - len(scored),
        unlabelled=len(records) - labelled,
        notes=(note,),
    )


def gold_answers(cell: Cell) -> tuple[str, ...]:
    """Read one right answer, or a list of them, which stands as its JSON."""
    text = as_text(cell) or ""
    if isinstance(cell, str) and cell.startswith("["):
        try:
            listed = orjson.loads(cell)
        except orjson.JSONDecodeError:
            listed = None
        if isinstance(listed, list) and listed and all(isinstance(part, str) for part in listed):
            return tuple(listed)
    return (text,)


def _groups(records: Sequence[Record], column: str | None) -> IntArray | None:
    if column is None:
        return None
    codes: dict[str, int] = {}
    # A row without a group stands alone, under a name that no group has.
    keys = [as_text(record.fields.get(column)) or f"\0{i}" for i, record in enumerate(records)]
    return np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)
