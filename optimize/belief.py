"""What is believed of a candidate's true changes, after what was measured on the open rows.

An edit of a prompt moves a judge along its own trade-off far more often than it makes the judge
better: it mends false positives and loses true ones, as another threshold would. Errors of
measurement go the other way, because a row that happens to suit a candidate moves target and guard
together. So a candidate that seems to gain in both is mostly lucky. The part of its change that the
trade-off cannot explain is its *quality*, and only that part is drawn towards zero: little where it
stands well clear of its error, nearly whole where it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ..judges import DecisionRule, FloatArray, JudgedDataset, compare
from ..judges.metrics import BINARY_METRICS
from ..judges.metrics.catalog import metric_of
from .changes import Changes
from .losses.objective import Objective
from .threshold import thresholds_of

FLATTERED = 0.5
"""Share of the largest of independent standard errors by which the best of several is flattered.
Candidates share the errors of the prompt in use, and are chosen by their loss rather than by one
metric: measured on real rows, a half."""
QUALITY_SCALES = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
"""Standard deviations that true qualities may have, as shares of the target's range; half as large
is taken to be twice as likely, since most edits do little."""


LEAST_WRITING = 0.02
"""Standard deviation between two writings at least, in units of a metric. Two folds tell little of
it; a prompt written twice from the same rows by one model differs by about as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed of a candidate's true changes."""

    mean: FloatArray
    """Of each metric of the objective; shape (M,)."""
    covariance: FloatArray
    """Shape (M, M)."""

    @classmethod
    def of(
        cls,
        changes: Changes,
        *,
        tried: int,
        weights: FloatArray | None = None,
        measured: FloatArray | None = None,
        luck: FloatArray | None = None,
        beyond: FloatArray | None = None,
    ) -> Belief:
        """Take off what choosing flatters, and draw the quality towards zero.

        The quality has a normal prior about zero whose standard deviation is one of
        `QUALITY_SCALES`; the rest of the change has a flat one. The belief has the posterior's mean
        and covariance.

        Args:
            changes: What was measured.
            tried: Candidates that were tried on these rows, this one included, and other
                thresholds; with what is in use they are the ones that it is the best of. 0 for what
                was not chosen on them.
            weights: As `quality_weights` returns them; without them the quality is not known, and
                nothing is drawn.
            measured: In place of the measured changes, with the same errors; shape (M,).
            luck: Variances that what was measured has beside the errors of its rows, shape (M,).
            beyond: Variances of what is believed in about what was measured, shape (M,).
        """
        covariance = changes.covariance if luck is None else changes.covariance + np.diag(luck)
        apart = np.zeros_like(covariance) if beyond is None else np.diag(beyond)
        errors = np.sqrt(covariance.diagonal())
        mean = changes.measured if measured is None else measured
        mean = mean - FLATTERED * expected_largest(tried + 1) * errors
        if weights is None:
            return cls(mean=mean, covariance=covariance + apart)
        low, high = metric_of(changes.metrics[0].name).bounds(2)
        prior = (high - low) ** 2 * np.square(QUALITY_SCALES)
        quality, variance = float(weights @ mean), float(weights @ covariance @ weights)
        likelihood = np.exp(-0.5 * quality**2 / (variance + prior)) / np.sqrt(variance + prior)
        share = prior / (variance + prior)
        posterior = likelihood / np.array(QUALITY_SCALES)
        posterior /= posterior.sum()
        believed = float(posterior @ (share * quality))
        spread = float(posterior @ (share * variance + (share * quality) ** 2)) - believed**2
        # What the quality is wrong by, target and guards are wrong by in proportion to their errors
        # with it.
        along = covariance @ weights / variance
        return cls(
            mean=mean - along * (quality - believed),
            covariance=covariance - np.outer(along, along) * (variance - spread) + apart,
        )


def writing_variance(
    by_fold: Sequence[Sequence[Changes]], *, metrics: int, least: float
) -> FloatArray:
    """Return the variance between two writings of an arm, for each metric: by how much the folds of
    all arms differ beyond the errors of their rows (method of moments); shape (M,).

    Args:
        by_fold: Of each arm after each step, what it changes in each fold where that is defined.
        metrics: How many there are.
        least: The standard deviation that is taken at least.
    """
    excess: list[FloatArray] = []
    for folds in by_fold:
        if len(folds) > 1:
            gains = np.stack([changes.measured for changes in folds])
            errors = np.stack([changes.covariance.diagonal() for changes in folds])
            excess.append(gains.var(axis=0, ddof=1) - errors.mean(axis=0))
    floor = np.full(metrics, least**2)
    return np.maximum(np.mean(excess, axis=0), floor) if excess else floor


def quality_weights(
    before: JudgedDataset, after: JudgedDataset, objective: Objective
) -> FloatArray | None:
    """Return the weights of the metrics' changes in a candidate's quality, shape (M,); None where
    it is not known.

    They add up to 1. A guard that another threshold of the prompt in use would trade against the
    target is weighed by its rate of exchange, so that a candidate which does what that threshold
    does has a quality of zero. It is the threshold under which the prompt in use says yes about as
    often as the candidate. Where there is no other threshold on that side, as with a judge that
    says yes or no, the trade-off is not known.

    Args:
        before, after: Answers of the prompt in use and of the candidate to the same rows.
        objective: Target and guards.
    """
    if objective.target not in BINARY_METRICS or before.scale.kind == "choice":
        return None
    rule = before.rule or DecisionRule(threshold=before.scale.threshold)
    yes, yes_after = float(before.predicted.mean()), float(after.predicted.mean())
    moved: list[JudgedDataset] = []
    for threshold in thresholds_of(before, rule):
        if threshold != rule.threshold and (threshold > rule.threshold) == (yes_after < yes):
            moved.append(before.under(replace(rule, threshold=threshold)))
    if not moved:
        return None
    nearest = min(moved, key=lambda judged: abs(float(judged.predicted.mean()) - yes_after))
    changes = [compare(name, before, nearest) for name in objective.metrics]
    gains = [0.0 if change is None else change.gain for change in changes]
    weights = np.eye(len(gains))[0]
    traded = [i for i, gain in enumerate(gains) if gains[0] * gain < 0]
    for i in traded:
        weights[i] = -gains[0] / gains[i] / len(traded)
    return weights / weights.sum()


def expected_largest(count: int) -> float:
    """Return the expected largest of independent standard normal draws, by Blom (1958); 0 for
    one.
    """
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
