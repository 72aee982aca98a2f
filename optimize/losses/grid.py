"""The grid a loss is tried on: every confidence, slice membership, human grade and judge's grade, as made-up rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ...judges import BoolArray, FloatArray, IntArray, LossError, OutputScale
from .expression import Expression
from .outcomes import Outcomes

FINE_RANKS, FEW_RANKS = 101, 11
NO_SLICE = "in no slice"
"""How rows outside every slice that a loss may ask about are named."""
_CELLS = 400_000
_STEPS = (10_001, 5001, 2001, 1001, 501, 201, 101, 51, 21, 11, 5)
_OFFSETS = 2000
_SEED = 20240519


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """Grades to look at, as ranks of the judge's scale, and which of them are positive; shapes (k,)."""

    ranks: FloatArray
    positive: BoolArray

    def same_as(self, other: Axis) -> bool:
        """Whether both have the same grades with the same meaning."""
        return np.array_equal(self.ranks, other.ranks) and np.array_equal(self.positive, other.positive)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Every cell of confidence x membership x human grade x judge's grade; costs have shape (C, M, P, J)."""

    confidences: FloatArray
    memberships: tuple[tuple[str, ...], ...]
    people: Axis
    judge: Axis
    n_levels: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """See the class."""
        return len(self.confidences), len(self.memberships), len(self.people.ranks), len(self.judge.ranks)

    @property
    def square(self) -> bool:
        """Whether people and judge have the same grades, so that two of them can be swapped."""
        return self.people.same_as(self.judge)

    @property
    def right(self) -> BoolArray:
        """Whether both sides decide alike; shape (P, J)."""
        return self.people.positive[:, None] == self.judge.positive[None, :]

    @property
    def distance(self) -> FloatArray:
        """How many ranks lie between the two grades; shape (P, J)."""
        return np.abs(self.people.ranks[:, None] - self.judge.ranks[None, :])

    @property
    def perfect(self) -> BoolArray:
        """The best answer to each human grade, which is the nearest that decides alike; shape (P, J)."""
        nearest = np.where(self.right, self.distance, np.inf).argmin(axis=1)
        return np.asarray(np.arange(self.shape[3])[None, :] == nearest[:, None], np.bool_)

    @property
    def errors(self) -> dict[str, BoolArray]:
        """The cells of each kind of error; shape (P, J)."""
        people, judge = self.people.positive[:, None], self.judge.positive[None, :]
        return {"false positive": ~people & judge, "false negative": people & ~judge}

    def outcomes(self, slices: tuple[str, ...]) -> Outcomes:
        """Return a made-up row for every cell."""
        c, m, human, judge = (axis.ravel() for axis in np.indices(self.shape))
        return Outcomes(
            label=self.people.positive[human].astype(np.float64),
            prediction=self.judge.positive[judge].astype(np.float64),
            label_rank=self.people.ranks[human],
            pred_rank=self.judge.ranks[judge],
            confidence=self.confidences[c],
            abstained=np.zeros(c.shape),
            n_levels=self.n_levels,
            slices=self._inside(slices, m),
        )

    def abstentions(self, slices: tuple[str, ...]) -> Outcomes:
        """Return rows without a verdict: confidence x membership x people's lowest and highest grade, (C, M, 2)."""
        c, m, end = (axis.ravel() for axis in np.indices((*self.shape[:2], 2)))
        zeros = np.zeros(c.shape)
        return Outcomes(
            label=end.astype(np.float64),
            prediction=zeros,
            label_rank=self.people.ranks[-end],
            pred_rank=zeros,
            confidence=self.confidences[c],
            abstained=np.ones(c.shape),
            n_levels=self.n_levels,
            slices=self._inside(slices, m),
        )

    def _inside(self, slices: tuple[str, ...], m: IntArray) -> dict[str, BoolArray]:
        return {name: np.array([name in inside for inside in self.memberships])[m] for name in slices}

    def describe_membership(self, m: int) -> str:
        """Name the slices of a membership, such as `in slice target`."""
        if not self.memberships[m]:
            return NO_SLICE
        return f"in slice {', '.join(self.memberships[m])}"

    def cell(self, marked: BoolArray) -> str:
        """Describe the first marked cell, with the confidences at which its kind of row is marked."""
        first = int(np.argmax(marked.any(axis=0).ravel()))
        m, human, judge = (int(i) for i in np.unravel_index(first, self.shape[1:]))
        confidences = self.confidences[marked[:, m, human, judge]]
        band = f"confidence {confidences[0]:.4g}"
        if len(confidences) > 1:
            band += f" to {confidences[-1]:.4g}"
        return (
            f"people's grade rank {self.people.ranks[human]:g}, judge's {self.judge.ranks[judge]:g} "
            f"(distance {self.distance[human, judge]:g}), {band}, {self.describe_membership(m)}"
        )


def make_grid(
    expression: Expression, levels: int, people: Axis, judge: Axis, confidences: FloatArray | None = None
) -> Grid:
    """Return the grid of two axes, at the confidences that matter to the expression unless some are given.

    Raises:
        LossError: All grades of an axis are positive, or none is.
    """
    for whose, axis in (("people's", people), ("the judge's", judge)):
        if axis.positive.all() or not axis.positive.any():
            some = "every one" if axis.positive.all() else "none"
            raise LossError(f"{whose} {len(axis.ranks)} grades have no right and wrong: {some} is positive")
    memberships = _memberships(expression.slices)
    if confidences is None:
        confidences = confidences_of(expression, _CELLS // (len(memberships) * len(people.ranks) * len(judge.ranks)))
    return Grid(confidences=confidences, memberships=memberships, people=people, judge=judge, n_levels=levels or 2)


def first_positive(levels: int, positive_from: float | None) -> float:
    """Return the first rank that counts as positive: the one given, else where the upper half begins."""
    if positive_from is not None:
        return positive_from
    return levels / 2 if levels else 0.5


def positive_rank(scale: OutputScale) -> float:
    """Return the first rank of a judge's scale that its threshold calls positive."""
    if not scale.levels:
        return scale.threshold
    return float(sum(not scale.positive(grade) for grade in scale.levels))


def judge_axes(levels: int, first: float) -> tuple[Axis, ...]:
    """Return the judge's ranks: all of them up to 101, and for the many confidences only a few where they are many.

    Wherever ranks are left out, the two beside the threshold stay.
    """
    if not levels:
        every = [np.linspace(0.0, 1.0, size) for size in (FINE_RANKS, FEW_RANKS)]
    elif levels <= FEW_RANKS:
        every = [np.arange(levels, dtype=np.float64)]
    else:
        every = [_thinned(np.arange(levels, dtype=np.float64), first, size) for size in (FINE_RANKS, FEW_RANKS)]
    return tuple(Axis(ranks=ranks, positive=ranks >= first) for ranks in every)


def people_axis(labels: OutputScale, n_levels: int) -> Axis:
    """Return the grades of the labels' own scale, stretched onto `n_levels` ranks of the judge's as `outcomes` does."""
    grades = np.array(labels.levels) if labels.levels else np.linspace(0.0, 1.0, FINE_RANKS)
    thinned = _thinned(grades, labels.threshold, FINE_RANKS)
    ranks = (thinned - grades[0]) * (n_levels - 1) / (grades[-1] - grades[0])
    return Axis(ranks=ranks, positive=thinned >= labels.threshold)


def confidences_of(expression: Expression, room: int) -> FloatArray:
    """Return even steps over [0, 1], points off those steps, and both sides of every number in the expression.

    At most `room` points, but never fewer than five.
    """
    room = max(room, _STEPS[-1])
    edges = np.array([c for c in expression.constants if 0.0 <= c <= 1.0], np.float64)
    between = (edges[1:] + edges[:-1]) / 2.0
    edges = np.concatenate([edges, edges - 1e-6, edges + 1e-6, between])
    left = max(room - len(edges), _STEPS[-1])
    steps = np.linspace(0.0, 1.0, next(size for size in _STEPS if size <= left))
    # A loss may be blind between even steps; points that it cannot foresee find that out.
    offsets = np.random.default_rng(_SEED).random(min(max(left - len(steps), 0), _OFFSETS))
    points = np.unique(np.concatenate([steps, edges, offsets]))
    points = points[(points >= 0.0) & (points <= 1.0)]
    if len(points) <= room:
        return points
    return points[np.linspace(0, len(points) - 1, room).astype(np.int64)]


def _thinned(values: FloatArray, threshold: float, size: int) -> FloatArray:
    """Return about `size` of the values, evenly spread, and always the two beside the threshold."""
    if len(values) <= size:
        return values
    edge = int(np.searchsorted(values, threshold))
    neighbours = [i for i in (edge - 1, edge) if 0 <= i < len(values)]
    spread = np.round(np.linspace(0, len(values) - 1, size)).astype(np.int64)
    return values[np.unique([*spread, *neighbours])]


def _memberships(slices: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return every combination of up to three slices; beyond that none, each alone, and all."""
    if len(slices) > 3:
        return ((), *((name,) for name in slices), slices)
    combinations: list[tuple[str, ...]] = []
    for size in range(len(slices) + 1):
        combinations += itertools.combinations(slices, size)
    return tuple(combinations)
