"""A data set as a recipe: YAML that says what the columns of a published table are.

A recipe has the parts of `Source` and `tables`: a file is read by the first table whose `needs` it
has. Cells are compared in lower case and numbers by their value, so that `2` stands for 2.0, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

import yaml
from pydantic import BaseModel, ConfigDict, field_validator

from ..errors import DataError
from ..files.label_words import MISSING, number_of
from ..files.problems import Problems, shorten
from ..files.records import Cell, Record, read_records
from ..files.rows_in_memory import name_of
from ..rows import Scalar
from .release import as_text, folded_text, group_of, require_columns, table_files
from .source import Flat, ReadOptions, Source

_DRAWS = 50


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Column(_Strict):
    """Where a column of ours comes from; a mere name is `{column: NAME}`."""

    column: str = ""
    fold: bool = False
    """Whether it is written in lower case."""
    words: dict[str, Scalar] = {}
    """What its cells stand for; others become None."""
    same: tuple[str, str] | None = None
    """Two columns instead: whether both say the same."""


class Label(_Strict):
    """The label of a row, by what the cells of one or several columns say together."""

    columns: tuple[str, ...]
    words: dict[str, float]
    first_word: bool = False
    """Whether the first word of a cell says it, as in `3 (fully)`."""


class Skip(_Strict):
    """Rows that are left out because one of some columns is empty, and what is said of them."""

    columns: tuple[str, ...]
    note: str


class Count(_Strict):
    """A note that counts the rows in which a column of ours has a value."""

    column: str
    value: Scalar
    note: str


class Table(_Strict):
    """One layout of a release's files."""

    needs: tuple[str, ...]
    id: tuple[str, ...] = ()
    """Columns whose values together are the id; the file's name and the line where there are none.
    """
    dataset: str = ""
    file_name: str = ""
    """A pattern of the file's name, whose groups are columns."""
    group: str
    """The column whose text makes the groups."""
    group_prefix: str
    fields: dict[str, Column]
    label: Label | None = None
    """Every label is 1 without it."""
    negatives: str = ""
    """An input: each row comes again with that of another row, drawn by the seed, and the label 0.
    """
    skip: Skip | None = None
    counts: tuple[Count, ...] = ()

    @field_validator("fields", mode="before")
    @classmethod
    def _names(cls, fields: dict[str, object]) -> dict[str, object]:
        return {
            ours: {"column": one} if isinstance(one, str) else one for ours, one in fields.items()
        }


class Recipe(_Strict):
    """A published data set."""

    about: str
    inputs: tuple[str, ...]
    judge: str
    licence: str
    citation: str
    hub: str = ""
    note: str = ""
    """What to know of the rows."""
    tables: tuple[Table, ...]


def load_recipes() -> list[Source]:
    """Return the data sets that have a recipe in this folder."""
    sources: list[Source] = []
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        recipe = Recipe.model_validate(yaml.safe_load(path.read_text("utf-8")))
        sources.append(
            Source(
                name=path.stem,
                about=recipe.about,
                inputs=recipe.inputs,
                judge=recipe.judge,
                licence=recipe.licence,
                read=partial(_read, recipe),
                citation=recipe.citation,
                hub=recipe.hub,
            )
        )
    return sources


def _read(recipe: Recipe, path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    counts: Counter[str] = Counter()
    doubled: dict[str, list[Flat]] = {}
    for file in table_files(path):
        problems = Problems(file)
        first = next(read_records(file, Problems(file)), None)
        if first is None:
            problems.check()
            raise DataError(f"{file}: the file has no rows")
        fitting = (one for one in recipe.tables if set(one.needs) <= first.fields.keys())
        table = next(fitting, recipe.tables[0])
        require_columns(file, table.needs, first)
        for record in read_records(file, problems):
            row = _row(table, recipe.inputs, file, record, problems, counts)
            if row is None:
                continue
            counts.update(one.note for one in table.counts if row[one.column] == one.value)
            if table.negatives:
                doubled.setdefault(table.negatives, []).append(row)
            else:
                yield row
        problems.check()
    for column, rows in doubled.items():
        yield from _with_negatives(rows, column, Random(options.seed))
    notes += [f"{note}: {count:,}" for note, count in counts.items()]
    if recipe.note:
        notes.append(recipe.note)


def _with_negatives(rows: list[Flat], column: str, random: Random) -> Iterator[Flat]:
    """Yield each row, and again with another text in a column; never with its own."""
    for row in rows:
        yield row | {"id": f"{row['id']}-gold", "negative_kind": None}
        own = folded_text(row[column])
        # Nearly every draw differs; looking through all rows each time would take the square of
        # the file.
        drawn = (random.choice(rows) for _ in range(_DRAWS))
        other = next((one for one in drawn if folded_text(one[column]) != own), None)
        if other is None:
            others = [one for one in rows if folded_text(one[column]) != own]
            other = random.choice(others) if others else None
        if other is not None:
            more = {"label": 0, "negative_kind": "shuffled", column: other[column]}
            yield row | more | {"id": f"{row['id']}-shuffled"}


def _row(
    table: Table,
    inputs: tuple[str, ...],
    file: Path,
    record: Record,
    problems: Problems,
    counts: Counter[str],
) -> Flat | None:
    """Make a row of a record; None where it is left out or has a problem."""
    fields = record.fields
    if table.skip and any(folded_text(fields.get(name)) in MISSING for name in table.skip.columns):
        counts[table.skip.note] += 1
        return None
    for name in table.needs:
        if fields.get(name) is None:
            problems.add(record.at, f"field {name!r} is {'null' if name in fields else 'missing'}")
            return None
    label = 1 if table.label is None else _label(table.label, record, problems)
    if label is None:
        return None
    named = re.search(table.file_name, file.name) if table.file_name else None
    parts = [as_text(fields.get(name)) for name in table.id]
    row: Flat = {
        "id": "-".join(filter(None, parts)) or f"{name_of(file)}-{record.at}",
        "dataset": table.dataset or name_of(file),
        **(named.groupdict() if named else {}),
        "group_id": group_of(table.group_prefix, as_text(fields[table.group])),
    }
    for ours, column in table.fields.items():
        if column.same or column.column in fields:
            row[ours] = _value(column, fields)
        if ours in inputs:
            row[ours] = as_text(row[ours])
    return row | {"label": label}


def _label(label: Label, record: Record, problems: Problems) -> int | float | None:
    cells = [record.fields.get(name) for name in label.columns]
    words = [_word(cell) for cell in cells]
    if label.first_word:
        words = [_word(word.split()[0]) if word else "" for word in words]
    grade = label.words.get(" ".join(words))
    if grade is None:
        listed, possible = " and ".join(map(repr, label.columns)), ", ".join(label.words)
        strange = shorten(" ".join(map(as_text, cells)))
        problems.add(record.at, f"field {listed}: {strange} is none of {possible}")
        return None
    return int(grade) if grade.is_integer() else grade


def _value(column: Column, fields: Mapping[str, Cell]) -> Scalar:
    if column.same:
        first, second = (folded_text(fields.get(name)) for name in column.same)
        return first == second if first and second else None
    cell = fields[column.column]
    if column.words:
        return column.words.get(_word(cell))
    if not isinstance(cell, str):
        return cell
    return (folded_text(cell) if column.fold else cell.strip()) or None


def _word(cell: Cell) -> str:
    text = folded_text(cell)
    number = number_of(text)
    return text.rstrip(".") if number is None else f"{number:g}"
