"""What a metric means for a search: which rows it is about, what each of them costs, and how it is
compared.

There are three kinds. A *share* metric is one minus a share of bad rows, or a monotone map of it. A
metric *by influence* has no rows of its own, so each row costs minus its value of the metric's
influence function. A *probability* metric scores the judge's probability, and is poor where it is
high.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..judges import (
    BoolArray,
    Estimate,
    FloatArray,
    InputError,
    IntArray,
    clustered_se,
    influence,
    point,
)
from ..judges.metrics.agreement import (
    ACCURACY,
    F1,
    PRECISION,
    RECALL,
    SPECIFICITY,
    Ratio,
)
from ..judges.metrics.calibration import bins_of, calibration_intervals, ece
from .outcomes import Outcomes, compress, count_groups
from .significance import Comparison, compare, degrees_of_freedom, share_interval

Interval = tuple[float, float]
Losses = BoolArray | FloatArray
RATIOS: Mapping[str, Ratio] = {
    "precision": PRECISION,
    "recall": RECALL,
    "specificity": SPECIFICITY,
    "f1": F1,
    "accuracy": ACCURACY,
}
"""Metrics that are a share of rows, or a monotone map of it: a row of a cell that counts nothing on
top is bad.
"""
PERMUTATIONS = 999
"""Draws of groups behind the p-value of a slice's calibration error."""


class Target(Protocol):
    """One metric as the search sees it."""

    @property
    def name(self) -> str:
        """The metric."""
        ...

    def losses(self, outcomes: Outcomes) -> tuple[BoolArray, Losses]:
        """Return which rows the metric is about and what each row costs; shape (n,) each.

        Raises:
            InputError: The rows do not have what the metric needs.
        """
        ...

    def value(self, outcomes: Outcomes, member: BoolArray) -> float | None:
        """Return the metric on the rows marked; None where it is undefined."""
        ...

    def interval(self, outcomes: Outcomes, member: BoolArray) -> Interval | None:
        """Return the clustered 95 % interval of `value`."""
        ...

    def of_loss(self, mean: float) -> float:
        """Turn a mean loss of `test`, or a bound of one, into the metric, at most a perfect one."""
        ...

    def test(self, outcomes: Outcomes, member: BoolArray) -> Comparison | None:
        """Compare the rows marked with the others; None where either side is empty or undefined."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """Precision, recall, specificity, F1, accuracy, off-by-1."""

    name: str

    def losses(self, outcomes: Outcomes) -> tuple[BoolArray, BoolArray]:
        """See `Target.losses`; a loss is True for a bad row."""
        if (ratio := RATIOS.get(self.name)) is not None:
            cell = 2 * outcomes.positive + outcomes.predicted
            inside = (ratio.bottom(2) > 0).ravel()[cell]
            return inside, inside & (ratio.top(2) == 0).ravel()[cell]
        if outcomes.distance is None:
            raise InputError("off_by_one needs people and judge to grade on the same scale")
        return np.ones(len(outcomes), np.bool_), outcomes.distance > 1

    def value(self, outcomes: Outcomes, member: BoolArray) -> float | None:
        inside, bad = self.losses(outcomes)
        chosen = member & inside
        if not chosen.any():
            return None
        return of_bad_share(self.name, float(bad[chosen].mean()))

    def interval(self, outcomes: Outcomes, member: BoolArray) -> Interval | None:
        """See `Target.interval`; Wilson's, on as many rows as the groups are worth."""
        inside, bad = self.losses(outcomes)
        chosen = member & inside
        if not chosen.any():
            return None
        interval = share_interval(~bad[chosen], compress(outcomes.groups[chosen]))
        if interval is None:
            return None
        low, high = interval
        return of_bad_share(self.name, 1 - low), of_bad_share(self.name, 1 - high)

    def of_loss(self, mean: float) -> float:
        return of_bad_share(self.name, max(0.0, mean))

    def test(self, outcomes: Outcomes, member: BoolArray) -> Comparison | None:
        inside, bad = self.losses(outcomes)
        return compare(bad[inside], member[inside], compress(outcomes.groups[inside]))


def of_bad_share(metric: str, share: float) -> float:
    """Turn the share of bad rows into the metric; F1 = 2J / (1 + J) with J = 1 - share."""
    good = 1.0 - share
    return 2 * good / (1 + good) if metric == "f1" else good


@dataclass(frozen=True, slots=True)
class ByInfluence:
    """Kappa, MCC, balanced accuracy: searched through the influence function, tested as
    themselves.
    """

    name: str

    def losses(self, outcomes: Outcomes) -> tuple[BoolArray, FloatArray]:
        """See `Target.losses`; a loss is minus the row's influence on the metric."""
        influences = influence(self.name, outcomes.positive, outcomes.predicted)
        return np.ones(len(influences), np.bool_), -influences

    def value(self, outcomes: Outcomes, member: BoolArray) -> float | None:
        return point(self.name, outcomes.positive[member], outcomes.predicted[member])

    def interval(self, outcomes: Outcomes, member: BoolArray) -> Interval | None:
        """See `Target.interval`; Student's t on the influence function, summed by group."""
        from scipy.special import stdtrit

        value, se, groups = self._measured(outcomes, member)
        if value is None or not math.isfinite(se):
            return None
        reach = float(stdtrit(groups - 1, 0.975)) * se
        return max(-1.0, value - reach), min(1.0, value + reach)

    def of_loss(self, mean: float) -> float:
        """See `Target.of_loss`; a comparison is of losses, so the metric is negated there."""
        return min(1.0, -mean)

    def test(self, outcomes: Outcomes, member: BoolArray) -> Comparison | None:
        """See `Target.test`: the metric inside against the metric outside, each with its clustered
        error.
        """
        from scipy.special import stdtr

        inside, inside_se, _ = self._measured(outcomes, member)
        rest, rest_se, _ = self._measured(outcomes, ~member)
        if inside is None or rest is None:
            return None
        se = math.hypot(inside_se, rest_se)
        freedom = degrees_of_freedom(member, outcomes.groups)
        p = 1.0
        if 0 < se < math.inf and freedom is not None:
            p = float(stdtr(freedom, (inside - rest) / se))
        return Comparison(n=int(member.sum()), inside=-inside, rest=-rest, se=se, p=p, design=1.0)

    def _measured(self, outcomes: Outcomes, member: BoolArray) -> tuple[float | None, float, int]:
        """Return the metric on some rows, its standard error and how many groups they are of."""
        part = outcomes.only(member)
        value = self.value(outcomes, member)
        if value is None:
            return None, math.inf, 0
        groups = compress(part.groups)
        se = clustered_se(influence(self.name, part.positive, part.predicted), groups)
        return value, se, count_groups(groups)


@dataclass(frozen=True, slots=True)
class OfProbability:
    """Brier score and ECE: both are searched through the squared error of the probability."""

    name: str

    def losses(self, outcomes: Outcomes) -> tuple[BoolArray, FloatArray]:
        """See `Target.losses`; a loss is the squared error of the probability."""
        stated = np.isfinite(outcomes.probability)
        if not stated.any():
            raise InputError(
                f"{self.name} needs the judge's confidence",
                hint="name its column with --confidence",
            )
        return stated, np.where(stated, (outcomes.probability - outcomes.positive) ** 2, 0.0)

    def value(self, outcomes: Outcomes, member: BoolArray) -> float | None:
        stated, loss = self.losses(outcomes)
        chosen = member & stated
        if not chosen.any():
            return None
        if self.name == "brier":
            return float(loss[chosen].mean())
        return ece(outcomes.positive[chosen], outcomes.probability[chosen])

    def interval(self, outcomes: Outcomes, member: BoolArray) -> Interval | None:
        """See `Target.interval`."""
        stated, _ = self.losses(outcomes)
        part = outcomes.only(member & stated)
        if not len(part):
            return None
        return calibration_intervals(part.positive, part.probability, compress(part.groups))[
            self.name
        ][1]

    def of_loss(self, mean: float) -> float:
        return max(0.0, mean)

    def test(self, outcomes: Outcomes, member: BoolArray) -> Comparison | None:
        """See `Target.test`; ECE, which is biased on few rows, is compared with random sets of as
        many groups.
        """
        stated, loss = self.losses(outcomes)
        part, member = outcomes.only(stated), member[stated]
        groups = compress(part.groups)
        brier = compare(loss[stated], member, groups)
        if brier is None or self.name == "brier":
            return brier
        inside = ece(part.positive[member], part.probability[member])
        rest = ece(part.positive[~member], part.probability[~member])
        p = 1.0
        if brier.p < 1:
            p = _permutation_p(part, member, groups, inside - rest)
        return replace(brier, inside=inside, rest=rest, p=p)


def _permutation_p(part: Outcomes, member: BoolArray, groups: IntArray, gap: float) -> float:
    """Return the chance that the ECE of random groups, as many rows as the slice, exceeds the
    others' by `gap`.
    """
    from scipy.stats import pearson3, skew

    rng = np.random.default_rng(0)
    bins = bins_of(part.probability)
    total = count_groups(groups)
    wrong = np.bincount(groups * 10 + bins, part.probability - part.positive, total * 10).reshape(
        total, 10
    )
    rows = np.bincount(groups, minlength=total)
    everything, n, size = wrong.sum(0), len(part), int(member.sum())
    gaps = np.empty(PERMUTATIONS)
    for i in range(PERMUTATIONS):
        order = rng.permutation(total)
        fitting = int(np.searchsorted(np.cumsum(rows[order]), size, side="right"))
        drawn = order[: max(1, fitting)]
        inside, n_drawn = wrong[drawn].sum(0), int(rows[drawn].sum())
        rest = float(np.abs(everything - inside).sum()) / max(n - n_drawn, 1)
        gaps[i] = float(np.abs(inside).sum()) / n_drawn - rest
    beyond = np.count_nonzero(gaps >= gap - 1e-12)
    # The slice itself counts as one draw, so that p is never 0.
    p = (1 + beyond) / (1 + PERMUTATIONS)
    spread = float(gaps.std())
    if beyond or spread == 0:
        return p
    # Far out the tail is that of a gamma distribution with the draws' mean, spread and skewness.
    return min(p, float(pearson3.sf((gap - gaps.mean()) / spread, max(0.0, float(skew(gaps))))))


TARGETS: Mapping[str, Target] = {
    **{name: Share(name) for name in (*RATIOS, "off_by_one")},
    **{name: ByInfluence(name) for name in ("balanced_accuracy", "kappa", "mcc")},
    **{name: OfProbability(name) for name in ("brier", "ece")},
}
"""Every metric whose slices can be searched."""


def target_of(metric: str) -> Target:
    """Return a metric as the search sees it.

    Raises:
        InputError: Slices cannot be searched for it.
    """
    if metric not in TARGETS:
        raise InputError(
            f"slices cannot be searched for {metric!r}", hint="metrics: " + ", ".join(TARGETS)
        )
    return TARGETS[metric]


def estimate_on(target: Target, outcomes: Outcomes, member: BoolArray, *, n: int) -> Estimate:
    """Return a metric on the rows marked, with its clustered interval.

    Args:
        target: The metric.
        outcomes: What people and judge decided.
        member: Which rows are marked; shape (n,).
        n: The rows to state with it: all that are marked, or those in the metric's denominator.
    """
    value = target.value(outcomes, member) if member.any() else None
    if value is None or not math.isfinite(value):
        inside, _ = target.losses(outcomes)
        if (member & inside).any():
            return Estimate.undefined(n, "it has no value")
        return Estimate.undefined(n, f"no row is in the denominator of {target.name}")
    interval = target.interval(outcomes, member)
    return Estimate.of(value, interval, n, missing="all rows are one group")
