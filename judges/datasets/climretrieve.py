"""ClimRetrieve (Schimanski et al., 2024): climate questions on corporate reports, passages graded 0 to 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import DataError
from ..files.problems import Problems, shorten
from ..files.records import Cell, Record, name_of, read_records, unit_of
from .release import as_text, folded_text, group_of, read_table_of, table_files
from .source import Flat, ReadOptions, Source

_REPORTS = ("paragraph", "report", "question", "relevance")
_EXPERTS = ("Document", "Question")
_EXPERT_EXTRAS = {"Source From": "source_from", "Unsure Flag": "uncertain", "Addressed directly": "addressed_directly"}
_GRADE = re.compile(r"\s*([0-3])(?:\.0+)?(?:\s.*)?", re.DOTALL)


def read_climretrieve(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each question and passage, graded 0 (not relevant) to 3; a question is a group.

    Either of the two tables is read: the passages that experts marked (grades 1 to 3), or all
    paragraphs of the reports, where 0 was given to whatever matched no marked passage and by
    nobody; `label_origin` tells which. The columns on the likeness to the marked passages give the
    label away and are left out. The release's Excel file is read once it is saved as CSV.

    Raises:
        DataError: A file is neither of the two tables, or a grade is none of 0 to 3.
    """
    for file in table_files(path):
        problems = Problems(file, unit_of(file))
        first = next(read_records(file, Problems(file)), None)
        if first is None:
            raise DataError(f"{file}: the file has no rows")
        if "Source Relevance Score" in first.fields:
            yield from _expert_rows(file, problems, notes)
        else:
            yield from _report_rows(file, problems, notes)
        problems.check()


def _report_rows(file: Path, problems: Problems, notes: list[str]) -> Iterator[Flat]:
    automatic = 0
    for record in read_table_of(file, _REPORTS, problems):
        grade = _grade(record, "relevance", problems)
        if grade is not None:
            automatic += grade == 0
            yield _row(file, record, grade, {"query": "question", "passage": "paragraph", "report": "report"})
    if automatic:
        notes.append(f"grades of 0 that no person gave, they matched no marked passage: {automatic:,}")


def _expert_rows(file: Path, problems: Problems, notes: list[str]) -> Iterator[Flat]:
    ungraded = 0
    columns = {"query": "Question", "passage": "Relevant", "report": "Document"}
    for record in read_table_of(file, _EXPERTS, problems):
        cells = (folded_text(record.fields.get(name)) for name in ("Source Relevance Score", "Relevant"))
        if any(cell in ("", "nan", "na") for cell in cells):
            ungraded += 1
            continue
        grade = _grade(record, "Source Relevance Score", problems)
        if grade is not None:
            extras = {ours: record.fields[name] for name, ours in _EXPERT_EXTRAS.items() if name in record.fields}
            yield _row(file, record, grade, columns) | extras
    if ungraded:
        notes.append(f"rows without a marked passage or without its grade, left out: {ungraded:,}")


def _grade(record: Record, column: str, problems: Problems) -> int | None:
    match = _GRADE.fullmatch(as_text(record.fields[column]))
    if match is None:
        problems.add(record.at, f"field {column!r}: {shorten(record.fields[column])} is none of the grades 0 to 3")
        return None
    return int(match[1])


def _row(file: Path, record: Record, grade: int, columns: Mapping[str, str]) -> Flat:
    texts: dict[str, Cell] = {ours: as_text(record.fields[theirs]).strip() for ours, theirs in columns.items()}
    return {
        "id": f"{name_of(file)}-{record.at}",
        "dataset": "climretrieve",
        "group_id": group_of("clim", as_text(texts["query"])),
        **texts,
        "label": grade,
        "label_origin": "expert" if grade else "automatic",
    }


CLIMRETRIEVE = Source(
    name="climretrieve",
    about="climate questions on paragraphs of corporate reports, 0..3",
    inputs=("query", "passage"),
    judge="context_relevance",
    licence="MIT for the tables; the reports belong to their companies",
    read=read_climretrieve,
)
