"""Exhaustive search for the cells of a table where losses gather.

A cell is scored by the one-sided scan likelihood ratio, shrunk by its own design effect, less the
log of how many cells of its depth were looked at: a price for complexity and a Bonferroni
correction in one. What is left after taking a slice's rows away decides the next (greedy cover).

Words of the texts pay for all the words that they were chosen from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..judges import BoolArray, FloatArray
from .candidates import Counter, Rows
from .significance import MIN_GROUPS, Clustered, LossScan
from .slice import Predicate

Bits = npt.NDArray[np.uint8]
"""Whether each row is inside, eight rows a byte."""
_ONES = np.array([value.bit_count() for value in range(256)], np.uint8)

SHORTLIST = 300
PROPOSALS = 5
RESIDUE = 2.0
"""Log-likelihood ratio that a slice must keep without stronger ones' rows: one-sided 2.5 %."""
PROPOSE_ABOVE = -2.0
"""A weak proposal costs little: the other half decides, corrected for all proposals."""


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
        # Of two predicates that hold for the same rows the first speaks, which scores no less.
        if bits.tobytes() in seen or len(inside) == len(rows) or clustered.groups_in(inside) < MIN_GROUPS:
            continue
        seen.add(bits.tobytes())
        shortlist.append(replace(cell, design=clustered.design(inside)))
        packed.append(bits)
    return _cover(shortlist, packed, rows.loss, min_rows), looked_at


def _best_cells(rows: Rows, depth: int, min_rows: int) -> tuple[list[_Cell], int]:
    """Return the best cells before their design effects are known, in order of score and name, and the cell count."""
    scan = LossScan.of(rows.loss)
    if not scan.possible:
        return [], 0
    counter = Counter.of(rows, min_rows)
    best: list[_Cell] = []
    looked_at = 0
    for level, of_words in itertools.product(range(1, depth + 1), (False, True)):
        cubes = list(counter.word_cubes(level) if of_words else counter.cubes(level))
        if not cubes:
            continue
        n = np.concatenate([cube.n for cube in cubes])
        loss = np.concatenate([cube.loss for cube in cubes])
        cells = len(n)
        if of_words:
            # The words were chosen from many more, which count as looked at.
            cells = max(cells, round(cells * counter.words_each))
        looked_at += cells
        price = math.log(cells)
        # Rounded, so that the order of rows cannot decide between equals.
        scores = np.round(scan.llr(n, loss) - price, 9)
        ends = np.cumsum([len(cube.n) for cube in cubes])
        for at in np.flatnonzero(scores >= _lowest_listed(scores)).tolist():
            position = int(np.searchsorted(ends, at, side="right"))
            cube = cubes[position]
            predicate = cube.predicate(at - int(ends[position]) + len(cube.n))
            best.append(_Cell(predicate, price, float(scores[at])))
    best.sort(key=lambda cell: (-cell.score, str(cell.predicate)))
    return best[:SHORTLIST], looked_at


def _lowest_listed(scores: FloatArray) -> float:
    """Return the score of the last cell that can come on the shortlist; ties with it are listed."""
    floor = float(np.nextafter(PROPOSE_ABOVE, math.inf))
    rank = len(scores) - SHORTLIST
    if rank <= 0:
        return floor
    return max(floor, float(np.partition(scores, rank)[rank]))


def _cover(
    shortlist: Sequence[_Cell], packed: Sequence[Bits], loss: BoolArray | FloatArray, min_rows: int
) -> list[Predicate]:
    """Take the best cell, strike its rows, score what is left of the others, and so on."""
    chosen: list[Predicate] = []
    alive = np.ones(len(loss), np.bool_)
    price, design = np.array([(cell.price, cell.design) for cell in shortlist]).reshape(-1, 2).T
    while shortlist and len(chosen) < PROPOSALS:
        scan = LossScan.of(loss[alive])
        if not scan.possible:
            break
        n = _counts(packed, alive)
        if loss.dtype == np.bool_:
            lost = _counts(packed, alive & (loss > 0))
        else:
            weight = np.where(alive, loss, 0.0)
            lost = np.array([np.unpackbits(mask, count=len(weight)) @ weight for mask in packed], np.float64)
        scores = np.where(n >= min_rows, np.round(scan.llr(n, lost) / design - price, 9), -math.inf)
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
    left, waiting = rows.only(~gone), list(predicates)
    poor: list[Predicate] = []
    while waiting:
        scan = LossScan.of(left.loss)
        if not scan.possible:
            break
        members = [left.member(predicate) for predicate in waiting]
        n = np.array([np.count_nonzero(member) for member in members], np.float64)
        lost = np.array([left.loss[member].sum() for member in members], np.float64)
        ratio = np.where(n >= min_rows, np.round(scan.llr(n, lost), 9), 0.0)
        best = min(range(len(waiting)), key=lambda i: (-ratio[i], str(waiting[i])))
        if ratio[best] < RESIDUE:
            break
        poor.append(waiting.pop(best))
        left = left.only(~members[best])
    return poor
