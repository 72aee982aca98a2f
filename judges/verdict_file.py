"""Verdicts from a file: what somebody's judge answered elsewhere, read as if it had been asked here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .columns import WORDS, Draft, Roles, Table, read_grade, read_table
from .errors import DataError, InputError
from .judged import Judged
from .problems import Problems, shorten
from .records import name_of, unit_of
from .rows import Dataset, Row
from .scale import BINARY, FARTHEST_GRADE, MOST_LEVELS, PROBABILITY, OutputScale
from .verdict import Answer, Unscored, Verdict

GROUP_COLUMNS = ("metadata.query_id", "query_id", "group_id")
"""Columns that hold the group where none is named."""

_INPUTS = "inputs."


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
) -> Judged:
    """Read a file with one verdict a row: a human label, a judge's score, and whatever else is known.

    The scales of labels and scores are inferred separately: 0 and 1 are binary, other whole numbers are
    grades, fractions in [0, 1] are probabilities.

    Args:
        path: The file, in any format that `load_dataset` reads.
        label: The column of the human label.
        score: The column of the judge's score; an empty one is an unscored row.
        confidence: The column of the judge's confidence in its verdict, in [0, 1].
        threshold: What label and score must reach to be positive; a binary side stays as it is. Without it
            a grade must reach the middle of its scale, rounded up, and a probability 0.5.
        label_threshold: What the label must reach, where that differs.
        group: The column of the group; the first of `GROUP_COLUMNS` where there is one, else every row is its own.
        id: The column of the row's id; without one the line number.
        rationale: The column of the judge's reasons; `rationale` where there is one.

    Raises:
        InputError: No probability can reach the threshold, or the values are spread too wide to be grades.
        DataError: The file, or any of its rows, cannot be used; up to ten problems are named.
    """
    named = {"--id": None if id == "id" else id, "--group": group, "--confidence": confidence, "--rationale": rationale}
    needed = {label: "--label COLUMN", score: "--score COLUMN"}
    needed |= {column: f"{option} COLUMN" for option, column in named.items() if column}
    reasons = rationale or "rationale"
    roles = Roles(
        label=label,
        id=None if id == "id" else id,
        group=group,
        group_defaults=GROUP_COLUMNS,
        aside=tuple(column for column in (score, confidence, reasons) if column),
        needed=needed,
    )
    table = read_table(path, roles)
    if not table.grades:
        raise DataError(f"{path}: no row has a label in column {label!r}", hint="name it with --label COLUMN")
    notes = [*table.notes, _group_note(table)]
    scores, unread = _scores(table, score)
    if not any(value is not None for value in scores):
        raise DataError(f"{path}: no row has a score in column {score!r}", hint="name it with --score COLUMN")
    wanted = threshold if label_threshold is None else label_threshold
    scales = _scales(table.grades, {v for v in scores if v is not None}, wanted, threshold, notes)
    confidences = _confidences(table, confidence, notes)
    rows = tuple(_row(draft) for draft in table.drafts)
    answers = tuple(
        _answer(draft, value, unread.get(i, "no score in the file"), sure, scales[1], reasons)
        for i, (draft, value, sure) in enumerate(zip(table.drafts, scores, confidences, strict=True))
    )
    _count_gaps(table, scores, notes)
    dataset = Dataset.of(rows, labels=scales[0], name=name_of(path), notes=notes)
    return Judged(dataset=dataset, answers=answers, scale=scales[1], judge=path.name, model=_model(table))


def infer_scale(values: Iterable[float], threshold: float | None = None) -> OutputScale:
    """Read a scale from the grades that occur on it.

    Args:
        values: Finite grades, at least one.
        threshold: What counts as positive; a binary scale keeps 1, and None takes each scale's own default.

    Raises:
        InputError: The values are spread too wide, or too far from zero, to be grades.
    """
    found = set(values)
    if found <= {0.0, 1.0}:
        return BINARY
    if all(0.0 <= value <= 1.0 for value in found):
        return PROBABILITY if threshold is None else replace(PROBABILITY, threshold=threshold)
    low, high = math.floor(min(found)), math.ceil(max(found))
    low = low if low < high else min(0, low - 1)  # a lone grade is the top of its scale
    if high - low >= MOST_LEVELS or max(-low, high) > FARTHEST_GRADE:
        raise InputError(f"values from {min(found):g} to {max(found):g} are no grades", hint="is it the right column?")
    return OutputScale(low=low, high=high, threshold=_middle(low, high) if threshold is None else threshold)


def _middle(low: int, high: int) -> float:
    return float(math.ceil((low + high) / 2))


def _scales(
    labels: set[float], scores: set[float], label_threshold: float | None, threshold: float | None, notes: list[str]
) -> tuple[OutputScale, OutputScale]:
    people, judge = infer_scale(labels, label_threshold), infer_scale(scores, threshold)
    if _one_scale(people, judge):
        low, high = min(people.low, judge.low), max(people.high, judge.high)
        default = _middle(low, high)
        people = replace(people, low=low, high=high, threshold=default if label_threshold is None else label_threshold)
        judge = replace(judge, low=low, high=high, threshold=default if threshold is None else threshold)
        notes.append(f"labels and scores were read as one scale, {low}..{high}, one end of which one side never uses")
    for side, scale, values in (("labels", people, labels), ("scores", judge, scores)):
        notes.append(f"{side} were read as {scale.describe()}")
        if scale.kind == "probability" and scale.threshold > 1:
            option = "--threshold and --label-threshold" if side == "labels" else "--threshold"
            raise InputError(
                f"{side} are fractions in [0, 1] and can never reach the threshold {scale.threshold:g}",
                hint=f"give the threshold of each side, with {option}",
            )
        reached = {scale.positive(value) for value in values}
        if len(reached) == 1:
            notes.append(f"{'all' if reached.pop() else 'none'} of the {side} reach the threshold {scale.threshold:g}")
        fractions = [value for value in values if not value.is_integer()]
        if scale.kind == "graded" and fractions:
            notes.append(f"some {side} lie between the grades, such as {min(fractions):g}")
    return people, judge


def _one_scale(people: OutputScale, judge: OutputScale) -> bool:
    """Whether both sides grade on one scale of which one side never used the lowest or the highest grade.

    A judge that never gives a 3 still grades 0..3, and its threshold must not move because of that.
    """
    if people.kind != "graded" or judge.kind != "graded" or people.levels == judge.levels:
        return False
    low, high = people.low - judge.low, people.high - judge.high
    return abs(low) <= 1 and abs(high) <= 1 and low * high <= 0


def _scores(table: Table, column: str) -> tuple[list[float | None], dict[int, str]]:
    """Return each row's score, and for those that are neither empty nor a number what they say instead."""
    scores: list[float | None] = []
    unread: dict[int, str] = {}
    for i, draft in enumerate(table.drafts):
        try:
            scores.append(read_grade(draft.aside[column], WORDS))
        except ValueError:
            scores.append(None)
            unread[i] = f"the file's score is {shorten(draft.aside[column])}"
    return scores, unread


def _confidences(table: Table, column: str | None, notes: list[str]) -> list[float | None]:
    if column is None:
        return [None] * len(table.drafts)
    problems = Problems(table.path, unit_of(table.path))
    found: list[float | None] = []
    outside: list[Draft] = []
    for draft in table.drafts:
        value = None
        try:
            value = read_grade(draft.aside[column], {})
        except ValueError:
            problems.add(draft.at, f"field {column!r}: {shorten(draft.aside[column])} is not a number")
        if value is not None and not 0.0 <= value <= 1.0:
            outside.append(draft)
            value = None
        found.append(value)
    problems.check(hint="a confidence is a number in [0, 1]")
    if outside:
        first = f"{outside[0].aside[column]!r} in row {outside[0].id!r}"
        notes.append(f"{column} outside [0, 1], left out: {len(outside):,} (the first is {first})")
    return found


def _group_note(table: Table) -> str:
    if table.group is None:
        return "every row is a group of its own, as no column names the group (--group COLUMN does)"
    count = len({draft.group for draft in table.drafts if draft.group})
    return f"rows that share the same {table.group} are one group ({count:,} {'group' if count == 1 else 'groups'})"


def _count_gaps(table: Table, scores: list[float | None], notes: list[str]) -> None:
    unlabelled = sum(draft.label is None for draft in table.drafts)
    unscored = sum(value is None for value in scores)
    if unlabelled:
        notes.append(f"{unlabelled:,} of {len(table.drafts):,} rows have no label")
    if unscored:
        notes.append(f"{unscored:,} of {len(table.drafts):,} rows have no score; they are unscored, not wrong")


def _row(draft: Draft) -> Row:
    """Build the row; texts under `inputs.` are its inputs, not columns to slice by."""
    inputs = {
        name.removeprefix(_INPUTS): "" if value is None else str(value)
        for name, value in draft.meta.items()
        if name.startswith(_INPUTS)
    }
    meta = {name: value for name, value in draft.meta.items() if not name.startswith(_INPUTS)}
    return Row(id=draft.id, inputs=inputs, label=draft.label, meta=meta, group=draft.group)


def _answer(
    draft: Draft, score: float | None, missing: str, confidence: float | None, scale: OutputScale, reasons: str
) -> Answer:
    if score is None:
        return Unscored(row_id=draft.id, reason="parse", detail=missing)
    rationale = draft.aside.get(reasons)
    return Verdict(
        row_id=draft.id,
        score=score,
        positive=scale.positive(score),
        confidence=confidence,
        rationale="" if rationale is None else str(rationale),
        parser="file",
    )


def _model(table: Table) -> str:
    names = {draft.meta.get("judge_model") for draft in table.drafts}
    only = names.pop() if len(names) == 1 else None
    return only if isinstance(only, str) else ""
