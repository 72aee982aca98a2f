"""Columns and their roles: which one is the id, the label, the group, an input; all the rest is
metadata.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean

import orjson

from ..errors import DataError
from ..models.heap import collector_paused
from ..reply_reading import turned
from ..rows import SAMPLING_PROBABILITY, Row
from ..scale import OutputScale
from .column_guess import (
    GuessedColumns,
    UnclearColumnsError,
    guess_columns,
)
from .column_names import near_names
from .groups import NO_GROUP
from .label_words import LOOKED_AT, MISSING, NUMBER, WORDS, ColumnWords, read_grade
from .problems import Problems, shorten
from .records import Cell, Record, read_records
from .rows_in_memory import RowSource, kind_of

_SHORT = 32
"""Characters of a value that may stand in many rows, such as a language."""
_TEXTS_SHARED = 1024
"""Longer texts, and names of columns, of which the last so many different ones are there once."""
_NO_INPUTS: Mapping[str, str] = {}
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_PADDED = re.compile(r"[+-]?0\d")
_MOST_COLUMNS_FILLED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column plays which part."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    """A judge's input to the column that holds it."""
    label: str = "label"
    id: str | None = None
    """The column that was named; None takes `id` where there is one and the line number elsewhere.
    """
    group: str | None = None
    """The column that was named; None takes the first of `group_defaults` that is there."""
    group_defaults: tuple[str, ...] = ()
    sought: tuple[str, ...] = ()
    """Inputs whose columns the caller reads himself; they are guessed where one is missing."""
    aside: tuple[str, ...] = ()
    """Further columns that the caller reads himself; they are kept out of the metadata."""
    named: Mapping[str, str] = field(default_factory=dict)
    """The columns that a person named, by input, `label`, `id` or `group`."""
    needed: Mapping[str, str] = field(default_factory=dict)
    """Columns the file must have, each with the option that names it otherwise, such as `--label
    COLUMN`.
    """
    words: Mapping[str, float] = field(default_factory=lambda: WORDS)
    """Texts that stand for a label."""
    low_is_good: bool = False
    """Whether a label between 0 and 1 is good where it is low; its grade is 1 minus it."""
    skip_incomplete: bool = False
    """Whether a row without one of its inputs is left out and counted, not refused."""
    inputs_prefix: str | None = None
    """What the names of columns begin with that are inputs by their name. They stay in the
    metadata, for the caller to find, also where one of them is the id or the group."""
    drawn: bool = False
    """Whether rows are kept that were drawn with a probability below 1; they are no fair sample of
    anything.
    """
    mean_labels: bool = False
    """Whether a label may be a list of numbers, which stands for its mean."""
    ungrouped: bool = False
    """Whether each row is a group of its own, as `group` may say instead of a column."""

    def __post_init__(self) -> None:
        if self.group == NO_GROUP:
            object.__setattr__(self, "group", None)
            object.__setattr__(self, "group_defaults", ())
            needed = {name: option for name, option in self.needed.items() if name != NO_GROUP}
            object.__setattr__(self, "needed", needed)
            object.__setattr__(self, "ungrouped", True)

    def id_and_group(self, names: Collection[str]) -> tuple[str | None, str | None]:
        """Return the columns of the id and of the group where a record has these names."""
        group = self.group or next((name for name in self.group_defaults if name in names), None)
        return self.id or ("id" if "id" in names else None), group


@dataclass(slots=True, kw_only=True)
class Draft:
    """One record with its columns in their roles, before it is a row."""

    at: int
    id: str
    inputs: Mapping[str, str]
    label: float | None
    group: str
    aside: dict[str, Cell]
    meta: dict[str, Cell]
    probability: float
    """With which the row was drawn to be labelled."""

    def row(self, inputs: Mapping[str, str], meta: dict[str, Cell]) -> Row:
        """Return the row with these inputs and this metadata."""
        return Row(
            id=self.id,
            inputs=inputs,
            label=self.label,
            meta=meta,
            group=self.group,
            sampling_probability=self.probability,
        )


@dataclass(slots=True, kw_only=True)
class Table:
    """All drafts of a file, and what was assumed about its columns."""

    path: RowSource
    drafts: list[Draft]
    group: str | None
    """The column the groups came from; None where there is none."""
    grades: set[float]
    """Every grade that occurs in the label column, in the rows beyond the limit too."""
    notes: list[str]
    left_out: int
    """Rows of the file that are not among the drafts, but for those beyond the limit."""
    worded: frozenset[float] = frozenset()
    """The grades of the scale whose words the labels are, such as 1 to 5 of `disagree`; empty for
    any others.
    """


@collector_paused()
def read_table(path: RowSource, roles: Roles, *, limit: int | None = None) -> Table:
    """Read a file and give each column its role.

    The labels beyond `limit` are read as well: whether 1 is the top of 0/1 or a low grade of 0..3
    must not depend on how many rows are asked for.

    Raises:
        DataError: The file, or any of its rows, cannot be used; up to ten problems are named.
    """
    unreadable, problems = Problems(path), Problems(path)
    stream = read_records(path, unreadable)
    head = list(itertools.islice(stream, LOOKED_AT if limit is None else min(limit, LOOKED_AT)))
    stream = itertools.chain(head, stream)
    cells = [record.fields.get(roles.label) for record in head]
    labels = ColumnWords(cells, roles.words)
    roles = replace(roles, words=labels.words)
    records = itertools.islice(stream, limit)
    first = next(records, None)
    if first is None:
        unreadable.check(hint=list_hint(unreadable))
        raise DataError(f"{path}: the file has no rows")
    by_id, group = roles.id_and_group(first.fields)
    seen: set[str] = set()
    skipped = 0
    drafts: list[Draft] = []
    for record in itertools.chain([first], records):
        seen.update(record.fields)
        if roles.skip_incomplete and _lacks_an_input(record, roles):
            skipped += 1
        else:
            drafts.append(read_draft(record, roles, by_id, group, problems))
    _once.cache_clear()  # so that no text outlives its rows
    _name_doubled(drafts, problems)
    # A missing column is one mistake; that every row lacks it would be said ten times.
    if not roles.needed.keys() <= seen:
        unreadable.check(hint=list_hint(unreadable))
        refuse_missing(path, roles.needed, seen, _guessed(roles, head))
    _refuse_misleading(path, roles, head)
    unreadable.check(problems, hint=list_hint(unreadable) or labels.hint())
    # After the problems: filling and typing take time on a file that is refused anyway.
    _fill(drafts)
    if isinstance(path, Path) and kind_of(path) in (".csv", ".tsv"):
        _type_columns(drafts)
    grades = {draft.label for draft in drafts if draft.label is not None} | _grades_of(
        stream, roles
    )
    if not drafts:
        raise DataError(f"{path}: no row has all of {', '.join(roles.inputs.values())}")
    notes = [] if by_id is not None else [id_note(problems.unit)]
    notes += [*unreadable.said(), *labels.notes("labels")]
    uneven = 0 if roles.drawn else sum(draft.probability < 1 for draft in drafts)
    if uneven:
        drafts = [draft for draft in drafts if draft.probability == 1]
        notes.append(uneven_note(path, uneven, len(drafts)))
    if skipped:
        notes.append(
            f"{skipped:,} rows lack one of {', '.join(roles.inputs.values())} and are left out, as"
            " asked"
        )
    return Table(
        path=path,
        drafts=drafts,
        group=group,
        grades=grades,
        notes=notes,
        left_out=skipped + uneven,
        worded=labels.grades,
    )


def _guessed(roles: Roles, head: Sequence[Record]) -> GuessedColumns | None:
    """Guess the columns of a judge's inputs; None where a person named one that is not there."""
    rows = [record.fields for record in head]
    inputs = (*roles.inputs, *roles.sought)
    if not inputs or not set[str]().union(*rows).issuperset(roles.named.values()):
        return None
    label_needed = roles.label in roles.needed
    return guess_columns(rows, inputs, named=roles.named, label_needed=label_needed)


def _refuse_misleading(path: RowSource, roles: Roles, head: Sequence[Record]) -> None:
    """Refuse a column of an input's name whose values are few and short, beside a likelier one."""
    guessed = _guessed(roles, head)
    for name, column in roles.inputs.items():
        if not guessed or name in roles.named or column != name:
            continue
        if (other := guessed.column_of(name)) not in ("", name):
            message = f"the column {name!r} holds a few short values; {other!r} is more like it"
            raise UnclearColumnsError(path, message, guessed)


def _lacks_an_input(record: Record, roles: Roles) -> bool:
    texts = (as_text(record.fields.get(column)) for column in roles.inputs.values())
    return any(text is None for text in texts)


def _name_doubled(drafts: Sequence[Draft], problems: Problems) -> None:
    """Enter the ids that stand twice."""
    first: dict[str, int] = {}
    for draft in drafts:
        before = first.setdefault(draft.id, draft.at)
        if draft.id and before != draft.at:
            problems.add(
                draft.at, f"the id {shorten(draft.id)} was used before, on {problems.unit} {before}"
            )


def id_note(unit: str) -> str:
    """Return what to know of ids that the file does not have."""
    return f"ids are {unit} numbers, as no column is named id"


def uneven_note(path: RowSource, uneven: int, remaining: int) -> str:
    """Return what to know of rows that were not drawn evenly.

    Raises:
        DataError: No other rows are left.
    """
    if not remaining:
        raise DataError(
            f"{path}: every row was drawn with a probability below 1 (column"
            f" {SAMPLING_PROBABILITY})",
            hint="such rows can train a judge, and measure none: add rows that were drawn evenly",
        )
    return (
        f"{uneven:,} rows were drawn to be labelled with a probability below 1"
        f" ({SAMPLING_PROBABILITY}): they are no fair sample, and left out of every figure"
    )


def _grades_of(records: Iterable[Record], roles: Roles) -> set[float]:
    grades: set[float] = set()
    for record in records:
        with suppress(ValueError):
            grade = _read_label(record.fields.get(roles.label), roles)
            if grade is not None:
                grades.add(grade)
    return grades


def _read_label(value: Cell, roles: Roles) -> float | None:
    grade = _read_number(value, roles)
    return turned(grade) if roles.low_is_good and grade is not None else grade


def _read_number(value: Cell, roles: Roles) -> float | None:
    if not roles.mean_labels or not isinstance(value, str) or not value.startswith("["):
        return read_grade(value, roles.words)
    # A list inside a record stands as its JSON.
    cells = [read_grade(cell, roles.words) for cell in orjson.loads(value)]
    grades = [grade for grade in cells if grade is not None]
    return fmean(grades) if grades else None


def words_of(scale: OutputScale) -> Mapping[str, float]:
    """Return what may stand for a grade on a scale: its labels, and words that are clear unless it
    is a choice.
    """
    labels = {label.strip().casefold(): float(i) for i, label in enumerate(scale.labels)}
    return labels if scale.kind == "choice" else {**WORDS, **labels}


def read_draft(
    record: Record, roles: Roles, by_id: str | None, group: str | None, problems: Problems
) -> Draft:
    """Give the columns of one record their roles; what cannot be used is entered in `problems`."""
    fields, at = record.fields, record.at
    inputs: dict[str, str] = {}
    for name, column in roles.inputs.items():
        text = as_text(fields.get(column))
        if text is None:
            problems.add(at, f"field {column!r} is {_state(fields, column)}")
        inputs[name] = _once(text or "")
    label = None
    try:
        label = _read_label(fields.get(roles.label), roles)
    except ValueError as error:
        problems.add(at, f"field {roles.label!r}: {error}")
    row_id = str(at)
    if by_id is not None:
        row_id = as_text(fields.get(by_id)) or ""
    if not row_id:
        problems.add(at, f"field {by_id!r}: the id is missing")
    with_a_role = {*roles.inputs.values(), roles.label, *roles.aside, SAMPLING_PROBABILITY}
    for column in (by_id, group):
        is_input = column and roles.inputs_prefix and column.startswith(roles.inputs_prefix)
        if column and not is_input:
            with_a_role.add(column)
    return Draft(
        at=at,
        id=row_id,
        inputs=inputs or _NO_INPUTS,
        label=label,
        group=(as_text(fields.get(group)) or "") if group else "",
        aside={name: fields.get(name) for name in roles.aside},
        meta={
            _once(name): _scalar(value) for name, value in fields.items() if name not in with_a_role
        },
        probability=_read_probability(fields.get(SAMPLING_PROBABILITY), at, problems),
    )


def _read_probability(value: Cell, at: int, problems: Problems) -> float:
    """Read with which probability a row was drawn; 1 where nothing says so."""
    text = as_text(value)
    if text is None or text.strip().casefold() in MISSING:
        return 1.0
    if not NUMBER.fullmatch(text.strip()) or not 0 < float(text) <= 1:
        problems.add(
            at,
            f"field {SAMPLING_PROBABILITY!r}: {shorten(text)} is no number above 0 and at most 1",
        )
        return 1.0
    return float(text)


def _state(fields: Mapping[str, Cell], column: str) -> str:
    """Return why a record has no text in a column."""
    if any(name.startswith(f"{column}.") for name in fields):
        return "an object; map one of its fields"
    return "null" if column in fields else "missing"


def as_text(value: Cell) -> str | None:
    """Return a cell as text; None for a missing one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, str) else str(value)


def _scalar(value: Cell) -> Cell:
    if type(value) is str:
        # A value that stands in many rows is there once.
        return sys.intern(value) if len(value) <= _SHORT else _once(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@lru_cache(maxsize=_TEXTS_SHARED)
def _once(text: str) -> str:
    """Return the equal text that was read shortly before, else the text itself."""
    return text


def refuse_missing(
    path: RowSource,
    needed: Mapping[str, str],
    seen: set[str],
    guessed: GuessedColumns | None = None,
) -> None:
    """Refuse a file that lacks columns, naming those that look like them.

    Needed columns come with the option that names each otherwise.

    Raises:
        DataError: Always; an `UnclearColumnsError` where they were guessed.
    """
    names = sorted(seen)
    states, options = [], []
    for column, option in needed.items():
        if column in seen:
            continue
        state = f"the column {column!r} is missing"
        inside = [name for name in names if name.startswith(f"{column}.")]
        if inside:
            state = f"the column {column!r} is an object with the fields {_listed(inside)}"
        guesses = guessed.guesses if guessed else ()
        meant = next((one.candidates for one in guesses if one.role == column), ())
        near = meant or near_names(column, names)[:1]
        if near:
            state += f" (did you mean {' or '.join(map(repr, near))}?)"
            option = option.replace("COLUMN", near[0])
        states.append(state)
        options.append(option)
    listed = _listed(names)
    if len(names) == 1 and re.search(r"[;|\t]", names[0]):
        listed += (
            " (is there another character between the columns? A first line such as `sep=#`"
            " says so)"
        )
    message = f"{', '.join(states)}. The columns are {listed}"
    for container, answers, importer in _OF_TOOLS:
        if answers in seen and any(name.startswith(container) for name in seen):
            command = f"judgewright data import {importer} {path} --out rows.jsonl"
            raise DataError(
                f"{path}: {message}", hint=f"this looks like a tool's export; try {command}"
            )
    if guessed is not None:
        raise UnclearColumnsError(path, guessed.no_rows or message, guessed)
    raise DataError(f"{path}: {message}", hint=f"name the column with {' '.join(options)}")


_OF_TOOLS = (
    ("data.", "annotations", "label_studio --map INPUT=data.COLUMN"),
    ("vars.", "gradingResult.pass", "promptfoo"),
)
"""Where tools keep a row's texts and its answers, and what reads them."""


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(shorten(name) for name in names[:30])
    return f"{listed} and {len(names) - 30} more" if len(names) > 30 else listed


def list_hint(unreadable: Problems) -> str | None:
    """Return what to do where a file looks like a JSON list under the name of JSON Lines."""
    first = next(iter(unreadable.first), (0, ""))
    if first[0] == 1 and "unexpected end of data" in first[1] and unreadable.total > 1:
        return (
            "each line must be one whole object; a JSON list goes into a file whose name ends in"
            " .json"
        )
    return None


def _fill(drafts: list[Draft]) -> None:
    """Give every row every column, so that a slice over a column sees a gap instead of nothing."""
    columns = dict.fromkeys(name for draft in drafts for name in draft.meta)
    # Objects used as maps give every row its own columns; filling them all would take the square of
    # the file.
    if len(columns) > _MOST_COLUMNS_FILLED:
        return
    # An object that is null in one row leaves its bare name behind, beside the dotted names of the
    # other rows.
    parents = {name.rpartition(".")[0] for name in columns}
    bare = set()
    for name in parents & columns.keys():
        if all(draft.meta.get(name) is None for draft in drafts):
            bare.add(name)
    for draft in drafts:
        draft.meta = {name: draft.meta.get(name) for name in columns if name not in bare}


def _type_columns(drafts: list[Draft]) -> None:
    """Read numbers and booleans out of text columns of a CSV, so that it slices as the same rows in
    JSONL do.
    """
    for name in drafts[0].meta:
        for draft, cell in zip(
            drafts, type_of([str(draft.meta[name]) for draft in drafts]), strict=True
        ):
            draft.meta[name] = cell


def type_of(cells: Sequence[str]) -> list[Cell]:
    """Return the cells of a CSV column with its numbers and booleans read."""
    read, empty = _reader_for([cell for cell in cells if cell.strip().casefold() not in MISSING])
    return [None if cell.strip().casefold() in empty else _scalar(read(cell)) for cell in cells]


def _reader_for(cells: Sequence[str]) -> tuple[Callable[[str], Cell], frozenset[str]]:
    """Return how to read a column's cells, and which of them stand for nothing: in a text column
    only empty ones do.
    """
    if cells and all(_INTEGER.fullmatch(cell) for cell in cells):
        return int, MISSING
    if cells and all(NUMBER.fullmatch(cell) and not _PADDED.match(cell) for cell in cells):
        return float, MISSING
    if cells and {cell.casefold() for cell in cells} <= {"true", "false"}:
        return lambda cell: cell.casefold() == "true", MISSING
    return str, frozenset({""})
