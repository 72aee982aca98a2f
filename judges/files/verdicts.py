"""Verdicts from a file: what another program's judge answered, read as if it had been asked
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, get_args

import orjson

from ..errors import DataError, InputError
from ..judged_dataset import JudgedDataset
from ..rows import Dataset, Row
from ..scale import OutputScale
from ..verdict import Answer, Unscored, UnscoredReason, Verdict
from .columns import Draft, Table, read_table
from .groups import NO_GROUP, GuessedGroups, guess_groups
from .label_words import ColumnWords, read_grade
from .problems import Problems, shorten
from .records import Cell, name_of, read_records, unit_of
from .rows_in_memory import RowSource
from .verdict_columns import (
    CLASSES,
    RATIONALE,
    REASON,
    VerdictColumns,
    output_columns,
    roles_of,
    texts_of,
)
from .verdict_items import INPUTS, ScoredDraft, aggregate_rows
from .verdict_scale import (
    clipped,
    describe_scales,
    far_scores,
    infer_scales,
    map_note,
    say_outside,
    state_scales,
    words_for,
)


def load_verdicts(path: RowSource, **columns: Any) -> JudgedDataset:  # Any: of several types
    """Read the verdicts of one judge; the arguments are the fields of `VerdictColumns`.

    Unless a scale is stated, those of labels and scores are inferred separately: 0 and 1 are
    binary, other whole numbers are grades, fractions in [0, 1] are probabilities.

    Raises:
        InputError: As `load_judges`, or there are several judges.
        DataError: As `load_judges`.
    """
    chosen = VerdictColumns(**columns)
    judges = load_judges(path, chosen)
    if len(judges) > 1:
        message = f"{path}: {chosen.score!r} names {len(judges)} judges, and one is needed"
        raise InputError(message, hint=f"name one: {', '.join(judges)}")
    return next(iter(judges.values()))


def load_judges(path: RowSource, columns: VerdictColumns) -> dict[str, JudgedDataset]:
    """Read a file with one verdict a row, or with the scores of several judges side by side; by the
    judges' names.

    Raises:
        InputError: No probability can reach the threshold, values are spread too wide to be grades,
            or labels lie outside the stated scale.
        DataError: The file, or any of its rows, cannot be used; up to ten problems are named.
    """
    first = next(read_records(path, Problems(path, unit_of(path))), None)
    matrix = "*" in columns.score
    if first is not None and columns.score not in first.fields:
        matrix = matrix or any(name.startswith(f"{columns.score}.") for name in first.fields)
    if matrix and columns.confidence:
        raise InputError(
            f"{path}: a matrix of judges has no column of confidences",
            hint="leave out --confidence",
        )
    table = read_table(path, roles_of(columns, matrix=matrix))
    if columns.require_labels and not table.grades:
        raise DataError(
            f"{path}: no row has a label in column {columns.label!r}",
            hint="name it with --label COLUMN",
        )
    guessed = GuessedGroups(table.group)
    if table.group is None:
        texts = texts_of([draft.meta for draft in table.drafts])
        guessed = guess_groups(texts, ungrouped=columns.group == NO_GROUP, inputs=False)
        for draft, key in zip(table.drafts, guessed.keys, strict=False):
            draft.group = key
    table.notes += guessed.notes(len({draft.group for draft in table.drafts if draft.group}))
    if not matrix:
        name = name_of(path)
        cells = [draft.aside[columns.score] for draft in table.drafts]
        return {name: _judged_dataset(table, columns, name, cells)}
    names = _matrix_columns(table, columns.score)
    # Every judge's column leaves the metadata before the first is read: none may slice the rows of
    # another.
    scores = {
        name: [draft.meta.pop(column, None) for draft in table.drafts]
        for name, column in names.items()
    }
    judges: dict[str, JudgedDataset] = {}
    for name, cells in scores.items():
        judges[name] = _judged_dataset(table, columns, name, cells, matrix=True)
    return judges


def _matrix_columns(table: Table, score: str) -> dict[str, str]:
    """Return the columns that a pattern names, by the judge's name: what follows the last dot
    before the star.
    """
    pattern = score if "*" in score else f"{score}.*"
    container, dot, _ = pattern.partition("*")[0].rpartition(".")
    names = dict.fromkeys(name for draft in table.drafts for name in draft.meta)
    columns = {
        name.removeprefix(container + dot): name for name in names if fnmatchcase(name, pattern)
    }
    if not columns:
        listed = ", ".join(shorten(name) for name in list(names)[:30])
        raise DataError(
            f"{table.path}: no column is called like {pattern!r}. The columns are {listed}"
        )
    return columns


def _judged_dataset(
    table: Table, columns: VerdictColumns, name: str, cells: Sequence[Cell], *, matrix: bool = False
) -> JudgedDataset:
    notes = [*table.notes, *map_notes(columns, name)]
    words = ColumnWords(cells, words_for(columns.map_of(name)))
    rows = _read_scores(table, columns, words, cells, notes)
    labels, scores = {float(grade) for grade in table.grades}, set(_counted_scores(rows))
    if not scores:
        column = name if matrix else columns.score
        hint = words.hint("--score-map") or "name it with --score COLUMN"
        raise DataError(f"{table.path}: no row has a score in column {column!r}", hint=hint)
    classes = classes_of(table.path, {draft.aside.get(CLASSES) for draft in table.drafts})
    grades = labels | table.worded, scores | words.grades
    scales = choose_scales(table.path, name, classes, grades, columns, notes)
    if columns.scale is not None:
        rows = _keep_to_scale(rows, columns.scale, columns.clip, notes)
        labels = {row.draft.label for row in rows if row.draft.label is not None}
        scores = set(_counted_scores(rows))
    if classes is None:
        describe_scales(scales, labels, scores, notes)
    if columns.aggregate:
        problems = Problems(table.path, unit_of(table.path))
        rows = aggregate_rows(rows, columns.aggregate, columns.by, problems, notes)
    unlabelled, unscored = (
        sum(row.draft.label is None for row in rows),
        sum(row.score is None for row in rows),
    )
    notes += missing_notes(unlabelled if columns.require_labels else 0, unscored, len(rows))
    label_scale, score_scale = scales
    dataset = Dataset.of(
        (_row(row.draft) for row in rows), labels=label_scale, name=name_of(table.path), notes=notes
    )
    rationale = columns.rationale or RATIONALE
    models = {draft.meta.get("judge_model") for draft in table.drafts}
    model = models.pop()
    return JudgedDataset(
        dataset=dataset,
        answers=tuple(_answer(row, score_scale, rationale) for row in rows),
        scale=score_scale,
        judge=name if matrix else table.path.name,
        model=model if not models and isinstance(model, str) else "",  # that every row names
        simulated=any(draft.meta.get("simulated") is True for draft in table.drafts),
        outputs=output_columns(table.drafts, columns.score, labels | scores),
    )


def classes_of(path: RowSource, texts: set[Cell]) -> OutputScale | None:
    """Return the scale of a judge that chooses among classes, as `bench --out` wrote it; None for
    any other file.

    Raises:
        DataError: Rows name different classes in the column `CLASSES`.
    """
    names: set[tuple[str, ...]] = set()
    for text in texts:
        try:
            body = orjson.loads(text) if isinstance(text, str) else None
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, list) or not all(isinstance(name, str) for name in body):
            return None  # a column of that name in some other file
        names.add(tuple(body))
    if len(names) > 1:
        raise DataError(
            f"{path}: rows name different {CLASSES}", hint="keep the verdicts of one judge a file"
        )
    return OutputScale(kind="choice", labels=names.pop()) if names else None


def choose_scales(
    path: RowSource,
    judge: str,
    classes: OutputScale | None,
    grades: tuple[set[float], set[float]],
    columns: VerdictColumns,
    notes: list[str],
) -> tuple[OutputScale, OutputScale]:
    """Return the scales of labels and scores: the judge's classes, those that are stated, or what
    the grades show.

    The grades are all labels and all scores; thresholds are stated by the judge's name.

    Raises:
        DataError: A label or a score is no place among the classes.
        InputError: An order of the classes is asked for, or the scales cannot be told.
    """
    labels, scores = grades
    if classes is not None:
        _require_places(path, classes, labels | scores, columns)
        notes.append(f"the judge chooses among {', '.join(classes.labels)}")
        return classes, classes
    if columns.scale is None:
        return infer_scales(labels, scores, columns.cuts(judge), notes)
    return state_scales(columns.scale, columns.cuts(judge))


def missing_notes(unlabelled: int, unscored: int, rows: int) -> Iterator[str]:
    """Yield how many rows have no label, and how many no score, where some have none."""
    if unlabelled:
        yield f"{unlabelled:,} of {rows:,} rows have no label"
    if unscored:
        yield f"{unscored:,} of {rows:,} rows have no score; they are unscored, not wrong"


def _require_places(
    path: RowSource, classes: OutputScale, grades: set[float], columns: VerdictColumns
) -> None:
    """Make sure that labels and scores are places among the classes, and that nothing is asked of
    their order.

    Raises:
        InputError: A scale or threshold is stated.
        DataError: A label or score is no place.
    """
    if (
        columns.scale is not None
        or columns.threshold is not None
        or columns.label_threshold is not None
    ):
        raise InputError(
            f"{path}: its judge chooses among classes, which have no order",
            hint="leave out --scale and --threshold",
        )
    if strange := sorted(grades - set(classes.levels)):
        raise DataError(
            f"{path}: {strange[0]:g} is no place among the {len(classes.labels)} classes of column"
            f" {CLASSES!r}"
        )


def _counted_scores(rows: Sequence[ScoredDraft]) -> Counter[float]:
    return Counter(row.score for row in rows if row.score is not None)


def _read_scores(
    table: Table,
    columns: VerdictColumns,
    words: ColumnWords,
    cells: Sequence[Cell],
    notes: list[str],
) -> list[ScoredDraft]:
    """Read each row's score and confidence; a score that is neither empty nor a number becomes the
    reason.
    """
    confidences = Confidences(table.path, columns.confidence)
    rows: list[ScoredDraft] = []
    for draft, cell in zip(table.drafts, cells, strict=True):
        score, missing = None, "no score in the file"
        try:
            score = read_grade(cell, words.words)
        except ValueError:
            missing = f"the file's score is {shorten(cell)}"
        confidence = confidences.read(draft)
        rows.append(ScoredDraft(draft=draft, score=score, missing=missing, confidence=confidence))
    notes += [*confidences.notes(), *score_notes(words)]
    far: set[float] = set() if columns.scale else far_scores(_counted_scores(rows), notes)
    for at, row in enumerate(rows):
        if row.score in far:
            rows[at] = replace(
                row, score=None, missing=f"the file's score is {row.score:g}, which is no grade"
            )
    return rows


def score_notes(words: ColumnWords) -> Iterator[str]:
    """Yield how words of the score were read, and the option for those that nobody knows."""
    yield from words.notes("scores")
    if hint := words.hint("--score-map"):
        yield f"some scores are words that are no grades, which leaves their rows unscored; {hint}"


def _keep_to_scale(
    rows: Sequence[ScoredDraft], scale: OutputScale, clip: bool, notes: list[str]
) -> list[ScoredDraft]:
    """Clip labels and scores beyond the ends of a stated scale, or take such scores away."""
    labels, scores = [row.draft.label for row in rows], [row.score for row in rows]
    counted = Counter(label for label in labels if label is not None), _counted_scores(rows)
    say_outside(*counted, scale, clip, notes)
    within: list[ScoredDraft] = []
    for row, label, score in zip(rows, clipped(labels, scale), clipped(scores, scale), strict=True):
        missing = row.missing
        if score != row.score and not clip:
            score, missing = None, f"the score {row.score:g} is outside the scale"
        within.append(
            replace(row, draft=replace(row.draft, label=label), score=score, missing=missing)
        )
    return within


class Confidences:
    """Reads a judge's confidences out of their column."""

    def __init__(self, path: RowSource, column: str | None) -> None:
        self._column = column
        self._problems = Problems(path, unit_of(path))
        self._strange = 0
        self._first_strange = ""

    def read(self, draft: Draft) -> float | None:
        """Return a row's confidence; None without one, and for a number outside [0, 1]."""
        if self._column is None:
            return None
        cell, value = draft.aside[self._column], None
        try:
            value = read_grade(cell, {})
        except ValueError:
            self._problems.add(draft.at, f"field {self._column!r}: {shorten(cell)} is not a number")
        if value is None or 0.0 <= value <= 1.0:
            return value
        self._strange += 1
        self._first_strange = self._first_strange or f"{cell!r} in row {draft.id!r}"
        return None

    def notes(self) -> list[str]:
        """Return what to know of them, once all have been read.

        Raises:
            DataError: One is no number.
        """
        self._problems.check(hint="a confidence is a number in [0, 1]")
        if not self._strange:
            return []
        count = f"{self._strange:,} (the first is {self._first_strange})"
        return [f"{self._column} outside [0, 1], left out: {count}"]


def map_notes(columns: VerdictColumns, name: str) -> Iterator[str]:
    """Yield what the maps of labels and scores did."""
    yield from map_note("labels", columns.label_map)
    yield from map_note("scores", columns.map_of(name))


def _row(draft: Draft) -> Row:
    """Build the row; texts under `inputs.` are its inputs, not columns to slice by."""
    inputs: dict[str, str] = {}
    meta: dict[str, Cell] = {}
    for name, value in draft.meta.items():
        if name.startswith(INPUTS):
            inputs[name.removeprefix(INPUTS)] = "" if value is None else str(value)
        else:
            meta[name] = value
    return draft.row(inputs, meta)


def unscored_reason(cell: Cell) -> UnscoredReason:
    """Return why a row has no score, as `bench --out` wrote it; files of other programs do not
    say.
    """
    return next((reason for reason in get_args(UnscoredReason) if reason == cell), "parse")


def _answer(row: ScoredDraft, scale: OutputScale, rationale_column: str) -> Answer:
    draft = row.draft
    if row.score is None:
        reason = unscored_reason(draft.aside.get(REASON))
        return Unscored(row_id=draft.id, reason=reason, detail=row.missing)
    rationale = draft.aside.get(rationale_column)
    return Verdict(
        row_id=draft.id,
        score=row.score,
        positive=scale.positive(row.score),
        confidence=row.confidence,
        rationale="" if rationale is None else str(rationale),
        parser="file",
    )
