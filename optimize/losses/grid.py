"""The grid a loss is tried on: every confidence, slice membership, human grade and judge's grade,
as made-up rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...judges import BoolArray, FloatArray, LossError, OutputScale
from .outcomes import PLACES, Outcomes, first_marked

FINE_RANKS, FEW_RANKS = 101, 11
CELLS = 400_000
"""About as many cells as a loss is tried on at once."""
_STEPS = (10_001, 5001, 2001, 1001, 501, 201, 101, 51, 21, 11, 5)
_OFFSETS = 2000
_SEED = 20240519


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """The grades that a loss is tried on."""

    levels: int
    """How many the judge's scale has; 0 for a probability, whose ranks run from 0 to 1."""
    positive_from: float | None = None
    """The first rank that counts as positive; where the upper half begins unless given."""
    labels: OutputScale | None = None
    """The scale people graded on; the judge's unless given."""

    @classmethod
    def of(cls, scale: OutputScale, labels: OutputScale | None = None) -> Grades:
        """Take the judge's scale with its threshold, and people's."""
        first = scale.threshold
        if scale.levels:
            first = float(sum(not scale.positive(grade) for grade in scale.levels))
        return cls(levels=len(scale.levels), positive_from=first, labels=labels)

    @property
    def first_positive(self) -> float:
        """The first rank that counts as positive."""
        if self.positive_from is not None:
            return self.positive_from
        return self.levels / 2 if self.levels else 0.5

    def judge_axes(self) -> tuple[Axis, ...]:
        """Return the judge's ranks: all up to 101, and for the many confidences only a few where
        they are many.

        Wherever ranks are left out, the two beside the threshold stay.
        """
        first, every = self.first_positive, np.arange(self.levels, dtype=np.float64)
        if not self.levels:
            axes = [np.linspace(0.0, 1.0, size) for size in (FINE_RANKS, FEW_RANKS)]
        elif self.levels <= FEW_RANKS:
            axes = [every]
        else:
            axes = [_thinned(every, first, size) for size in (FINE_RANKS, FEW_RANKS)]
        return tuple(Axis(ranks=ranks, positive=ranks >= first) for ranks in axes)

    def people_axis(self) -> Axis:
        """Return people's grades, stretched onto the ranks of the judge's as `outcomes` does."""
        if self.labels is None:
            return self.judge_axes()[-1]
        grades = (
            np.array(self.labels.levels)
            if self.labels.levels
            else np.linspace(0.0, 1.0, FINE_RANKS)
        )
        thinned = _thinned(grades, self.labels.threshold, FINE_RANKS)
        ranks = (thinned - grades[0]) * ((self.levels or 2) - 1) / (grades[-1] - grades[0])
        return Axis(ranks=ranks, positive=thinned >= self.labels.threshold)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """Grades to look at, as ranks of the judge's scale, and which of them are positive; shapes
    (k,).
    """

    ranks: FloatArray
    positive: BoolArray

    def same_as(self, other: Axis) -> bool:
        """Whether both have the same grades with the same meaning."""
        return np.array_equal(self.ranks, other.ranks) and np.array_equal(
            self.positive, other.positive
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Every cell of confidence x membership x human grade x judge's grade; costs have shape (C, 2,
    P, J).

    The rows of the first membership are outside the slice under repair, those of the second inside.

    Raises:
        LossError: All grades of an axis are positive, or none is.
    """

    confidences: FloatArray
    people: Axis
    judge: Axis
    levels: int
    """Of the judge's scale; 0 for a probability."""

    def __post_init__(self) -> None:
        for whose, axis in (("people's", self.people), ("the judge's", self.judge)):
            if axis.positive.all() or not axis.positive.any():
                some = "every one" if axis.positive.all() else "none"
                raise LossError(
                    f"{whose} {len(axis.ranks)} grades have no right and wrong: {some} is positive"
                )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """See the class."""
        return len(self.confidences), len(PLACES), len(self.people.ranks), len(self.judge.ranks)

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
        """The best answer to each human grade, which is the nearest that decides alike; shape (P,
        J).
        """
        nearest = np.where(self.right, self.distance, np.inf).argmin(axis=1)
        return np.asarray(np.arange(self.shape[3])[None, :] == nearest[:, None], np.bool_)

    @property
    def errors(self) -> dict[str, BoolArray]:
        """The cells of each kind of error; shape (P, J)."""
        people, judge = self.people.positive[:, None], self.judge.positive[None, :]
        return {"false positive": ~people & judge, "false negative": people & ~judge}

    def outcomes(self) -> Outcomes:
        """Return a made-up row for every cell."""
        c, m, human, judge = (axis.ravel() for axis in np.indices(self.shape))
        return Outcomes.of_grades(
            label=self.people.positive[human].astype(np.float64),
            prediction=self.judge.positive[judge].astype(np.float64),
            label_rank=self.people.ranks[human],
            pred_rank=self.judge.ranks[judge],
            confidence=self.confidences[c],
            n_levels=self.levels or 2,
            inside=m == 1,
        )

    def abstentions(self) -> Outcomes:
        """Return rows without a verdict: confidence x membership x people's lowest and highest
        grade, (C, M, 2).
        """
        c, m, end = (axis.ravel() for axis in np.indices((*self.shape[:2], 2)))
        zeros = np.zeros(c.shape)
        return Outcomes.of_grades(
            label=end.astype(np.float64),
            prediction=zeros,
            label_rank=self.people.ranks[-end],
            pred_rank=zeros,
            confidence=self.confidences[c],
            abstained=True,
            n_levels=self.levels or 2,
            inside=m == 1,
        )

    def cell(self, marked: BoolArray) -> str:
        """Describe the first marked cell, with the confidences at which its kind of row is
        marked.
        """
        (human, judge), where = first_marked(marked, self.confidences)
        return (
            f"people's grade rank {self.people.ranks[human]:g}, judge's {self.judge.ranks[judge]:g}"
            f" (distance {self.distance[human, judge]:g}), {where}"
        )


def confidences_of(constants: tuple[float, ...], room: int) -> FloatArray:
    """Return even steps over [0, 1], points off those steps, and both sides of every constant of an
    expression.

    At most `room` points, but never fewer than five.
    """
    room = max(room, _STEPS[-1])
    edges = np.array([c for c in constants if 0.0 <= c <= 1.0], np.float64)
    between = (edges[1:] + edges[:-1]) / 2.0
    edges = np.concatenate([edges, edges - 1e-6, edges + 1e-6, between])
    room_left = max(room - len(edges), _STEPS[-1])
    steps = np.linspace(0.0, 1.0, next(size for size in _STEPS if size <= room_left))
    # A loss may be blind between even steps; points that it cannot foresee find that out.
    offsets = np.random.default_rng(_SEED).random(min(max(room_left - len(steps), 0), _OFFSETS))
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
