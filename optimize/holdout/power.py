"""The smallest gain that the gate would show on so many rows, by putting made-up edits to its test.

An edit of the judge's verdicts on open rows is drawn, groups are drawn from it as many as the
holdout has, and the test of the gate is taken on them: by the clustered standard error and, where
few groups changed, by group swaps. So the plan says what the gate would say on rows like these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...judges import (
    CLASS_METRICS,
    POWER,
    PROBABILITY_METRICS,
    BoolArray,
    FloatArray,
    InputError,
    IntArray,
    JudgedDataset,
    clustered_se,
    influence,
    point,
    split_class_metric,
)
from ...judges.metrics import BINARY_METRICS, cell_influence
from ...judges.metrics.catalog import metric_of, sign_of
from ...judges.metrics.influence import Counts
from ...judges.metrics.paired_comparison import UNMOVED
from ...judges.metrics.permutation_test import (
    FEW_GROUPS,
    cells_read,
    changed_groups,
    permutation_p,
    sums_by_group,
    value_of_cells,
)
from ...judges.reliability import RANDOM_EDITS
from ..losses.objective import Guard
from .guards import GUARD_ALPHA, MIN_EFFECTIVE, MIN_GROUPS

HOLDOUTS = 20
"""Holdouts that are drawn for each made-up edit."""
EXACT, SWAPS = 8, 300
"""Up to so many changed groups all swaps are tried, else so many of them; the gate tries more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardNeed:
    """The rows that a guard wants, where an edit flips as many verdicts as assumed."""

    metric: str
    margin: float
    rows: int | None
    """Rows that let the guard hold in 80 % of cases if nothing is lost; None where nothing flips.
    """
    rows_at_half: int | None
    """Where half of the margin is lost."""


def smallest_gain(
    metric: str,
    judged: JudgedDataset,
    *,
    churn: float,
    alpha: float,
    rows: int,
    groups: int | None = None,
    seed: int = 0,
) -> float | None:
    """Return the smallest gain that the gate's test on rows like these shows with 80 % power.

    An edit is drawn that fixes a share of the wrong verdicts and breaks as many right ones, and
    fixes some more on top: the gain, so many that four of five holdouts pass the test. A verdict
    that is turned keeps its confidence.

    Args:
        metric: A metric of decisions or probabilities, or of the classes of a choice.
        judged: The judge as it is, on open rows.
        churn: Share of the wrong verdicts that are fixed while as many right ones are broken.
        alpha: Of the one-sided test.
        rows: As many rows as the test will have.
        groups: As many groups; in proportion to the rows unless given.
        seed: Of the edits and the holdouts.

    Returns:
        None where the metric is undefined, or not even fixing every wrong verdict is shown.

    Raises:
        InputError: The metric is neither.
    """
    if not _is_planned(metric, judged):
        raise InputError(
            f"the detectable gain is known for metrics of decisions or classes, and {metric} is"
            " not one"
        )
    edits = _Edits(
        metric=metric, judged=judged, churn=churn, alpha=alpha, rows=rows, groups=groups, seed=seed
    )
    low, high = 0, edits.fixable
    if high == 0:
        return None
    over = edits.test(high)
    if over is None or over.power < POWER:
        return None
    under = edits.test(low)
    while high - low > 1:
        middle = (low + high) // 2
        result = edits.test(middle)
        if result is None or result.power < POWER:
            low, under = middle, result
        else:
            high, over = middle, result
    if under is None or under.power >= POWER:
        return over.gain
    # Between two whole numbers of verdicts the gain is interpolated.
    return under.gain + (POWER - under.power) / (over.power - under.power) * (
        over.gain - under.gain
    )


def perfect_gain(
    metric: str,
    judged: JudgedDataset,
    *,
    alpha: float,
    rows: int,
    groups: int | None = None,
    seed: int = 0,
) -> float | None:
    """Return the gain of an edit that fixes every wrong verdict and breaks none; None where not
    even that is shown.
    """
    edits = _Edits(
        metric=metric, judged=judged, churn=0.0, alpha=alpha, rows=rows, groups=groups, seed=seed
    )
    result = edits.test(edits.fixable)
    if result is None or result.power < POWER:
        return None
    return result.gain


def guard_needs(
    guards: Sequence[Guard], judged: JudgedDataset, *, churn: float, seed: int = 0
) -> tuple[GuardNeed, ...]:
    """Return the rows that each guard wants to hold with 80 % power, by the scatter of edits with
    this churn.

    Guards on the order of grades are left out, and those whose metric is undefined on the open
    rows.

    Args:
        guards: Metrics with their margins.
        judged: The judge as it is, on open rows.
        churn: Share of the wrong verdicts that an edit fixes while it breaks as many right ones.
        seed: Of the edits.
    """
    from scipy.stats import norm

    z = float(norm.isf(GUARD_ALPHA) + norm.ppf(POWER))
    needs = []
    for guard in guards:
        if not _is_planned(guard.metric, judged):
            continue
        edits = _Edits(
            metric=guard.metric, judged=judged, churn=churn, alpha=GUARD_ALPHA, rows=1, seed=seed
        )
        se = edits.standard_error()
        if se is None:
            continue
        rows = math.ceil(len(judged.scored) * (z * se / guard.margin) ** 2)
        rows_at_half = math.ceil(len(judged.scored) * (z * se / (guard.margin / 2)) ** 2)
        needs.append(
            GuardNeed(
                metric=guard.metric,
                margin=guard.margin,
                rows=rows or None,
                rows_at_half=rows_at_half or None,
            )
        )
    return tuple(needs)


def _is_planned(metric: str, judged: JudgedDataset) -> bool:
    """Whether made-up edits are known for a metric of such a judge."""
    if judged.scale.kind == "choice":
        return metric in CLASS_METRICS or split_class_metric(metric)[1] is not None
    return metric in BINARY_METRICS or (metric in PROBABILITY_METRICS and judged.states_probability)


@dataclass(frozen=True, slots=True)
class _EditTest:
    """What became of edits of one size."""

    gain: float
    """On the open rows, on average."""
    power: float
    """Share of the drawn holdouts on which the test passed."""


@dataclass(frozen=True, kw_only=True)
class _Edits:
    """Made-up edits of one judge, that differ in how many wrong verdicts they fix beyond the
    churn.
    """

    metric: str
    judged: JudgedDataset
    churn: float
    alpha: float
    rows: int
    groups: int | None = None
    seed: int

    @cached_property
    def _codes(self) -> tuple[IntArray, IntArray, int]:
        """People's classes and the judge's, from 0, and how many there are; decisions are two
        classes.
        """
        judged = self.judged
        if judged.scale.kind == "choice":
            return (
                judged.label.astype(np.int64),
                judged.score.astype(np.int64),
                len(judged.scale.labels),
            )
        return judged.positive.astype(np.int64), judged.predicted.astype(np.int64), 2

    @property
    def _wrong(self) -> IntArray:
        label, before, _ = self._codes
        return np.flatnonzero(before != label)

    @property
    def _flips(self) -> int:
        if self.churn <= 0:
            return 0
        wrong = len(self._wrong)
        return min(max(1, round(self.churn * wrong)), wrong, len(self.judged.scored) - wrong)

    @property
    def fixable(self) -> int:
        """Wrong verdicts that the churn leaves."""
        return len(self._wrong) - self._flips

    def standard_error(self) -> float | None:
        """Return the standard error of the change on all open rows by edits that only churn; None
        where undefined.
        """
        rng = np.random.default_rng(self.seed)
        variances: list[float] = []
        label, before = self._sides(self._codes[1])
        for _ in range(RANDOM_EDITS):
            _, after = self._sides(self._edited(0, rng))
            if (
                point(self.metric, label, before) is None
                or point(self.metric, label, after) is None
            ):
                continue
            difference = influence(self.metric, label, after) - influence(
                self.metric, label, before
            )
            variances.append(clustered_se(difference, self.judged.groups) ** 2)
        if not variances or not np.isfinite(variances).all():
            return None
        return math.sqrt(float(np.mean(variances)))

    def test(self, fixed: int) -> _EditTest | None:
        """Put edits that fix so many more to the test; None where the metric is undefined on all of
        them.
        """
        # The same seed for every size, so that power rises with the number fixed and not by luck.
        rng = np.random.default_rng(self.seed)
        before = point(self.metric, *self._sides(self._codes[1]))
        gains: list[float] = []
        passed: list[bool] = []
        for _ in range(RANDOM_EDITS):
            after = self._edited(fixed, rng)
            value = point(self.metric, *self._sides(after))
            if before is None or value is None:
                continue
            gains.append(sign_of(self.metric) * (value - before))
            passed += self._passes(after, rng)
        if not gains:
            return None
        return _EditTest(gain=float(np.mean(gains)), power=float(np.mean(passed)))

    def _sides(
        self, verdicts: IntArray
    ) -> tuple[IntArray, IntArray] | tuple[BoolArray, BoolArray] | tuple[FloatArray, FloatArray]:
        """Return people's side and these verdicts as metrics take them."""
        label, before, _ = self._codes
        if self.metric in CLASS_METRICS:
            return label, verdicts
        if self.metric in PROBABILITY_METRICS:
            people, probability = self.judged.compared(self.metric)
            return people.astype(np.float64), np.where(
                verdicts == before, probability, 1.0 - probability
            )
        _, name = split_class_metric(self.metric)
        code = 1 if name is None else self.judged.scale.labels.index(name)
        return label == code, verdicts == code

    def _edited(self, fixed: int, rng: np.random.Generator) -> IntArray:
        """Return the verdicts of an edit; shape (n,)."""
        label, before, size = self._codes
        right = np.flatnonzero(before == label)
        after = before.copy()
        mended = rng.permutation(self._wrong)[: self._flips + fixed]
        after[mended] = label[mended]
        broken = rng.permutation(right)[: self._flips]
        # Any other class; of two there is one.
        shift = 1 if size == 2 else rng.integers(1, size, len(broken))
        after[broken] = (label[broken] + shift) % size
        return after

    def _passes(self, after: IntArray, rng: np.random.Generator) -> list[bool]:
        """Return for each drawn holdout whether the gate's test of the target passes on it.

        Groups with the same counts before and after are one kind; a holdout is how many of each
        kind it has. The influence of a row is taken from all open rows, the rest from the holdout.
        """
        from scipy.special import stdtr

        old, new = self._count(self._codes[1]), self._count(after)
        old_influence = cell_influence(self.metric, old.sum(0))
        new_influence = cell_influence(self.metric, new.sum(0))
        if old_influence is None or new_influence is None:
            return [False] * HOLDOUTS
        kinds, counts = _kinds(np.hstack([old, new]))
        groups = self.groups or max(2, round(self.rows * len(old) / len(self.judged.scored)))
        many = rng.multinomial(groups, counts / len(old), size=HOLDOUTS)
        old, new = np.hsplit(kinds, 2)
        sign = sign_of(self.metric)
        gains = sign * (
            value_of_cells(self.metric, many @ new) - value_of_cells(self.metric, many @ old)
        )
        difference = new @ new_influence[1] - old @ old_influence[1]
        squares = np.maximum(many @ difference**2 - (many @ difference) ** 2 / groups, 1e-12)
        se = np.sqrt(groups / (groups - 1) * squares) / (many @ old).sum(1)
        cells = cells_read(self.metric)
        old_rows, new_rows = (
            old[:, cells].sum(1),
            new[:, cells].sum(1),
        )  # those in the metric's denominator
        sizes = np.maximum(old_rows, new_rows)
        effective = (many @ sizes) ** 2 / np.maximum(many @ sizes**2, 1)
        moved = many[:, np.abs(difference) > UNMOVED].sum(1)
        enough = (
            np.minimum(many[:, old_rows > 0].sum(1), many[:, new_rows > 0].sum(1)) >= MIN_GROUPS
        )
        freedom = np.maximum(np.minimum(moved, effective) - 1.0, 1.0)
        passed = enough & (effective >= MIN_EFFECTIVE) & (moved >= 2) & (gains > 0)
        passed &= stdtr(freedom, -gains / se) <= self.alpha
        few = many[:, changed_groups(self.metric, old, new)].sum(1) < FEW_GROUPS
        if self.metric == "f1_macro_grades":
            few[:] = True
        # The swap test is slow: it is asked only where the gate would and the other test has
        # passed.
        for i in np.flatnonzero(passed & few):
            before, now = np.repeat(old, many[i], axis=0), np.repeat(new, many[i], axis=0)
            passed[i] = (
                permutation_p(self.metric, before, now, exact=EXACT, draws=SWAPS) <= self.alpha
            )
        return passed.tolist()

    def _count(self, verdicts: IntArray) -> Counts:
        """Count each group's rows under these verdicts, as `count_cells` does."""
        label, judge = self._sides(verdicts)
        groups, of_rows = self.judged.groups, metric_of(self.metric).of_rows
        if of_rows is not None:
            return sums_by_group(
                of_rows(label.astype(np.float64), judge.astype(np.float64)), groups
            )
        size = self._codes[2] if self.metric in CLASS_METRICS else 2
        cells, count = size * size, int(groups.max()) + 1
        cell = size * label.astype(np.int64) + judge.astype(np.int64)
        return np.bincount(cells * groups + cell, minlength=cells * count).reshape(count, cells)


def _kinds(groups: Counts) -> tuple[Counts, IntArray]:
    """Return the different rows of a table, and how often each occurs; shapes (kinds, columns) and
    (kinds,).
    """
    if not np.issubdtype(groups.dtype, np.integer):
        return np.unique(groups, axis=0, return_counts=True)
    base = int(groups.max()) + 1
    if int(base) ** groups.shape[1] >= 2**62:
        return np.unique(groups, axis=0, return_counts=True)
    # As one number each: sorting numbers takes a hundredth of the time of sorting rows.
    codes = groups @ base ** np.arange(groups.shape[1], dtype=np.int64)
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return groups[first], counts
