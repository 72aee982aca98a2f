"""Which column of a data file is what, as a person says it where the names of the columns do
not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from ...judges import DataError
from ...judges.files import Problems, near_names, read_records
from .app_state import AppState
from .start_form import OF_INPUT, StartForm

LOOKED_AT = 100
"""Rows whose columns are listed."""
MOST_COLUMNS = 300


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """A part that a column plays."""

    field: str
    """The name of the form's field."""
    words: str
    usual: str
    """What is taken where nobody says anything."""
    chosen: str = ""
    missing: bool = False
    """Whether it has to be said, because no column has the usual name."""
    guessed: bool = False
    """Whether the column was chosen by its name alone, and nobody has agreed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoices:
    """The parts, and the columns that can be chosen for each."""

    names: tuple[str, ...]
    parts: tuple[ColumnChoice, ...]
    missing: tuple[str, ...]
    """What still has to be said."""
    guesses: tuple[str, ...]

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
    chosen, columns = form.more, form.columns

    def wanted(field: str, words: str, name: str, choice: str) -> ColumnChoice:
        """A part whose column has to be named where none has the usual name; one that is alike is
        taken as a guess.
        """
        usual = f"the column {name}"
        if (choice or name) in names:
            return ColumnChoice(field, words, usual, choice)
        near = [] if choice else near_names(name, names)
        if near:
            return ColumnChoice(field, words, usual, near[0], guessed=True)
        return ColumnChoice(field, words, usual, choice, missing=True)

    parts = [
        *(
            wanted(f"{OF_INPUT}{name}", f"The judge's {name}", name, columns.get(name, ""))
            for name in inputs
        ),
        wanted("label", "People's labels", "label", chosen.get("label", "")),
        ColumnChoice(
            "group",
            "What belongs together",
            "the column group_id, else the text that repeats far more than the others, else the"
            " longest",
            chosen.get("group", ""),
        ),
        ColumnChoice("id_", "The row's id", "the column id, else the line", chosen.get("id_", "")),
    ]
    return ColumnChoices(
        names=names,
        parts=tuple(parts),
        missing=tuple(part.words for part in parts if part.missing),
        guesses=tuple(f"{part.words} from {part.chosen}" for part in parts if part.guessed),
    )


def _read_names(path: Path) -> tuple[str, ...]:
    problems = Problems(path)
    names = dict.fromkeys(
        name
        for record in itertools.islice(read_records(path, problems), LOOKED_AT)
        for name in record.fields
    )
    if not names:
        problems.check()
        raise DataError(f"{path}: the file has no rows")
    return tuple(names)[:MOST_COLUMNS]
