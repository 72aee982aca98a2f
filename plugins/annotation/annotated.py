"""Labels that people gave in an annotation tool: what every such source shares, from its answers to
our rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...judges.datasets.release import as_number, require_mapped
from ...judges.datasets.source import Flat, ReadOptions
from ...judges.errors import DataError, InputError
from ...judges.files.column_names import near_names
from ...judges.files.label_words import map_hint, read_grade
from ...judges.files.problems import Problems
from ...judges.files.records import Cell, read_objects
from ...judges.files.verdict_scale import words_for

Body = Mapping[str, Any]  # Any: JSON
LABEL, REASON = "label", "reason"
"""Names of ours that `--map` gives to a question of the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """One person's answer to one question about an item."""

    value: str | int | float | bool | None
    annotator: str = ""
    created: str | None = None
    seconds: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item that people were asked about."""

    at: int
    id: str
    fields: Mapping[str, Any]  # Any: JSON
    """Its texts and other columns, nested ones under dotted names."""
    answers: dict[str, list[PersonAnswer]] = field(default_factory=dict)
    """By question."""


def read_bodies(path: Path) -> Iterator[tuple[int, Body]]:
    """Yield the objects of a file with their places.

    Raises:
        DataError: The file, or any of its objects, cannot be read.
    """
    problems = Problems(path)
    yield from read_objects(path, problems)
    problems.check()


def decoded(value: Any) -> Any:  # Any: JSON, or JSON in a text
    """Return what a text is that is JSON; anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def first_of(body: Any, *paths: str) -> Any:  # Any: JSON
    """Return the first value at one of some dotted paths that is not null or empty text."""
    for path in paths:
        value = body
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value not in (None, ""):
            return value
    return None


def flat(name: str, value: Any) -> dict[str, Any]:  # Any: JSON
    """Return a value under its name, and what is inside an object under dotted names; text that is
    JSON is read.
    """
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = decoded(value)
    if isinstance(value, dict):
        inner: dict[str, Any] = {}
        for key, one in value.items():
            inner |= flat(f"{name}.{key}" if name else str(key), one)
        return inner
    if value is None:
        return {}
    return {name: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value}


def rows_of(
    path: Path, items: Iterable[Item], options: ReadOptions, notes: list[str]
) -> Iterator[Flat]:
    """Yield a row for each item: its mapped columns, all others, and the label with how it came
    about.

    Where several people answered, the label is what they agree on; their grades are in
    `annotation_1` and so on. `options.columns` maps `label` and `reason` to questions of the tool.

    Raises:
        InputError: Several questions were asked, and none is named.
        DataError: A mapped column or question is missing, or an answer is no grade.
    """
    every = list(items)
    problems = Problems(path)
    question = _question(path, every, options)
    columns = {ours: name for ours, name in options.columns.items() if ours not in (LABEL, REASON)}
    names = dict.fromkeys(name for item in every for name in item.fields)
    require_mapped(path, columns, list(names))
    words, cells = words_for(options.label_map), list[Cell]()
    unanswered = differing = 0
    for item in every:
        grades: list[float] = []
        answers = [answer for answer in item.answers.get(question, ()) if answer.value is not None]
        cells += [answer.value for answer in answers]
        for answer in answers:
            try:
                grade = read_grade(answer.value, words)
            except ValueError as error:
                problems.add(item.at, f"question {question!r}: {error}")
                continue
            if grade is not None:
                grades.append(grade)
        unanswered += not grades
        differing += len(set(grades)) > 1
        yield _row(
            item, columns, answers, grades, item.answers.get(options.columns.get(REASON, ""))
        )
    problems.check(hint=map_hint(cells, words))
    if unanswered:
        notes.append(
            f"{unanswered:,} of {len(every):,} items have no answer of a person to {question!r}"
        )
    if differing:
        notes.append(
            f"{differing:,} items have no label, as their annotators disagree; see annotation_1 and"
            " so on"
        )


def _question(path: Path, items: list[Item], options: ReadOptions) -> str:
    questions = list(dict.fromkeys(name for item in items for name in item.answers))
    named = options.columns.get(LABEL)
    if not questions:
        raise DataError(
            f"{path}: no answer of a person is in it", hint="export the annotations too"
        )
    listed = ", ".join(map(repr, questions[:30]))
    if named is not None and named not in questions:
        near = near_names(named, questions)
        hint = f"did you mean --map label={near[0]}?" if near else None
        raise DataError(
            f"{path}: nobody was asked {named!r}; the questions are {listed}", hint=hint
        )
    if named is not None:
        return named
    candidates = [name for name in questions if name != options.columns.get(REASON)]
    if len(candidates) > 1:
        raise InputError(
            f"{path}: which question is the label? {listed}", hint=f"--map label={candidates[0]}"
        )
    return candidates[0]


def _row(
    item: Item,
    columns: Mapping[str, str],
    answers: list[PersonAnswer],
    grades: list[float],
    reasons: list[PersonAnswer] | None,
) -> Flat:
    row: Flat = {"id": item.id}
    row |= {ours: item.fields.get(column) for ours, column in columns.items()}
    row["id"] = str(row["id"])
    for name, value in item.fields.items():
        if name not in columns.values():
            row.setdefault(name, value)
    agreed = len(set(grades)) == 1
    row["label"] = as_number(grades[0]) if agreed else None
    if len(grades) > 1:
        row |= {f"annotation_{number}": as_number(grade) for number, grade in enumerate(grades, 1)}
    texts = ["the annotators disagree"] if len(set(grades)) > 1 else []
    texts += [answer.reason for answer in answers if answer.reason]
    texts += [str(answer.value) for answer in reasons or () if answer.value]
    seconds = [answer.seconds for answer in answers if answer.seconds is not None]
    people = dict.fromkeys(answer.annotator for answer in answers if answer.annotator)
    times = (answer.created for answer in answers if answer.created)
    row["label_annotator"] = ", ".join(people) or None
    row["label_created"] = max(times, default=None)
    row["label_seconds"] = round(sum(seconds), 1) if seconds else None
    row["label_reason"] = "; ".join(texts) or None
    return row
