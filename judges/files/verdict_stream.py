"""Verdicts of one judge read from a large file as a stream: rows are counted by what metrics need,
and not kept.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from math import isnan, nan
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..judged_arrays import FloatArray, IntArray
from ..judged_columns import JudgedColumns
from ..rows import SAMPLING_PROBABILITY, Dataset
from ..scale import OutputScale
from .cell_counts import CHUNK, Hashes, RowCounts
from .columns import (
    Roles,
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
from .records import Cell, Record, kind_of, name_of, read_records, unit_of
from .verdict_columns import CLASSES, REASON, VerdictColumns, roles_of, texts_of
from .verdict_items import INPUTS
from .verdict_scale import describe_scales, far_scores, say_outside, words_for
from .verdicts import (
    choose_scales,
    classes_of,
    map_notes,
    missing_notes,
    score_notes,
    unscored_reason,
)

STREAMED = 1 << 25
"""Bytes of a file from which its verdicts are read as a stream."""
_CACHED = 1 << 16
"""Cells of a column whose grades are remembered."""


def can_stream(path: Path, columns: VerdictColumns) -> bool:
    """Whether the verdicts of a file can be read without their rows: those of one judge, a record
    after the other.
    """
    if columns.aggregate or "*" in columns.score or kind_of(path) == ".json":
        return False
    first = next(read_records(path, Problems(path, unit_of(path))), None)
    return first is not None and columns.score in first.fields


def stream_verdicts(path: Path, columns: VerdictColumns) -> JudgedColumns:
    """Read the verdicts of one judge, as `load_judges` does, and keep how often what occurs.

    Memory grows with the different labels, scores and confidences (some 100 bytes for each
    combination) and, where rows share groups, with the combinations in each. `can_stream` must hold
    for the file.

    Raises:
        InputError: As `load_judges`.
        DataError: As `load_judges`.
    """
    roles = roles_of(columns, matrix=False)
    with tempfile.TemporaryFile() as file:
        reader = _Reader(path=path, columns=columns, roles=roles, hashes=Hashes(file))
        reader.read()
    return reader.judged()


def _reader_of(words: Mapping[str, float]) -> Callable[[Cell], float]:
    """Return what reads the grades of a column, each spelling once; NaN for none."""

    @lru_cache(_CACHED, typed=True)  # 1, 1.0 and True are equal, and read differently
    def read(cell: Cell) -> float:
        grade = read_grade(cell, words)
        return nan if grade is None else float(grade)

    return read


@dataclass(kw_only=True)
class _Chunk:
    """Rows that are not counted yet."""

    labels: list[float] = field(default_factory=list[float])
    scores: list[float] = field(default_factory=list[float])
    confidences: list[float] = field(default_factory=list[float])
    groups: list[int] = field(default_factory=list[int])
    ids: list[int] = field(default_factory=list[int])


@dataclass(kw_only=True)
class _Reader:
    path: Path
    columns: VerdictColumns
    roles: Roles
    hashes: Hashes
    counts: RowCounts = field(default_factory=RowCounts)
    """By label, score, confidence and group."""
    group: str | None = None
    by_id: str | None = None
    seen: set[str] = field(default_factory=set[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    texts: dict[str, set[Cell]] = field(default_factory=dict[str, set[Cell]])
    """What columns hold that say something of the file as a whole; of each a few values."""
    all_labels: set[float] = field(default_factory=set[float])
    """Labels of rows that are left out, too."""
    strange: list[str] = field(default_factory=list[str])
    strange_count: int = 0
    rows: int = 0
    label_words: ColumnWords = field(init=False)
    score_words: ColumnWords = field(init=False)
    notes: list[str] = field(default_factory=list[str])
    guessed: GuessedGroups | None = None
    """The text that makes the groups where no column does."""
    ungrouped: int = 0
    uneven: int = 0

    def read(self) -> None:
        """Read the file to its end.

        Raises:
            DataError: The file, or any of its rows, cannot be used.
        """
        columns = self.columns
        self._look_at_head()
        unreadable = Problems(self.path, unit_of(self.path))
        not_numbers = Problems(self.path, unit_of(self.path))
        label_of = _reader_of(self.roles.words)
        score_of = _reader_of(self.score_words.words)
        confidence_of = _reader_of({})
        label_column, score_column, confidence_column = (
            columns.label,
            columns.score,
            columns.confidence,
        )
        chunk, faulty, names = _Chunk(), False, None
        for record in read_records(self.path, unreadable):
            fields = record.fields
            if fields.keys() != names:
                if names is None:
                    self._choose(fields.keys())
                names = fields.keys()
                self.seen.update(names)
            row_id = str(record.at) if self.by_id is None else fields.get(self.by_id)
            if row_id.__class__ is not str:
                row_id = as_text(row_id)
            if not row_id:
                faulty = True
                continue
            if self.by_id is not None:
                chunk.ids.append(hash(row_id))
            try:
                label = label_of(fields.get(label_column))
            except ValueError:
                faulty = True
                continue
            drawn = fields.get(SAMPLING_PROBABILITY)
            if drawn is not None and (drawn := self._drawn(record)) != 1:
                faulty = faulty or drawn is None
                if not isnan(label):
                    self.all_labels.add(label)
                self.uneven += 1
                continue
            try:
                score = score_of(fields.get(score_column))
            except ValueError:
                score = nan
            if score != score:  # NaN  # half the time of isnan, on every row
                self.reasons[unscored_reason(fields.get(REASON))] += 1
            confidence = nan
            if confidence_column:
                confidence = self._confidence(record, confidence_column, confidence_of, not_numbers)
            if self.group is not None:
                chunk.groups.append(self._group_of(fields.get(self.group), str(row_id)))
            for name, values in self.texts.items():
                if len(values) < 64:
                    values.add(fields.get(name))
            chunk.labels.append(label)
            chunk.scores.append(score)
            chunk.confidences.append(confidence)
            if len(chunk.labels) >= CHUNK or len(chunk.ids) >= CHUNK:
                self._count(chunk)
                chunk = _Chunk()
        self._count(chunk)
        doubled = self.hashes.doubled()
        if (
            faulty
            or doubled
            or unreadable.total
            or names is None
            or not self.roles.needed.keys() <= self.seen
        ):
            self._explain(doubled)
        self.notes += unreadable.said()
        not_numbers.check(hint="a confidence is a number in [0, 1]")

    def _choose(self, names: Collection[str]) -> None:
        """Choose columns as `read_table` does, from the names of the first record."""
        self.by_id, self.group = self.roles.id_and_group(names)
        if self.guessed:
            self.group = self.guessed.column
        self.texts = {name: set() for name in (CLASSES, "judge_model", "simulated")}

    def _look_at_head(self) -> None:
        """Find in the first rows what words stand for, and the text that makes the groups where no
        column does.
        """
        head = list(islice(read_records(self.path, Problems(self.path)), LOOKED_AT))
        labels, scores = (
            [record.fields.get(name) for record in head]
            for name in (self.columns.label, self.columns.score)
        )
        self.label_words = ColumnWords(labels, self.roles.words)
        self.score_words = ColumnWords(scores, words_for(self.columns.map_of(name_of(self.path))))
        self.roles = replace(self.roles, words=self.label_words.words)
        if not head or self.roles.id_and_group(head[0].fields)[1]:
            return
        without = {self.roles.label, self.roles.id or "id", *self.roles.aside}
        texts = texts_of([record.fields for record in head], without)
        self.guessed = guess_groups(texts, ungrouped=self.roles.ungrouped, inputs=False)
        name = self.guessed.column
        if name is not None and f"{INPUTS}{name}" in head[0].fields:
            self.guessed = replace(self.guessed, column=f"{INPUTS}{name}")

    def _group_of(self, cell: Cell, row_id: str) -> int:
        text = cell if cell.__class__ is str else as_text(cell)
        if text:
            return hash(" ".join(str(text).split()) if self.guessed else text)
        self.ungrouped += 1
        return hash(f"\0{row_id}")

    def _drawn(self, record: Record) -> float | None:
        """Return with which probability a row was drawn; None where the file does not say it
        rightly.
        """
        problems = Problems(self.path)
        drawn = read_draft(record, self.roles, self.by_id, self.group, problems).probability
        return None if problems.total else drawn

    def _confidence(
        self, record: Record, column: str, read: Callable[[Cell], float], problems: Problems
    ) -> float:
        cell = record.fields.get(column)
        try:
            value = read(cell)
        except ValueError:
            problems.add(record.at, f"field {column!r}: {shorten(cell)} is not a number")
            return nan
        if not value < 0.0 and not value > 1.0:
            return value
        self.strange_count += 1
        if not self.strange:
            row_id = (
                str(record.at) if self.by_id is None else as_text(record.fields.get(self.by_id))
            )
            self.strange.append(f"{cell!r} in row {row_id!r}")
        return nan

    def _count(self, chunk: _Chunk) -> None:
        self.rows += len(chunk.labels)
        if chunk.ids:
            self.hashes.add(np.array(chunk.ids, np.int64))
        if not chunk.labels:
            return
        cells = chunk.labels, chunk.scores, chunk.confidences
        columns = [np.array(values) + 0.0 for values in cells]
        groups = np.array(chunk.groups or [0] * len(chunk.labels), np.int64)
        keys = [np.where(np.isnan(values), nan, values).view(np.uint64) for values in columns]
        self.counts.add(np.column_stack([*keys, groups.view(np.uint64)]))

    def _explain(self, doubled: set[int]) -> None:
        """Read the file once more and say all that is wrong with it; do nothing where nothing
        is.
        """
        unreadable, problems = (
            Problems(self.path, unit_of(self.path)),
            Problems(self.path, unit_of(self.path)),
        )
        ids: dict[str, int] = {}
        for record in read_records(self.path, unreadable):
            draft = read_draft(record, self.roles, self.by_id, self.group, problems)
            if (
                hash(draft.id) in doubled
                and draft.id
                and ids.setdefault(draft.id, draft.at) != draft.at
            ):
                message = (
                    f"the id {shorten(draft.id)} was used before, on {problems.unit}"
                    f" {ids[draft.id]}"
                )
                problems.add(draft.at, message)
        hint = list_hint(unreadable) or self.label_words.hint()
        if not self.roles.needed.keys() <= self.seen:
            unreadable.check(hint=list_hint(unreadable))
            if not self.seen:
                raise DataError(f"{self.path}: the file has no rows")
            refuse_missing(self.path, self.roles.needed, self.seen)
        unreadable.check(problems, hint=hint)

    def judged(self) -> JudgedColumns:
        """Return what was counted, on the scales that the grades show or that were stated.

        Raises:
            InputError: The scales cannot be told, or labels lie outside the stated one.
            DataError: No row has a label or a score.
        """
        path, columns, name = self.path, self.columns, name_of(self.path)
        counted, weight = self.counts.total()
        label, score, confidence = (counted[:, at].copy().view(np.float64) for at in range(3))
        group = None if self.group is None else counted[:, 3].view(np.int64)
        rows = _Rows(label=label, score=score, confidence=confidence, group=group, weight=weight)
        labels, scores = _present(rows.label) | self.all_labels, _present(rows.score)
        if columns.require_labels and not labels:
            raise DataError(
                f"{path}: no row has a label in column {columns.label!r}",
                hint="name it with --label COLUMN",
            )
        notes: list[str] = []
        if self.by_id is None:
            notes.append(id_note(unit_of(path)))
        notes += self.notes
        if self.uneven:
            notes.append(uneven_note(path, self.uneven, self.rows))
        groups = self.guessed or GuessedGroups(self.group)
        if groups.column is not None:
            groups = replace(groups, column=groups.column.removeprefix(INPUTS))
        n_groups = 0 if rows.group is None else len(np.unique(rows.group)) - self.ungrouped
        notes += [*self.label_words.notes("labels"), *groups.notes(n_groups)]
        notes += [*map_notes(columns, name), *score_notes(self.score_words)]
        if columns.scale is None and (far := far_scores(_counted(rows.score, rows.weight), notes)):
            rows = replace(rows, score=np.where(np.isin(rows.score, list(far)), nan, rows.score))
            scores -= far
        if self.strange:
            first = f"(the first is {self.strange[0]})"
            notes.append(
                f"{columns.confidence} outside [0, 1], left out: {self.strange_count:,} {first}"
            )
        if not scores:
            column = columns.score
            raise DataError(
                f"{path}: no row has a score in column {column!r}",
                hint="name it with --score COLUMN",
            )
        classes = classes_of(path, self.texts[CLASSES])
        grades = labels | self.label_words.grades, scores | self.score_words.grades
        scales = choose_scales(path, name, classes, grades, columns, notes)
        if columns.scale is not None:
            rows = rows.kept_to(columns.scale, columns.clip, notes)
            labels, scores = _present(rows.label), _present(rows.score)
        if classes is None:
            describe_scales(scales, labels, scores, notes)
        return self._columns(rows, scales, notes)

    def _columns(
        self, rows: _Rows, scales: tuple[OutputScale, OutputScale], notes: list[str]
    ) -> JudgedColumns:
        no_label, no_score = np.isnan(rows.label), np.isnan(rows.score)
        unlabelled, unscored = int(rows.weight[no_label].sum()), int(rows.weight[no_score].sum())
        notes += missing_notes(
            unlabelled if self.columns.require_labels else 0, unscored, self.rows
        )
        reasons = self.reasons + Counter(parse=unscored - self.reasons.total())
        missing = no_score & ~no_label
        positive = int(rows.weight[missing & (rows.label >= scales[0].threshold)].sum())
        scored = ~no_label & ~no_score
        model = self._typed("judge_model")
        return JudgedColumns(
            dataset=Dataset(rows=(), labels=scales[0], name=name_of(self.path), notes=tuple(notes)),
            scale=scales[1],
            judge=self.path.name,
            model=model[0] if len(model) == 1 and isinstance(model[0], str) else "",
            simulated=True in self._typed("simulated"),
            labels=rows.label[scored],
            scores=rows.score[scored],
            confidences=rows.confidence[scored],
            weights=rows.weight[scored],
            groups=(
                _shared(rows.group[scored], rows.weight[scored]) if rows.group is not None else None
            ),
            inputs=tuple(
                sorted(name.removeprefix(INPUTS) for name in self.seen if name.startswith(INPUTS))
            ),
            reasons=dict(sorted((reason, count) for reason, count in reasons.items() if count)),
            without_label=unlabelled,
            without_verdict=(int(rows.weight[missing].sum()) - positive, positive),
            rows=self.rows,
        )

    def _typed(self, name: str) -> list[Cell]:
        """Return what a column holds, numbers and booleans read where the format has only texts."""
        cells = list(self.texts[name])
        if kind_of(self.path) not in (".csv", ".tsv"):
            return cells
        return type_of([cell for cell in cells if isinstance(cell, str)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows counted by all that is read of them, in the order in which each first came."""

    label: FloatArray
    score: FloatArray
    confidence: FloatArray
    group: IntArray | None
    weight: IntArray

    def kept_to(self, scale: OutputScale, clip: bool, notes: list[str]) -> _Rows:
        """Clip labels and scores beyond the ends of a stated scale, or take such scores away."""
        say_outside(
            _counted(self.label, self.weight), _counted(self.score, self.weight), scale, clip, notes
        )
        label, score = (
            np.clip(values, scale.low, scale.high) for values in (self.label, self.score)
        )
        if not clip:
            score = np.where(score == self.score, score, nan)
        return replace(self, label=label, score=score)


def _present(values: FloatArray) -> set[float]:
    """Return the different values, NaN left out."""
    return set(values[~np.isnan(values)].tolist())


def _counted(values: FloatArray, weight: IntArray) -> Counter[float]:
    counts: Counter[float] = Counter()
    for value, count in zip(values.tolist(), weight.tolist(), strict=True):
        if value == value:  # not NaN
            counts[value] += count
    return counts


def _shared(group: IntArray, weight: IntArray) -> IntArray | None:
    """Return the groups in order of first appearance; None where every row is its own."""
    _, first, codes = np.unique(group, return_index=True, return_inverse=True)
    if len(first) == int(weight.sum()):
        return None
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[codes]
