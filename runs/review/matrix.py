"""A matrix of rows by judges: which row of one judge is which of another, which rows are asked
for, and what a window of them says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...judges import BoolArray, IntArray
from ..actions.compare_runs import ComparedSide
from .judged_rows import ERRS, UNSCORED
from .row_pages import Arrays, Json, RowPages


@dataclass(frozen=True)
class Column:
    """A judge's verdicts on its rows."""

    side: ComparedSide
    pages: RowPages

    @cached_property
    def arrays(self) -> Arrays:
        """What is known of all rows at once."""
        return self.pages.arrays()

    @property
    def head(self) -> Json:
        """What is known of the judge."""
        return self.pages.head

    @property
    def cuts(self) -> Iterator[tuple[str, str]]:
        """Each value of each column that cuts the rows into a few parts."""
        return ((name, value) for name, values in self.head["cuts"] for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows are asked for; what is empty is not asked about."""

    rows: str = ""
    """`errs`: any judge errs; `differ`: two judges decide otherwise; `unscored`: one has no
    verdict; or the name of a side, which errs."""
    before: str = ""
    after: str = ""
    """Two sides that decide otherwise."""
    slice: str = ""
    """A column's value, as `name=value`."""
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """A row, and what each judge says of it; None where it has not judged it."""

    key: str
    row_id: str
    people: str
    excerpt: str
    cells: tuple[Json | None, ...]


class Matrix:
    """The rows of some judges, joined: the same where their texts are, and those of a verdict file
    without texts where their ids are.

    Args:
        columns: One or more judges.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        keys = [_keys_of(column, columns) for column in columns]
        unique, first = np.unique(np.concatenate(keys), return_index=True)
        order = np.argsort(first)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        # The keyless of a file, 0, stand for rows that no judge with texts may show.
        self._keys = unique[order]
        self._numbers = np.zeros((len(columns), len(order)), np.int64)
        for numbers, of_column in zip(self._numbers, keys, strict=True):
            numbers[ranks[np.searchsorted(unique, of_column)]] = np.arange(1, len(of_column) + 1)
        self._there = self._keys != 0

    @property
    def total(self) -> int:
        """How many rows may be shown."""
        return int(self._there.sum())

    def choose(self, wanted: RowFilter) -> IntArray:
        """Return the positions of the rows that are asked for."""
        names = [column.side.name for column in self.columns]
        chosen = self._there.copy()
        if wanted.rows in ("errs", "unscored"):
            chosen &= (self._of_all("states", 255) == _STATES[wanted.rows]).any(axis=0)
        elif wanted.rows == "differ":
            chosen &= self._differ(range(len(names)))
        elif wanted.rows in names:
            chosen &= self._of_all("states", 255)[names.index(wanted.rows)] == ERRS
        if wanted.before in names and wanted.after in names:
            chosen &= self._differ([names.index(wanted.before), names.index(wanted.after)])
        if wanted.slice:
            chosen &= self._in_slice(wanted.slice)
        if wanted.words.strip():
            chosen &= self._with_words(" ".join(wanted.words.split()))
        return np.flatnonzero(chosen)

    def rows(self, positions: IntArray) -> list[MatrixRow]:
        """Return some rows, of which nothing else is read."""
        briefs = [
            column.pages.briefs(numbers[numbers > 0].tolist())
            for column, numbers in zip(self.columns, self._numbers[:, positions], strict=True)
        ]
        return [self._row(int(position), briefs) for position in positions]

    def bodies(self, position: int) -> list[Json | None]:
        """Return all that is kept of a row, as each judge has it."""
        numbers = self._numbers[:, position].tolist()
        return [
            column.pages.at(number) if number else None
            for column, number in zip(self.columns, numbers, strict=True)
        ]

    def position_of(self, key: str) -> int | None:
        """Return where a row is; None where it may not be shown, or is not there."""
        at = np.flatnonzero(self._there & (self._keys == _number(key)))
        return int(at[0]) if len(at) else None

    def counts(self, positions: IntArray) -> list[tuple[int, int]]:
        """Return for each judge on how many labelled rows it errs, and of how many."""
        states = self._of_all("states", 255)[:, positions]
        return [(int((of == ERRS).sum()), int((of < _LABELLED).sum())) for of in states]

    def _row(self, position: int, briefs: Sequence[dict[int, tuple[str, Json]]]) -> MatrixRow:
        found = [
            of_column.get(number)
            for of_column, number in zip(briefs, self._numbers[:, position].tolist(), strict=True)
        ]
        there = [brief for brief in found if brief is not None]
        row_id, first = there[0]
        people = next((body["people"] for _, body in there if body["people"]), "")
        return MatrixRow(
            key=f"{int(self._keys[position]):016x}",
            row_id=row_id,
            people=people,
            excerpt=first["excerpt"],
            cells=tuple(brief[1] if brief else None for brief in found),
        )

    def _of_all(self, name: str, missing: float) -> np.ndarray:  # type: ignore[type-arg]
        """Return a value of each judge for each row; shape (judges, rows)."""
        padded = [np.append(column.arrays[name], missing) for column in self.columns]
        return np.array(
            [of[numbers - 1] for of, numbers in zip(padded, self._numbers, strict=True)]
        )

    def _differ(self, judges: Sequence[int]) -> BoolArray:
        decisions = self._of_all("decisions", np.nan)[judges]
        with np.errstate(invalid="ignore"):
            return np.fmax.reduce(decisions) > np.fmin.reduce(decisions)

    def _in_slice(self, name: str) -> BoolArray:
        inside = np.zeros(len(self._keys), np.bool_)
        for column, numbers in zip(self.columns, self._numbers, strict=True):
            for i, (cut, values) in enumerate(column.head["cuts"]):
                for code, value in enumerate(values):
                    if f"{cut}={value}" == name:
                        codes = np.append(column.arrays[f"cut {i}"], -1)
                        inside |= codes[numbers - 1] == code
        return inside

    def _with_words(self, words: str) -> BoolArray:
        """Find words in the texts of each row, as the first judge has it that has judged it."""
        found = np.zeros(len(self._keys), np.bool_)
        sought = np.zeros(len(self._keys), np.bool_)
        for column, numbers in zip(self.columns, self._numbers, strict=True):
            mine = (numbers > 0) & ~sought
            if mine.any():
                hits = column.pages.numbers_with(words, ("inputs", "meta"))
                found |= mine & np.isin(numbers, hits)
            sought |= mine
        return found


def _keys_of(column: Column, columns: Sequence[Column]) -> IntArray:
    """Return the keys of a judge's rows; 0 for what a file without texts has and no other judge."""
    with_texts = [one for one in columns if one.head["texts"]]
    first = (with_texts or columns)[0]
    keys = column.arrays["keys"]
    if column is first or column.head["texts"] or np.isin(keys, first.arrays["keys"]).any():
        return keys
    ids = first.arrays["ids"]
    order = np.argsort(ids)
    at = order[np.searchsorted(ids, column.arrays["ids"], sorter=order) % len(ids)]
    return np.where(
        ids[at] == column.arrays["ids"], first.arrays["keys"][at], 0 if with_texts else keys
    )


def _number(key: str) -> int:
    try:
        return int(key, 16)
    except ValueError:
        return 0


_STATES = {"errs": ERRS, "unscored": UNSCORED}
_LABELLED = 2
"""States below it are of rows with a label."""
