"""What a new judge gains over the old one's curve: at the same recall, or for recall at the same
false positive rate.

A prompt that merely says yes more often raises recall as a lower threshold would. The old judge's
grades or confidences show what its own thresholds reach, at no cost. What a metric is held equal
at:

* recall: the false positive rate of the new judge;
* every other metric of decisions (precision, specificity, F1, accuracy, balanced accuracy, MCC,
  kappa): its recall.

Between two neighbouring thresholds the old judge stands for a mix of them: each decides a share of
the rows, so that counts of rows are interpolated, not rates or metrics. Of thresholds with equally
many of the rows that are held equal the best one counts, so that a tie never flatters the new
judge. Outside the outermost thresholds nothing is extrapolated. The figure stands beside a decision
and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..judged_dataset import BoolArray, FloatArray, IntArray, JudgedDataset
from .catalog import BINARY_METRICS, METRICS
from .influence import cell_influence, influence, point
from .paired_comparison import (
    UNMOVED,
    Change,
    clustered_se,
    common_rows,
    denominator,
    paired_change,
)

Held = Literal["recall", "false positive rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualGain:
    """The change of a metric from the old judge's curve to the new judge, both at the same
    recall.
    """

    held: Held
    """What is the same on both sides."""
    at: float | None
    """Its value, which is the new judge's; None where it is not defined."""
    change: Change | None
    """`before` is the old judge's value there; None where its thresholds do not say it."""
    reason: str = ""
    """Why there is no change."""


def equal_gain(metric: str, before: JudgedDataset, after: JudgedDataset) -> EqualGain:
    """Compare a metric with the old judge's curve, on the rows both sides answered.

    Of a judge that answers yes or no the curve comes from its confidence; a verdict without one is
    certain. Its error holds what moving the threshold along costs or brings: the slope of the curve
    around it.

    Args:
        metric: A metric that has an influence function.
        before, after: Two answers to the same dataset, rows in the same order.
    """
    held: Held = "false positive rate" if metric == "recall" else "recall"

    def missing(reason: str, at: float | None = None) -> EqualGain:
        return EqualGain(held=held, at=at, change=None, reason=reason)

    if before.scale.kind == "choice" or after.scale.kind == "choice":
        return missing("a choice has no threshold")
    if metric not in BINARY_METRICS:
        return missing(f"no threshold changes {metric}")
    rows = common_rows(before, after)
    before, after = before.only(rows), after.only(rows)
    label, decided, groups = after.positive, after.predicted, after.groups
    rows_held = ~label if metric == "recall" else label
    if not rows_held.any():
        return missing(f"no row is labelled {'negative' if metric == 'recall' else 'positive'}")
    at = float(decided[rows_held].mean())
    value = point(metric, label, decided)
    if value is None:
        return missing(METRICS[metric].undefined, at)
    order = _order(before)
    if len(np.unique(order)) < 3:
        return missing("the old judge has one threshold: its answers have two levels at most", at)
    curve = _Curve.of(order, rows_held, highest=metric != "recall")
    wanted = int(decided[rows_held].sum())
    if not curve.held[0] <= wanted <= curve.held[-1]:
        low, high = (curve.held[[0, -1]] / rows_held.sum()).tolist()
        return missing(f"the old judge's thresholds reach a {held} of {low:.3f} to {high:.3f}", at)
    mixed = curve.decide(wanted)
    counts = np.bincount(2 * label + 1, mixed, 4) + np.bincount(2 * label, 1.0 - mixed, 4)
    on_curve = cell_influence(metric, counts)
    if on_curve is None:
        return missing(METRICS[metric].undefined, at)
    old_value, cells = on_curve
    lacking = np.where(rows_held, decided - mixed, 0.0)
    slope = curve.slope(wanted, clustered_se(lacking, groups) * len(lacking))
    no_to_yes = np.array([cells[1] - cells[0], cells[3] - cells[2]])
    of_held, of_others = no_to_yes[::-1] if metric != "recall" else no_to_yes
    by_row = cells[2 * label] + mixed * no_to_yes[label.astype(np.int64)]
    moved = influence(metric, label, decided) - by_row - lacking * (of_held + slope * of_others)
    change = paired_change(
        metric,
        (old_value, value),
        moved,
        groups,
        weights=(np.abs(moved) > UNMOVED).astype(np.float64),
        denominators=(rows_held, denominator(metric, after)),
    )
    return EqualGain(held=held, at=at, change=change)


def _order(judged: JudgedDataset) -> FloatArray:
    """Return numbers in whose order rows become positive as the threshold falls; shape (n,)."""
    if len(judged.scale.levels) != 2:
        return judged.score
    sure = np.nan_to_num(judged.confidence, nan=1.0)
    # A yes comes before every no, also one that is given with a confidence under one half.
    return np.where(judged.predicted, 1.0 + sure, -sure)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """What each threshold that tells two rows apart decides, by how many of the held rows it calls
    positive.
    """

    order: FloatArray
    thresholds: FloatArray
    held: FloatArray
    """Held rows that a threshold calls positive, rising; shape (thresholds,)."""
    others: FloatArray
    """Other rows that it does."""

    @classmethod
    def of(cls, order: FloatArray, rows_held: BoolArray, *, highest: bool) -> _Curve:
        """Count for every threshold; of those with equally many held rows keep the highest, or else
        the lowest.
        """
        thresholds = np.unique(order)[1:]
        if highest:
            thresholds = thresholds[::-1]

        def count(rows: BoolArray) -> IntArray:
            ascending = np.sort(order[rows])
            return len(ascending) - np.searchsorted(ascending, thresholds)

        held, first = np.unique(count(rows_held), return_index=True)
        others = count(~rows_held)[first].astype(np.float64)
        return cls(
            order=order, thresholds=thresholds[first], held=held.astype(np.float64), others=others
        )

    def decide(self, wanted: int) -> FloatArray:
        """Return how much of each row is called positive where so many held rows are; shape
        (n,).
        """
        above = int(np.searchsorted(self.held, wanted))
        upper = (self.order >= self.thresholds[above]).astype(np.float64)
        if self.held[above] == wanted:
            return upper
        share = (wanted - self.held[above - 1]) / (self.held[above] - self.held[above - 1])
        lower = self.order >= self.thresholds[above - 1]
        return share * upper + (1.0 - share) * lower

    def slope(self, wanted: float, reach: float) -> float:
        """Return how many other rows come with one held row, over as far as sampling may move the
        threshold.
        """
        ends = np.clip([wanted - reach, wanted + reach], self.held[0], self.held[-1])
        low, high = np.interp(ends, self.held, self.others)
        return float((high - low) / (ends[1] - ends[0])) if ends[1] > ends[0] else 0.0
