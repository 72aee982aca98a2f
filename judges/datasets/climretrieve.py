"""ClimRetrieve (Schimanski et al., 2024): climate questions on corporate reports, passages graded 0
to 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError
from ..files.problems import Problems, shorten
from ..files.records import name_of, read_records, unit_of
from .release import as_text, folded_text, group_of, read_table_of, table_files
from .source import Flat, ReadOptions, Source

_REPORTS = {"query": "question", "passage": "paragraph", "report": "report"}
_EXPERTS = {"query": "Question", "passage": "Relevant", "report": "Document"}
_REPORT_GRADE, _EXPERT_GRADE = "relevance", "Source Relevance Score"
_EXPERT_EXTRAS = {
    "Source From": "source_from",
    "Unsure Flag": "uncertain",
    "Addressed directly": "addressed_directly",
}
_GRADE = re.compile(r"\s*([0-3])(?:\.0+)?(?:\s.*)?", re.DOTALL)


def read_climretrieve(path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Flat]:
    """Yield a row for each question and passage, graded 0 (not relevant) to 3; a question is a
    group.

    Either of the two tables is read: the passages that experts marked (grades 1 to 3), or all
    paragraphs of the reports, where 0 was given to whatever matched no marked passage and by
    nobody; `label_origin` tells which. The columns on the likeness to the marked passages give the
    label away and are left out. The release's Excel file is read once it is saved as CSV.

    Raises:
        DataError: A file is neither of the two tables, or a grade is none of 0 to 3.
    """
    zeros = "grades of 0 that no person gave, they matched no marked passage"
    left_out = "rows without a marked passage or without its grade, left out"
    for file in table_files(path):
        problems = Problems(file, unit_of(file))
        first = next(read_records(file, Problems(file)), None)
        if first is None:
            raise DataError(f"{file}: the file has no rows")
        by_experts = _EXPERT_GRADE in first.fields
        columns, needed, graded = _REPORTS, (*_REPORTS.values(), _REPORT_GRADE), _REPORT_GRADE
        if by_experts:
            columns, needed, graded = _EXPERTS, ("Document", "Question"), _EXPERT_GRADE
        automatic = ungraded = 0
        for record in read_table_of(file, needed, problems):
            fields = record.fields
            cells = [folded_text(fields.get(name)) for name in (graded, columns["passage"])]
            if by_experts and any(cell in ("", "nan", "na") for cell in cells):
                ungraded += 1
                continue
            match = _GRADE.fullmatch(as_text(fields[graded]))
            if match is None:
                strange = shorten(fields[graded])
                problems.add(record.at, f"field {graded!r}: {strange} is none of the grades 0 to 3")
                continue
            grade = int(match[1])
            automatic += grade == 0 and not by_experts
            texts = {ours: as_text(fields[name]).strip() for ours, name in columns.items()}
            row: Flat = {
                "id": f"{name_of(file)}-{record.at}",
                "dataset": "climretrieve",
                "group_id": group_of("clim", texts["query"]),
                **texts,
                "label": grade,
                "label_origin": "expert" if grade else "automatic",
            }
            extras = _EXPERT_EXTRAS if by_experts else {}
            yield row | {ours: fields[name] for name, ours in extras.items() if name in fields}
        if automatic:
            notes.append(f"{zeros}: {automatic:,}")
        if ungraded:
            notes.append(f"{left_out}: {ungraded:,}")
        problems.check()


CLIMRETRIEVE = Source(
    name="climretrieve",
    about="climate questions on paragraphs of corporate reports, 0..3",
    inputs=("query", "passage"),
    judge="context_relevance",
    licence="MIT for the tables; the reports belong to their companies",
    read=read_climretrieve,
)
