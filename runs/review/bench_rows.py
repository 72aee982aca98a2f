"""What can be seen of a judge's errors: the rows it got wrong, the replies that could not be read,
its slices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...judges import Benchmark, JudgedDataset, OutputScale, Row, Unscored, Verdict, by_column
from ..actions.show_rows import ShownRows

MOST_ROWS = 2_000
"""Wrong rows that are kept to be shown, the judge's surest first; `bench --out` writes them all."""
MOST_EXAMPLES = 5
"""Rows that are named for one kind of unreadable reply."""
MOST_VALUES = 40
"""Values of a column up to which it is offered as slices."""
LEAST_ROWS = 10
"""Values of fewer rows are measured together."""
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongRow:
    """A row on which the judge decided otherwise than people."""

    row_id: str
    error: str
    """`FP` or `FN`; of a choice, which class was called which."""
    people: str
    judge: str
    confidence: float | None
    rationale: str
    inputs: Mapping[str, str]
    meta: Mapping[str, Any]  # Any: whatever the file has


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Replies that could not be read for the same reason."""

    reason: str
    detail: str
    """As it was said of the first of them."""
    count: int
    row_ids: tuple[str, ...]
    """The first of the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceColumn:
    """A column by whose values the judge can be measured."""

    name: str
    values: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRows:
    """What is kept of a benchmark's rows to be shown: no row that the judge got right."""

    note: str
    labels: OutputScale
    """The scale that people labelled on."""
    shown: int
    wrong: tuple[WrongRow, ...]
    wrong_in_all: int
    unreadable: tuple[Unreadable, ...]
    columns: tuple[SliceColumn, ...]

    def only(self, *, error: str = "", column: str = "", value: str = "") -> tuple[WrongRow, ...]:
        """Return the wrong rows of a kind; what is empty is not asked about."""
        return tuple(
            row
            for row in self.wrong
            if error in ("", row.error) and (not column or value_of(row.meta, column) == value)
        )


def bench_rows(rows: ShownRows) -> BenchRows:
    """Pick what can be seen of the errors."""
    judged = rows.judged
    positions = judged.disagreements
    return BenchRows(
        note=rows.note,
        labels=judged.dataset.labels,
        shown=len(judged.dataset),
        wrong=tuple(_wrong_row(judged, i) for i in positions[:MOST_ROWS]),
        wrong_in_all=len(positions),
        unreadable=group_unreadable(judged),
        columns=slice_columns(judged),
    )


def group_unreadable(judged: JudgedDataset) -> tuple[Unreadable, ...]:
    """Group the rows without a verdict by reason, and by what was said of them but for numbers and
    quotations.
    """
    groups: dict[tuple[str, str], list[Unscored]] = {}
    for answer in judged.answers:
        if isinstance(answer, Unscored):
            groups.setdefault((answer.reason, _PARTICULARS.sub("…", answer.detail)), []).append(
                answer
            )
    listed = sorted(groups.values(), key=len, reverse=True)
    return tuple(
        Unreadable(
            reason=group[0].reason,
            detail=group[0].detail,
            count=len(group),
            row_ids=tuple(answer.row_id for answer in group[:MOST_EXAMPLES]),
        )
        for group in listed
    )


def slice_columns(judged: JudgedDataset) -> tuple[SliceColumn, ...]:
    """Return the columns that cut the rows into a few parts, in the order of their names."""
    values: dict[str, set[str]] = {}
    for row in judged.dataset.rows:
        for name in row.meta:
            known = values.setdefault(name, set())
            if len(known) <= MOST_VALUES:
                known.add(value_of(row.meta, name))
    columns: list[SliceColumn] = []
    for name in sorted(values):
        if 2 <= len(values[name]) <= MOST_VALUES and name not in judged.outputs:
            columns.append(SliceColumn(name=name, values=len(values[name])))
    return tuple(columns)


def measure_slices(rows: ShownRows, column: str) -> dict[str, Benchmark]:
    """Measure the judge on each value of a column; values of few rows together."""
    return by_column(rows.judged, column, least=LEAST_ROWS)


def value_of(meta: Mapping[str, Any], column: str) -> str:  # Any: whatever the file has
    """Return a column's value as slices name it."""
    value = meta.get(column)
    return "(none)" if value is None else str(value)


def _wrong_row(judged: JudgedDataset, i: int) -> WrongRow:
    row, verdict = judged.rows[i], judged.verdicts[i]
    assert row.label is not None  # it is scored
    error = "FP" if verdict.positive else "FN"
    if judged.scale.kind == "choice":
        error = f"{judged.scale.name(row.label)} called {judged.scale.name(verdict.score)}"
    return WrongRow(
        row_id=row.id,
        error=error,
        people=_people(judged, row),
        judge=_judge(judged, verdict),
        confidence=verdict.confidence,
        rationale=verdict.rationale,
        inputs=row.inputs,
        meta=row.meta,
    )


def _people(judged: JudgedDataset, row: Row) -> str:
    assert row.label is not None
    if judged.scale.kind == "choice":
        return judged.scale.name(row.label)
    return f"{'yes' if judged.dataset.positive(row) else 'no'} ({row.label:g})"


def _judge(judged: JudgedDataset, verdict: Verdict) -> str:
    if judged.scale.kind == "choice":
        return judged.scale.name(verdict.score)
    return f"{'yes' if verdict.positive else 'no'} ({verdict.score:g})"
