"""What can be seen of a judge's errors: the rows it got wrong, the replies that could not be read,
its slices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...judges import Benchmark, JudgedDataset, Row, Unscored, Verdict, by_column
from ..actions.show_rows import ShownRows
from .row_pages import RowItem, body_of, cut_of

MOST_ROWS = 2_000
"""Wrong rows that are kept to be shown, the judge's surest first; `bench --out` writes them all."""
MOST_EXAMPLES = 5
"""Rows that are named for one kind of unreadable reply."""
MOST_VALUES = 40
"""Values of a column up to which it is offered as slices."""
LEAST_ROWS = 10
"""Values of fewer rows are measured together."""
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+(?:[.,]\d+)*")


def wrong_rows(rows: ShownRows) -> tuple[dict[str, Any], list[RowItem]]:  # Any: JSON
    """Return what is kept of a benchmark's errors: the rows it got wrong, and above them what could
    not be read and which columns cut the rows into a few parts.
    """
    judged = rows.judged
    positions = judged.disagreements
    columns = slice_columns(judged)
    wrong = [_wrong_row(judged, i, columns) for i in positions[:MOST_ROWS]]
    head = {
        "note": rows.note,
        "labels": body_of(judged.dataset.labels),
        "listed": len(wrong),
        "wrong_in_all": len(positions),
        "errors": sorted({row["error"] for row in wrong}),
        "unreadable": group_unreadable(judged),
        "columns": [{"name": name, "values": count} for name, count in columns.items()],
    }
    return head, [(row["row_id"], row) for row in wrong]


def group_unreadable(judged: JudgedDataset) -> list[dict[str, Any]]:  # Any: JSON
    """Group the rows without a verdict by reason, and by what was said of them but for numbers and
    quotations; the detail is that of the first, and a few rows are named.
    """
    groups: dict[tuple[str, str], list[Unscored]] = {}
    for answer in judged.answers:
        if isinstance(answer, Unscored):
            key = (answer.reason, _PARTICULARS.sub("…", answer.detail))
            groups.setdefault(key, []).append(answer)
    return [
        {
            "reason": group[0].reason,
            "detail": group[0].detail,
            "count": len(group),
            "row_ids": [answer.row_id for answer in group[:MOST_EXAMPLES]],
        }
        for group in sorted(groups.values(), key=len, reverse=True)
    ]


def slice_columns(judged: JudgedDataset) -> dict[str, int]:
    """Return the columns that cut the rows into a few parts, in the order of their names, with the
    number of their values.
    """
    values: dict[str, set[str]] = {}
    for row in judged.dataset.rows:
        for name in row.meta:
            seen = values.setdefault(name, set())
            if len(seen) <= MOST_VALUES:
                seen.add(value_of(row.meta, name))
    counts = {name: len(values[name]) for name in sorted(values) if name not in judged.outputs}
    return {name: count for name, count in counts.items() if 2 <= count <= MOST_VALUES}


def measure_slices(rows: ShownRows, column: str) -> dict[str, Benchmark]:
    """Measure the judge on each value of a column; values of few rows together."""
    return by_column(rows.judged, column, least=LEAST_ROWS)


def value_of(meta: Mapping[str, Any], column: str) -> str:  # Any: whatever the file has
    """Return a column's value as slices name it."""
    value = meta.get(column)
    return "(none)" if value is None else str(value)


def _wrong_row(
    judged: JudgedDataset, i: int, columns: Iterable[str]
) -> dict[str, Any]:  # Any: JSON
    row, verdict = judged.rows[i], judged.verdicts[i]
    assert row.label is not None  # it is scored
    error = "FP" if verdict.positive else "FN"
    if judged.scale.kind == "choice":
        error = f"{judged.scale.name(row.label)} called {judged.scale.name(verdict.score)}"
    return {
        "row_id": row.id,
        "error": error,
        "people": _people(judged, row),
        "judge": _judge(judged, verdict),
        "confidence": verdict.confidence,
        "rationale": verdict.rationale,
        **judged.distribution_fields(verdict),
        "inputs": dict(row.inputs),
        "meta": dict(row.meta),
        "cuts": [cut_of(name, value_of(row.meta, name)) for name in columns],
    }


def _people(judged: JudgedDataset, row: Row) -> str:
    assert row.label is not None
    if judged.scale.kind == "choice":
        return judged.scale.name(row.label)
    return f"{'yes' if judged.dataset.positive(row) else 'no'} ({row.label:g})"


def _judge(judged: JudgedDataset, verdict: Verdict) -> str:
    if judged.scale.kind == "choice":
        return judged.scale.name(verdict.score)
    return f"{'yes' if verdict.positive else 'no'} ({round(verdict.score, 3):g})"
