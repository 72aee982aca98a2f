"""Every candidate slice of a table, counted: each combination of columns' values and spans of
neighbouring bins.

Every combination of up to `depth` columns is counted in one pass, whatever the number of values:
for each choice of all columns but the last, one `bincount` holds the cells of every column after
them. Prefix sums give every union of neighbouring bins of an ordered column. Words of the texts are
counted alone and with one condition beside them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..judges import BoolArray, FloatArray, IntArray
from .column import Column
from .slice import Condition, Contains, Interval, Predicate, join
from .tokens import LikelyWords

BLOCK = 1 << 14
"""Rows counted at once: few enough to stay in the processor's cache."""
WORD_DEPTH = 2
"""The most conditions of a slice of which one is a word."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Candidates that share the price of being many: there are far more ranges of a number than
    values.
    """

    conditions: int
    ranges: int
    """How many of the conditions are intervals."""
    of_words: bool
    """Whether one of them is a word."""

    @classmethod
    def of(cls, predicate: Predicate) -> Kind:
        """Return what kind of candidate a predicate is."""
        parts = predicate.conditions
        ranges = sum(isinstance(part, Interval) for part in parts)
        return cls(len(parts), ranges, any(isinstance(part, Contains) for part in parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows that a metric is about."""

    columns: tuple[Column, ...]
    loss: BoolArray | FloatArray
    """What each row costs; booleans mark bad rows. Shape (n,)."""
    groups: IntArray
    words: LikelyWords = field(default_factory=LikelyWords)
    """The words to search beside the columns."""
    within: dict[Condition, BoolArray] = field(default_factory=dict)
    """For each condition met so far, whether a row of each code of its column is inside."""

    def __len__(self) -> int:
        return len(self.loss)

    def only(self, chosen: BoolArray) -> Rows:
        """Return the chosen rows; chosen has shape (n,)."""
        words = replace(
            self.words, columns=tuple(column.only(chosen) for column in self.words.columns)
        )
        columns = tuple(column.only(chosen) for column in self.columns)
        return replace(
            self, columns=columns, words=words, loss=self.loss[chosen], groups=self.groups[chosen]
        )

    def member(self, predicate: Predicate) -> BoolArray:
        """Return whether each row is inside, by its codes; shape (n,)."""
        by_name = {column.name: column for column in (*self.columns, *self.words.columns)}
        inside = np.ones(len(self), np.bool_)
        for condition in predicate.conditions:
            # A word is a column of its own, named by its condition.
            column = by_name[
                str(condition) if isinstance(condition, Contains) else condition.column
            ]
            if condition not in self.within:
                self.within[condition] = np.array(
                    [_implies(part, condition) for part in column.conditions]
                )
            inside &= self.within[condition][column.codes]
        return inside


def _implies(part: Condition | None, condition: Condition) -> bool:
    """Whether the rows of one code all meet a condition."""
    if isinstance(part, Interval) and isinstance(condition, Interval):
        return condition.low <= part.low and part.high <= condition.high
    return part == condition


@dataclass(frozen=True, slots=True)
class Axis:
    """The candidates of one column, or of several side by side: spans of neighbouring codes."""

    size: int
    """Codes 0..size-1; code 0 of each column is that of its rare values."""
    starts: IntArray
    """First code of each candidate; shape (candidates,)."""
    stops: IntArray
    """One past its last code."""
    conditions: tuple[Condition, ...]
    """Of each candidate."""

    def sums(
        self, counts: npt.NDArray[Any], along: int
    ) -> npt.NDArray[Any]:  # Any: either precision
        """Sum counts over each candidate's codes, from prefix sums along one axis."""
        if np.array_equal(self.stops, self.starts + 1):
            return counts.take(self.starts, axis=along)
        below = np.cumsum(counts, axis=along)
        return below.take(self.stops - 1, axis=along) - below.take(self.starts - 1, axis=along)


@dataclass(frozen=True, slots=True)
class Cube:
    """One combination of columns with every column after them: its candidates that have rows
    enough.
    """

    axes: tuple[Axis, ...]
    cells: IntArray
    """Their positions among all combinations of candidates, flat; shape (cells,)."""
    n: FloatArray
    loss: FloatArray
    ranges: IntArray
    """How many of each candidate's conditions are intervals."""

    def predicate(self, cell: int) -> Predicate:
        chosen = np.unravel_index(self.cells[cell], [len(axis.starts) for axis in self.axes])
        return Predicate([axis.conditions[at] for axis, at in zip(self.axes, chosen, strict=True)])


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts rows and losses of all combinations of columns."""

    axes: tuple[Axis, ...]
    codes: IntArray
    """Each column's code; shape (n, columns)."""
    loss: BoolArray | FloatArray
    min_rows: int
    plain: int
    """How many of the columns are no words; those come first."""
    words_each: float
    """How many words were considered for each that is searched."""

    @classmethod
    def of(cls, rows: Rows, min_rows: int) -> Counter:
        """Give the rows of rare and folded values code 0; leave out columns without a candidate."""
        axes, codes, plain = [], [], 0
        for column in (*rows.columns, *rows.words.columns):
            axis, code = _axis(column, min_rows)
            if len(axis.starts):
                axes.append(axis)
                codes.append(code[column.codes])
                plain += not any(isinstance(part, Contains) for part in column.conditions)
        stacked = np.zeros((len(rows), 0), np.int64)
        if codes:
            stacked = np.stack(codes, axis=1)
        each = rows.words.considered / max(1, len(axes) - plain)
        return cls(tuple(axes), stacked, rows.loss, min_rows, plain, each)

    def combinations(
        self, conditions: int, *, of_words: bool
    ) -> Iterator[tuple[tuple[int, ...], slice]]:
        """Yield each choice of all columns but the last, with those that the last is one of.

        A word is the last one, alone or with one condition beside it.
        """
        if of_words and conditions > WORD_DEPTH:
            return
        for head in itertools.combinations(range(self.plain), conditions - 1):
            start = head[-1] + 1 if head else 0
            tail = slice(self.plain, len(self.axes)) if of_words else slice(start, self.plain)
            if self.axes[tail]:
                yield head, tail

    def axes_of(self, head: Sequence[int], tail: slice) -> tuple[Axis, ...]:
        """Return the axes of some columns, those of the tail side by side as one."""
        return (*(self.axes[i] for i in head), _side_by_side(self.axes[tail]))

    def cubes(self, conditions: int, *, of_words: bool) -> Iterator[Cube]:
        """Yield the candidates with enough rows of every combination of columns, unless there is
        none.
        """
        for head, tail in self.combinations(conditions, of_words=of_words):
            axes = self.axes_of(head, tail)
            n, loss = self.count(head, tail)
            for along, axis in enumerate(axes):
                n, loss = axis.sums(n, along), axis.sums(loss, along)
            enough = np.flatnonzero(n >= self.min_rows)
            if len(enough):
                yield Cube(
                    axes, enough, n.ravel()[enough], loss.ravel()[enough], ranges_of(axes)[enough]
                )

    def count(self, head: Sequence[int], tail: slice) -> tuple[FloatArray, FloatArray]:
        """Count rows and losses by the head's codes and, side by side, those of every column in the
        tail.
        """
        binary = self.loss.dtype == np.bool_
        offsets = np.cumsum([0, *(axis.size for axis in self.axes[tail])])
        sizes = [*(self.axes[i].size for i in head), int(offsets[-1])]
        cells = math.prod(sizes)
        n, lost = np.zeros(cells), np.zeros(cells)
        for start in range(0, len(self.loss), BLOCK):
            block, loss = self.codes[start : start + BLOCK], self.loss[start : start + BLOCK]
            key = np.zeros(len(block), np.int64)
            for i in head:
                key = key * self.axes[i].size + block[:, i]
            cell = ((key * sizes[-1])[:, None] + (block[:, tail] + offsets[:-1])).ravel()
            n += np.bincount(cell, minlength=cells)
            if binary:
                # Bad rows are few: counting them alone is quicker than weighting every row.
                lost += np.bincount(
                    cell.reshape(len(block), -1)[np.flatnonzero(loss)].ravel(), minlength=cells
                )
            else:
                lost += np.bincount(cell, np.repeat(loss, len(cell) // len(block)), cells)
        return n.reshape(sizes), lost.reshape(sizes)


def _axis(column: Column, min_rows: int) -> tuple[Axis, IntArray]:
    """Return a column's candidates, and the code on their axis for each code of the column; shape
    (codes,).
    """
    frequent = np.bincount(column.codes, minlength=len(column.conditions)) >= min_rows
    # A rare bin may still be part of a span of bins.
    frequent[: column.ordered] = True
    parts: list[Condition] = []
    usable = np.zeros(len(column.conditions), np.bool_)
    for code, condition in enumerate(column.conditions):
        if condition is not None and frequent[code]:
            usable[code] = True
            parts.append(condition)
    # Every span of neighbouring bins; all together say no more than that the column has a value.
    ends = itertools.combinations(range(column.ordered + 1), 2)
    spans = [span for span in ends if span != (0, column.ordered)]
    spans += [(code, code + 1) for code in range(column.ordered, len(parts))]
    starts, stops = np.array(spans, np.int64).reshape(-1, 2).T + 1
    conditions = tuple(join(parts[start], parts[stop - 1]) for start, stop in spans)
    # As narrow as can be: every row has one of each column.
    codes = np.where(usable, np.cumsum(usable), 0).astype(np.min_scalar_type(len(parts)))
    return Axis(len(parts) + 1, starts, stops, conditions), codes


def ranges_of(axes: Sequence[Axis]) -> IntArray:
    """Return how many conditions of each combination of candidates are intervals; flat."""
    ranges = np.zeros(1, np.int64)
    for axis in axes:
        of_axis = np.array(
            [isinstance(condition, Interval) for condition in axis.conditions], np.int64
        )
        ranges = (ranges[:, None] + of_axis).ravel()
    return ranges


def _side_by_side(axes: Sequence[Axis]) -> Axis:
    size = 0
    starts, stops = [], []
    conditions: list[Condition] = []
    for axis in axes:
        starts.append(axis.starts + size)
        stops.append(axis.stops + size)
        conditions += axis.conditions
        size += axis.size
    return Axis(size, np.concatenate(starts), np.concatenate(stops), tuple(conditions))
