"""Exhaustive search for the cells of a table where losses gather.

Every combination of up to `depth` columns is counted in one pass, whatever the number of values: for each choice of
all columns but the last, one `bincount` holds the cells of every column after them. Prefix sums give every union of
neighbouring bins of an ordered column. A cell is scored by the one-sided scan likelihood ratio, shrunk by its own
design effect, less the log of how many cells of its depth were looked at: a price for complexity and a Bonferroni
correction in one. What is left after taking a slice's rows away decides the next (greedy cover).

Words of the texts are counted alone and with one condition beside them, and pay for all the words that they were
chosen from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..judges import BoolArray, FloatArray, IntArray
from .column import Column
from .significance import MIN_GROUPS, Clustered, gaussian_llr, scan_llr
from .slice import Condition, Contains, Interval, Predicate
from .tokens import Likely

Bits = npt.NDArray[np.uint8]
"""Whether each row is inside, eight rows a byte."""
_ONES = np.array([value.bit_count() for value in range(256)], np.uint8)

BLOCK = 1 << 14
"""Rows counted at once: few enough to stay in the processor's cache."""
SHORTLIST = 300
PROPOSALS = 5
WORD_DEPTH = 2
"""The most conditions of a slice of which one is a word."""
RESIDUE = 2.0
"""Likelihood ratio, in logs, that a slice must keep once the rows of stronger ones are gone: one-sided 2.5 %."""
PROPOSE_ABOVE = -2.0
"""A weak proposal costs little: confirmation on the other half decides, corrected for all proposals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows that a metric is about."""

    columns: tuple[Column, ...]
    loss: BoolArray | FloatArray
    """What each row costs; booleans mark bad rows. Shape (n,)."""
    groups: IntArray
    words: Likely = field(default_factory=Likely)
    """The words to search beside the columns."""
    within: dict[Condition, BoolArray] = field(default_factory=dict)
    """For each condition met so far, whether a row of each code of its column is inside."""

    def __len__(self) -> int:
        return len(self.loss)

    def only(self, chosen: BoolArray) -> Rows:
        """Return the chosen rows; chosen has shape (n,)."""
        columns, words = (
            tuple(replace(c, codes=c.codes[chosen]) for c in every) for every in (self.columns, self.words.columns)
        )
        kept = replace(self.words, columns=words)
        return replace(self, columns=columns, words=kept, loss=self.loss[chosen], groups=self.groups[chosen])

    def member(self, predicate: Predicate) -> BoolArray:
        """Return whether each row is inside, by its codes; shape (n,)."""
        by_name = {column.name: column for column in (*self.columns, *self.words.columns)}
        holds = []
        for condition in predicate.conditions:
            column = by_name[str(condition) if isinstance(condition, Contains) else condition.column]
            if condition not in self.within:
                self.within[condition] = np.array([_within(part, condition) for part in column.conditions])
            holds.append(self.within[condition][column.codes])
        return np.logical_and.reduce(holds) if holds else np.ones(len(self), np.bool_)


def _within(part: Condition | None, whole: Condition) -> bool:
    """Whether the rows of one code all meet a condition."""
    if isinstance(part, Interval) and isinstance(whole, Interval):
        return whole.low <= part.low and part.high <= whole.high
    return part == whole


@dataclass(frozen=True, slots=True)
class _Score:
    """How a cell's rows and losses become a likelihood ratio."""

    total: float
    loss: float
    variance: float | None
    """Of one row's loss; None where losses are bad rows."""

    @classmethod
    def of(cls, loss: BoolArray | FloatArray) -> _Score:
        binary = loss.dtype == np.bool_
        return cls(float(len(loss)), float(loss.sum()), None if binary else float(loss.var()))

    @property
    def possible(self) -> bool:
        """Whether rows differ at all."""
        return 0 < self.loss < self.total if self.variance is None else self.variance > 0

    def llr(self, n: FloatArray, loss: FloatArray) -> FloatArray:
        """Score cells; shapes (cells,)."""
        if self.variance is None:
            return scan_llr(n, loss, self.total, self.loss)
        return gaussian_llr(n, loss, self.total, self.loss / self.total, self.variance)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The candidates of one column, or of several side by side: runs of neighbouring codes."""

    size: int
    """Codes 0..size-1; code 0 of each column is that of its rare values."""
    starts: IntArray
    """First code of each candidate; shape (candidates,)."""
    stops: IntArray
    """One past its last code."""
    conditions: tuple[Condition, ...]
    """What each candidate says."""

    def runs(self, counts: FloatArray, along: int) -> FloatArray:
        """Sum counts over each candidate's codes, from prefix sums along one axis."""
        below = np.cumsum(counts, axis=along)
        return below.take(self.stops - 1, axis=along) - below.take(self.starts - 1, axis=along)


@dataclass(frozen=True, slots=True)
class _Cube:
    """One combination of columns with every column after them: its candidates that have rows enough."""

    axes: tuple[_Axis, ...]
    cells: IntArray
    """Their positions among all combinations of candidates, flat; shape (cells,)."""
    n: FloatArray
    loss: FloatArray

    def predicate(self, cell: int) -> Predicate:
        chosen = np.unravel_index(self.cells[cell], [len(axis.starts) for axis in self.axes])
        return Predicate([axis.conditions[at] for axis, at in zip(self.axes, chosen, strict=True)])


@dataclass(frozen=True, slots=True)
class _Cell:
    predicate: Predicate
    price: float
    score: float
    design: float = 1.0


def propose(rows: Rows, *, depth: int, min_rows: int) -> tuple[list[Predicate], int]:
    """Return up to five slices in which losses gather, the strongest first, each adding rows to those before.

    The second value is how many cells were looked at.

    Args:
        rows: The rows to search.
        depth: The most conditions of a slice.
        min_rows: The fewest rows of a slice.
    """
    shortlist: list[_Cell] = []
    packed: list[Bits] = []
    seen: set[bytes] = set()
    best, looked_at = _best_cells(rows, depth, min_rows)
    clustered = Clustered.of(rows.loss, rows.groups)
    for cell in best:
        member = rows.member(cell.predicate)
        inside = np.flatnonzero(member)
        bits = np.packbits(member)
        same = bits.tobytes()
        if same in seen or len(inside) == len(rows) or clustered.groups_in(inside) < MIN_GROUPS:
            continue
        seen.add(same)
        shortlist.append(replace(cell, design=clustered.design(inside)))
        packed.append(bits)
    return _cover(shortlist, packed, rows.loss, min_rows), looked_at


def _best_cells(rows: Rows, depth: int, min_rows: int) -> tuple[list[_Cell], int]:
    """The best cells before their design effects are known, in order of score and name, and how many there are."""
    score = _Score.of(rows.loss)
    if not score.possible:
        return [], 0
    counter = _Counter.of(rows, min_rows)
    found: list[_Cell] = []
    looked_at = 0
    for level, of_words in itertools.product(range(1, depth + 1), (False, True)):
        cubes = list(counter.word_cubes(level) if of_words else counter.cubes(level))
        if not cubes:
            continue
        n, lost = (np.concatenate(parts) for parts in ([c.n for c in cubes], [c.loss for c in cubes]))
        cells = max(len(n), round(len(n) * counter.words_each)) if of_words else len(n)
        looked_at += cells
        price = math.log(cells)
        # Rounded, so that the order of rows cannot decide between equals.
        scores = np.round(score.llr(n, lost) - price, 9)
        ends = np.cumsum([len(cube.n) for cube in cubes])
        for at in np.flatnonzero(scores >= _least_kept(scores)).tolist():
            which = int(np.searchsorted(ends, at, side="right"))
            cube = cubes[which]
            predicate = cube.predicate(at - int(ends[which]) + len(cube.n))
            found.append(_Cell(predicate, price, float(scores[at])))
    return sorted(found, key=lambda cell: (-cell.score, str(cell.predicate)))[:SHORTLIST], looked_at


def _least_kept(scores: FloatArray) -> float:
    """The score of the last cell that can come on the shortlist; ties with it are kept."""
    floor = float(np.nextafter(PROPOSE_ABOVE, math.inf))
    if len(scores) <= SHORTLIST:
        return floor
    return max(floor, float(np.partition(scores, len(scores) - SHORTLIST)[len(scores) - SHORTLIST]))


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts rows and losses of all combinations of columns."""

    axes: tuple[_Axis, ...]
    codes: IntArray
    """Each column's code; shape (n, columns)."""
    loss: BoolArray | FloatArray
    min_rows: int
    plain: int
    """How many of the columns are no words; those come first."""
    words_each: float
    """How many words were considered for each that is searched."""

    @classmethod
    def of(cls, rows: Rows, min_rows: int) -> _Counter:
        """Give the rows of rare and folded values code 0; leave out columns without a candidate."""
        axes, codes, plain = [], [], 0
        for column in (*rows.columns, *rows.words.columns):
            axis, code = _axis(column, min_rows)
            if len(axis.starts):
                axes.append(axis)
                codes.append(code[column.codes])
                plain += not any(isinstance(part, Contains) for part in column.conditions)
        stacked = np.stack(codes, axis=1) if codes else np.zeros((len(rows), 0), np.int64)
        each = rows.words.considered / max(1, len(axes) - plain)
        return cls(tuple(axes), stacked, rows.loss, min_rows, plain, each)

    def cubes(self, level: int) -> Iterator[_Cube]:
        """Yield the candidates with enough rows of every combination of so many columns."""
        for head in itertools.combinations(range(self.plain), level - 1):
            yield from self._cube(head, slice(head[-1] + 1 if head else 0, self.plain))

    def word_cubes(self, level: int) -> Iterator[_Cube]:
        """Yield the same of every word, alone and with one condition beside it."""
        for head in itertools.combinations(range(self.plain), level - 1) if level <= WORD_DEPTH else ():
            yield from self._cube(head, slice(self.plain, len(self.axes)))

    def _cube(self, head: tuple[int, ...], tail: slice) -> Iterator[_Cube]:
        """Yield the candidates of some columns with each of those in the tail, unless there is none."""
        if not self.axes[tail]:
            return
        axes = (*(self.axes[i] for i in head), _side_by_side(self.axes[tail]))
        n, lost = self._counts(head, tail, [axis.size for axis in axes])
        for along, axis in enumerate(axes):
            n, lost = axis.runs(n, along), axis.runs(lost, along)
        enough = np.flatnonzero(n >= self.min_rows)
        if len(enough):
            yield _Cube(axes, enough, n.ravel()[enough], lost.ravel()[enough])

    def _counts(self, head: tuple[int, ...], tail: slice, sizes: list[int]) -> tuple[FloatArray, FloatArray]:
        """Count rows and losses by the head's codes and, side by side, those of every column in the tail."""
        binary = self.loss.dtype == np.bool_
        cells = math.prod(sizes)
        offsets = np.cumsum([0, *(axis.size for axis in self.axes[tail][:-1])])
        n, lost = np.zeros(cells), np.zeros(cells)
        for start in range(0, len(self.loss), BLOCK):
            block, loss = self.codes[start : start + BLOCK], self.loss[start : start + BLOCK]
            key = np.zeros(len(block), np.int64)
            for i in head:
                key = key * self.axes[i].size + block[:, i]
            cell = ((key * sizes[-1])[:, None] + (block[:, tail] + offsets)).ravel()
            n += np.bincount(cell, minlength=cells)
            if binary:
                lost += np.bincount(cell.reshape(len(block), -1)[np.flatnonzero(loss)].ravel(), minlength=cells)
            else:
                lost += np.bincount(cell, np.repeat(loss, len(cell) // len(block)), cells)
        return n.reshape(sizes), lost.reshape(sizes)


def _axis(column: Column, min_rows: int) -> tuple[_Axis, IntArray]:
    """Return a column's candidates, and the code on their axis for each code of the column; shape (codes,)."""
    frequent = np.bincount(column.codes, minlength=len(column.conditions)) >= min_rows
    # A rare bin may still be part of a run of bins.
    frequent[: column.ordered] = True
    usable = frequent & np.array([condition is not None for condition in column.conditions])
    kept = [c for c, use in zip(column.conditions, usable, strict=True) if c is not None and use]
    runs = [(a, b) for a in range(column.ordered) for b in range(a + 1, column.ordered + 1)]
    runs = [run for run in runs if run != (0, column.ordered)]
    runs += [(code, code + 1) for code in range(column.ordered, len(kept))]
    starts, stops = np.array(runs, np.int64).reshape(-1, 2).T + 1
    conditions = tuple(_joined(kept[a], kept[b - 1]) for a, b in runs)
    return _Axis(len(kept) + 1, starts, stops, conditions), np.where(usable, np.cumsum(usable), 0)


def _joined(first: Condition, last: Condition) -> Condition:
    if isinstance(first, Interval) and isinstance(last, Interval):
        return Interval(column=first.column, low=first.low, high=last.high)
    return first


def _side_by_side(axes: Sequence[_Axis]) -> _Axis:
    offsets = np.cumsum([0, *(axis.size for axis in axes[:-1])])
    starts, stops = (
        np.concatenate([ends + offset for ends, offset in zip(parts, offsets, strict=True)])
        for parts in ([axis.starts for axis in axes], [axis.stops for axis in axes])
    )
    return _Axis(sum(axis.size for axis in axes), starts, stops, tuple(c for axis in axes for c in axis.conditions))


def _cover(
    shortlist: Sequence[_Cell], packed: Sequence[Bits], loss: BoolArray | FloatArray, min_rows: int
) -> list[Predicate]:
    """Take the best cell, strike its rows, score what is left of the others, and so on."""
    chosen: list[Predicate] = []
    alive = np.ones(len(loss), np.bool_)
    price, design = np.array([(cell.price, cell.design) for cell in shortlist]).reshape(-1, 2).T
    while shortlist and len(chosen) < PROPOSALS:
        score = _Score.of(loss[alive])
        if not score.possible:
            break
        n = _counts(packed, alive)
        lost = (
            _counts(packed, alive & (loss > 0)) if loss.dtype == np.bool_ else _sums(packed, np.where(alive, loss, 0.0))
        )
        scores = np.where(n >= min_rows, np.round(score.llr(n, lost) / design - price, 9), -math.inf)
        best = int(np.argmax(scores))  # the shortlist is in order of score and name, so ties have one answer
        if scores[best] <= PROPOSE_ABOVE:
            break
        chosen.append(shortlist[best].predicate)
        alive &= ~np.unpackbits(packed[best], count=len(alive)).astype(np.bool_)
    return chosen


def _counts(packed: Sequence[Bits], marked: BoolArray) -> FloatArray:
    """Count the marked rows of each mask, without unpacking it."""
    bits = np.packbits(marked)
    return np.array([_ONES[mask & bits].sum(dtype=np.int64) for mask in packed], np.float64)


def _sums(packed: Sequence[Bits], weight: FloatArray) -> FloatArray:
    """Sum the weights of each mask's rows."""
    return np.array([np.unpackbits(mask, count=len(weight)) @ weight for mask in packed], np.float64)


def still_poor(
    rows: Rows, predicates: Sequence[Predicate], *, min_rows: int, after: Sequence[Predicate] = ()
) -> list[Predicate]:
    """Return the slices in which losses gather even beside the stronger ones, the strongest first.

    Args:
        rows: All rows that the metric is about.
        predicates: The slices.
        min_rows: The fewest rows that must be left of a slice.
        after: Slices whose rows are taken away first.
    """
    gone = np.zeros(len(rows), np.bool_)
    for predicate in after:
        gone |= rows.member(predicate)
    left, waiting, kept = rows.only(~gone), list(predicates), []
    while waiting:
        score = _Score.of(left.loss)
        members = [left.member(predicate) for predicate in waiting]
        n = np.array([np.count_nonzero(member) for member in members], np.float64)
        lost = np.array([left.loss[member].sum() for member in members], np.float64)
        if not score.possible:
            break
        ratio = np.where(n >= min_rows, np.round(score.llr(n, lost), 9), 0.0)
        best = min(range(len(waiting)), key=lambda i: (-ratio[i], str(waiting[i])))
        if ratio[best] < RESIDUE:
            break
        kept.append(waiting.pop(best))
        left = left.only(~members[best])
    return kept
