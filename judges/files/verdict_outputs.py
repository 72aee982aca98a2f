"""Which columns of a verdict file hold what a judge said beside the score that was asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .columns import Draft

BENCH_COLUMNS = frozenset({"judge", "judge_model", "simulated"})
"""Columns by which a file of `bench --out` is known."""
BENCH_OUTPUTS = ("verdict", "score", "confidence", "rationale", "detail")
"""Its columns that hold what the judge said."""
_ROW_OBJECTS = frozenset({"metadata", "meta", "inputs", "input", "row", "fields", "data", "attributes", "properties"})
"""Objects whose fields tell of the row, even where the score is one of them."""


def output_columns(drafts: Sequence[Draft], score: str, grades: Collection[float]) -> tuple[str, ...]:
    """Return the columns of the metadata that are known to hold judges' outputs.

    They are what `bench --out` wrote, and the columns beside the score: those that differ from it in the name's last
    part alone, such as `verdicts.b` beside `verdicts.a` or `score_b` beside `score_a`, and hold grades only.

    Args:
        drafts: The rows.
        score: The column of the score; of a matrix of judges the pattern.
        grades: Every grade that a label or this judge's score has.
    """
    names = dict.fromkeys(name for draft in drafts for name in draft.meta)
    written_by_bench = names.keys() >= BENCH_COLUMNS
    start = _common_start(score)

    def is_output(name: str) -> bool:
        if written_by_bench and name in BENCH_OUTPUTS:
            return True
        return bool(start) and name.startswith(start) and _holds_grades(drafts, name, grades)

    return tuple(name for name in names if is_output(name))


def _common_start(score: str) -> str:
    """Return how the names of the columns beside the score begin; empty where nothing tells."""
    plain = score.partition("*")[0]
    container, dot, name = plain.rpartition(".")
    if dot:
        return "" if container.rpartition(".")[2].lower() in _ROW_OBJECTS else f"{container}."
    start, underscore, _ = name.rpartition("_")
    return f"{start}_" if underscore else ""


def _holds_grades(drafts: Sequence[Draft], name: str, grades: Collection[float]) -> bool:
    """Whether a column holds nothing but grades; where those are fractions, anything between the ends of them."""
    cells = {draft.meta.get(name) for draft in drafts} - {None}
    if not cells or not grades or any(isinstance(cell, str) for cell in cells):
        return False
    values = [float(cell) for cell in cells if cell is not None and not isinstance(cell, str)]
    if all(grade.is_integer() for grade in grades):
        return all(value in grades for value in values)
    return min(grades) <= min(values) and max(values) <= max(grades)
