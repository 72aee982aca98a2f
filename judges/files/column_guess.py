"""Which column of a file is which of a judge's inputs, the label, the id or the group: by a name
that people use for it, or as a model reads the header. A person agrees before anything is read.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import DataError
from .column_names import concept_of, is_name_of, meanings, near_names
from .label_words import MISSING, WORDS, read_grade, words_in, write_grade_map
from .problems import shorten
from .records import Cell
from .rows_in_memory import RowSource

LOOKED_AT = 200
"""Rows whose cells say what a column may be."""
MOST_COLUMNS = 300
_MOST_LABELS, _LONGEST_LABEL = 20, 40
_SHORT = 30
"""Characters from which a text is more than the name of a thing."""
_ROLES = ("label", "id", "group")
_BY_NAME, _UNKNOWN = "its name", "no column has a name that is known for it"
_IF_BAD = "; if 1 is bad, add --label-scale low-probability"
_EASTERN = re.compile("[\u3040-\u9fff]")


class UnclearColumnsError(DataError):
    """A file's columns have other names; `guessed` says which may be meant, and the hint the
    options that name them.
    """

    def __init__(self, path: RowSource, message: str, guessed: GuessedColumns) -> None:
        super().__init__(f"{path}: {message}")
        self.take(guessed)

    def take(self, guessed: GuessedColumns) -> None:
        """Take what may be meant; the hint follows."""
        self.guessed = guessed
        options = shlex.join(guessed.options())
        self.hint = "; ".join([f"name the column with {options}", *guessed.doubts()])
        if guessed.no_rows:
            first = f"{guessed.no_rows}; " if guessed.no_rows not in str(self) else ""
            self.hint = f"{first}docs/how-to/troubleshooting.md shows what rows look like"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGuess:
    """The column that may be meant for one role."""

    role: str
    """An input of the judge, or `label`, `id`, `group`."""
    candidates: tuple[str, ...] = ()
    """The column; of several a person has to choose one."""
    sure: bool = False
    """Whether its name says so, no other's does, and its cells may be it."""
    why: str = ""
    needed: bool = False
    named: bool = False
    """Whether a person named it, or it has the very name."""

    @property
    def column(self) -> str:
        """The column; empty where it is not clear."""
        return self.candidates[0] if len(self.candidates) == 1 else ""

    @property
    def said(self) -> str:
        """Why, with a mark where it is in doubt."""
        return self.why if self.sure else f"NOT SURE: {self.why}"

    @property
    def option(self) -> tuple[str, str]:
        """The option that names the column, as its two words."""
        column = self.column or "COLUMN"
        is_input = self.role not in _ROLES
        return ("--column", f"{self.role}={column}") if is_input else (f"--{self.role}", column)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReading:
    """What a model says of a header, as it says it; nothing of it is checked yet."""

    model: str
    kind: str = "rows"
    """`rows`, `conversations` or `pairs`."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The columns that may be each input, and the label, by role."""
    label_cells: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    """What cells of the label stand for; None for no label."""
    problem: str = ""
    """Why its answer cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedColumns:
    """All roles, and what their columns hold."""

    guesses: tuple[ColumnGuess, ...]
    inputs: tuple[str, ...]
    rows: tuple[Mapping[str, Cell], ...]
    """The first rows of the file."""
    contents: Mapping[str, Content]
    """What the cells of each column are."""
    no_rows: str = ""
    """What can be done with a file of conversations or of pairs of answers, which no judge reads.
    """
    by_person: frozenset[str] = frozenset()
    """The roles whose column a person named."""
    label_map: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    """What a model says that cells of the label stand for; None for no label."""

    @property
    def complete(self) -> bool:
        """Whether there is a column for everything that is needed."""
        return not self.no_rows and all(one.column for one in self.guesses if one.needed)

    @property
    def sure(self) -> bool:
        """Whether nothing is left to ask but a yes."""
        return self.complete and all(one.sure for one in self.guesses if one.column)

    @property
    def exact(self) -> bool:
        """Whether everything that is needed was named, or has the very name."""
        return all(one.named for one in self.guesses if one.needed)

    @property
    def labels(self) -> str:
        """What the values of the label's column are taken as, `?` for words that say nothing."""
        content = self.contents.get(self.column_of("label"))
        grades = {**content.labels, **self.label_map} if content else {}
        return ", ".join(
            f"{shorten(text)} as {'?' if grade is None else f'{grade:g}'}"
            for text, grade in grades.items()
        )

    def column_of(self, role: str) -> str:
        """Return the column guessed for a role; empty for none."""
        return next((one.column for one in self.guesses if one.role == role), "")

    def options(self) -> list[str]:
        """Return the words that name the columns on a command line, `COLUMN` for what is open."""
        new = (one for one in self.guesses if (one.column or one.needed) and not one.named)
        words = [word for one in new for word in one.option]
        mapped = ["--label-map", write_grade_map(self.label_map)] if self.label_map else []
        return [*words, *mapped]

    def reading(self) -> dict[str, Any]:  # Any: arguments of `load_rows`
        """Return the same as arguments of `load_rows`."""
        columns = {name: self.column_of(name) for name in self.inputs}
        others = {name: self.column_of(name) for name in _ROLES if self.column_of(name)}
        mapped = {"label_map": dict(self.label_map)} if self.label_map else {}
        return {"columns": columns, **others, **mapped}

    def doubts(self) -> list[str]:
        """Return what is in doubt, a sentence for each role."""
        in_doubt = (one for one in self.guesses if (one.candidates or one.needed) and not one.sure)
        return [f"not sure of {one.role}: {one.why}" for one in in_doubt]

    def describe(self) -> str:
        """Return the guess in a sentence, such as `source from context`."""
        return ", ".join(f"{one.role} from {one.column}" for one in self.guesses if one.column)


def guess_columns(
    rows: Iterable[Mapping[str, Cell]],
    inputs: Sequence[str],
    *,
    named: Mapping[str, str] = MappingProxyType({}),
    label_needed: bool = True,
) -> GuessedColumns:
    """Guess which column is which, by names that are known.

    Args:
        rows: Rows, of which the first are looked at.
        inputs: The judge's.
        named: The columns that a person named, by role; they are not guessed.
        label_needed: Whether rows must have a label.
    """
    rows = [*itertools.islice(rows, LOOKED_AT)]
    header = dict.fromkeys(name for row in rows for name in row)
    roles = (*inputs, *_ROLES)
    needed = roles[: len(inputs) + label_needed]
    by_person = {role: column for role, column in named.items() if column in header}
    # Objects used as maps make a column of each of their keys.
    first = itertools.islice(header, MOST_COLUMNS)
    roles_there = (role for role in roles if role in header)
    shown = dict.fromkeys([*first, *by_person.values(), *roles_there])
    contents = {name: _content([row.get(name) for row in rows]) for name in shown}
    own = [one for one in roles if one in contents and one not in by_person]
    fixed = {one: one for one in own if _is_itself(one, contents)} | by_person
    free = {name: one for name, one in contents.items() if name not in fixed.values()}
    guesses = {role: _by_name(role, free) for role in roles}
    for role, name in fixed.items():
        guesses[role] = ColumnGuess(
            role=role, candidates=(name,), sure=True, why=_BY_NAME, named=True
        )
    return GuessedColumns(
        guesses=_each_once([replace(guesses[one], needed=one in needed) for one in roles]),
        inputs=tuple(inputs),
        rows=tuple(rows),
        contents=contents,
        by_person=frozenset(by_person),
        no_rows="" if {*needed} <= fixed.keys() else _no_rows(rows, contents),
    )


def _by_name(role: str, free: Mapping[str, Content]) -> ColumnGuess:
    """Return the columns whose name is known for a role, else is like it, and whose cells fit."""
    known = [name for name in free if is_name_of(name, role) and _fits(role, free[name])]
    if role in _ROLES[1:]:
        one = tuple(known) if len(known) == 1 else ()
        return ColumnGuess(role=role, candidates=one, sure=True, why=_BY_NAME)
    if len(known) != 1:
        near = [name for name in near_names(role, free) if _fits(role, free[name])]
        why = " or ".join(map(repr, known)) if known else _BY_NAME if near else _UNKNOWN
        why += _IF_BAD if role == "label" else ""
        return ColumnGuess(role=role, candidates=tuple(known or near), why=why)
    unknown = [one for name, one in free.items() if not meanings(name)]
    alike = any(one.clear if role == "label" else one.text for one in unknown)
    sure = not alike and len(meanings(known[0])) < 2
    sure = sure and (role != "label" or free[known[0]].clear)
    return ColumnGuess(role=role, candidates=tuple(known), sure=sure, why=_BY_NAME)


def _each_once(guesses: Sequence[ColumnGuess]) -> tuple[ColumnGuess, ...]:
    """Return the guesses without the columns that are meant for two roles: a person chooses."""
    once = list(guesses)
    counts = Counter(one.column for one in once if one.column and one.needed)
    for at, one in enumerate(once):
        if not one.named and counts[one.column] > one.needed:
            why = f"{one.column!r} is meant twice"
            once[at] = replace(one, candidates=(), sure=False, why=why)
    return tuple(once)


def read_columns(guessed: GuessedColumns, reading: ColumnReading) -> GuessedColumns:
    """Return the guess with what a model reads in the header, as far as the table bears it out.

    A column that a person named stays. Where the model says another one than a known name does,
    both are candidates.
    """
    asked = reading.columns.keys() - guessed.by_person
    guesses = [
        _read(one, reading, guessed.contents) if one.role in asked else one
        for one in guessed.guesses
    ]
    no_rows = guessed.no_rows or _OF_KIND.get(reading.kind, "")
    guessed = replace(guessed, guesses=_each_once(guesses), no_rows=no_rows)
    content = guessed.contents.get(guessed.column_of("label"), Content())
    return replace(guessed, label_map=_map_of(content.labels, reading.label_cells))


def _read(
    guess: ColumnGuess, reading: ColumnReading, contents: Mapping[str, Content]
) -> ColumnGuess:
    """Return the columns that a model names for a role, beside one whose name surely says it."""
    names = reading.columns[guess.role]
    there = {" ".join(name.split()): name for name in contents}
    spelled = [there.get(" ".join(name.split()), "") for name in names]
    fitting = [name for name in spelled if name and _may_be(guess.role, contents[name])]
    own = guess.candidates if guess.sure else ()
    candidates = tuple(dict.fromkeys((*own, *fitting)))
    if fitting and candidates == own:
        return guess
    reason = " or ".join(map(repr, candidates))
    if not fitting:
        answer = f"{shorten(names[0])}, which cannot be it" if names else "no column"
        reason = f"{reading.model} names {answer}"
    elif len(candidates) == 1:
        reason = f"{reading.model} reads it so"
    return replace(guess, candidates=candidates, sure=False, why=reason, named=False)


def _map_of(
    labels: Mapping[str, float | None], cells: Mapping[str, float | None]
) -> dict[str, float | None]:
    """Return what a model says of cells of the label; empty where they are read so anyway."""
    cells = {text: grade for text, grade in cells.items() if text in labels}
    counts = Counter(text.casefold() for text in cells)
    cells = {text: grade for text, grade in cells.items() if counts[text.casefold()] == 1}
    new = any(labels[text] is None or labels[text] != grade for text, grade in cells.items())
    return cells if new else {}


_LIST_OF_OBJECTS = re.compile(r"\[\s*\{")
_FIELD_NAME = re.compile(r'"(\w+)"\s*:')
_OF_A_TURN = ({"role", "content"}, {"from", "value"}, {"role", "parts"}, {"speaker", "text"})
"""Fields of one turn of a conversation, as tools write it; documents have one of them at most."""
_OF_KIND = {
    "conversations": (
        "its rows hold conversations, and a judge reads one row for each answer: write one row per"
        " answer to be judged, the answer as one column, what was said before it as another"
    ),
    "pairs": (
        "its rows hold pairs of answers to choose between, and a judge grades one answer: write two"
        " rows for each pair, the better one with label 1, the other with 0, and the same group_id"
    ),
}
"""What can be done with files that hold no rows for a judge."""


def _no_rows(rows: Sequence[Mapping[str, Cell]], header: Iterable[str]) -> str:
    """Return what can be done with conversations, or with pairs under the names they are published
    by; empty for anything else.
    """
    for name in header:
        cells = [cell for row in rows if (cell := row.get(name)) not in (None, "")]
        if cells and all(_is_turns(str(cell)) for cell in cells):
            return f"column {name!r}: {_OF_KIND['conversations']}"
    if {"chosen", "rejected"} <= {*header}:
        return f"columns 'chosen' and 'rejected': {_OF_KIND['pairs']}"
    return ""


def _is_turns(cell: str) -> bool:
    """Whether a cell is JSON of a conversation; one that is cut need not parse."""
    names = {*_FIELD_NAME.findall(cell)} if _LIST_OF_OBJECTS.match(cell) else set[str]()
    return any(fields <= names for fields in _OF_A_TURN)


def _is_itself(role: str, contents: Mapping[str, Content]) -> bool:
    """Whether the column of a role's name may hold it: no few short values, beside which another
    column of such a name is text.
    """
    others = (one for name, one in contents.items() if is_name_of(name, role))
    return role in _ROLES or not contents[role].few or not any(one.text for one in others)


class Content(NamedTuple):
    """What the cells of a column are."""

    first_values: tuple[str, ...] = ()
    few: bool = False
    """Whether they are a few short values."""
    text: bool = False
    """Whether most are several words."""
    labels: Mapping[str, float | None] = {}
    """The different values, where they may be labels; None for words that say nothing."""

    @property
    def clear(self) -> bool:
        """Whether they are labels that anybody reads alike."""
        return bool(self.labels) and None not in self.labels.values()


def _content(cells: Sequence[Cell]) -> Content:
    texts = [str(cell).strip() for cell in cells if cell is not None]
    texts = [text for text in texts if text.casefold() not in MISSING]
    if not texts:
        return Content()
    different = list(dict.fromkeys(texts))
    several = sum(" " in text or len(_EASTERN.findall(text)) > 3 for text in texts)
    few = 2 * len(different) <= len(texts) and fmean(map(len, texts)) < _SHORT
    return Content(
        first_values=tuple(different[:2]),
        few=few,
        text=2 * several > len(texts) and not few,
        labels=_read_labels(different),
    )


def _read_labels(different: Sequence[str]) -> dict[str, float | None]:
    """Return values as labels: whole numbers, or few short words; else nothing."""
    if len(different) > _MOST_LABELS or max(map(len, different)) > _LONGEST_LABEL:
        return {}
    words = words_in(different, WORDS)
    labels = dict[str, float | None].fromkeys(different)
    for text in different:
        with suppress(ValueError):
            labels[text] = read_grade(text, words)
    whole = all(grade in range(-10, 101) for grade in labels.values())
    return labels if whole or not any(map(str.isdigit, "".join(different))) else {}


def _may_be(role: str, content: Content) -> bool:
    """Whether cells can be what a role holds, whatever the column is called."""
    return bool(content.labels if role == "label" else content.first_values)


def _fits(role: str, content: Content) -> bool:
    """Whether cells look like what a role holds."""
    concept = concept_of(role)
    if concept == "label":
        return bool(content.labels)
    if concept == "verdict":
        return not content.text
    if concept in ("id", "group"):
        return content.few == (concept == "group")
    return content.text or (concept != "source" and not content.few)
