"""The bins of a reliability curve: how often people say yes where the judge's probability of yes
lies in a range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..judged_dataset import BoolArray, FloatArray, JudgedDataset
from .calibration_error import BINS, bins_of
from .estimate import Estimate
from .intervals import wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The rows whose probability lies above `low` and not above `high` (the first bin holds 0 as
    well).
    """

    low: float
    high: float
    probability: float | None
    """The mean; None without rows."""
    share: Estimate
    """Of rows that people call positive, with Wilson's interval; its n is the bin's."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Bin:  # Any: JSON
        """Read what `to_json` wrote."""
        share = Estimate(**body["share"])
        return cls(low=body["low"], high=body["high"], probability=body["probability"], share=share)


def bins_of_verdicts(judged: JudgedDataset) -> list[Bin]:
    """Return the bins of the rows whose verdict carries a probability; none where no verdict
    does.
    """
    rows = np.isfinite(judged.probability)
    return reliability_bins(judged.positive[rows], judged.probability[rows]) if rows.any() else []


def reliability_bins(label: BoolArray, probability: FloatArray) -> list[Bin]:
    """Return how often people say yes in each bin of the probability of yes, in the bins of `ece`.

    Args:
        label: Whether people call the row positive; shape (n,).
        probability: Of the positive label, as the judge has it; shape (n,).
    """
    ends, member = np.linspace(0, 1, BINS + 1).tolist(), bins_of(probability)
    n = np.bincount(member, minlength=BINS).tolist()
    hits = np.bincount(member, label, BINS).tolist()
    total = np.bincount(member, probability, BINS).tolist()
    return [
        Bin(
            low=ends[i],
            high=ends[i + 1],
            probability=total[i] / n[i] if n[i] else None,
            share=_share(int(hits[i]), n[i]),
        )
        for i in range(BINS)
    ]


def _share(hits: int, n: int) -> Estimate:
    if n == 0:
        return Estimate.undefined(0, "no row is in the bin")
    return Estimate.of(hits / n, wilson(hits, n), n)
