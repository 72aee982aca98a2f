"""Which column of a file is which of a judge's inputs, the label, the id or the group, guessed from
names and contents; a person agrees before anything is read by it.

A role gets the one column whose name says it and whose cells may be it; where no name does, the one
whose name may mean it, then the one that may be it by its cells alone. Of several a person chooses.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson

from ..errors import DataError
from .column_names import (
    MAY,
    NOTHING,
    SAYS,
    concept_of,
    meanings,
    rank_of,
)
from .label_words import MISSING, WORDS, number_of, read_grade, words_in
from .problems import shorten
from .records import Cell
from .rows_in_memory import RowSource

LOOKED_AT = 200
"""Rows whose cells say what a column may be."""
MOST_COLUMNS = 300
_MOST_LABELS, _LONGEST_LABEL, _LONGEST_CODE = 20, 40, 200
_SHORT = 30
"""Characters from which a text is more than the name of a thing."""
_ROLES = ("label", "id", "group")
_WHY = ("its name", "what its name may mean", "its contents alone")
_EASTERN = re.compile("[\u3040-\u9fff]")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(
    r"(?!\[|.*[\u3040-\u9fff])\S*[\d_/@=]\S*|.*\.[a-z]{2,5}|[\W\d_]+"
    r"|\[\{.(role|from|speaker|content)\b.*",
    re.DOTALL,
)
"""An address, a file, a code, a date, a conversation."""


class UnclearColumnsError(DataError):
    """A file's columns have other names; `guessed` says which may be meant, and the hint the
    options that name them.
    """

    def __init__(self, path: RowSource, message: str, guessed: GuessedColumns) -> None:
        options = shlex.join(guessed.options())
        hint = "; ".join([f"name the column with {options}", *guessed.doubts()])
        if guessed.no_rows:
            hint = "docs/how-to/troubleshooting.md shows what rows look like"
        super().__init__(f"{path}: {message}", hint=hint)
        self.guessed = guessed


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGuess:
    """The column that may be meant for one role."""

    role: str
    """An input of the judge, or `label`, `id`, `group`."""
    candidates: tuple[str, ...] = ()
    """The column; of several a person has to choose one."""
    sure: bool = False
    """Whether its name says so, no other's does, and its cells may be it."""
    why: str = "no column looks like it"
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
class GuessedColumns:
    """All roles, and what their columns hold."""

    guesses: tuple[ColumnGuess, ...]
    inputs: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    """The first two values of each column."""
    no_rows: str = ""
    """What can be done with a file of conversations or of pairs of answers, which no judge reads.
    """
    labels: str = ""
    """What the values of the label's column are taken as, `?` for words that say nothing."""

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

    def column_of(self, role: str) -> str:
        """Return the column guessed for a role; empty for none."""
        return next((one.column for one in self.guesses if one.role == role), "")

    def options(self) -> list[str]:
        """Return the words that name the columns on a command line, `COLUMN` for what is open."""
        new = (one for one in self.guesses if (one.column or one.needed) and not one.named)
        return [word for one in new for word in one.option]

    def reading(self) -> dict[str, str | dict[str, str]]:
        """Return the same as arguments of `load_dataset`."""
        columns = {name: self.column_of(name) for name in self.inputs}
        others = {name: self.column_of(name) for name in _ROLES if self.column_of(name)}
        return {"columns": columns, **others}

    def doubts(self) -> list[str]:
        """Return what is in doubt, a sentence for each role."""
        in_doubt = (one for one in self.guesses if one.candidates and not one.sure)
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
    """Guess which column is which.

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
    said = {role: column for role, column in named.items() if column in header}
    # Objects used as maps make a column of each of their keys.
    first = itertools.islice(header, MOST_COLUMNS)
    kept = dict.fromkeys([*first, *said.values(), *(role for role in roles if role in header)])
    contents = {name: _content([row.get(name) for row in rows]) for name in kept}
    own = [one for one in roles if one in contents and one not in said]
    fixed = {one: one for one in own if _is_itself(one, contents)} | said
    free = {name: one for name, one in contents.items() if name not in fixed.values()}
    guesses = _guesses([role for role in roles if role not in fixed], free)
    for role, name in fixed.items():
        guesses[role] = ColumnGuess(
            role=role, candidates=(name,), sure=True, why=_WHY[SAYS], named=True
        )
    every = [guesses.get(role, ColumnGuess(role=role)) for role in roles]
    labels = contents.get(every[len(inputs)].column, _Content()).labels.items()
    return GuessedColumns(
        guesses=tuple(replace(one, needed=one.role in needed) for one in every),
        inputs=tuple(inputs),
        values={name: one.first_values for name, one in contents.items()},
        no_rows="" if {*needed} <= fixed.keys() else _no_rows(rows, contents),
        labels=", ".join(
            f"{shorten(text)} as {'?' if grade is None else f'{grade:g}'}" for text, grade in labels
        ),
    )


_SPEAKERS = ({"role", "content"}, {"from", "value"}, {"role", "parts"}, {"speaker", "text"})
"""Fields of one turn of a conversation."""


def _no_rows(rows: Sequence[Mapping[str, Cell]], header: Iterable[str]) -> str:
    """Return what can be done with conversations, or with pairs under the names they are published
    by; empty for anything else.
    """
    for name in header:
        cells = [cell for row in rows if (cell := row.get(name)) not in (None, "")]
        if cells and all(map(_is_turns, cells)):
            return (
                f"the column {name!r} holds conversations, and a judge reads one row for each"
                " answer: write one row per answer to be judged, the answer as one column, what"
                " was said before it as another"
            )
    if {"chosen", "rejected"} <= {*header}:
        return (
            "the columns 'chosen' and 'rejected' are a pair of answers to choose between, and a"
            " judge grades one answer: write two rows for each pair, the better one with label 1,"
            " the other with 0, and the same group_id"
        )
    return ""


def _is_turns(cell: Cell) -> bool:
    if not isinstance(cell, str) or not cell.startswith("["):
        return False
    try:
        turns: Any = orjson.loads(cell)  # Any: JSON
    except orjson.JSONDecodeError:
        return False
    return bool(turns) and all(
        isinstance(turn, dict) and any(fields <= {*turn} for fields in _SPEAKERS) for turn in turns
    )


def holds_few(cells: Iterable[Cell]) -> bool:
    """Whether the first cells of a column are a few short values, such as where rows are from."""
    return _content([*itertools.islice(cells, LOOKED_AT)]).few


def _is_itself(role: str, contents: Mapping[str, _Content]) -> bool:
    """Whether the column of a role's name may hold it: no few short values, beside which another
    column's text is much longer.
    """
    own = contents[role]
    others = [one for name, one in contents.items() if rank_of(name, role) == SAYS]
    longest = max((one.length for one in others if one.kind == "text"), default=0.0)
    return role in _ROLES or not own.few or longest <= 3 * own.length


Kind = Literal["text", "words", "label", "number", "code"]
"""Text of several words; other words; labels that anybody reads alike; other numbers; addresses,
dates and codes.
"""


class _Content(NamedTuple):
    """What the cells of a column are."""

    kind: Kind = "words"
    first_values: tuple[str, ...] = ()
    length: float = 0.0
    """Characters on average, of which one of Chinese or Japanese counts as three."""
    labels: Mapping[str, float | None] = {}
    """The different values, where they may be labels; None for words that say nothing."""
    different: float = 1.0
    """The share of different values."""

    @property
    def few(self) -> bool:
        return self.different <= 0.5 and self.length < _SHORT


def _content(cells: Sequence[Cell]) -> _Content:
    texts = [str(cell).strip() for cell in cells if cell is not None]
    texts = [text for text in texts if text.casefold() not in MISSING]
    if not texts:
        return _Content()
    different = list(dict.fromkeys(texts))
    labels = _read_labels(different)
    kind, half = _kind(texts, labels), 2 * len(texts) >= len(cells)
    content = _Content(
        kind=kind,
        first_values=tuple(different[:2]),
        length=fmean(len(text) + 2 * len(_EASTERN.findall(text)) for text in texts),
        labels=labels if half or kind == "label" else {},
        different=len(different) / len(texts),
    )
    rarely = kind == "text" and (content.few or not half)
    return content._replace(kind="words") if rarely else content


def _kind(texts: Sequence[str], labels: Mapping[str, float | None]) -> Kind:
    numbers = [number_of(text.replace(",", ".")) for text in texts]
    first = numbers[0]
    counts = first is not None and numbers == [first + at for at in range(len(texts))]
    clear = labels and all(
        grade in range(11) and (number_of(text) is not None or not _DIGIT.search(text))
        for text, grade in labels.items()
    )
    if clear and len(texts) > 1 and not (counts and len(texts) > 2):
        return "label"
    if 2 * sum(number is not None for number in numbers) > len(texts):
        return "number"
    if _most(texts, lambda text: _CODE.fullmatch(text[:_LONGEST_CODE])):
        return "code"
    several = _most(texts, lambda text: " " in text or len(_EASTERN.findall(text)) > 3)
    return "text" if several else "words"


def _most(texts: Sequence[str], holds: Callable[[str], object]) -> bool:
    return sum(bool(holds(text)) for text in texts) > len(texts) / 2


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
    return labels if whole or not any(map(_DIGIT.search, different)) else {}


def _guesses(roles: Sequence[str], free: Mapping[str, _Content]) -> dict[str, ColumnGuess]:
    """Give each role the columns that may be it; first those that have it by their names."""
    left = dict(free)
    guesses: dict[str, ColumnGuess] = {}
    concepts = [concept_of(role) for role in roles]
    # A source is told by its length; what is left may be another text.
    roles = sorted(roles, key=lambda role: concept_of(role) != "source")
    for rank, role in itertools.product((SAYS, MAY, NOTHING), roles):
        names = [] if role in guesses else _candidates(role, rank, left)
        if not names or (len(names) > 1 and role in _ROLES[1:]):
            continue
        bad = role == "label" and any("bad" in meanings(name) for name in names)
        turn = "; if 1 is bad, add --label-scale low-probability" if bad else ""
        guesses[role] = ColumnGuess(
            role=role,
            candidates=tuple(names),
            sure=concepts.count(concept_of(role)) == 1 and not bad and _is_sure(role, names, free),
            why=(" or ".join(map(repr, names)) if len(names) > 1 else _WHY[rank]) + turn,
        )
        if len(names) == 1:
            del left[names[0]]
    return guesses


def _is_sure(role: str, names: Sequence[str], free: Mapping[str, _Content]) -> bool:
    """Whether one column's name alone says a role, and the cells do not speak against it."""
    if role in _ROLES[1:] or len(names) != 1 or _candidates(role, SAYS, free) != names:
        return role in _ROLES[1:]
    return not _candidates(role, NOTHING, free) and (
        role != "label" or free[names[0]].kind == "label"
    )


def _candidates(role: str, rank: int, left: Mapping[str, _Content]) -> list[str]:
    """Return the columns that may be a role by their cells, and whose names tell so by `rank`."""
    concept = concept_of(role)
    names = [name for name in left if rank_of(name, role) == rank]
    names = [name for name in names if _fits(concept, rank, left[name])]
    if rank < NOTHING:
        return names
    names = [name for name in names if _says_nothing(name, left[name])]
    if concept == "source" and len(names) > 1:
        *_, second, longest = sorted(names, key=lambda name: left[name].length)
        return [longest] if left[longest].length >= 2 * left[second].length else names
    return names


def _fits(concept: str, rank: int, content: _Content) -> bool:
    """Whether cells may be what a role holds; more is demanded where the name says less."""
    if concept in ("id", "group"):
        return rank == MAY and (content.different == 1) == (concept == "id")
    if concept == "verdict":
        return rank < NOTHING and content.kind in ("number", "label")
    if concept == "label":
        least = 1 if rank == SAYS else 2
        return len(content.labels) >= least and (rank < NOTHING or content.kind == "label")
    if concept == "source" or rank == NOTHING:
        return content.kind == "text"
    return content.kind in ("text", "words")


def _says_nothing(name: str, content: _Content) -> bool:
    """Whether a name tells nothing that the cells might be."""
    means = meanings(name)
    return "other" not in means and not any(_fits(one, means[one], content) for one in means)
