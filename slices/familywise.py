"""How high the best of all candidate slices scores where no slice is poorer than the rest.

Many candidates are searched, and the best of them looks poor by chance. A p-value that holds for
the best is the chance of such a maximum (max-T: Westfall and Young 1993). Where there is no slice,
the statistics of all candidates are jointly normal (Chernozhukov, Chetverikov and Kato 2013), and
two are correlated by the rows that they share. Each draw gives every row a normal multiplier, which
rows of one random block have in common, and sums them over the candidates as the search sums
losses. The losses themselves are no multipliers: where errors are rare, slices that share one would
seem alike.

A candidate's own tail comes from its test, which knows groups and rare errors; the draws only tell
how many candidates there are in effect. Each scores z**2 / 2 less the log of the number of
candidates of its kind, so that one value does not pay for all pairs and ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..judges import FloatArray, IntArray
from .candidates import Axis, Counter, Kind, Rows, ranges_of

DRAWS = 499
BLOCKS = 256
"""Rows are put together into so many random blocks, which share a multiplier."""
BLOCK = -1
"""Where the block stands among the columns."""
SAMPLE = 1 << 15
"""Rows behind the correlations; of a larger table, those of some of the groups."""
MOST_CANDIDATES = 1 << 16
"""With more, which would take longer than the search itself, Bonferroni alone corrects."""
LARGEST = 1 << 15
"""Sums of one combination of columns, above which it is Bonferroni as well."""
CHUNK = 1 << 13
"""Sums held at once for each block or draw, where columns can be parted."""
NOTHING = 1e-4
"""Spread of sums that is rounding alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Familywise:
    """From a candidate's own p-value to one that is corrected for every candidate of the search."""

    prices: Mapping[Kind, float]
    """Log of how many candidates there are of each kind."""
    draws: FloatArray
    """The best score of those without words in each draw; empty where there are too many to draw.
    """

    def score(self, z: float, kind: Kind) -> float:
        """Return what decides between candidates of all kinds."""
        return max(z, 0.0) ** 2 / 2 - self.prices[kind]

    def z(self, score: float, kind: Kind) -> float:
        """Return the z-value that has this score, at least 0."""
        return math.sqrt(2 * max(0.0, score + self.prices[kind]))

    def p(self, score: float) -> float:
        """Return the chance that any candidate scores so high where there is no slice.

        Candidates with words add theirs by Bonferroni: they were chosen from thousands, and seldom
        overlap.
        """
        plain = self._bonferroni(score, of_words=False)
        if len(self.draws):
            # Far out no draw is so high, and Bonferroni, which is never too small, is the smaller.
            drawn = (1 + np.count_nonzero(self.draws >= score)) / (1 + len(self.draws))
            plain = min(plain, float(drawn))
        return min(1.0, plain + self._bonferroni(score, of_words=True))

    def _bonferroni(self, score: float, *, of_words: bool) -> float:
        from scipy.special import ndtr

        return sum(
            math.exp(price) * float(ndtr(-self.z(score, kind)))
            for kind, price in self.prices.items()
            if kind.of_words == of_words
        )

    def critical(self, level: float) -> float:
        """Return the lowest score whose p is at most the level."""
        low, high = -50.0, 100.0
        for _ in range(50):
            middle = (low + high) / 2
            if self.p(middle) <= level:
                high = middle
            else:
                low = middle
        return high


def correct_for_all(
    rows: Rows, order: IntArray, prices: Mapping[Kind, float], *, min_rows: int
) -> Familywise:
    """Draw what the best of all candidates scores by chance.

    Args:
        rows: The rows that were searched.
        order: A rank of each row's group that depends on no loss, by which a large table is
            sampled; shape (n,).
        prices: Log of how many candidates there are of each kind that was searched.
        min_rows: The fewest rows of a candidate.
    """
    plain = {kind: price for kind, price in prices.items() if not kind.of_words}
    if sum(map(math.exp, plain.values())) > MOST_CANDIDATES:
        return Familywise(prices=prices, draws=np.zeros(0))
    if len(rows) > SAMPLE:
        least = (int(order.max()) + 1) * SAMPLE // len(rows)
        min_rows = max(1, min_rows * SAMPLE // len(rows))
        rows, order = rows.only(order < least), order[order < least]
    counter = _by_block(Counter.of(rows, min_rows))
    rows_of = np.bincount(counter.codes[:, BLOCK], minlength=BLOCKS).astype(np.float32)
    multipliers = np.random.default_rng(0).standard_normal((BLOCKS, DRAWS), np.float32)
    # The matrices are tiny: threads would wait for each other longer than they work.
    with threadpool_limits(limits=1, user_api="blas"):
        best = np.full(DRAWS, -math.inf)
        for conditions in range(1, max((kind.conditions for kind in plain), default=0) + 1):
            price = np.array(
                [plain.get(Kind(conditions, i, False), math.inf) for i in range(conditions + 1)]
            )
            for head, tail in counter.combinations(conditions, of_words=False):
                for part in _parts(counter, head, tail):
                    if _size(counter, head, part) > LARGEST:
                        return Familywise(prices=prices, draws=np.zeros(0))
                    best = np.maximum(
                        best, _highest(counter, head, part, multipliers, rows_of, price)
                    )
        return Familywise(prices=prices, draws=best)


def _by_block(counter: Counter) -> Counter:
    """Let a random block of each row be one more column, the last; the order of rows does not
    matter.
    """
    # Rows that are alike in every column may change places, so sorting by all columns is enough.
    order = np.lexsort(counter.codes.T) if counter.codes.shape[1] else np.arange(len(counter.codes))
    block = np.empty(len(order), np.int64)
    block[order] = np.random.default_rng(0).permutation(len(order)) % BLOCKS
    none = np.zeros(0, np.int64)
    axes = (*counter.axes, Axis(BLOCKS, none, none, ()))
    # Losses are not asked for, and cost nothing where no row is bad.
    no_loss = np.zeros(len(order), np.bool_)
    return replace(counter, axes=axes, codes=np.column_stack([counter.codes, block]), loss=no_loss)


def _parts(counter: Counter, head: tuple[int, ...], tail: slice) -> Iterator[slice]:
    """Cut a tail between columns so that the sums of a part stay few."""
    start = tail.start
    for stop in range(tail.start + 1, tail.stop + 1):
        if stop == tail.stop or _size(counter, head, slice(start, stop + 1)) > CHUNK:
            yield slice(start, stop)
            start = stop


def _size(counter: Counter, head: tuple[int, ...], tail: slice) -> int:
    """Return how many cells or candidates some columns have, whichever are more."""
    axes = counter.axes_of(head, tail)
    return max(math.prod(axis.size for axis in axes), math.prod(len(axis.starts) for axis in axes))


def _highest(
    counter: Counter,
    head: tuple[int, ...],
    tail: slice,
    multipliers: NDArray[np.float32],
    rows_of: NDArray[np.float32],
    price: FloatArray,
) -> FloatArray:
    """Return the highest score of the candidates of some columns in each draw; shape (draws,).

    Args:
        counter: With the block as its last column.
        head: All columns but the last.
        tail: Those of which the last is one.
        multipliers: Shape (blocks, draws).
        rows_of: All rows of each block; shape (blocks,).
        price: Of a candidate with so many intervals; shape (conditions + 1,).
    """
    rows, _ = counter.count((BLOCK, *head), tail)
    n = rows.sum(axis=0)
    sums = (rows.reshape(BLOCKS, -1).T.astype(np.float32) @ multipliers).reshape(*n.shape, -1)
    axes = counter.axes_of(head, tail)
    for along, axis in enumerate(axes):
        n, sums = axis.sums(n, along), axis.sums(sums, along)
    enough = np.flatnonzero(n >= counter.min_rows)
    if not len(enough):
        return np.full(multipliers.shape[1], -math.inf)
    sums = sums.reshape(-1, multipliers.shape[1])[enough]
    # A slice is compared with the other rows, so its share of what all rows come to is taken away.
    share = (n.ravel()[enough] / len(counter.loss)).astype(np.float32)
    sums -= share[:, None] * (rows_of @ multipliers)
    spread = np.sqrt(np.einsum("cd,cd->c", sums, sums) / sums.shape[1])
    sums /= np.where(spread > NOTHING, spread, np.inf)[:, None]
    ranges = ranges_of(axes)[enough]
    highest = np.full(multipliers.shape[1], -math.inf)
    for i in np.unique(ranges).tolist():
        z = sums[ranges == i].max(axis=0)
        highest = np.maximum(highest, np.maximum(z, 0.0) ** 2 / 2 - price[i])
    return highest
