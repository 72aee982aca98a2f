"""Labels that a person looked at again: the marks of an audit, read from a file, and the labels
that they correct.

A corrected label moves no row: the split is drawn by the labels that the data file has, so that no
correction makes a fresh holdout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast, get_args

from ..errors import DataError, InputError
from ..rows import Dataset, LabelReview, Mark, Row
from ..scale import OutputScale
from .columns import as_text, words_of
from .label_words import read_grade
from .problems import Problems, shorten
from .records import Record, read_records

MARKS: tuple[str, ...] = get_args(Mark)
_HINT = (
    f"a line has the row's id and a mark ({', '.join(MARKS)}), or the row's id and right_label; a"
    " file without both columns has the right one in label"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A person's review of one row."""

    mark: Mark
    right_label: float | None = None
    """The label it should have; on two classes the other one where none is given."""
    at: int = field(default=0, compare=False)
    """The line that says so."""


def read_audit(path: Path, *, labels: OutputScale | None = None) -> dict[str, Finding]:
    """Read the marks back, by row id; lines without a mark and without a right label are rows
    nobody has looked at.

    A line with a right label and no mark is a label that was given again: `wrong label`, unless it
    is the same one. A file that a person made may have the columns `id` and `label` alone.

    The names of the scale `labels` may stand for grades.

    Raises:
        DataError: A mark is none of `MARKS`, a right label is not read, or a row is marked twice.
    """
    problems = Problems(path)
    records = list(read_records(path, problems))
    columns = {name for record in records for name in record.fields}
    right = "right_label" if columns & {"mark", "right_label"} else "label"
    if records and not {"mark", right} & columns:
        problems.check()
        raise DataError(f"{path}: no column is named mark, right_label or label", hint=_HINT)
    entries: dict[str, Finding] = {}
    for record in records:
        finding = _finding(record, right, labels, problems)
        if finding is None:
            continue
        id = as_text(record.fields.get("id"))
        if not id:
            problems.add(record.at, "field 'id': there is no id")
        elif id in entries:
            problems.add(
                record.at,
                f"field 'id': row {shorten(id)} is marked twice, first on {entries[id].at}",
            )
        else:
            entries[id] = finding
    problems.check(hint=_HINT)
    return entries


def _finding(
    record: Record, right: str, labels: OutputScale | None, problems: Problems
) -> Finding | None:
    """Read what a line says; None where it says nothing or has a problem."""
    mark = (as_text(record.fields.get("mark")) or "").strip().casefold()
    if mark and mark not in MARKS:
        problems.add(record.at, f"field 'mark': {shorten(mark)} is none of {', '.join(MARKS)}")
        return None
    cell = record.fields.get(right)
    label = None
    if mark in ("", "wrong label"):
        try:
            label = read_grade(cell, {} if labels is None else words_of(labels))
        except ValueError as error:
            problems.add(record.at, f"field {right!r}: {error}")
            return None
        if label is not None and labels is not None and not labels.contains(label):
            problems.add(record.at, f"field {right!r}: {label:g} is not on the scale of the labels")
            return None
    if not mark and label is None:
        return None
    return Finding(mark=cast("Mark", mark or "wrong label"), right_label=label, at=record.at)


def with_audited_labels(dataset: Dataset, path: Path | str, *, complete: bool = True) -> Dataset:
    """Bring the marks of an audit into rows: corrected labels, and which rows nobody could decide
    about.

    Each marked row has to be among the rows if `complete`; else a note counts those that are not.

    Raises:
        DataError: The file cannot be read, or marks a row that is not among the rows or has no
            label.
    """
    path = Path(path)
    entries = read_audit(path, labels=dataset.labels)
    problems = Problems(path)
    ids = {row.id for row in dataset.rows}
    absent = [(id, entry) for id, entry in entries.items() if id not in ids]
    if complete:
        for id, entry in absent:
            problems.add(
                entry.at, f"field 'id': row {shorten(id)} is not among the rows of {dataset.name!r}"
            )
    rows: list[Row] = []
    for row in dataset.rows:
        entry = entries.get(row.id)
        if entry is None:
            rows.append(row)
            continue
        try:
            rows.append(reviewed(row, entry, dataset.labels))
        except InputError as error:
            problems.add(entry.at, str(error))
            rows.append(row)
    problems.check(hint=_HINT)
    counts = reviews_of(rows)
    note = (
        f"{path.name}: {counts['wrong label']:,} labels corrected, {counts['real error']:,}"
        f" confirmed, {counts['unclear']:,} unclear, of {len(entries) - len(absent):,} rows that"
        " were looked at again"
    )
    notes = [*dataset.notes, note]
    if absent and not complete:
        notes.append(f"{len(absent):,} rows of {path.name} are not among the rows")
    return replace(
        Dataset.of(rows, labels=dataset.labels, name=dataset.name, notes=notes),
        official=dataset.official,
    )


def reviewed(row: Row, finding: Finding, labels: OutputScale) -> Row:
    """Return a row with what a person's second look says of its label.

    Raises:
        InputError: The row has no label, or it is not said which label is the right one.
    """
    if row.label is None:
        raise InputError(f"row {row.id!r} has no label that could be looked at again")
    mark, label = finding.mark, row.label
    if mark == "wrong label":
        if finding.right_label is not None:
            label = finding.right_label
            if not labels.contains(label):
                raise InputError(
                    f"row {row.id!r}: right_label {label:g} is not on {labels.describe()}"
                )
        elif labels.kind == "binary":
            label = 1.0 - row.label
        else:
            raise InputError(
                f"row {row.id!r} has a wrong label and no right_label",
                hint=f"labels are {labels.describe()}: which?",
            )
        if label == row.label:
            mark = "real error"
    return replace(row, label=label, review=LabelReview(mark=mark, before=row.label))


def reviews_of(rows: tuple[Row, ...] | list[Row]) -> Mapping[str, int]:
    """Count rows by the mark that a person's second look gave them."""
    return Counter(row.review.mark for row in rows if row.review is not None)
