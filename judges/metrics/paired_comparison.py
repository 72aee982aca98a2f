"""Compare a metric before and after on the same rows: the paired difference and its clustered
error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judged_arrays import PROBABILITY_METRICS, BoolArray, FloatArray, IntArray
from ..judged_dataset import JudgedDataset
from .catalog import metric_of, sign_of
from .delta import influence_se
from .influence import influence, point
from .intervals import effective_groups

POWER = 0.80
"""The power that `rows_needed` asks for."""
UNMOVED = 1e-12
"""An influence smaller than this is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric before and after on the same rows, with the evidence for the difference."""

    metric: str
    before: float
    after: float
    difference: float
    se: float | None
    """Standard error of the difference, clustered by group; None for fewer than two groups."""
    low: float | None
    high: float | None
    """Two-sided 95 % interval of the difference; None where fewer than two groups changed."""
    p: float
    """One-sided p-value against no improvement, which of the Brier score is a fall."""
    n: int
    groups: int
    changed_groups: int
    """Groups in which the two prompts' verdicts move the metric differently."""
    freedom: float
    """Degrees of freedom of the test; 0 where fewer than two groups changed."""
    # The next two names, and `swap_p`, are older than the words of today: stored decisions hold
    # them.
    bearing_rows: int
    """Rows in the metric's denominator (for recall: positive rows), on the side that has fewer."""
    bearing_groups: int
    """Groups of those rows, on the side that has fewer."""
    effective_groups: float
    """Groups of equal size that would weigh as much; few where some are very large."""
    swap_p: float | None = None
    """p of the permutation test, where verdicts changed in few groups and it was asked for; `p` is
    the larger.
    """

    @property
    def gain(self) -> float:
        """The difference for the better: of a metric that is better low, by how much it fell."""
        return sign_of(self.metric) * self.difference


def compare(
    metric: str, before: JudgedDataset, after: JudgedDataset, *, keep: BoolArray | None = None
) -> Change | None:
    """Compare one metric on the rows both sides answered.

    The variance is that of the influence functions' difference summed by group, with the factor
    G/(G-1); p comes from Student's t with one degree of freedom less than the groups that changed,
    or than their effective number where a few large groups dominate.

    Args:
        metric: A metric that has an influence function; of a choice also one of a class,
            `recall[billing]`.
        before, after: Two answers to the same dataset, rows in the same order.
        keep: Which rows of the dataset to compare, shape (rows,); all unless given.

    Returns:
        The change, or None where the metric is undefined on either side; one of probabilities is
        where none is given.
    """
    rows = common_rows(before, after)
    if keep is not None:
        rows = rows[keep[rows]]
    if len(rows) == 0:
        return None
    if len(rows) < len(before.answers):
        before, after = before.only(rows), after.only(rows)
    old, new = point(metric, *before.compared(metric)), point(metric, *after.compared(metric))
    if old is None or new is None:
        return None
    if metric in PROBABILITY_METRICS and not (
        before.states_probability and after.states_probability
    ):
        return None
    groups = before.groups
    moved = influence(metric, *after.compared(metric)) - influence(metric, *before.compared(metric))
    denominators = denominator(metric, before), denominator(metric, after)
    if metric == "f1_macro_grades":
        weights = _class_weights(before) + _class_weights(after)
    else:
        weights = (denominators[0] | denominators[1]).astype(np.float64)
    return paired_change(
        metric, (old, new), moved, groups, weights=weights, denominators=denominators
    )


def paired_change(
    metric: str,
    values: tuple[float, float],
    moved: FloatArray,
    groups: IntArray,
    *,
    weights: FloatArray,
    denominators: tuple[BoolArray, BoolArray],
) -> Change:
    """Put the evidence for a difference together from each row's influence on it.

    Args:
        metric: What changed.
        values: The metric before and after.
        moved: Each row's influence on the difference; shape (n,).
        groups: Group codes 0..G-1; shape (n,).
        weights: How much each row bears on the metric; shape (n,).
        denominators: Which rows it is computed from, before and after; shape (n,) each.
    """
    by_group = np.bincount(groups, weights=moved).astype(np.float64)
    changed_groups = int((np.abs(by_group) > UNMOVED).sum())
    effective = effective_groups(np.bincount(groups, weights=weights))
    # One group that changed cannot show how much groups differ.
    freedom = 0.0
    if changed_groups >= 2:
        freedom = max(1.0, min(float(changed_groups), effective) - 1.0)
    difference = values[1] - values[0]
    se = clustered_se(moved, groups)
    p, low, high = 1.0, None, None
    if freedom > 0 and 0.0 < se < math.inf:
        # Here, because SciPy takes longer to import than most commands take to run.
        from scipy.stats import t as student

        p = float(student.sf(sign_of(metric) * difference / se, freedom))
        quantile = float(student.ppf(0.975, freedom))
        low, high = difference - quantile * se, difference + quantile * se
    return Change(
        metric=metric,
        before=values[0],
        after=values[1],
        difference=difference,
        se=se if math.isfinite(se) else None,
        low=low,
        high=high,
        p=p,
        n=len(moved),
        groups=len(by_group),
        changed_groups=changed_groups,
        freedom=freedom,
        effective_groups=effective,
        bearing_rows=min(int(mask.sum()) for mask in denominators),
        bearing_groups=min(len(np.unique(groups[mask])) for mask in denominators),
    )


def denominator(metric: str, predictions: JudgedDataset) -> BoolArray:
    """Return which rows the metric is computed from; shape (n,)."""
    entry = metric_of(metric)
    if "decisions" not in entry.needs:
        return np.ones(len(predictions.rows), np.bool_)
    label, predicted = predictions.compared(metric)
    return np.isin(2 * label.astype(np.int64) + predicted, entry.cells)


def _class_weights(predictions: JudgedDataset) -> FloatArray:
    """Return how much each row counts in macro F1, which gives a rare class as much as a common
    one; shape (n,).
    """
    _, codes = np.unique(
        np.concatenate([predictions.label, predictions.score]), return_inverse=True
    )
    share = 1.0 / np.bincount(codes)[codes]
    return share[: len(predictions.rows)] + share[len(predictions.rows) :]


def common_rows(before: JudgedDataset, after: JudgedDataset) -> IntArray:
    """Return the positions of the rows that both sides answered, in order."""
    return np.intersect1d(before.scored, after.scored)


def clustered_se(influences: FloatArray, groups: IntArray) -> float:
    """Return the standard error of a mean from each row's influence on it, rows of a group
    depending on each other.

    The influences are summed by group and their variance taken over groups with the factor G/(G-1);
    infinite for fewer than two groups.

    Args:
        influences: One a row, centred; shape (n,).
        groups: Group codes 0..G-1; shape (n,).
    """
    return influence_se(influences, groups)[0]


def holm(p: FloatArray | Sequence[float]) -> FloatArray:
    """Return p-values adjusted for looking at all of them: the step-down adjustment of Holm (1979);
    shape as given.
    """
    values = np.asarray(p, np.float64)
    count = len(values)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(
        np.maximum.accumulate(values[order] * (count - np.arange(count))), 1.0
    )
    return adjusted


def rows_needed(change: Change, alpha: float) -> int | None:
    """Return the rows at which a change of this size would be found with 80 % power, groups being
    of the size they are.

    The number of rows n r at which difference sqrt(r) / se reaches t_alpha + t_power, with the
    degrees of freedom of r times as many groups; with many groups that is n ((z_alpha + z_power) se
    / difference)^2.

    Returns:
        None where nothing changed, or fewer than two groups did, so that there is no error to
        reckon with.
    """
    from scipy.stats import t as student

    if change.se is None or change.se == 0 or change.difference == 0 or change.freedom <= 0:
        return None
    t_now = abs(change.difference) / change.se

    def enough(rows: int) -> bool:
        times = rows / change.n
        freedom = max((change.freedom + 1.0) * times - 1.0, 1.0)
        return t_now * math.sqrt(times) >= float(
            student.isf(alpha, freedom) + student.ppf(POWER, freedom)
        )

    few, many = 0, change.n
    while not enough(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        if enough(middle):
            many = middle
        else:
            few = middle
    return many
