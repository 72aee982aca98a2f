"""Read rows as they are, to check or split them: no judge need be named, and a missing value is no
error.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import DataError
from ..registry import Registry
from ..rows import Row
from ..scale import BINARY, OutputScale
from .column_guess import guess_columns
from .columns import Roles, Table, read_table
from .groups import guess_groups
from .label_words import WORDS
from .reading import GROUP_COLUMNS
from .records import Cell
from .rows_in_memory import RowSource
from .verdict_columns import FILLED, texts_of
from .verdict_scale import infer_scale, parse_grade_map, words_for


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRoles:
    """Which column is what, as far as a person said so."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    """An input to the column that holds it; empty to find the inputs."""
    label: str | None = None
    id: str | None = None
    group: str | None = None
    words: Mapping[str, float] = field(default_factory=lambda: WORDS)
    """Texts that stand for a label."""
    low_is_good: bool = False
    """Whether a label between 0 and 1 is good where it is low."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRows:
    """Every row of a file, in its order."""

    rows: tuple[Row, ...]
    """A missing input is empty text; a row without a named group has that of an input, see
    `groups`.
    """
    lines: tuple[int, ...]
    """Where each row starts in the file: its line, or its row in a JSON list or a Parquet file."""
    group: str | None
    """The column of the group; None where an input makes the groups, or each row is one of its own.
    """
    guessed: str | None
    """The input that makes the groups where no column does."""
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"RawRows({len(self.rows):,} rows, group={self.group!r})"


def read_raw_rows(
    path: RowSource, roles: RawRoles, *, judges: Mapping[str, Sequence[str]], drawn: bool = False
) -> RawRows:
    """Read a file's rows.

    Where no input is named, those of the judge that finds most of its inputs in the file are taken,
    and else every column of running text. `drawn` is that of `load_dataset`.

    Raises:
        DataError: The file cannot be read, a named column is missing, an id stands twice, a label
            is no grade, or no column holds text.
    """
    named = {"--label": roles.label, "--id": roles.id, "--group": roles.group}
    needed = {column: f"{option} COLUMN" for option, column in named.items() if column}
    needed |= {column: f"--column {name}=COLUMN" for name, column in roles.inputs.items()}
    by_role = {**roles.inputs, "label": roles.label, "id": roles.id, "group": roles.group}
    parts = Roles(
        sought=tuple(roles.inputs),
        named={role: column for role, column in by_role.items() if column and column != role},
        label=roles.label or "label",
        id=roles.id,
        group=roles.group,
        group_defaults=GROUP_COLUMNS,
        needed=needed,
        words=roles.words,
        low_is_good=roles.low_is_good,
        drawn=drawn,
    )
    table = read_table(path, parts)
    inputs, notes = dict(roles.inputs), list(table.notes)
    if not inputs:
        inputs, note = _find_inputs(table, judges)
        notes.append(note)
    columns = dict.fromkeys(inputs.values())
    by_column = {
        column: [_text(draft.meta.get(column)) for draft in table.drafts] for column in columns
    }
    groups, guessed = [draft.group for draft in table.drafts], None
    if table.group is None:
        guess = guess_groups(by_column, ungrouped=parts.ungrouped)
        groups, guessed = guess.keys or groups, guess.column
        notes += guess.notes(len(set(groups)))
    rows: list[Row] = []
    for at, (draft, group) in enumerate(zip(table.drafts, groups, strict=True)):
        texts = {name: by_column[column][at] for name, column in inputs.items()}
        meta = {name: value for name, value in draft.meta.items() if name not in columns}
        rows.append(replace(draft.row(texts, meta), group=group))
    lines = tuple(draft.at for draft in table.drafts)
    return RawRows(
        rows=tuple(rows), lines=lines, group=table.group, guessed=guessed, notes=tuple(notes)
    )


def mapped_words(text: str | None, usual: Mapping[str, float] = WORDS) -> dict[str, float]:
    """Return what may stand for a label, with what the text of `--label-map` says."""
    return words_for(parse_grade_map(text, option="--label-map") if text else {}, usual)


def guess_label(rows: Sequence[Row]) -> tuple[str, str]:
    """Return the column that surely holds the labels of rows without one, and a note that names the
    option for it, or for others; both are empty where a row has a label.
    """
    if any(row.label is not None for row in rows):
        return "", ""
    (guess, *_) = guess_columns((row.meta for row in rows), ()).guesses
    columns = map(shlex.quote, guess.candidates or ("COLUMN",))
    options = " or ".join(f"--label {column}" for column in columns)
    if guess.sure:
        return guess.column, f"labels are read as with {options}"
    return "", f"no label is read: {options} names the column"


def judge_inputs(registry: Registry) -> dict[str, tuple[str, ...]]:
    """Return the inputs of every judge in a registry, by name."""
    return {name: registry.get(name).inputs for name in registry.names()}


def infer_raw_scale(rows: Sequence[Row]) -> OutputScale:
    """Return the scale the rows' labels are on, as far as they tell; binary where there are
    none.
    """
    labels = [row.label for row in rows if row.label is not None]
    return infer_scale(labels) if labels else BINARY


def _find_inputs(table: Table, judges: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], str]:
    """Find the inputs by their names, else by what the columns hold; with a note that says how."""
    metas = [draft.meta for draft in table.drafts]
    filled: set[str] = set()
    for column in metas[0]:
        cells = [meta.get(column) for meta in metas]
        texts = sum(isinstance(cell, str) and bool(cell.strip()) for cell in cells)
        if texts >= FILLED * len(cells):
            filled.add(column)
    fitting = [name for name, inputs in judges.items() if set(inputs) <= filled]
    if fitting:
        # The judge that reads most columns; of several the first by name.
        judge = min(fitting, key=lambda name: (-len(judges[name]), name))
        note = f"the inputs are {', '.join(judges[judge])}, as the judge {judge} reads them"
        return {name: name for name in judges[judge]}, note
    inputs = {name: name for name in texts_of(metas) if name in filled}
    if not inputs:
        raise DataError(
            f"{table.path}: no column holds running text in nearly every row",
            hint="name the inputs with --judge, or with --column INPUT=COLUMN for each",
        )
    return inputs, f"the inputs are taken to be {', '.join(inputs)}, as they hold running text"


def _text(value: Cell) -> str:
    return "" if value is None else str(value)
