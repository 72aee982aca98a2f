"""Verdicts of one judge read from a large file as a stream: rows are counted by what metrics need,
and not kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from ..judged_arrays import IntArray
from ..judged_columns import JudgedColumns
from ..rows import Dataset
from .columns import (
    Draft,
    as_text,
    id_note,
    list_hint,
    read_draft,
    refuse_missing,
    type_of,
    uneven_note,
)
from .groups import GuessedGroups, guess_groups
from .label_words import LOOKED_AT, ColumnWords, read_grade
from .problems import Problems, shorten
from .records import Cell, Record, read_records
from .rows_in_memory import kind_of, name_of
from .verdict_columns import CLASSES, REASON, SCALES, VerdictColumns, roles_of, texts_of
from .verdict_items import INPUTS
from .verdict_scale import words_for
from .verdicts import (
    Confidences,
    GradesOfFile,
    grade_file,
    map_notes,
    missing_notes,
    score_notes,
    unscored_reason,
)

Frame = Any
"""A data frame; Any, as pandas ships no types."""
STREAMED = 1 << 25
"""Bytes of a file from which its verdicts are read as a stream."""
_KEYS = ["label", "score", "confidence", "group", "reason"]
_OF_THE_FILE = (CLASSES, SCALES, "judge_model", "simulated")
"""Columns that say something of the file as a whole."""


def can_stream(path: Path, columns: VerdictColumns) -> bool:
    """Whether the verdicts of a file can be read without their rows: those of one judge, a record
    after the other.
    """
    if columns.aggregate or "*" in columns.score or kind_of(path) == ".json":
        return False
    first = next(read_records(path, Problems(path)), None)
    return first is not None and columns.score in first.fields


def stream_verdicts(path: Path, columns: VerdictColumns) -> JudgedColumns:
    """Read the verdicts of one judge, as `load_judges` does, and count how often what occurs.

    Memory grows with the different labels, scores and confidences, with the combinations in each
    group where rows share groups, and by 8 bytes a row for the ids. `can_stream` must hold for the
    file.

    Raises:
        InputError: As `load_judges`.
        DataError: As `load_judges`.
    """
    read = _Reading(path, columns)
    read.to_the_end()
    frame = read.frame()
    labels, scores = _counter(frame, "label"), _counter(frame, "score")
    if columns.require_labels and not labels and not read.uneven_labels:
        raise DataError(
            f"{path}: no row has a label in column {columns.label!r}",
            hint="name it with --label COLUMN",
        )
    notes = read.notes(frame)
    grades = GradesOfFile(
        path=path,
        judge=name_of(path),
        score_column=columns.score,
        labels=labels,
        scores=scores,
        other_labels=read.uneven_labels,
        classes=read.cells[CLASSES],
        scales=read.cells[SCALES],
    )
    grading = grade_file(grades, columns, (read.labels.grades, read.scores), notes)
    frame.loc[frame.score.isin(grading.dropped.keys()), ["score", "reason"]] = (nan, "parse")
    if grading.clip_to is not None:
        ends = grading.clip_to.low, grading.clip_to.high
        frame["label"], frame["score"] = frame.label.clip(*ends), frame.score.clip(*ends)
    rows, without_score = read.counts.total(), frame[frame.score.isna()]
    unlabelled = int(frame.weight[frame.label.isna()].sum())
    unscored = int(without_score.weight.sum())
    notes += missing_notes(unlabelled if columns.require_labels else 0, unscored, rows)
    missing = without_score[without_score.label.notna()]
    positive = int(missing.weight[missing.label >= grading.labels.threshold].sum())
    reasons = without_score.groupby("reason").weight.sum()
    scored = frame[frame.score.notna() & frame.label.notna()]
    model = _typed(path, read.cells["judge_model"])
    return JudgedColumns(
        dataset=Dataset(
            rows=(),
            labels=grading.labels,
            name=name_of(path),
            notes=tuple(notes),
            group_text=read.guessed.text,
        ),
        scale=grading.scores,
        judge=path.name,
        model=model[0] if len(model) == 1 and isinstance(model[0], str) else "",
        simulated=True in _typed(path, read.cells["simulated"]),
        label=scored.label.to_numpy(),
        score=scored.score.to_numpy(),
        confidence=scored.confidence.to_numpy(),
        weight=scored.weight.to_numpy(),
        shared_groups=None if read.group is None else _shared(scored),
        input_names=tuple(
            sorted(name[len(INPUTS) :] for name in read.names if name.startswith(INPUTS))
        ),
        unscored={str(reason) or "parse": int(count) for reason, count in reasons.items()},
        unlabelled=unlabelled,
        unanswered=(int(missing.weight.sum()) - positive, positive),
        total=rows,
    )


class _Reading:
    """The records of a file, given their roles and counted."""

    def __init__(self, path: Path, columns: VerdictColumns) -> None:
        self.path, self.columns = path, columns
        self.unreadable = Problems(path)
        self.stream = read_records(path, self.unreadable)
        self.head = list(islice(self.stream, LOOKED_AT))
        roles = roles_of(columns, matrix=False)
        self.labels = _words(self.head, columns.label, roles.words)
        self.scores = _words(self.head, columns.score, words_for(columns.map_of(name_of(path))))
        self.roles = replace(roles, words=self.labels.words)
        self.confidences = Confidences(path, columns.confidence)
        first = self.head[0].fields if self.head else {}
        self.by_id, self.group = roles.id_and_group(first)
        self.guessed = GuessedGroups(self.group)
        if self.group is None and self.head:
            without = {roles.label, roles.id or "id", *roles.aside}
            texts = texts_of([record.fields for record in self.head], without)
            self.guessed = guess_groups(texts, ungrouped=roles.ungrouped, inputs=False)
            self.group = self.guessed.column
            if f"{INPUTS}{self.group}" in first:
                self.group = f"{INPUTS}{self.group}"
        self.counts: Counter[tuple[float, float, float, int, str]] = Counter()
        self.names: set[str] = set()
        self.cells: dict[str, set[Cell]] = {name: set() for name in _OF_THE_FILE}
        self.uneven = 0
        self.uneven_labels: set[float] = set()
        self.ungrouped = 0

    def to_the_end(self) -> None:
        """Read and count all rows.

        Raises:
            DataError: The file, or any of its rows, cannot be used.
        """
        problems = Problems(self.path)
        ids = array("q")
        for record in chain(self.head, self.stream):
            self.names.update(record.fields)
            draft = read_draft(record, self.roles, self.by_id, self.group, problems)
            if draft.id and self.by_id is not None:
                ids.append(hash(draft.id))
            if draft.probability < 1:
                self.uneven += 1
                self.uneven_labels |= set() if draft.label is None else {draft.label}
            else:
                self._count(record, draft)
        first_problem = list_hint(self.unreadable)
        if not self.head:
            self.unreadable.check(hint=first_problem)
            raise DataError(f"{self.path}: the file has no rows")
        if not self.roles.needed.keys() <= self.names:
            self.unreadable.check(hint=first_problem)
            refuse_missing(self.path, self.roles.needed, self.names)
        _name_doubled(self.path, self.by_id, np.frombuffer(ids, np.int64), problems)
        self.unreadable.check(problems, hint=first_problem or self.labels.hint())

    def _count(self, record: Record, draft: Draft) -> None:
        for name, values in self.cells.items():
            values.add(record.fields.get(name))
        score = None
        with suppress(ValueError):
            score = read_grade(draft.aside[self.columns.score], self.scores.words)
        group = 0
        if self.group is not None and draft.group:
            # White space makes no other text.
            group = hash(" ".join(draft.group.split()) if self.guessed.keys else draft.group)
        elif self.group is not None:
            self.ungrouped += 1
            group = hash(f"\0{draft.id}")
        reason = "" if score is not None else unscored_reason(draft.aside.get(REASON))
        numbers = draft.label, score, self.confidences.read(draft)
        # One NaN for all: only the very same one is equal to itself.
        label, score, confidence = (nan if number is None else float(number) for number in numbers)
        self.counts[label, score, confidence, group, reason] += 1

    def frame(self) -> Frame:
        """Return the different rows, and how often each came as their `weight`."""
        import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

        frame: Frame = pd.DataFrame(list(self.counts), columns=_KEYS)
        frame["weight"] = list(self.counts.values())
        return frame

    def notes(self, frame: Frame) -> list[str]:
        """Return what to know of the file, once it has been read."""
        notes = [] if self.by_id is not None else [id_note(self.unreadable.unit)]
        notes += [*self.unreadable.said(), *self.labels.notes("labels")]
        if self.uneven:
            notes.append(uneven_note(self.path, self.uneven, self.counts.total()))
        groups = 0 if self.group is None else frame.group.nunique() - self.ungrouped
        notes += [*self.guessed.notes(groups), *map_notes(self.columns, name_of(self.path))]
        return [*notes, *self.confidences.notes(), *score_notes(self.scores)]


def _words(head: Sequence[Record], column: str, usual: Mapping[str, float]) -> ColumnWords:
    return ColumnWords([record.fields.get(column) for record in head], usual)


def _name_doubled(path: Path, by_id: str | None, ids: IntArray, problems: Problems) -> None:
    """Enter the ids that stand twice, for which the file is read again."""
    ids.sort()
    doubled = set(ids[1:][ids[1:] == ids[:-1]].tolist())
    if not doubled or by_id is None:
        return
    first: dict[str, int] = {}
    for record in read_records(path, Problems(path)):
        id = as_text(record.fields.get(by_id)) or ""
        if hash(id) in doubled and first.setdefault(id, record.at) != record.at:
            before = f"{problems.unit} {first[id]}"
            problems.add(record.at, f"the id {shorten(id)} was used before, on {before}")


def _counter(frame: Frame, column: str) -> Counter[float]:
    return Counter(frame.groupby(column, sort=False).weight.sum().to_dict())


def _typed(path: Path, cells: set[Cell]) -> list[Cell]:
    """Return what a column holds, numbers and booleans read where the format has only texts."""
    if kind_of(path) not in (".csv", ".tsv"):
        return list(cells)
    return type_of([cell for cell in cells if isinstance(cell, str)])


def _shared(scored: Frame) -> IntArray | None:
    """Return the groups in order of first appearance; None where every row is its own."""
    codes = scored.groupby("group", sort=False).ngroup().to_numpy()
    return None if scored.group.nunique() == scored.weight.sum() else codes.astype(np.int64)
