"""What every loss must satisfy before anything is spent on it, tried on a grid of made-up rows.

The language keeps a loss harmless; the axioms keep it meaningful. A loss that rewards the wrong answer, or
is blind in some corner, would steer the whole optimization there, so each cell of confidence x slice
membership x human grade x judge's grade is looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray, LossError
from .expression import Expression
from .outcomes import Outcomes

DECLARATIONS: Mapping[str, str] = {
    "fp_costs_more_than_fn": "a false positive costs more than a false negative",
    "fn_costs_more_than_fp": "a false negative costs more than a false positive",
}
"""The asymmetries a loss may declare; a declared one is checked."""

EXTRA = 0.01
"""The least a wrong answer must cost beyond a perfect one."""
PERFECT = 0.5
"""The most a perfect answer may cost."""
_CELLS = 400_000
_SAME = 1e-9
_STEPS = (10_001, 5001, 2001, 1001, 501, 201, 101, 51, 21, 11, 5)
_FINE_RANKS, _FEW_RANKS = 101, 11
# A loss could be blind between even steps; it cannot know these.
_OFFSETS = 2000
_SEED = 20240519


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What each outcome costs in one place: the 2x2 table people review, at one confidence."""

    place: str
    """`in slice target`, or `in no slice`."""
    confidence: float
    tp: float
    fp: float
    """A false positive between the outermost grades."""
    fn: float
    tn: float
    fp_near: float
    """A false positive between the two grades beside the threshold."""
    fn_near: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Every cell of confidence x membership x human rank x judge's rank; costs have shape (C, M, R, R)."""

    confidences: FloatArray
    memberships: tuple[tuple[str, ...], ...]
    ranks: FloatArray
    positive: BoolArray
    n_levels: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return len(self.confidences), len(self.memberships), len(self.ranks), len(self.ranks)

    @property
    def right(self) -> BoolArray:
        return self.positive[:, None] == self.positive[None, :]

    @property
    def errors(self) -> dict[str, BoolArray]:
        people, judge = self.positive[:, None], self.positive[None, :]
        return {"false positive": ~people & judge, "false negative": people & ~judge}

    def outcomes(self, slices: tuple[str, ...]) -> Outcomes:
        c, m, human, judge = (axis.ravel() for axis in np.indices(self.shape))
        return Outcomes(
            label=self.positive[human].astype(np.float64),
            prediction=self.positive[judge].astype(np.float64),
            label_rank=self.ranks[human],
            pred_rank=self.ranks[judge],
            confidence=self.confidences[c],
            abstained=np.zeros(c.shape),
            n_levels=self.n_levels,
            slices={name: np.array([name in inside for inside in self.memberships])[m] for name in slices},
        )

    def place(self, m: int) -> str:
        return f"in slice {', '.join(self.memberships[m])}" if self.memberships[m] else "in no slice"

    def cell(self, where: BoolArray) -> str:
        """Describe the first marked cell, with the confidences at which its kind of row is marked."""
        first = int(np.argmax(where.any(axis=0).ravel()))
        m, human, judge = (int(i) for i in np.unravel_index(first, self.shape[1:]))
        at = self.confidences[where[:, m, human, judge]]
        band = f"confidence {at[0]:.4g}" if len(at) == 1 else f"confidence {at[0]:.4g} to {at[-1]:.4g}"
        return (
            f"people's grade rank {self.ranks[human]:g}, judge's {self.ranks[judge]:g} "
            f"(distance {abs(self.ranks[human] - self.ranks[judge]):g}), {band}, {self.place(m)}"
        )


def check_axioms(
    expression: Expression,
    *,
    declares: Mapping[str, bool],
    levels: int,
    positive_from: float | None = None,
) -> None:
    """Refuse a loss that breaks an axiom, naming every broken one in words.

    The axioms: every cost is a finite number in [0, 1], on abstentions too; the loss is not constant; at the same
    confidence and slice membership a right answer never costs more than a wrong one; a wrong answer costs at least
    `EXTRA` more than a perfect one in every cell; being surer of a wrong answer is never cheaper; a perfect answer
    costs at most `PERFECT`; a wrong answer costs something where people's grade lies between two ranks; what the loss
    declares about false positives and false negatives holds, like compared with like (the same two grades swapped).

    Args:
        expression: The compiled loss.
        declares: For each key of `DECLARATIONS`, whether the loss claims it.
        levels: How many grades the judge's scale has; 0 for a probability, whose ranks run from 0 to 1.
        positive_from: The first rank that counts as positive; the upper half where it is not given.

    Raises:
        LossError: At least one axiom is broken.
    """
    for ranks in _rank_axes(levels, positive_from):
        grid = _grid(expression, levels, positive_from, ranks)
        broken, costs = _range_faults(expression, grid)
        if costs is not None:
            broken = [*_order_faults(costs, grid), *_declaration_faults(costs, grid, declares)]
        if broken:
            raise LossError("the loss is refused: " + "; ".join(broken))
    if broken := _between_faults(expression, levels, positive_from):
        raise LossError("the loss is refused: " + "; ".join(broken))


def cost_table(expression: Expression, *, levels: int = 4, positive_from: float | None = None) -> list[CostRow]:
    """Return what each outcome costs inside and outside each slice at confidence 0.5 and 0.9, for people to review.

    Raises:
        LossError: Some cost of the table is outside [0, 1].
    """
    ranks = _rank_axes(levels, positive_from)[-1] if levels == 0 else np.arange(levels, dtype=np.float64)
    grid = _grid(expression, levels, positive_from, ranks, confidences=np.array([0.5, 0.9]))
    costs = expression.evaluate(grid.outcomes(expression.slices)).reshape(grid.shape)
    last = len(grid.ranks) - 1
    first_positive = int(np.argmax(grid.positive))
    near = first_positive - 1
    return [
        CostRow(
            place=grid.place(m),
            confidence=float(confidence),
            tp=float(costs[c, m, last, last]),
            fp=float(costs[c, m, 0, last]),
            fn=float(costs[c, m, last, 0]),
            tn=float(costs[c, m, 0, 0]),
            fp_near=float(costs[c, m, near, first_positive]),
            fn_near=float(costs[c, m, first_positive, near]),
        )
        for m in range(len(grid.memberships))
        for c, confidence in enumerate(grid.confidences)
    ]


def _first_positive(levels: int, positive_from: float | None) -> float:
    if positive_from is not None:
        return positive_from
    return levels / 2 if levels else 0.5


def _rank_axes(levels: int, positive_from: float | None) -> tuple[FloatArray, ...]:
    """Return the ranks to look at: all of them up to 101, and for the many confidences only a few where they are many.

    Wherever ranks are left out, the two beside the threshold stay.
    """
    if not levels:
        return np.linspace(0.0, 1.0, _FINE_RANKS), np.linspace(0.0, 1.0, _FEW_RANKS)
    if levels <= _FEW_RANKS:
        return (np.arange(levels, dtype=np.float64),)
    edge = float(np.ceil(_first_positive(levels, positive_from)))
    beside = [rank for rank in (edge - 1.0, edge) if 0.0 <= rank < levels]
    return tuple(
        np.unique([*np.round(np.linspace(0.0, levels - 1.0, min(size, levels))), *beside])
        for size in (_FINE_RANKS, _FEW_RANKS)
    )


def _grid(
    expression: Expression,
    levels: int,
    positive_from: float | None,
    ranks: FloatArray,
    confidences: FloatArray | None = None,
) -> _Grid:
    first = _first_positive(levels, positive_from)
    positive = ranks >= first
    if positive.all() or not positive.any():
        raise LossError(f"rank {first!r} as the first positive one leaves no right and wrong on {len(ranks)} ranks")
    memberships = _memberships(expression.slices)
    if confidences is None:
        confidences = _confidences(expression, _CELLS // (len(memberships) * len(ranks) ** 2))
    n_levels = levels or 2
    return _Grid(confidences=confidences, memberships=memberships, ranks=ranks, positive=positive, n_levels=n_levels)


def _confidences(expression: Expression, room: int) -> FloatArray:
    """Even steps over [0, 1], points off those steps, and both sides of every number a confidence may be held against.

    At most `room` points, but never fewer than five.
    """
    room = max(room, _STEPS[-1])
    edges = np.array([c for c in expression.constants if 0.0 <= c <= 1.0], np.float64)
    between = (edges[1:] + edges[:-1]) / 2.0
    edges = np.concatenate([edges, edges - 1e-6, edges + 1e-6, between])
    left = max(room - len(edges), _STEPS[-1])
    steps = np.linspace(0.0, 1.0, next(size for size in _STEPS if size <= left))
    offsets = np.random.default_rng(_SEED).random(min(max(left - len(steps), 0), _OFFSETS))
    points = np.unique(np.concatenate([steps, edges, offsets]))
    points = points[(points >= 0.0) & (points <= 1.0)]
    return points if len(points) <= room else points[np.linspace(0, len(points) - 1, room).astype(np.int64)]


def _memberships(slices: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Every combination of up to three slices; beyond that none, each alone, and all."""
    if len(slices) <= 3:
        return tuple(c for size in range(len(slices) + 1) for c in itertools.combinations(slices, size))
    return ((), *((name,) for name in slices), slices)


def _range_faults(expression: Expression, grid: _Grid) -> tuple[list[str], FloatArray | None]:
    """Return what is out of range, and the costs of all cells where nothing is."""
    broken: list[str] = []
    costs: FloatArray | None = None
    try:
        costs = expression.evaluate(grid.outcomes(expression.slices)).reshape(grid.shape)
    except LossError as error:
        broken.append(str(error))
    try:
        expression.evaluate(_abstentions(expression, grid))
    except LossError as error:
        broken.append(str(error))
    return broken, None if broken else costs


def _between_faults(expression: Expression, levels: int, positive_from: float | None) -> list[str]:
    """Look at people's grades between two ranks, which a label on a scale of its own may have.

    There a loss by distance has no perfect answer to start from, so a wrong one must only cost something.
    """
    if not 2 <= levels <= _FEW_RANKS:
        return []
    grid = _grid(expression, levels, positive_from, np.arange(4 * levels - 3) / 4.0)
    broken, costs = _range_faults(expression, grid)
    if costs is None:
        return broken
    whole = grid.ranks % 1.0 == 0.0
    free = ~grid.right & whole[None, :] & (costs <= _SAME)
    return [f"a wrong answer costs nothing: {grid.cell(free)}"] if free.any() else []


def _abstentions(expression: Expression, grid: _Grid) -> Outcomes:
    """Rows without a verdict: only the range of their cost is checked, since none of them enters a mean."""
    c, m, label = (axis.ravel() for axis in np.indices((len(grid.confidences), len(grid.memberships), 2)))
    return Outcomes(
        label=label.astype(np.float64),
        prediction=np.zeros(c.shape),
        label_rank=label * grid.ranks[-1],
        pred_rank=np.zeros(c.shape),
        confidence=grid.confidences[c],
        abstained=np.ones(c.shape),
        n_levels=grid.n_levels,
        slices={name: np.array([name in inside for inside in grid.memberships])[m] for name in expression.slices},
    )


def _order_faults(costs: FloatArray, grid: _Grid) -> Iterator[str]:
    if np.ptp(costs) <= _SAME:
        yield f"it is constant ({costs.flat[0]:g}), so it cannot tell a right answer from a wrong one"
        return
    right = np.broadcast_to(grid.right, costs.shape)
    perfect = np.diagonal(costs, axis1=2, axis2=3).max(axis=2)[:, :, None, None]
    cheapest_wrong = np.where(right, np.inf, costs).min(axis=(2, 3), keepdims=True)
    dearer = right & (costs > cheapest_wrong + _SAME)
    if dearer.any():
        yield f"a right answer costs more than a wrong one: {grid.cell(dearer)}"
    for kind, mask in grid.errors.items():
        free = mask & (costs < perfect + EXTRA)
        if free.any():
            share = free.any(axis=0).sum() / (mask.sum() * len(grid.memberships))
            yield f"a {kind} costs nothing extra in {share:.0%} of the places, for example: {grid.cell(free)}"
    cheaper = np.zeros(costs.shape, np.bool_)
    cheaper[1:] = ~right[1:] & (np.diff(costs, axis=0) < -_SAME)
    if cheaper.any():
        yield f"a wrong answer costs less when the judge is surer of it: {grid.cell(cheaper)}"
    if perfect.max() > PERFECT + _SAME:
        yield f"a perfect answer costs {perfect.max():.3g}; at most {PERFECT:g} is allowed"


def _declaration_faults(costs: FloatArray, grid: _Grid, declares: Mapping[str, bool]) -> Iterator[str]:
    unknown = [key for key in declares if key not in DECLARATIONS]
    if unknown:
        yield f"it declares {unknown[0]!r}; it may declare {' or '.join(DECLARATIONS)}"
    claimed = [key for key in DECLARATIONS if declares.get(key)]
    if len(claimed) > 1:
        yield "it declares both that false positives and that false negatives cost more"
        return
    for key in claimed:
        dear, cheap = costs, np.swapaxes(costs, 2, 3)
        mask = grid.errors["false positive" if key == "fp_costs_more_than_fn" else "false negative"]
        against = mask & (dear < cheap - _SAME)
        excess = np.where(mask, dear - cheap, 0.0).sum(axis=(2, 3), keepdims=True)
        against = against | (mask & (excess <= _SAME))
        if against.any():
            yield f"it declares that {DECLARATIONS[key]}, which does not hold: {grid.cell(against)}"
