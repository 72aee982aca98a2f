"""Any table: JSONL, JSON, CSV, TSV or Parquet, with a mapping from our names to its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import InputError
from ..files.label_words import map_hint, read_grade
from ..files.problems import Problems
from ..files.records import Cell, Record, name_of, read_records, unit_of
from ..files.verdict_scale import words_for
from .release import as_number, require_mapped, table_files
from .source import Flat, ReadOptions, Source


def read_generic(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield each record with its mapped columns renamed and all others kept; the label becomes a
    number.

    Raises:
        InputError: Nothing is mapped.
        DataError: A mapped column is missing, or a label is no grade.
    """
    mapping = dict(options.columns)
    if not mapping:
        raise InputError(
            "the source 'generic' needs to know which column is what",
            hint=(
                "--map query=question --map passage=text --map label=rating; id and group_id may be"
                " mapped as well"
            ),
        )
    words = words_for(options.label_map)
    for file in table_files(path):
        problems = Problems(file, unit_of(file))
        numbered = False
        labels: list[Cell] = []
        for number, record in enumerate(read_records(file, problems)):
            if number == 0:
                require_mapped(file, mapping, list(record.fields))
            if "label" in mapping:
                labels.append(record.fields.get(mapping["label"]))
            row = _row(record, mapping, words, problems)
            if row.get("id") in (None, ""):
                row["id"] = f"{name_of(file)}-{record.at}"
                numbered = True
            yield row
        problems.check(hint=map_hint(labels, words))
        if numbered:
            notes.append(f"{file.name}: ids are the file's name and the {problems.unit}")


def _row(
    record: Record, mapping: Mapping[str, str], words: Mapping[str, float], problems: Problems
) -> Flat:
    row: Flat = {ours: record.fields.get(column) for ours, column in mapping.items()}
    mapped = set(mapping.values())
    for name, value in record.fields.items():
        if name not in mapped:
            row.setdefault(name, value)
    if "label" in row:
        try:
            grade = read_grade(row["label"], words)
            row["label"] = None if grade is None else as_number(grade)
        except ValueError as error:
            problems.add(record.at, f"field {mapping.get('label', 'label')!r}: {error}")
    if row.get("id") is not None:
        row["id"] = str(row["id"])
    return row


GENERIC = Source(
    name="generic",
    about="any table, with --map OURS=COLUMN for each column that has a role",
    inputs=(),
    judge="the one whose inputs you map",
    licence="you know where it came from",
    read=read_generic,
)
