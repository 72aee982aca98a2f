"""What a slice's gap is made of, and what closing it would gain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..judges import BoolArray, FloatArray
from .outcomes import Outcomes

Direction = Literal["fp", "fn"]
"""Which errors prevail: false positives or false negatives."""
ERRORS: Mapping[Direction | None, str] = {
    "fp": "false positives",
    "fn": "false negatives",
    None: "errors",
}
CALIBRATION = "The judge's own outputs: calibration, not a cause"
"""What stands over the metric at the values of judges' outputs, wherever it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a gap between slice and rest is made of; the three add up to the gap.

    For precision they are parts of its log-odds (exact: the log-odds of the prevalence, plus log
    TPR, minus log FPR); for every other metric they are Shapley shares of the difference itself.
    """

    prevalence: float
    tpr: float
    fpr: float

    def judges_doing(self, direction: Direction) -> bool:
        """Whether errors of this direction lower the metric in the slice, and by more than the base
        rate does.
        """
        own = self.fpr if direction == "fp" else self.tpr
        return own < 0 and own < self.prevalence


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Counts of the four outcomes."""

    tp: float
    fp: float
    fn: float
    tn: float

    @classmethod
    def of(cls, outcomes: Outcomes, member: BoolArray) -> Cells:
        """Count the outcomes of the rows marked; member has shape (n,)."""
        pairs = 2 * outcomes.positive[member] + outcomes.predicted[member]
        tn, fp, fn, tp = np.bincount(pairs, minlength=4).tolist()
        return cls(tp=tp, fp=fp, fn=fn, tn=tn)

    @property
    def rates(self) -> tuple[float, float, float]:
        """Prevalence, TPR and FPR, with half a row added to each cell where one is empty."""
        cells = np.array([self.tp, self.fp, self.fn, self.tn], np.float64)
        if (cells == 0).any():
            cells += 0.5
        tp, fp, fn, tn = cells.tolist()
        return (tp + fn) / (tp + fp + fn + tn), tp / (tp + fn), fp / (fp + tn)


def decompose(metric: str, inside: Cells, rest: Cells) -> Parts | None:
    """Split the gap between slice and rest into prevalence, TPR and FPR; None for a metric of the
    grades.
    """
    formula = _FORMULAS.get(metric)
    if formula is None:
        return None
    here, there = inside.rates, rest.rates
    shares = [0.0, 0.0, 0.0]
    # Shapley: a rate's share is its mean effect over all six orders in which the three can change.
    for order in itertools.permutations(range(3)):
        mixed = list(there)
        for factor in order:
            before = formula(*mixed)
            mixed[factor] = here[factor]
            shares[factor] += (formula(*mixed) - before) / 6
    return Parts(prevalence=shares[0], tpr=shares[1], fpr=shares[2])


def expected_gain(
    metric: str, everything: Cells, inside: Cells, n: int, total: int, share: float, rest: float
) -> float:
    """Return how much the whole metric would rise if the slice did as well as the rest; never below
    0.

    Args:
        metric: The metric searched.
        everything: Outcomes of all rows.
        inside: Outcomes of the slice.
        n: Rows of the slice in the metric's denominator.
        total: All rows of the denominator.
        share: Mean loss in the slice; of bad rows, their share.
        rest: Mean loss in the rest.
    """
    if share <= rest:
        return 0.0
    if metric in ("precision", "f1") and rest >= 1:
        return 0.0
    if metric == "precision":
        # A false positive that becomes a true negative leaves the denominator as well.
        fixed = n * (share - (1 - share) * rest / (1 - rest))
        judged_positive = everything.tp + everything.fp
        return (
            everything.tp / max(judged_positive - fixed, everything.tp)
            - everything.tp / judged_positive
        )
    if metric == "f1":
        fixed = _share_to_fix(inside, share, rest)
        errors = everything.fp + everything.fn - fixed * (inside.fp + inside.fn)
        tp = everything.tp + fixed * inside.fn
        before = 2 * everything.tp / (2 * everything.tp + everything.fp + everything.fn)
        return 2 * tp / (2 * tp + errors) - before
    return n * (share - rest) / total


def gains_of(
    metric: str,
    outcomes: Outcomes,
    member: BoolArray,
    inside: BoolArray,
    loss: BoolArray | FloatArray,
    shares: Sequence[float] = (1.0,),
) -> list[float]:
    """Return `expected_gain` where only a share of the slice's excess loss is real, for each share.

    Args:
        metric: The metric searched.
        outcomes: What people and judge decided; n rows.
        member: Which rows are in the slice; shape (n,).
        inside: Which rows the metric is about; shape (n,).
        loss: What each row costs; shape (n,).
        shares: Of the excess, 0 to 1.
    """
    everything, cells = (
        Cells.of(outcomes, np.ones(len(outcomes), np.bool_)),
        Cells.of(outcomes, member),
    )
    n, total = int((member & inside).sum()), int(inside.sum())
    mean, rest = float(loss[member & inside].mean()), float(loss[~member & inside].mean())
    poorer = [rest + share * max(0.0, mean - rest) for share in shares]
    return [expected_gain(metric, everything, cells, n, total, share, rest) for share in poorer]


def _share_to_fix(inside: Cells, share: float, rest: float) -> float:
    """Return the share of the slice's errors to fix so that TP / (TP + FP + FN) rises to that of
    the rest.
    """
    n = inside.tp + inside.fp + inside.fn
    fn = n * share * inside.fn / max(inside.fp + inside.fn, 1)
    fp = n * share - fn
    goal = 1.0 - rest
    return min(1.0, (goal * n - (n - fn - fp)) / (fn + goal * fp))


def _accuracy(prevalence: float, tpr: float, fpr: float) -> float:
    return prevalence * tpr + (1 - prevalence) * (1 - fpr)


def _kappa(prevalence: float, tpr: float, fpr: float) -> float:
    judged = prevalence * tpr + (1 - prevalence) * fpr
    chance = prevalence * judged + (1 - prevalence) * (1 - judged)
    return (_accuracy(prevalence, tpr, fpr) - chance) / (1 - chance)


def _mcc(prevalence: float, tpr: float, fpr: float) -> float:
    judged = prevalence * tpr + (1 - prevalence) * fpr
    return (tpr - fpr) * math.sqrt(prevalence * (1 - prevalence) / (judged * (1 - judged)))


_FORMULAS: Mapping[str, Callable[[float, float, float], float]] = {
    "precision": lambda prevalence, tpr, fpr: (
        math.log(prevalence / (1 - prevalence)) + math.log(tpr) - math.log(fpr)
    ),
    "recall": lambda prevalence, tpr, fpr: tpr,
    "specificity": lambda prevalence, tpr, fpr: 1 - fpr,
    "accuracy": _accuracy,
    "balanced_accuracy": lambda prevalence, tpr, fpr: (1 + tpr - fpr) / 2,
    "f1": lambda prevalence, tpr, fpr: (
        2 * prevalence * tpr / (prevalence * (1 + tpr) + (1 - prevalence) * fpr)
    ),
    "kappa": _kappa,
    "mcc": _mcc,
}
