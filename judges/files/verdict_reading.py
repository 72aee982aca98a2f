"""What the rows of a verdict file say: scores, confidences, and the grades beyond a stated scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

from ..errors import InputError
from ..scale import OutputScale
from .columns import Draft, Table, read_grade
from .problems import Problems, shorten
from .records import Cell, unit_of
from .verdict_columns import VerdictColumns
from .verdict_items import Reading
from .verdict_scale import clipped, outside, words_for


def read_rows(
    table: Table, columns: VerdictColumns, name: str, cells: Sequence[Cell], notes: list[str]
) -> list[Reading]:
    """Read each row's score and confidence; a score that is neither empty nor a number is kept as the reason."""
    words = words_for(columns.map_of(name))
    confidences = _confidences(table, columns.confidence, notes)
    rows = []
    for draft, cell, sure in zip(table.drafts, cells, confidences, strict=True):
        score, missing = None, "no score in the file"
        try:
            score = read_grade(cell, words)
        except ValueError:
            missing = f"the file's score is {shorten(cell)}"
        if score is not None and isnan(score):
            score, missing = None, f"the map gives {shorten(cell)} no score"
        rows.append(Reading(draft=draft, score=score, missing=missing, confidence=sure))
    return rows


def hold_to_scale(rows: list[Reading], scale: OutputScale, clip: bool, notes: list[str]) -> list[Reading]:
    """Hold labels and scores to the ends of a stated scale; scores beyond them are clipped, or are none."""
    labels = [row.draft.label for row in rows]
    for side, values in (("labels", labels), ("scores", [row.score for row in rows])):
        strange = outside(values, scale)
        if strange and side == "labels" and not clip:
            raise InputError(
                f"labels lie outside {scale.low}..{scale.high}: {strange}",
                hint="state their scale with --scale, map them with --label-map, or clip them with --clip",
            )
        if strange:
            what = "were clipped to its ends" if clip else "were left unscored"
            notes.append(f"{side} outside {scale.low}..{scale.high} {what}: {strange}")
    ends = zip(rows, clipped(labels, scale), clipped([row.score for row in rows], scale), strict=True)
    return [_hold(row, label, score, clip) for row, label, score in ends]


def _hold(row: Reading, label: float | None, score: float | None, clip: bool) -> Reading:
    if label == row.draft.label and score == row.score:
        return row
    draft = replace(row.draft, label=label)
    if clip or row.score is None:
        return replace(row, draft=draft, score=score)
    return replace(row, draft=draft, score=None, missing=f"the score {row.score:g} is outside the scale")


def _confidences(table: Table, column: str | None, notes: list[str]) -> list[float | None]:
    if column is None:
        return [None] * len(table.drafts)
    problems = Problems(table.path, unit_of(table.path))
    found: list[float | None] = []
    strange: list[Draft] = []
    for draft in table.drafts:
        value = None
        try:
            value = read_grade(draft.aside[column], {})
        except ValueError:
            problems.add(draft.at, f"field {column!r}: {shorten(draft.aside[column])} is not a number")
        if value is not None and not 0.0 <= value <= 1.0:
            strange.append(draft)
            value = None
        found.append(value)
    problems.check(hint="a confidence is a number in [0, 1]")
    if strange:
        first = f"{strange[0].aside[column]!r} in row {strange[0].id!r}"
        notes.append(f"{column} outside [0, 1], left out: {len(strange):,} (the first is {first})")
    return found
