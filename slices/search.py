"""Exhaustive search for the cells of a table where bad rows gather.

Every combination of up to `depth` columns is counted in one pass per combination, whatever the number of values
(all cells of a cube come from one `bincount`). A cell is scored by the one-sided scan likelihood ratio, shrunk
by its own design effect, less the log of how many cells of its depth were looked at: a price for complexity and a
Bonferroni correction in one. What is left after taking a slice's rows away decides the next (greedy cover).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from .features import Column
from .significance import MIN_GROUPS, design_effect, scan_llr
from .slice import Condition, Predicate

SHORTLIST = 300
PROPOSALS = 5
PROPOSE_ABOVE = -2.0
"""A weak proposal costs little: confirmation on the other half decides, corrected for all proposals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of a metric's denominator."""

    columns: tuple[Column, ...]
    bad: BoolArray
    groups: IntArray

    def __len__(self) -> int:
        return len(self.bad)

    def only(self, chosen: BoolArray) -> Rows:
        """Return the chosen rows; chosen has shape (n,)."""
        columns = tuple(Column(name=c.name, codes=c.codes[chosen], conditions=c.conditions) for c in self.columns)
        return Rows(columns=columns, bad=self.bad[chosen], groups=self.groups[chosen])

    def member(self, predicate: Predicate) -> BoolArray:
        """Return whether each row is inside, by its codes; shape (n,)."""
        inside = np.ones(len(self), np.bool_)
        by_name = {column.name: column for column in self.columns}
        for condition in predicate.conditions:
            column = by_name[condition.column]
            inside &= column.codes == column.conditions.index(condition)
        return inside


@dataclass(frozen=True, slots=True)
class _Cell:
    predicate: Predicate
    price: float
    llr: float
    design: float = 1.0

    @property
    def score(self) -> float:
        # Rounded, so that the order of rows cannot decide between equals.
        return round(self.llr / self.design - self.price, 9)


def propose(rows: Rows, *, depth: int, min_rows: int) -> list[Predicate]:
    """Return up to five slices in which bad rows gather, the strongest first, each adding rows to those before.

    Args:
        rows: The rows to search.
        depth: The most conditions of a slice.
        min_rows: The fewest rows of a slice.
    """
    best = sorted(_cells(rows, depth, min_rows), key=lambda cell: (-cell.score, str(cell.predicate)))[:SHORTLIST]
    shortlist: list[_Cell] = []
    members: list[BoolArray] = []
    seen: set[bytes] = set()
    for cell in best:
        member = rows.member(cell.predicate)
        same = np.packbits(member).tobytes()
        if same in seen or member.all() or len(np.unique(rows.groups[member])) < MIN_GROUPS:
            continue
        seen.add(same)
        design = design_effect(rows.bad, member, rows.groups)
        shortlist.append(_Cell(cell.predicate, cell.price, cell.llr, design))
        members.append(member)
    return _cover(shortlist, np.array(members, np.bool_).reshape(len(members), len(rows)), rows.bad, min_rows)


def count_candidates(rows: Rows, *, depth: int, min_rows: int) -> int:
    """Return how many cells with enough rows there are up to a depth."""
    return sum(len(n) for level in range(1, depth + 1) for _, _, n, _ in _cubes(rows, level, min_rows))


def _cells(rows: Rows, depth: int, min_rows: int) -> Iterator[_Cell]:
    total, total_bad = len(rows), int(rows.bad.sum())
    if not 0 < total_bad < total:
        return
    for level in range(1, depth + 1):
        cubes = list(_cubes(rows, level, min_rows))
        price = math.log(max(1, sum(len(n) for _, _, n, _ in cubes)))
        for columns, cells, n, bad in cubes:
            llr = scan_llr(n, bad, total, total_bad)
            for i in np.flatnonzero(llr - price > PROPOSE_ABOVE):
                yield _Cell(_predicate(columns, cells[i]), price, float(llr[i]))


def _cubes(
    rows: Rows, level: int, min_rows: int
) -> Iterator[tuple[Sequence[Column], IntArray, FloatArray, FloatArray]]:
    """For each combination of columns: its cells with enough rows as codes (cells, level), rows and bad rows."""
    bad = rows.bad.astype(np.float64)
    for columns in itertools.combinations(_frequent(rows, min_rows), level):
        sizes = [len(column.conditions) + 1 for column in columns]
        key = np.ravel_multi_index([column.codes + 1 for column in columns], sizes)
        n = np.bincount(key, minlength=math.prod(sizes))
        cells = np.stack(np.unravel_index(np.flatnonzero(n >= min_rows), sizes), axis=1) - 1
        flat = np.flatnonzero(n >= min_rows)[(cells >= 0).all(axis=1)]
        if len(flat):
            hits = np.bincount(key, bad, minlength=len(n))[flat]
            yield columns, cells[(cells >= 0).all(axis=1)], n[flat].astype(np.float64), hits.astype(np.float64)


def _frequent(rows: Rows, min_rows: int) -> list[Column]:
    """The columns with their rare and folded values as code -1, those without a frequent value left out."""
    found = []
    for column in rows.columns:
        counts = np.bincount(column.codes, minlength=len(column.conditions))
        usable = (counts >= min_rows) & np.array([c is not None for c in column.conditions])
        if usable.any():
            # Renumbered, so that the cube is no larger than its frequent values.
            renumbered = np.where(usable, np.cumsum(usable) - 1, -1)
            kept = tuple(c for c, use in zip(column.conditions, usable, strict=True) if use)
            found.append(Column(name=column.name, codes=renumbered[column.codes], conditions=kept))
    return found


def _predicate(columns: Sequence[Column], codes: IntArray) -> Predicate:
    conditions: list[Condition] = []
    for column, code in zip(columns, codes, strict=True):
        condition = column.conditions[int(code)]
        if condition is not None:
            conditions.append(condition)
    return Predicate(conditions)


def _cover(shortlist: Sequence[_Cell], members: BoolArray, bad: BoolArray, min_rows: int) -> list[Predicate]:
    alive = np.ones(len(bad), np.bool_)
    chosen: list[Predicate] = []
    prices = np.array([cell.price for cell in shortlist])
    designs = np.array([cell.design for cell in shortlist])
    while shortlist and len(chosen) < PROPOSALS:
        left = members[:, alive]
        n = left.sum(axis=1).astype(np.float64)
        hits = left[:, bad[alive]].sum(axis=1).astype(np.float64)
        scores = np.round(scan_llr(n, hits, float(alive.sum()), float(bad[alive].sum())) / designs - prices, 9)
        scores[n < min_rows] = -math.inf
        best = int(np.argmax(scores))  # the shortlist is in order of score and name, so ties have one answer
        if scores[best] <= PROPOSE_ABOVE:
            break
        chosen.append(shortlist[best].predicate)
        alive &= ~members[best]
    return chosen
