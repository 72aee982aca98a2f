"""Choose the band of a cascade: the rows that a fast judge is least sure of go to a slow one.

Bands grow in one order, that of how likely the fast judge is wrong by a logistic fit of its
probabilities, so that few labels do not choose two ends freely. What a band does on the rows it was
chosen on flatters it: the agreement that is reported is cross-fitted over folds of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cascade import decided_by_slow, raw_probability
from ..errors import InputError
from ..judged_dataset import JudgedDataset
from ..verdict import Answer
from .benchmark import measure
from .estimate import Estimate
from .fitted_rule import fit_calibration, group_folds, require_labels

MOST_BANDS = 500
"""Bands that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandPoint:
    """A band, empty where its share is 0, and what it comes to on the rows it was measured on."""

    low: float
    high: float
    share: float
    """Of the rows that the slow model is asked about."""
    agreement: float
    cost: float | None
    """US dollars for a thousand rows; None where a price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBand:
    """The band that serves best, and accuracy of either judge alone and of both."""

    point: BandPoint
    """On all the rows, which it was chosen on."""
    curve: tuple[BandPoint, ...]
    """From no row to every row for the slow model."""
    fast: Estimate
    cascade: Estimate
    """Cross-fitted: no row is decided by a band that its group helped to choose."""
    slow: Estimate


def choose_band(
    fast: JudgedDataset,
    slow: JudgedDataset,
    *,
    agreement: float | None = None,
    cost: float | None = None,
) -> ChosenBand:
    """Choose where a slow judge is asked, on rows that both have judged.

    Args:
        fast: Verdicts under the rule that decides outside the band.
        slow: Verdicts on the same rows.
        agreement: The accuracy to reach at least cost; without a `cost` either, the slow judge's.
        cost: The US dollars for a thousand rows at which accuracy is to be best.

    Raises:
        InputError: Too few labelled rows have both verdicts and a probability, a price is unknown
            where a cost is given, or no band reaches or gains what it should.
    """
    scored: list[int] = np.intersect1d(fast.scored, slow.scored).tolist()
    used = [i for i in scored if raw_probability(fast.answers[i], fast.scale) is not None]
    fast, slow = fast.only(used), slow.only(used)
    require_labels(fast.dataset, fast.scale)
    curve = band_curve(fast, slow)
    point = _choose(curve, agreement, cost)
    if cost is not None and curve[0].cost is None:
        raise InputError("--cost: a price is unknown", hint="say it in models.yaml: price")
    if point.share == 0 or point.agreement < (agreement or 0) - 1e-12:
        raise InputError(
            f"no band serves: the fast model alone agrees in {curve[0].agreement:.3f} of the rows,"
            f" the best band in {max(one.agreement for one in curve):.3f}",
            hint="give another --agreement or --cost: nothing is paid for again",
        )
    answers: list[Answer] = list(fast.answers)
    for inside, outside in group_folds(fast):
        band = _choose(band_curve(fast.only(inside), slow.only(inside)), agreement, cost)
        positions: list[int] = outside.tolist()
        for i in positions:
            if band.low <= (raw_probability(fast.answers[i], fast.scale) or 0.0) <= band.high:
                answers[i] = decided_by_slow(slow.answers[i], slow, fast.scale)
    tables = fast, replace(fast, answers=tuple(answers)), slow
    before, after, alone = (measure(table).metrics["accuracy"] for table in tables)
    return ChosenBand(point=point, curve=curve, fast=before, cascade=after, slow=alone)


def _choose(curve: Sequence[BandPoint], agreement: float | None, cost: float | None) -> BandPoint:
    """Return the least band that agrees enough, else the one that agrees best."""
    paid = [one for one in curve if cost is None or (one.cost or 0) <= cost] or curve[:1]
    least = (1.0 if cost is not None else curve[-1].agreement) if agreement is None else agreement
    best = max(paid, key=lambda one: one.agreement)
    return next((one for one in paid if one.agreement >= least - 1e-12), best)


def band_curve(fast: JudgedDataset, slow: JudgedDataset) -> tuple[BandPoint, ...]:
    """Return the bands of rising share, the empty one first; all rows have labels, both verdicts
    and a probability.
    """
    p = np.array([raw_probability(one, fast.scale) for one in fast.verdicts], np.float64)
    calibration = fit_calibration(fast.positive, p, "platt")
    assert calibration is not None
    positive = np.array([calibration(value) for value in p], np.float64)
    wrong = np.where(fast.predicted, 1 - positive, positive)
    order = np.argsort(-wrong, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(wrong[order])), len(p) - 1)
    ends = ends[np.linspace(0, len(ends) - 1, min(len(ends), MOST_BANDS)).round().astype(int)]
    low = np.append(1.0, np.minimum.accumulate(p[order])[ends])
    high = np.append(0.0, np.maximum.accumulate(p[order])[ends])
    inside = (low[:, None] <= p) & (p <= high[:, None])
    agreement = 1 - np.where(inside, slow.wrong, fast.wrong).mean(axis=1)
    # An unknown price is NaN, and so is every sum with it.
    costs = [np.array([one.cost for one in side.verdicts], np.float64) for side in (fast, slow)]
    cost = 1000 * (costs[0].mean() + inside @ costs[1] / len(p))
    columns = np.stack((low, high, inside.mean(axis=1), agreement, cost), axis=1).tolist()
    return tuple(
        BandPoint(low=a, high=b, share=c, agreement=d, cost=None if np.isnan(cost[-1]) else e)
        for a, b, c, d, e in columns
    )
