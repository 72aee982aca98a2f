"""Which column of a data file is what, as a person says it where the names of the columns do
not.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...judges import DataError
from ...judges.files import Problems, near_names, read_records
from .app_state import AppState
from .start_form import OF_INPUT, StartForm

LOOKED_AT = 100
"""Rows whose columns are listed."""
MOST_COLUMNS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoice:
    """A part that a column plays."""

    field: str
    """The name of the form's field."""
    words: str
    usual: str
    """What is taken where nobody says anything."""
    chosen: str
    missing: bool
    """Whether it has to be said, because no column has the usual name."""
    guessed: bool = False
    """Whether the column was chosen by its name alone, and nobody has agreed yet."""

    def guess(self, wanted: str, names: Sequence[str]) -> ColumnChoice:
        """Return it with the column that is likely meant, where one has to be said."""
        near = near_names(wanted, names) if self.missing and not self.chosen else []
        return replace(self, chosen=near[0], missing=False, guessed=True) if near else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoices:
    """The parts, and the columns that can be chosen for each."""

    names: tuple[str, ...]
    parts: tuple[ColumnChoice, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """What still has to be said."""
        return tuple(part.words for part in self.parts if part.missing)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed."""
        return tuple(f"{part.words} from {part.chosen}" for part in self.parts if part.guessed)

    @property
    def said(self) -> bool:
        """Whether anything was chosen."""
        return any(part.chosen for part in self.parts)


def column_names(state: AppState, path: Path) -> tuple[str, ...]:
    """Return the columns of a file, from its first rows.

    Raises:
        DataError: The file cannot be read.
    """
    stat = path.stat()
    return state.columns.get((str(path), stat.st_mtime_ns, stat.st_size), lambda: _read_names(path))


def column_choices(state: AppState, form: StartForm) -> ColumnChoices:
    """Return what a person may say about the columns of the form's file.

    Raises:
        InputError: There is no such file.
        DataError: It cannot be read.
    """
    names = column_names(state, form.path(state))
    inputs = form.prompt(state).inputs if form.judge in state.workspace.registry.names() else ()
    told, columns = form.more, form.columns
    label, row_id = told.get("label", ""), told.get("id_", "")
    parts = [
        ColumnChoice(
            field=f"{OF_INPUT}{name}",
            words=f"The judge's {name}",
            usual=f"the column {name}",
            chosen=columns.get(name, ""),
            missing=columns.get(name, name) not in names,
        ).guess(name, names)
        for name in inputs
    ]
    parts += [
        ColumnChoice(
            field="label",
            words="People's labels",
            usual="the column label",
            chosen=label,
            missing=(label or "label") not in names,
        ).guess("label", names),
        ColumnChoice(
            field="group",
            words="What belongs together",
            usual=(
                "the column group_id, else the text that repeats far more than the others, else the"
                " longest"
            ),
            chosen=told.get("group", ""),
            missing=False,
        ),
        ColumnChoice(
            field="id_",
            words="The row's id",
            usual="the column id, else the line",
            chosen=row_id,
            missing=False,
        ),
    ]
    return ColumnChoices(names=names, parts=tuple(parts))


def _read_names(path: Path) -> tuple[str, ...]:
    problems = Problems(path, "row")
    names = dict.fromkeys(
        name
        for record in itertools.islice(read_records(path, problems), LOOKED_AT)
        for name in record.fields
    )
    if not names:
        problems.check()
        raise DataError(f"{path}: the file has no rows")
    return tuple(names)[:MOST_COLUMNS]
