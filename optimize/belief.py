"""The estimate of a candidate's true changes, after what was measured on the open rows.

What prompts changed on rows that they were not written from is no guess that has to be drawn
towards zero: only that the best of several is flattered, and that one more writing will differ, is
reckoned with. How well that holds stands in `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..judges import FloatArray
from .changes import Changes

FLATTERED = 0.25
"""Share of the largest of independent standard errors by which the best of several is flattered.
Candidates share the errors of the prompt in use, and some are far better than the rest: in
simulated walks, a quarter."""

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
        measured: FloatArray | None = None,
        luck: FloatArray | None = None,
        beyond: FloatArray | None = None,
    ) -> Belief:
        """Take off what choosing flatters, and add the errors of writing.

        Args:
            changes: What was measured.
            tried: Candidates that were tried on these rows, this one included, and other
                thresholds; with what is in use they are the ones that it is the best of. 0 for what
                was not chosen on them.
            measured: In place of the measured changes, with the same errors; shape (M,).
            luck: Variances that what was measured has beside the errors of its rows, shape (M,).
            beyond: Variances of what is believed in about what was measured, shape (M,).
        """
        covariance = changes.covariance if luck is None else changes.covariance + np.diag(luck)
        apart = np.zeros_like(covariance) if beyond is None else np.diag(beyond)
        errors = np.sqrt(covariance.diagonal())
        mean = changes.measured if measured is None else measured
        mean = mean - FLATTERED * expected_largest(tried + 1) * errors
        return cls(mean=mean, covariance=covariance + apart)


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


def expected_largest(count: int) -> float:
    """Return the expected largest of independent standard normal draws, by Blom (1958); 0 for
    one.
    """
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
