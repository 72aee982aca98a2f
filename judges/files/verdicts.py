"""Verdicts from a file: what somebody's judge answered elsewhere, read as if it had been asked here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from math import isnan
from pathlib import Path
from typing import get_args

from ..errors import DataError, InputError
from ..judged import JudgedDataset
from ..rows import Dataset, Row
from ..scale import OutputScale
from ..verdict import Answer, Unscored, UnscoredReason, Verdict
from .columns import Draft, Table, read_table
from .problems import Problems, shorten
from .records import Cell, name_of, read_records, unit_of
from .verdict_columns import RATIONALE, REASON, VerdictColumns, roles_of
from .verdict_items import INPUTS, Aggregate, Reading, aggregate_rows
from .verdict_outputs import output_columns
from .verdict_reading import hold_to_scale, read_rows
from .verdict_scale import GradeMap, describe_scales, infer_scales, state_scales


def load_verdicts(
    path: Path,
    *,
    label: str = "label",
    score: str = "score",
    confidence: str | None = None,
    threshold: float | None = None,
    label_threshold: float | None = None,
    group: str | None = None,
    id: str = "id",
    rationale: str | None = None,
    label_map: GradeMap | None = None,
    score_map: GradeMap | None = None,
    scale: OutputScale | None = None,
    clip: bool = False,
    aggregate: Aggregate | None = None,
    by: Sequence[str] = (),
) -> JudgedDataset:
    """Read the verdicts of one judge; the arguments are the fields of `VerdictColumns`.

    Unless a scale is stated, those of labels and scores are inferred separately: 0 and 1 are binary, other whole
    numbers are grades, fractions in [0, 1] are probabilities.

    Raises:
        InputError: As `load_judges`, or there are several judges.
        DataError: As `load_judges`.
    """
    columns = VerdictColumns(
        label=label,
        score=score,
        confidence=confidence,
        threshold=threshold,
        label_threshold=label_threshold,
        group=group,
        id=id,
        rationale=rationale,
        label_map=label_map or {},
        score_map=score_map or {},
        scale=scale,
        clip=clip,
        aggregate=aggregate,
        by=tuple(by),
    )
    judges = load_judges(path, columns)
    if len(judges) > 1:
        raise InputError(
            f"{path}: {score!r} names {len(judges)} judges, and one is needed", hint=f"name one: {', '.join(judges)}"
        )
    return next(iter(judges.values()))


def load_judges(path: Path, columns: VerdictColumns) -> dict[str, JudgedDataset]:
    """Read a file with one verdict a row, or with the scores of several judges side by side; by the judges' names.

    Raises:
        InputError: No probability can reach the threshold, values are spread too wide to be grades, or labels lie
            outside the stated scale.
        DataError: The file, or any of its rows, cannot be used; up to ten problems are named.
    """
    matrix = _is_matrix(path, columns.score)
    if matrix and columns.confidence:
        raise InputError(f"{path}: a matrix of judges has no column of confidences", hint="leave out --confidence")
    table = read_table(path, roles_of(columns, matrix=matrix))
    _drop_nameless_labels(table)
    if not table.grades:
        raise DataError(f"{path}: no row has a label in column {columns.label!r}", hint="name it with --label COLUMN")
    if not matrix:
        cells = [draft.aside[columns.score] for draft in table.drafts]
        return {name_of(path): _judged(table, columns, name_of(path), cells)}
    found = _matrix_columns(table, columns.score)
    scores = [{name: draft.meta.pop(column, None) for name, column in found.items()} for draft in table.drafts]
    return {name: _judged(table, columns, name, [line[name] for line in scores], lone=False) for name in found}


def _is_matrix(path: Path, score: str) -> bool:
    if "*" in score:
        return True
    first = next(read_records(path, Problems(path, unit_of(path))), None)
    return first is not None and score not in first.fields and any(n.startswith(f"{score}.") for n in first.fields)


def _drop_nameless_labels(table: Table) -> None:
    """Take the labels away that a map sends to no grade."""
    for draft in table.drafts:
        if draft.label is not None and isnan(draft.label):
            draft.label = None
    table.grades = {grade for grade in table.grades if not isnan(grade)}


def _matrix_columns(table: Table, score: str) -> dict[str, str]:
    """Return the columns that a pattern means, by the judge's name: what follows the last dot before the star."""
    pattern = score if "*" in score else f"{score}.*"
    names = dict.fromkeys(name for draft in table.drafts for name in draft.meta)
    fixed = "".join(pattern.partition("*")[0].rpartition(".")[:2])
    found = {name.removeprefix(fixed): name for name in names if fnmatchcase(name, pattern)}
    if not found:
        shown = ", ".join(shorten(name) for name in list(names)[:30])
        raise DataError(f"{table.path}: no column is called like {pattern!r}. The columns are {shown}")
    return found


def _judged(
    table: Table, columns: VerdictColumns, name: str, cells: Sequence[Cell], *, lone: bool = True
) -> JudgedDataset:
    notes = [*table.notes, _group_note(table), *_map_notes(columns, name)]
    rows = read_rows(table, columns, name, cells, notes)
    if not any(row.score is not None for row in rows):
        column = columns.score if lone else name
        raise DataError(f"{table.path}: no row has a score in column {column!r}", hint="name it with --score COLUMN")
    labels = {float(grade) for grade in table.grades}
    scores = {row.score for row in rows if row.score is not None}
    if columns.scale is None:
        scales = infer_scales(labels, scores, columns.cuts(name), notes)
    else:
        scales = state_scales(columns.scale, columns.cuts(name))
        rows = hold_to_scale(rows, columns.scale, columns.clip, notes)
        labels = {row.draft.label for row in rows if row.draft.label is not None}
        scores = {row.score for row in rows if row.score is not None}
    describe_scales(scales, labels, scores, notes)
    if columns.aggregate:
        problems = Problems(table.path, unit_of(table.path))
        rows = aggregate_rows(rows, columns.aggregate, columns.by, problems, notes)
    _count_gaps(rows, notes)
    reasons = columns.rationale or RATIONALE
    dataset = Dataset.of((_row(row.draft) for row in rows), labels=scales[0], name=name_of(table.path), notes=notes)
    return JudgedDataset(
        dataset=dataset,
        answers=tuple(_answer(row, scales[1], reasons) for row in rows),
        scale=scales[1],
        judge=table.path.name if lone else name,
        model=_model(table),
        simulated=any(draft.meta.get("simulated") is True for draft in table.drafts),
        outputs=output_columns(table.drafts, columns.score, labels | scores),
    )


def _group_note(table: Table) -> str:
    if table.group is None:
        return "every row is a group of its own, as no column names the group (--group COLUMN does)"
    count = len({draft.group for draft in table.drafts if draft.group})
    return f"rows that share the same {table.group} are one group ({count:,} {'group' if count == 1 else 'groups'})"


def _map_notes(columns: VerdictColumns, name: str) -> Iterator[str]:
    for side, mapped in (("labels", columns.label_map), ("scores", columns.map_of(name))):
        if mapped:
            pairs = (f"{cell} as {'nothing' if grade is None else f'{grade:g}'}" for cell, grade in mapped.items())
            yield f"{side} were mapped: {', '.join(pairs)}"


def _count_gaps(rows: Sequence[Reading], notes: list[str]) -> None:
    unlabelled = sum(row.draft.label is None for row in rows)
    unscored = sum(row.score is None for row in rows)
    if unlabelled:
        notes.append(f"{unlabelled:,} of {len(rows):,} rows have no label")
    if unscored:
        notes.append(f"{unscored:,} of {len(rows):,} rows have no score; they are unscored, not wrong")


def _row(draft: Draft) -> Row:
    """Build the row; texts under `inputs.` are its inputs, not columns to slice by."""
    inputs = {
        name.removeprefix(INPUTS): "" if value is None else str(value)
        for name, value in draft.meta.items()
        if name.startswith(INPUTS)
    }
    meta = {name: value for name, value in draft.meta.items() if not name.startswith(INPUTS)}
    return Row(id=draft.id, inputs=inputs, label=draft.label, meta=meta, group=draft.group)


def _answer(row: Reading, scale: OutputScale, reasons: str) -> Answer:
    draft = row.draft
    if row.score is None:
        return Unscored(row_id=draft.id, reason=_reason(draft.aside.get(REASON)), detail=row.missing)
    rationale = draft.aside.get(reasons)
    return Verdict(
        row_id=draft.id,
        score=row.score,
        positive=scale.positive(row.score),
        confidence=row.confidence,
        rationale="" if rationale is None else str(rationale),
        parser="file",
    )


def _reason(cell: Cell) -> UnscoredReason:
    """Return why a row has no verdict as `bench --out` wrote it; of another file that it could not be read."""
    return next((reason for reason in get_args(UnscoredReason) if reason == cell), "parse")


def _model(table: Table) -> str:
    names = {draft.meta.get("judge_model") for draft in table.drafts}
    only = names.pop() if len(names) == 1 else None
    return only if isinstance(only, str) else ""
