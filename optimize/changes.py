"""What a candidate changes on the open rows that it is chosen on, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..judges import BoolArray, FloatArray, JudgedDataset, group_codes, influence, point
from ..judges.metrics import denominator
from ..judges.metrics.catalog import sign_of
from ..judges.metrics.paired_comparison import UNMOVED, common_rows
from .holdout.gate import MIN_COVERAGE
from .holdout.unanswered import count_against
from .losses.objective import Floor, Objective

WIDTH = 13
"""Columns of `MetricByGroup.columns`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricByGroup:
    """What one metric changes in each group of the selection rows; every array has shape (G,)."""

    name: str
    gain: FloatArray
    """Sum of the rows' shares of `Change.gain`; over all rows their mean is the gain, to second
    order.
    """
    rows: FloatArray
    moved: BoolArray
    """Whether the group's influence on the metric differs between the two prompts."""
    old_rows: FloatArray
    """Rows in the metric's denominator under the prompt in use."""
    new_rows: FloatArray
    sizes: FloatArray
    """Rows in either denominator."""

    @classmethod
    def of(
        cls,
        name: str,
        before: JudgedDataset,
        after: JudgedDataset,
        *,
        keep: BoolArray | None = None,
    ) -> MetricByGroup | None:
        """Read the change of a metric; None where it is undefined on either side.

        Args:
            name: The metric.
            before, after: Answers to the same dataset.
            keep: Which rows of the dataset to compare, shape (rows,); all unless given.
        """
        codes = group_codes(before.dataset.rows)
        common = common_rows(before, after)
        if keep is not None:
            common = common[keep[common]]
        old, new = before.only(common), after.only(common)
        label, first = old.compared(name)
        _, second = new.compared(name)
        if point(name, label, first) is None or point(name, label, second) is None:
            return None
        # Taken at the tables of both prompts together, a row whose verdict stayed has no part in
        # the change.
        people: Any = np.concatenate([label, label])  # Any: of booleans or of grades
        judges: Any = np.concatenate([first, second])
        pooled = influence(name, people, judges)
        moved = influence(name, label, second) - influence(name, label, first)
        denominators = denominator(name, old), denominator(name, new)

        def sums(values: FloatArray | BoolArray) -> FloatArray:
            weights = values.astype(np.float64)
            return np.bincount(
                codes[common], weights=weights, minlength=int(codes.max()) + 1
            ).astype(np.float64)

        return cls(
            name=name,
            gain=sums(sign_of(name) * (pooled[len(label) :] - pooled[: len(label)])),
            rows=sums(np.ones(len(label))),
            moved=np.abs(sums(moved)) > UNMOVED,
            old_rows=sums(denominators[0]),
            new_rows=sums(denominators[1]),
            sizes=sums(denominators[0] | denominators[1]),
        )

    @property
    def change(self) -> float:
        """The gain over all groups."""
        return float(self.gain.sum() / self.rows.sum())

    def columns(self) -> FloatArray:
        """Return what `_Drawn` sums over the groups of a holdout; shape (G, WIDTH)."""
        parts = [
            self.gain,
            self.rows,
            self.gain**2,
            self.gain * self.rows,
            self.rows**2,
            self.moved,
            np.abs(self.gain) > UNMOVED,
            self.old_rows,
            self.new_rows,
            self.old_rows > 0,
            self.new_rows > 0,
            self.sizes,
            self.sizes**2,
        ]
        return np.stack([part.astype(np.float64) for part in parts], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a candidate changes on selection rows: each metric of the objective, with their errors
    together.
    """

    metrics: tuple[MetricByGroup, ...]
    """The target first."""
    in_slice: MetricByGroup | None
    """The target on the slice that was optimized."""
    floors: tuple[tuple[Floor, float, FloatArray], ...]
    """Each floor with the new prompt's value and its influences summed by group."""
    rows: int

    @classmethod
    def of(
        cls,
        before: JudgedDataset,
        after: JudgedDataset,
        objective: Objective,
        *,
        in_slice: BoolArray | None = None,
    ) -> Changes | None:
        """Compare a candidate with the prompt in use; None where the gate could not decide about
        it.

        Rows that one side alone answered are counted against the new prompt, as the gate does at
        its strictest.

        Args:
            before, after: Answers to the same selection rows.
            objective: Target, guards and floors.
            in_slice: Which rows belong to the slice that was optimized, shape (rows,).
        """
        if min(before.coverage, after.coverage) < MIN_COVERAGE:
            return None
        metrics: list[MetricByGroup] = []
        for name in objective.metrics:
            worst = count_against(before, after, name)
            sides = (before, after) if worst is None else (worst.before, worst.after)
            metric = MetricByGroup.of(name, *sides)
            if metric is None:
                return None
            metrics.append(metric)
        floors: list[tuple[Floor, float, FloatArray]] = []
        codes = group_codes(after.dataset.rows)
        for floor in objective.floors:
            label, predicted = after.compared(floor.metric)
            value = point(floor.metric, label, predicted)
            assert value is not None  # or the change would not be defined
            moved = influence(floor.metric, label, predicted)
            sums = np.bincount(codes[after.scored], weights=moved, minlength=int(codes.max()) + 1)
            floors.append((floor, value, sums.astype(np.float64)))
        return cls(
            metrics=tuple(metrics),
            in_slice=None
            if in_slice is None
            else MetricByGroup.of(objective.target, before, after, keep=in_slice),
            floors=tuple(floors),
            rows=len(common_rows(before, after)),
        )

    @property
    def measured(self) -> FloatArray:
        """The gain in each metric; shape (M,)."""
        return np.array([metric.change for metric in self.metrics])

    @property
    def covariance(self) -> FloatArray:
        """Of the errors of `measured`, clustered by group; shape (M, M)."""
        spread = np.stack(
            [(m.gain - m.change * m.rows) / m.rows.sum() for m in self.metrics], axis=1
        )
        groups = int((self.metrics[0].rows > 0).sum())
        # Where hardly a verdict changed, the next rows may hold one that does: as if one more had
        # been seen.
        one_more = [
            1.0 / max(min(m.old_rows.sum(), m.new_rows.sum()), 1.0) ** 2 for m in self.metrics
        ]
        return groups / max(groups - 1, 1) * spread.T @ spread + np.diag(one_more)
