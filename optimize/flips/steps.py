"""Which rows are drawn next, and what their labels are worth to each claim: one step is one bet.

*New groups like these:* the groups come in a seeded random order, and a step is a group. Of its
rows each is drawn with a probability that was fixed before the group came up (`allocate`): rows on
which the two disagree always, the others by systematic sampling, so that a group never has more of
them than its share. What the group scores is what its cells are expected to, plus what the drawn
rows scored beyond that over their probability (a difference estimator; Särndal, Swensson and
Wretman 1992). A step without a row to draw costs no label. The worst that any group of the pool
could score limits the stakes: a new group is taken to be no larger than the largest here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...judges import FloatArray, IntArray
from .design import FlipDesign, PoolRow
from .scores import CELLS, DISAGREED, cell_of

FLOOR = 0.02
"""Least probability of a row whose label can matter."""
LEVEL_FLOOR = 0.03
"""The same where the labels of rows on which both agree say what F1 the prompt in use has."""


@dataclass(frozen=True, slots=True)
class Step:
    """Rows to label, and what they are worth."""

    rows: IntArray
    """Positions of the rows to label, in the order to ask."""
    cells: IntArray
    """Their cells."""
    probability: FloatArray
    """With which a row of each cell was drawn; shape (cells,)."""
    base: FloatArray
    """What the step scores for each claim before the drawn rows say more than was expected; shape
    (claims,).
    """
    lowest: FloatArray
    """What it can score at worst; shape (claims,)."""

    def values(
        self, tables: FloatArray, expected: FloatArray, labels: Sequence[int | None]
    ) -> FloatArray:
        """Return what the step scores for each claim; a row without a label scores the worst.

        Args:
            tables: Scores by claim, cell and label; shape (claims, cells, 2).
            expected: What a row of each cell is expected to score; shape (claims, cells).
            labels: 1, 0 or None for each drawn row.
        """
        codes = np.array([-1 if label is None else label for label in labels], np.int64)
        scores = np.where(codes < 0, tables[:, self.cells].min(-1), tables[:, self.cells, codes])
        beyond = (scores - expected[:, self.cells]) / self.probability[self.cells]
        return self.base + beyond.sum(-1)


def allocate(tables: FloatArray, rates: FloatArray, *, floor: float = FLOOR) -> FloatArray:
    """Return how likely a row of each cell is to be drawn, relative to a flip; shape (cells,).

    Neyman's allocation: in proportion to the standard deviation of the score in the cell, for the
    claim that asks most. No drawn row may weigh more than a flip at its worst, which would keep all
    stakes small.

    Args:
        tables: Scores by claim that is open, cell and label; shape (claims, cells, 2).
        rates: Share of positive labels that is expected in each cell.
        floor: Least probability of a row whose label can matter.
    """
    spans = np.abs(tables[:, :, 1] - tables[:, :, 0])
    spread = spans * np.sqrt(rates * (1 - rates))
    expected = expected_scores(tables, rates)
    losses = expected - tables.min(-1)
    shares = np.zeros(CELLS)
    for claim in range(len(tables)):
        widest, worst = spread[claim][DISAGREED].max(), losses[claim][DISAGREED].max()
        if widest > 0 and worst > 0:
            shares = np.maximum(shares, np.maximum(spread[claim] / widest, losses[claim] / worst))
    shares[DISAGREED] = 1.0
    matters = spans.max(0) > 0
    return np.where(matters, np.clip(shares, floor, 1.0), 0.0)


def expected_scores(tables: FloatArray, rates: FloatArray) -> FloatArray:
    """Return what a row of each cell is expected to score for each claim; shape (claims, cells)."""
    return tables[:, :, 0] * (1 - rates) + tables[:, :, 1] * rates


class GroupWalk:
    """Draws for a decision about new groups."""

    def __init__(self, design: FlipDesign) -> None:
        self._seed = design.seed
        members: dict[tuple[bool, str], list[int]] = {}
        for i, row in enumerate(design.rows):
            # The sealed holdout's groups come first; their labels are there.
            members.setdefault((row.positive is None, row.group), []).append(i)
        rng = np.random.default_rng([design.seed, 0])
        order: list[tuple[bool, str]] = []
        for unlabelled in (False, True):
            names = sorted(name for name in members if name[0] == unlabelled)
            order += [names[k] for k in rng.permutation(len(names))]
        self.cells = cells_of(design.rows)
        self._members = [np.array(members[name], np.int64) for name in order]
        self._known = sum(not unlabelled for unlabelled, _ in order)
        sizes = [np.bincount(self.cells[rows], minlength=CELLS) for rows in self._members]
        self.sizes: FloatArray = np.array(sizes, np.float64).reshape(-1, CELLS)
        """Rows of each group by cell; shape (groups, cells)."""
        # Groups are alike but for their sizes: few kinds have to be looked at for the worst.
        self._kinds: FloatArray = np.unique(self.sizes, axis=0)
        self._scored: FloatArray | None = None
        self.visited = 0

    def next(self, share: FloatArray, tables: FloatArray, expected: FloatArray) -> Step | None:
        """Return the next group's step; None where there is none left."""
        if self.visited == len(self._members):
            return None
        i = self.visited
        self.visited += 1
        rows, chance = self._members[i], np.ones(CELLS) if i < self._known else share
        rng = np.random.default_rng([self._seed, 1, i])
        rows = rng.permutation(rows)
        offsets = rng.random(CELLS)
        drawn: list[int] = []
        for cell in np.flatnonzero(self.sizes[i]).tolist():
            there = rows[self.cells[rows] == cell].tolist()
            mark = offsets[cell]
            for row in there:
                # Every time the sum of the probabilities passes a whole number, one row is drawn.
                passed = mark + chance[cell]
                if math.floor(passed) > math.floor(mark):
                    drawn.append(row)
                mark = passed
        rows_to_ask = rng.permutation(np.array(drawn, np.int64))
        base = expected @ self.sizes[i]
        if self._scored is not tables or i == self._known:
            # The worst depends on the scores, which stay as they are until there is another label.
            self._scored, self._lowest = tables, -self.worst(chance, tables, expected)
        return Step(rows_to_ask, self.cells[rows_to_ask], chance, base, self._lowest)

    def worst(self, chance: FloatArray, tables: FloatArray, expected: FloatArray) -> FloatArray:
        """Return the most that one group, or one row, can lose; shape (claims,)."""
        below = tables.min(-1) - expected
        weight = np.divide(1.0, chance, out=np.zeros(CELLS), where=chance > 0)
        drawn = np.ceil(self._kinds * chance - 1e-9)
        totals = self._kinds @ expected.T + drawn @ (below * weight).T
        return -np.minimum(totals.min(0), tables.min((1, 2)))

    def labels_left(self, share: FloatArray) -> float:
        """Return about how many rows are still to be drawn."""
        return float((self.sizes[max(self.visited, self._known) :] @ share).sum())


def cells_of(rows: Sequence[PoolRow]) -> IntArray:
    """Return the cell of each row."""
    return np.array([cell_of(row.before, row.after) for row in rows], np.int64)
