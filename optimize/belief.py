"""What is believed of a candidate's true changes, after what was measured on the open rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..judges import FloatArray
from .changes import Changes

FLATTERED = 0.5
"""Share of the largest of independent standard errors by which the best of several is flattered. Candidates share the
errors of the prompt in use, and are chosen by their loss rather than by one metric: measured on real rows, a half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed of a candidate's true changes."""

    mean: FloatArray
    """Of each metric of the objective; shape (M,)."""
    covariance: FloatArray
    """Shape (M, M)."""

    @classmethod
    def of(cls, changes: Changes, *, tried: int) -> Belief:
        """Take off what choosing flatters.

        Args:
            changes: What was measured.
            tried: Candidates that were tried on these rows, this one included; with the prompt in use they are the
                ones that it is the best of. 0 for what was not chosen on them.
        """
        largest = expected_largest(tried + 1)
        covariance = changes.covariance
        mean = changes.measured - FLATTERED * largest * np.sqrt(covariance.diagonal())
        return cls(mean=mean, covariance=covariance)


def expected_largest(count: int) -> float:
    """Return the expected largest of independent standard normal draws, by Blom (1958); 0 for one."""
    from scipy.special import ndtri

    return float(ndtri((count - 0.375) / (count + 0.25)))
