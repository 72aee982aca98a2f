"""Verdicts from a file: what another program's judge answered, read as if it had been asked
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, get_args

import orjson

from ..errors import DataError, InputError
from ..judged_dataset import JudgedDataset
from ..models.heap import collector_paused
from ..rows import Dataset, Row
from ..scale import OutputScale, parse_label_scale
from ..verdict import Answer, Unscored, UnscoredReason, Verdict
from .columns import Draft, Table, read_table
from .groups import NO_GROUP, GuessedGroups, guess_groups
from .label_words import ColumnWords, read_grade
from .problems import Problems, shorten
from .records import Cell, read_records
from .rows_in_memory import RowSource, name_of
from .verdict_columns import (
    CLASSES,
    RATIONALE,
    REASON,
    SCALES,
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


@collector_paused()
def load_judges(path: RowSource, columns: VerdictColumns) -> dict[str, JudgedDataset]:
    """Read a file with one verdict a row, or with the scores of several judges side by side; by the
    judges' names.

    Raises:
        InputError: No probability can reach the threshold, values are spread too wide to be grades,
            or labels lie outside the stated scale.
        DataError: The file, or any of its rows, cannot be used; up to ten problems are named.
    """
    first = next(read_records(path, Problems(path)), None)
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
        return {name: _judged_dataset(table, columns, name, cells, guessed.text)}
    names = _matrix_columns(table, columns.score)
    # Every judge's column leaves the metadata before the first is read: none may slice the rows of
    # another.
    scores = {
        name: [draft.meta.pop(column, None) for draft in table.drafts]
        for name, column in names.items()
    }
    judges: dict[str, JudgedDataset] = {}
    for name, cells in scores.items():
        judges[name] = _judged_dataset(table, columns, name, cells, guessed.text, matrix=True)
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
    table: Table,
    columns: VerdictColumns,
    name: str,
    cells: Sequence[Cell],
    group_text: str,
    *,
    matrix: bool = False,
) -> JudgedDataset:
    notes = [*table.notes, *map_notes(columns, name)]
    words = ColumnWords(cells, words_for(columns.map_of(name)))
    rows = _read_scores(table, columns, words, cells, notes)
    grading = grade_file(
        GradesOfFile(
            path=table.path,
            judge=name,
            score_column=name if matrix else columns.score,
            labels=Counter(row.draft.label for row in rows if row.draft.label is not None),
            scores=Counter(row.score for row in rows if row.score is not None),
            other_labels=table.grades,
            classes={draft.aside.get(CLASSES) for draft in table.drafts},
            scales={draft.meta.get(SCALES) for draft in table.drafts},
        ),
        columns,
        (table.worded, words),
        notes,
    )
    if grading.dropped or grading.clip_to is not None:
        rows = [_graded(row, grading) for row in rows]
    if columns.aggregate:
        problems = Problems(table.path)
        rows = aggregate_rows(rows, columns.aggregate, columns.by, problems, notes)
    unlabelled, unscored = (
        sum(row.draft.label is None for row in rows),
        sum(row.score is None for row in rows),
    )
    notes += missing_notes(unlabelled if columns.require_labels else 0, unscored, len(rows))
    models = {draft.meta.get("judge_model") for draft in table.drafts}
    model = models.pop()
    simulated = any(draft.meta.get("simulated") is True for draft in table.drafts)
    outputs = output_columns(table.drafts, columns.score, grading.occurring)
    rationale = columns.rationale or RATIONALE
    answers: list[Answer] = []
    if not matrix:
        table.drafts.clear()  # so that each goes as its row is made
    rows.reverse()

    def made() -> Iterator[Row]:
        while rows:
            row = rows.pop()
            answers.append(_answer(row, grading.scores, rationale))
            yield _row(row.draft)

    dataset = Dataset.of(
        made(),
        labels=grading.labels,
        name=name_of(table.path),
        notes=notes,
    )
    return JudgedDataset(
        dataset=replace(dataset, group_text=group_text),
        answers=tuple(answers),
        scale=grading.scores,
        judge=name if matrix else table.path.name,
        model=model if not models and isinstance(model, str) else "",  # that every row names
        simulated=simulated,
        outputs=outputs,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GradesOfFile:
    """The grades of a verdict file as its cells say them, before any scale is known."""

    path: RowSource
    judge: str
    score_column: str
    labels: Counter[float]
    scores: Counter[float]
    other_labels: set[float]
    """Labels of rows that are not measured, which show the scale all the same."""
    classes: set[Cell]
    """The different cells of the column `CLASSES`."""
    scales: set[Cell]
    """Those of the column `SCALES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """How the cells of a verdict file became grades on two scales."""

    labels: OutputScale
    scores: OutputScale
    clip_to: OutputScale | None
    """The scale to whose ends grades beyond them are moved."""
    dropped: Mapping[float, str]
    """The scores that are no grades, with the reason."""
    occurring: set[float]
    """Every grade that occurs."""


def grade_file(
    grades: GradesOfFile,
    columns: VerdictColumns,
    worded: tuple[Collection[float], ColumnWords],
    notes: list[str],
) -> Grading:
    """Find the scales of labels and scores, and the scores that are on none.

    Args:
        grades: Of the whole file.
        columns: What is stated of it.
        worded: The grades of the scales whose words the labels and the scores are.
        notes: Takes how both were read.

    Raises:
        InputError: No probability can reach the threshold, values are spread too wide to be grades,
            or labels lie outside the stated scale.
        DataError: No row has a score, or a grade is no place among the classes.
    """
    scale, scores = columns.scale, grades.scores
    dropped: dict[float, str] = {}
    if scale is None:
        for score in far_scores(scores, notes):
            dropped[score] = f"the file's score is {score:g}, which is no grade"
    on_scale = set(scores) - dropped.keys()
    if not on_scale:
        hint = worded[1].hint("--score-map") or "name it with --score COLUMN"
        raise DataError(
            f"{grades.path}: no row has a score in column {grades.score_column!r}", hint=hint
        )
    labels = set(grades.labels) | grades.other_labels
    classes = classes_of(grades.path, grades.classes)
    both = labels | set(worded[0]), on_scale | worded[1].grades
    if classes is not None:
        _require_places(grades.path, classes, set[float]().union(*both), columns)
        notes.append(f"the judge chooses among {', '.join(classes.labels)}")
        scales = classes, classes
    elif scale is None:
        cuts = columns.cuts(grades.judge)
        scales = _written_scales(grades, columns, both) or infer_scales(*both, cuts, notes)
    else:
        scales = state_scales(scale, columns.cuts(grades.judge))
    if scale is not None:
        say_outside(grades.labels, scores, scale, columns.clip, notes)
        labels = set(grades.labels)
        if not columns.clip:
            outside = [score for score in scores if not scale.low <= score <= scale.high]
            dropped |= {score: f"the score {score:g} is outside the scale" for score in outside}
    clip_to = scale if columns.clip else None
    labels = {clipped(label, clip_to) for label in labels}
    on_scale = {clipped(score, clip_to) for score in scores if score not in dropped}
    if classes is None:
        describe_scales(scales, labels, on_scale, notes)
    return Grading(
        labels=scales[0],
        scores=scales[1],
        clip_to=clip_to,
        dropped=dropped,
        occurring=labels | on_scale,
    )


def _graded(row: ScoredDraft, grading: Grading) -> ScoredDraft:
    """Return a row with its label and score on their scales."""
    score, missing, label = row.score, row.missing, row.draft.label
    if score is not None and score in grading.dropped:
        score, missing = None, grading.dropped[score]
    return replace(
        row,
        draft=replace(row.draft, label=None if label is None else clipped(label, grading.clip_to)),
        score=None if score is None else clipped(score, grading.clip_to),
        missing=missing,
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


def _written_scales(
    grades: GradesOfFile, columns: VerdictColumns, both: tuple[set[float], set[float]]
) -> tuple[OutputScale, OutputScale] | None:
    """Return the scales of labels and scores that the file states; None where it states none, or
    other columns are read.
    """
    mapped = columns.label_map or columns.map_of(grades.judge)
    if mapped or (columns.label, columns.score) != ("label", "score") or len(grades.scales) != 1:
        return None
    try:
        scales = [parse_label_scale(text) for text in str(*grades.scales).split()]
    except InputError:
        return None
    if len(scales) != 2 or not all(map(scales[0].contains, both[0])):
        return None
    if not all(map(scales[1].contains, both[1])):
        return None
    cuts = columns.cuts(grades.judge)
    return state_scales(scales[0], cuts)[0], state_scales(scales[1], cuts)[1]


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
    return rows


def score_notes(words: ColumnWords) -> Iterator[str]:
    """Yield how words of the score were read, and the option for those that nobody knows."""
    yield from words.notes("scores")
    if hint := words.hint("--score-map"):
        yield f"some scores are words that are no grades, which leaves their rows unscored; {hint}"


class Confidences:
    """Reads a judge's confidences out of their column."""

    def __init__(self, path: RowSource, column: str | None) -> None:
        self._column = column
        self._problems = Problems(path)
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
    if not any(name.startswith(INPUTS) for name in draft.meta):
        return draft.row(draft.inputs, draft.meta)
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
