"""Exhaustive search for the cells of a table where losses gather.

A cell is scored by the one-sided scan likelihood ratio, shrunk by its own design effect, less the
log of how many cells of its depth were looked at: a price for complexity and a Bonferroni
correction in one. What is left after taking a slice's rows away decides the next (greedy cover).

Words of the texts pay for all the words that they were chosen from.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..judges import BoolArray, FloatArray
from .candidates import Counter, Kind, Rows
from .significance import MIN_GROUPS, Clustered, LossScan
from .slice import Predicate

Bits = npt.NDArray[np.uint64]
"""Whether each row is inside, 64 rows a word."""

SHORTLIST = 300
PROPOSALS = 8
RESIDUE = 2.0
"""Log-likelihood ratio that a slice must keep without stronger ones' rows: one-sided 2.5 %."""
INSIDE = 0.9
"""Share of a slice's rows that lie in another one, for it to be a part of that."""


@dataclass(frozen=True, slots=True)
class _Cell:
    predicate: Predicate
    price: float
    score: float
    design: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What a search came to."""

    predicates: tuple[Predicate, ...]
    """The strongest first, each adding losses to those before."""
    prices: Mapping[Kind, float]
    """Log of how many candidates there were of each kind."""

    @property
    def candidates(self) -> int:
        """How many candidates there were in all."""
        return round(sum(map(math.exp, self.prices.values())))


def propose(
    rows: Rows,
    *,
    depth: int,
    min_rows: int,
    most: int = PROPOSALS,
    least: float = -math.inf,
    strike: bool = False,
) -> Proposals:
    """Return the few slices in which losses gather most, each beside those before it.

    Args:
        rows: The rows to search.
        depth: The most conditions of a slice.
        min_rows: The fewest rows of a slice.
        most: The most slices.
        least: The score that a slice must exceed, also by itself.
        strike: Let the rows of each slice be gone for those after it, which are then fewer; else
            the others are compared both inside and outside it.
    """
    shortlist: list[_Cell] = []
    seen: set[bytes] = set()
    best, prices = _best_cells(rows, depth, min_rows, least)
    masks = np.zeros((len(best), -(-len(rows) // 64)), np.uint64)
    clustered = Clustered.of(rows.loss, rows.groups)
    for cell in best:
        member = rows.member(cell.predicate)
        inside = np.flatnonzero(member)
        bits = _pack(member)
        # Of two predicates that hold for the same rows the first speaks, which scores no less.
        same = hashlib.blake2b(bits.tobytes()).digest()
        if same in seen or len(inside) == len(rows) or clustered.groups_in(inside) < MIN_GROUPS:
            continue
        seen.add(same)
        masks[len(shortlist)] = bits
        shortlist.append(replace(cell, design=clustered.design(inside)))
    if not shortlist:
        return Proposals(predicates=(), prices=prices)
    covering = _cover(
        shortlist,
        masks[: len(shortlist)],
        rows.loss,
        min_rows,
        most=most,
        least=least,
        strike=strike,
    )
    return Proposals(predicates=tuple(covering), prices=prices)


def _best_cells(
    rows: Rows, depth: int, min_rows: int, least: float
) -> tuple[list[_Cell], dict[Kind, float]]:
    """Return the best cells by score, before their design effects are known, and the price of each
    kind.
    """
    scan = LossScan.of(rows.loss)
    if not scan.possible:
        return [], {}
    counter = Counter.of(rows, min_rows)
    best: list[_Cell] = []
    prices: dict[Kind, float] = {}
    for level, of_words in itertools.product(range(1, depth + 1), (False, True)):
        cubes = list(counter.cubes(level, of_words=of_words))
        if not cubes:
            continue
        n = np.concatenate([cube.n for cube in cubes])
        loss = np.concatenate([cube.loss for cube in cubes])
        ranges = np.concatenate([cube.ranges for cube in cubes])
        # Words were chosen from many more, which count as looked at.
        cells = np.bincount(ranges) * (max(1.0, counter.words_each) if of_words else 1.0)
        price = np.log(np.maximum(np.round(cells), 1.0))
        for i in np.flatnonzero(cells).tolist():
            prices[Kind(level, i, of_words)] = float(price[i])
        # Rounded, so that the order of rows cannot decide between equals.
        scores = np.round(scan.llr(n, loss) - price[ranges], 9)
        ends = np.cumsum([len(cube.n) for cube in cubes])
        for at in np.flatnonzero((scores > least) & (scores >= _lowest_listed(scores))).tolist():
            position = int(np.searchsorted(ends, at, side="right"))
            cube = cubes[position]
            predicate = cube.predicate(at - int(ends[position]) + len(cube.n))
            best.append(_Cell(predicate, float(price[ranges[at]]), float(scores[at])))
    best.sort(key=lambda cell: (-cell.score, str(cell.predicate)))
    return best[:SHORTLIST], prices


def _lowest_listed(scores: FloatArray) -> float:
    """Return the score of the last cell that can come on the shortlist; ties with it are listed."""
    rank = len(scores) - SHORTLIST
    if rank <= 0:
        return -math.inf
    return float(np.partition(scores, rank)[rank])


def _cover(
    shortlist: Sequence[_Cell],
    packed: Bits,
    loss: BoolArray | FloatArray,
    min_rows: int,
    *,
    most: int,
    least: float,
    strike: bool,
) -> list[Predicate]:
    """Take the best cell, score the others beside it, take the best again, and so on."""
    chosen: list[Predicate] = []
    strata = np.zeros(len(loss), np.int64)
    design = np.array([cell.design for cell in shortlist])
    price = np.array([cell.price for cell in shortlist])
    size = _counts(packed, np.ones(len(loss), np.bool_))
    # Inside a slice there are fewer candidates than in all rows: as many as may take its place
    # there.
    discount = np.zeros(len(shortlist))
    # Inside a later slice that overlaps it one already chosen still has an inside and an outside.
    free = np.ones(len(shortlist), np.bool_)
    while len(chosen) < most:
        llr = np.zeros(len(shortlist))
        apart = np.zeros(len(shortlist))
        for stratum in range(1 if strike else len(chosen) + 1):
            rows = strata == stratum
            n, lost = _counts(packed, rows), _sums(packed, rows, loss)
            llr += LossScan.of(loss[rows]).signed_llr(n, lost)
            apart += np.minimum(n, np.count_nonzero(rows) - n)
        # The shortlist is in order of score and name, so ties have one answer.
        possible = free & (llr > 0) & (apart >= min_rows)
        scores = np.where(possible, np.round(llr / design - (price - discount), 9), -math.inf)
        best = int(np.argmax(scores))
        if scores[best] <= least:
            break
        free[best] = False
        chosen.append(shortlist[best].predicate)
        member = _unpack(packed[best], len(loss))
        strata[member] = len(chosen)
        discount = np.where(
            _counts(packed, member) >= INSIDE * size, np.maximum(discount, price[best]), discount
        )
        discount = np.minimum(discount, price)
    return chosen


def _sums(packed: Bits, rows: BoolArray, loss: BoolArray | FloatArray) -> FloatArray:
    """Sum the losses of the marked rows of each mask."""
    if loss.dtype == np.bool_:
        return _counts(packed, rows & (loss > 0))
    weight = np.where(rows, loss, 0.0)
    return np.array([weight[_unpack(mask, len(weight))].sum() for mask in packed], np.float64)


def _pack(marked: BoolArray) -> Bits:
    """Return the bits of marked rows; those after the last row are 0."""
    packed = np.packbits(marked)
    return np.pad(packed, (0, -len(packed) % 8)).view(np.uint64)


def _unpack(bits: Bits, n: int) -> BoolArray:
    return np.unpackbits(bits.view(np.uint8), count=n).astype(np.bool_)


def _counts(packed: Bits, marked: BoolArray) -> FloatArray:
    """Count the marked rows of each mask, without unpacking it."""
    return np.bitwise_count(packed & _pack(marked)).sum(axis=1, dtype=np.float64)


def still_poor(
    rows: Rows, predicates: Sequence[Predicate], *, min_rows: int
) -> dict[Predicate, Predicate | None]:
    """Return the slices in which losses gather even beside the stronger ones, each with the one it
    lies inside.

    The stronger slices part the rows. Within each part a slice's rows are compared with the others:
    so what is poor only for a stronger slice's rows is dropped, and the sharp core of a wide slice,
    which is poorer than the rest of it, is not.

    Args:
        rows: All rows that the metric is about.
        predicates: The slices, the strongest first.
        min_rows: The fewest rows that must be left to compare, and to compare them with.
    """
    poor: dict[Predicate, Predicate | None] = {}
    strata = np.zeros(len(rows), np.int64)
    for predicate in predicates:
        member = rows.member(predicate)
        beside = [
            _gathered(rows.loss, member, strata == stratum) for stratum in range(len(poor) + 1)
        ]
        if (
            sum(apart for _, apart in beside) < min_rows
            or round(sum(llr for llr, _ in beside), 9) < RESIDUE
        ):
            continue
        within = None
        for stronger in poor:
            if np.count_nonzero(member & rows.member(stronger)) >= INSIDE * np.count_nonzero(
                member
            ):
                within = stronger
        # In the parts any piece of a wider slice may look poor, where another slice has taken the
        # wider one's rows.
        if within is not None and _gathered(rows.loss, member, rows.member(within))[0] < RESIDUE:
            continue
        poor[predicate] = within
        strata[member] = len(poor)
    return poor


def _gathered(
    loss: BoolArray | FloatArray, member: BoolArray, part: BoolArray
) -> tuple[float, int]:
    """Return how clearly losses gather in a slice's rows of a part, and the rows of it on the
    smaller side.
    """
    inside = member & part
    n = np.count_nonzero(inside)
    llr = LossScan.of(loss[part]).signed_llr(
        np.array([n], np.float64), np.array([loss[inside].sum()], np.float64)
    )
    return float(llr[0]), int(min(n, np.count_nonzero(part) - n))
