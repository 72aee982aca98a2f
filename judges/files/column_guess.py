"""Which column of a file is which of a judge's inputs, the label, the id or the group, guessed from
names and contents; a person agrees before anything is read by it.

Each role scores each column: by its name (`column_names.yaml`), and by whether its cells could be
that. The best assignment as a whole is proposed; roles that no one asked for, such as a reference
answer, take part, so that their columns are not taken for something else. A role is sure only where
every other assignment is clearly worse.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..errors import DataError
from .column_forms import form_of
from .column_names import (
    NEAR,
    SURE,
    TEXTS,
    concept_of,
    is_eastern,
    name_score,
    name_table,
    says_something,
    words_of_name,
)
from .label_words import MISSING, WORDS, number_of, read_grade, words_in
from .problems import Problems, shorten
from .records import Cell, read_records
from .rows_in_memory import RowSource

if TYPE_CHECKING:
    from ..judged_arrays import FloatArray, IntArray

LOOKED_AT = 200
"""Rows whose cells say what a column may be."""
_LEAST, _MARGIN = 0.2, 0.12
"""The score from which a column is proposed; what the next best assignment must lose for it to be
sure."""
_CONTENT_ALONE, _KNOWN_AS_OTHER = 0.3, 0.26
"""What contents are worth under a name that says nothing, and under one that says something else.
"""
_MOST_LABELS = 20
_ROLES = ("label", "id", "group")
_NOT_ASKED_FOR, _NEEDED, _LABEL_NEEDED = 0.9, 0.7, 0.45
"""What the score of a role is worth that nobody asked for, and what one that is needed has more."""


class UnclearColumnsError(DataError):
    """A file lacks columns of these names; `guessed` says which may be meant."""

    def __init__(self, message: str, guessed: GuessedColumns, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.guessed = guessed


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGuess:
    """The column that may be meant for one role."""

    role: str
    """An input of the judge, or `label`, `id`, `group`."""
    column: str = ""
    """Empty where none looks like it."""
    sure: bool = False
    """Whether no other column is nearly as good, and its name says so."""
    why: str = ""
    others: tuple[str, ...] = ()
    """Columns that are nearly as good."""
    needed: bool = False
    named: bool = False
    """Whether a person named it, or it has the very name."""

    @property
    def said(self) -> str:
        """Why, with a mark where it is in doubt."""
        return f"{'' if self.sure or not self.column else 'NOT SURE: '}{self.why}"

    @property
    def option(self) -> tuple[str, str]:
        """The option that names the column, as its two words."""
        column = self.column or "COLUMN"
        if self.role in _ROLES:
            return f"--{self.role}", column
        return "--column", f"{self.role}={column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedColumns:
    """All roles, and what their columns hold."""

    guesses: tuple[ColumnGuess, ...]
    inputs: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    """The first two values of each column, shortened."""
    labels: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    """What each value of the label's column is taken as; None for a word that says nothing."""
    form: str = ""
    """What can be done with the file where it holds conversations or pairs; empty for rows."""

    @property
    def complete(self) -> bool:
        """Whether there is a column for everything that is needed."""
        return not self.form and all(one.column for one in self.guesses if one.needed)

    @property
    def sure(self) -> bool:
        """Whether nothing is left to ask but a yes."""
        return self.complete and all(one.sure for one in self.guesses if one.column)

    @property
    def exact(self) -> bool:
        """Whether everything that is needed was named, or has the very name."""
        return all(one.named for one in self.guesses if one.needed)

    def column_of(self, role: str) -> str:
        """Return the column guessed for a role; empty for none."""
        return next((one.column for one in self.guesses if one.role == role), "")

    def options(self) -> list[tuple[str, str]]:
        """Return the options that say it, without those that say nothing new."""
        return [one.option for one in self.guesses if one.column and not one.named]

    def reading(self) -> dict[str, str | dict[str, str]]:
        """Return the same as arguments of `load_dataset`."""
        columns = {name: self.column_of(name) for name in self.inputs}
        others = {one.role: one.column for one in self.guesses if one.column}
        return {"columns": columns, **{name: others[name] for name in _ROLES if name in others}}

    def with_column(self, role: str, column: str) -> GuessedColumns:
        """Return the guess with the column that a person chose for a role."""
        guesses = [
            replace(one, column=column, sure=True, others=()) if one.role == role else one
            for one in self.guesses
        ]
        return replace(self, guesses=tuple(guesses))

    def doubts(self) -> list[str]:
        """Return what is in doubt, a sentence for each role."""
        return [f"not sure of {one.role}: {one.why}" for one in self.guesses if one.said != one.why]

    def label_line(self) -> str:
        """Return what each value of the label is taken as, on one line; empty without a label."""
        taken = (
            f"{shorten(text)} as {'?' if grade is None else format(grade, 'g')}"
            for text, grade in self.labels.items()
        )
        return ", ".join(taken)

    def describe(self) -> str:
        """Return the guess in a sentence, such as `source from context`."""
        return ", ".join(f"{one.role} from {one.column}" for one in self.guesses if one.column)


def guess_columns(
    header: Sequence[str],
    rows: Sequence[Mapping[str, Cell]],
    inputs: Sequence[str],
    *,
    named: Mapping[str, str] | None = None,
    label_needed: bool = True,
) -> GuessedColumns:
    """Guess which column is which.

    Args:
        header: The columns.
        rows: The first rows.
        inputs: The judge's.
        named: The columns that a person named, by role; they are not guessed.
        label_needed: Whether rows must have a label.
    """
    said = {role: column for role, column in (named or {}).items() if column in header}
    cells = {name: [row.get(name) for row in rows[:LOOKED_AT]] for name in header}
    contents = {name: _content(cells[name]) for name in header}
    needed = {*inputs, *(("label",) if label_needed else ())}
    roles = [*inputs, *_ROLES]
    wrong = misleading_column(rows, {*inputs} - said.keys())
    very = {role: role for role in roles if role in header and not (wrong and role == wrong[0])}
    fixed = {**very, **said}
    form = "" if needed <= fixed.keys() else form_of(header, cells)
    found = {role: ColumnGuess(role=role, why="the file holds no rows") for role in roles}
    if not form:
        free = [role for role in roles if role not in fixed]
        found |= _assigned(free, header, contents, fixed)
    for role, column in fixed.items():
        found[role] = ColumnGuess(role=role, column=column, sure=True, why="its name", named=True)
    guesses = [replace(found[role], needed=role in needed) for role in roles]
    label = next(one.column for one in guesses if one.role == "label")
    return GuessedColumns(
        guesses=tuple(guesses),
        inputs=tuple(inputs),
        values={name: _first_values(cells[name]) for name in header},
        labels=_label_values(cells[label]) if label else {},
        form=form,
    )


def guess_file_columns(
    path: RowSource,
    inputs: Sequence[str],
    *,
    named: Mapping[str, str] | None = None,
    label_needed: bool = True,
) -> GuessedColumns:
    """Guess the columns of a file from its first rows.

    Raises:
        DataError: The file cannot be read, or has no rows.
    """
    problems = Problems(path)
    rows = [record.fields for record in itertools.islice(read_records(path, problems), LOOKED_AT)]
    if not rows:
        problems.check()
        raise DataError(f"{path}: the file has no rows")
    header = list(dict.fromkeys(name for row in rows for name in row))
    return guess_columns(header, rows, inputs, named=named, label_needed=label_needed)


def misleading_column(
    rows: Sequence[Mapping[str, Cell]], inputs: Collection[str]
) -> tuple[str, str] | None:
    """Return an input whose column of that name holds a few short values, such as where a row is
    from, and the column that looks far more like it; None where there is none.
    """
    rows = rows[:LOOKED_AT]
    for role in inputs:
        own = _content([row.get(role) for row in rows])
        if not own.repeats or own.length >= 40:
            continue
        for name in rows[0].keys() - {*inputs}:
            if name_score(name, role) >= SURE:
                other = _content([row.get(name) for row in rows])
                if other.text == 1 and other.length > 3 * own.length:
                    return role, name
    return None


def refuse_unclear(path: RowSource, message: str, guessed: GuessedColumns) -> None:
    """Refuse a file whose columns have other names, with the options that say which is meant.

    Raises:
        UnclearColumnsError: Always.
    """
    if guessed.form:
        raise UnclearColumnsError(f"{path}: {guessed.form}", guessed)
    missing = [one.option for one in guessed.guesses if one.needed and not one.column]
    words = [word for one in [*guessed.options(), *missing] for word in one]
    hint = "; ".join([f"name the column with {shlex.join(words)}", *guessed.doubts()])
    raise UnclearColumnsError(message, guessed, hint=hint)


class _Content(NamedTuple):
    """What the cells of a column could be, each from 0 to 1."""

    text: float
    label: float
    decides: bool
    """Whether every value is a word of a decision, such as yes and no, or a number in their place.
    """
    id: float
    group: float
    length: float
    asks: bool
    repeats: bool
    why: str


def _content(cells: Sequence[Cell]) -> _Content:
    texts = [str(cell).strip() for cell in cells if cell is not None]
    texts = [text for text in texts if text.casefold() not in MISSING]
    if not texts:
        return _Content(0.5, 0.3, False, 0, 0, 0, asks=False, repeats=False, why="empty")
    different = dict.fromkeys(texts)
    length = float(np.mean([_length(text) for text in texts]))
    numbers = sum(number_of(text) is not None for text in texts) / len(texts)
    words = sum(" " in text or _is_eastern(text) for text in texts) / len(texts)
    boolean = all(isinstance(cell, bool) for cell in cells if cell is not None)
    text = 0.1 if boolean else 0.3 if numbers > 0.5 else 1.0 if words > 0.5 else 0.5
    grades = _grades(list(different))
    decides = 1 < len(different) == len(grades)
    text = 0.2 if _looks_coded(texts) else 0.1 if decides else text
    repeats = len(texts) >= 4 and len(different) <= len(texts) / 2
    unique = len(different) == len(texts)
    short = length <= 60
    return _Content(
        text=text,
        label=_label_content(texts, list(different), grades, length),
        decides=decides,
        id=1.0 if unique and short and words < 0.5 else 0.0,
        group=1.0 if 1 < len(different) < len(texts) and short else 0.0,
        length=length,
        asks=sum(text.endswith(("?", "？", "か。", "か")) for text in texts) > len(texts) / 2,
        repeats=repeats and length < 40,
        why="few short values" if short and len(different) <= _MOST_LABELS else "",
    )


def _grades(different: Sequence[str]) -> list[float]:
    """Return the values that can be read as labels; none of many or long ones."""
    if len(different) > _MOST_LABELS or max(map(len, different)) > 40:
        return []
    words = words_in(different, WORDS)
    grades: list[float] = []
    for text in different:
        with suppress(ValueError):
            grade = read_grade(text, words)
            grades += [] if grade is None else [grade]
    return grades


def _label_content(
    texts: Sequence[str], different: Sequence[str], grades: Sequence[float], length: float
) -> float:
    if length > 40 or len(different) > _MOST_LABELS:
        values = [number_of(text) for text in different]
        share = all(value is not None and 0 <= value <= 1 for value in values)
        return 0.7 if share else 0.3 if texts[0].startswith("[") and length < 40 else 0.0
    # A column that says the same of every row may be anything.
    varies = 0.4 if len(different) == 1 < len(texts) else 1
    if len(grades) < len(different):
        few = len(different) <= 8 and all(len(text) < 30 for text in different)
        return (0.4 if few else 0.2) * varies
    if not grades or min(grades) < -10 or max(grades) > 100:
        return 0.1
    whole = all(grade == int(grade) and grade <= 10 for grade in grades)
    return (1.0 if whole else 0.6) * varies


def _length(text: str) -> int:
    """Characters, where one of Chinese or Japanese counts as three."""
    return len(text) + 2 * sum(map(is_eastern, text))


def _is_eastern(text: str) -> bool:
    return any(map(is_eastern, text[:20])) and len(text) > 3


def _looks_coded(texts: Sequence[str]) -> bool:
    """Whether the cells are addresses or codes rather than something that is read."""
    coded = sum(
        " " not in text
        and ("://" in text or (any(map(str.isdigit, text)) and number_of(text) is None))
        and not _is_eastern(text)
        and not text.startswith("[")
        for text in texts
    )
    return coded > len(texts) / 2


def _assigned(
    roles: Sequence[str],
    header: Sequence[str],
    contents: Mapping[str, _Content],
    fixed: Mapping[str, str],
) -> dict[str, ColumnGuess]:
    """Give each role the column of the best assignment, and say what is nearly as good."""
    columns = [name for name in header if name not in fixed.values()]
    taken = {concept_of(role) for role in [*roles, *fixed]}
    taken |= {NEAR.get(one, one) for one in taken}
    others = [name for name in (*TEXTS, "verdict") if name not in taken]
    every = [*roles, *others]
    scores = np.zeros((len(every), len(columns) + len(every)))
    for at, role in enumerate(every):
        row = _scores(role, {name: contents[name] for name in columns})
        worth = {"id": 0.0, "group": 0.0, "label": _LABEL_NEEDED}.get(role, _NEEDED)
        more = worth * (row >= _LEAST)
        scores[at, : len(columns)] = row + more if at < len(roles) else row * _NOT_ASKED_FOR

    total, chosen = _best(scores)
    chosen_columns = {at for at in chosen[: len(roles)] if at < len(columns)}
    found: dict[str, ColumnGuess] = {}
    for at, role in enumerate(roles):
        column_at = chosen[at]
        if column_at >= len(columns) or scores[at, column_at] < _LEAST:
            found[role] = ColumnGuess(role=role, why="no column looks like it")
            continue
        name = columns[column_at]
        without = scores.copy()
        without[at, column_at] = -1
        other_total, other = _best(without)
        # A role that may stay empty is not in doubt because it might.
        doubtful = total - other_total < _MARGIN and scores[at, other[at]] >= _LEAST
        near = (columns[other[at]],) if doubtful else ()
        why = _why(role, name, contents[name], near)
        bad = role == "label" and bool({*words_of_name(name)} & name_table().one_is_bad)
        if bad:
            why += "; if 1 is bad, add --label-scale low-probability"
        others_of_text = contents.keys() - fixed.values() - {columns[at] for at in chosen_columns}
        sure = (
            not near
            and not bad
            and name_score(name, role) >= SURE
            and _could_be(role, contents[name], [contents[one] for one in others_of_text])
        )
        if role in ("id", "group") and not sure:
            found[role] = ColumnGuess(role=role, why="no column is surely it")
        else:
            found[role] = ColumnGuess(role=role, column=name, sure=sure, why=why, others=near)
    return found


def _could_be(role: str, content: _Content, left: Sequence[_Content]) -> bool:
    """Whether the cells say nothing against the name: a label that can be read as one, a source
    beside which no far longer text is left.
    """
    if role == "label":
        return content.label >= 0.5
    if concept_of(role) != "source":
        return True
    return not any(one.text == 1 and one.length > 2 * content.length for one in left)


def _scores(role: str, contents: Mapping[str, _Content]) -> FloatArray:
    longest = max([1.0, *(content.length for content in contents.values())])
    return np.array([_score(role, name, one, longest) for name, one in contents.items()])


def _best(scores: FloatArray) -> tuple[float, list[int]]:
    """Return the total of the best assignment, and the column of each row in it."""
    from scipy.optimize import linear_sum_assignment  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    chosen = cast("IntArray", linear_sum_assignment(scores, maximize=True)[1])
    return float(scores[np.arange(len(chosen)), chosen].sum()), [int(at) for at in chosen]


def _why(role: str, name: str, content: _Content, near: Sequence[str]) -> str:
    by_name = name_score(name, role)
    why = "its name" if by_name >= SURE else "its name in part" if by_name else "its contents alone"
    if role == "label" and content.why:
        why += f" ({content.why})"
    return f"{why}, but {', '.join(near)} is nearly as good" if near else why


def _score(role: str, name: str, content: _Content, longest: float) -> float:
    by_name = name_score(name, role)
    if role in _ROLES or concept_of(role) == "verdict":
        fits = {"id": content.id, "group": content.group}.get(role, content.label)
        if role == "label" and not by_name:
            nothing_said = content.decides or not says_something(name)
            return _CONTENT_ALONE * fits if nothing_said else 0.0
        # What may stay empty takes no column from what is needed.
        return by_name * fits * (0.6 if role in ("id", "group", "verdict") else 1)
    fits = content.text
    match concept_of(role):
        case "source":
            fits *= 1 if content.length >= 40 else 0.85 if content.length >= 15 else 0.5
            fits *= 0.95 + 0.1 * content.length / longest
        case "question":
            fits *= 1.05 if content.asks else 1 if content.length >= 12 else 0.7
        case _:
            fits *= 0.7 if content.asks else 1
    if content.repeats and content.length < 15:
        fits *= 0.5
    if not by_name and content.text == 1 and role not in TEXTS[4:]:
        return (_KNOWN_AS_OTHER if says_something(name) else _CONTENT_ALONE) * fits
    return by_name * fits


def _first_values(cells: Sequence[Cell]) -> tuple[str, ...]:
    texts = (str(cell).strip() for cell in cells if cell is not None)
    return tuple(itertools.islice(dict.fromkeys(filter(None, texts)), 2))


def _label_values(cells: Sequence[Cell]) -> dict[str, float | None]:
    texts = list(dict.fromkeys(str(cell).strip() for cell in cells if cell is not None))
    words = words_in(texts, WORDS)
    values: dict[str, float | None] = {}
    for text in texts[: _MOST_LABELS + 1]:
        values[text] = None
        with suppress(ValueError):
            values[text] = read_grade(text, words)
    return {} if len(values) > _MOST_LABELS else values
