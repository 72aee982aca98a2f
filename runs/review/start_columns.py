"""Which column of a data file is what: guessed, shown as a table, and said by a person."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ...judges import DataError, InputError
from ...judges.files import (
    Cell,
    ColumnReading,
    GuessedColumns,
    Problems,
    guess_columns,
    read_records,
)
from .app_state import AppState
from .data_files import FirstRows

LOOKED_AT = 100
"""Rows whose columns are listed."""
LONGEST = 2_000
"""Characters of a cell that are kept; the table shows fewer."""
PICK = "pick"
"""The field that says of a column what it is, such as `label=correct`."""
OF_INPUT = "column-"
"""What a role begins with that is an input of the judge."""
_WORDS = {"label": "people's label", "id_": "the row's id", "group": "what belongs together"}


class ColumnLine(NamedTuple):
    """A column, as the table shows it."""

    name: str
    role: str
    """The field of what it is; empty for nothing."""
    why: str
    """Why it was guessed; empty where a person said it, or it has the very name."""
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTable:
    """The columns of a file, with what each is."""

    lines: tuple[ColumnLine, ...]
    roles: tuple[tuple[str, str], ...]
    """What a column may be: the name of the field, and words."""
    missing: tuple[str, ...]
    """What still has to be said."""
    chosen: str
    """What is read from which column, in one line."""
    group: str
    """The column that was named as the group and is an input as well; empty for none."""
    guessed: GuessedColumns
    agreed: bool
    """Whether a person has agreed, or the columns have the very names."""
    reading: ColumnReading | None = None
    """What the chosen model reads in the header."""
    label_map: str = ""
    """What cells of the label stand for, as `--label-map` takes it."""


def picked_columns(picks: Iterable[str]) -> dict[str, str]:
    """Return the column of each role out of what a table sent.

    Raises:
        InputError: Two columns are to be the same thing.
    """
    columns: dict[str, str] = {}
    for pick in filter(None, picks):
        role, _, column = pick.partition("=")
        if role in columns:
            words = _WORDS.get(role, role.removeprefix(OF_INPUT))
            raise InputError(
                f"both {columns[role]!r} and {column!r} are chosen as {words}",
                hint="go back and set one of them to: not read by the judge",
            )
        columns[role] = column
    return columns


def column_names(state: AppState, path: Path) -> tuple[str, ...]:
    """Return the columns of a file, from its first rows.

    Raises:
        DataError: The file cannot be read.
    """
    return tuple(dict.fromkeys(name for row in _first_rows(state, path) for name in row))


def guess_of(
    state: AppState,
    path: Path,
    inputs: Sequence[str],
    chosen: Mapping[str, str] = MappingProxyType({}),
    *,
    label_needed: bool = True,
) -> GuessedColumns:
    """Return what the columns of a file may be, but for those that a person chose, by field.

    Raises:
        DataError: The file cannot be read.
    """
    named = {
        "id" if field == "id_" else field.removeprefix(OF_INPUT): column
        for field, column in chosen.items()
    }
    rows = _first_rows(state, path)
    return guess_columns(rows, inputs, named=named, label_needed=label_needed)


def column_table(guessed: GuessedColumns, *, agreed: bool = False) -> ColumnTable:
    """Return the table of columns, of which a person has agreed to what was guessed or not."""
    roles = {f"{OF_INPUT}{name}": f"the judge's {name}" for name in guessed.inputs} | _WORDS
    by_column: dict[str, tuple[str, str]] = {}
    missing: list[str] = []
    agreed = agreed or all(one.column == one.role for one in guessed.guesses if one.needed)
    for field, one in zip(roles, guessed.guesses, strict=True):
        if one.needed and (not one.column or one.column in by_column):
            missing.append(f"{roles[field]} ({one.why})")
        # What may stay empty is proposed only beside what has to be said anyway.
        elif one.column and (one.needed or one.named or not agreed):
            by_column.setdefault(one.column, (field, "" if one.named else one.said))
    lines = [
        ColumnLine(column, *by_column.get(column, ("", "")), content.first_values)
        for column, content in guessed.contents.items()
    ]
    group = guessed.guesses[-1]
    lines.sort(key=lambda line: [*roles, ""].index(line.role))
    return ColumnTable(
        lines=tuple(lines),
        roles=tuple(roles.items()),
        missing=tuple(missing),
        chosen=", ".join(f"{roles[line.role]} from {line.name}" for line in lines if line.role),
        group=group.column if group.named and by_column[group.column][0] != "group" else "",
        guessed=guessed,
        agreed=agreed and not missing,
    )


def _first_rows(state: AppState, path: Path) -> FirstRows:
    stat = path.stat()
    return state.columns.get((str(path), stat.st_mtime_ns, stat.st_size), lambda: _read(path))


def _read(path: Path) -> FirstRows:
    problems = Problems(path)
    records = itertools.islice(read_records(path, problems), LOOKED_AT)
    rows = [{name: _short(cell) for name, cell in one.fields.items()} for one in records]
    if not any(rows):
        problems.check()
        raise DataError(f"{path}: the file has no rows")
    return tuple(rows)


def _short(cell: Cell) -> Cell:
    return cell[:LONGEST] if isinstance(cell, str) else cell
