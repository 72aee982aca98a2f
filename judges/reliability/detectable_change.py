"""The smallest change of a metric that would show on the rows at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..errors import InputError
from ..judged_arrays import JudgedArrays
from ..metrics import BINARY_METRICS
from ..metrics.delta import influence_se
from ..metrics.influence import cell_influence
from ..metrics.intervals import count_rows
from ..metrics.paired_comparison import POWER

CHURN = 0.25
"""Share of the wrong verdicts that a change of the prompt is assumed to mend while it breaks as
many right ones.
"""
ALPHA = 0.05
"""Level of the one-sided test."""
RANDOM_EDITS = 20
"""Random edits of the verdicts over which the error of a difference is averaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableChange:
    """The smallest change of a metric that would show on some rows."""

    size: float
    basis: str
    """What the size is, in words that fit behind a colon."""
    n: int


def minimum_detectable_change(metric: str, predictions: JudgedArrays) -> DetectableChange | None:
    """Return the smallest change of a metric that a paired test on these rows would show with 80 %
    power.

    How far a change of the prompt scatters is not known before it is made; so verdicts are flipped
    at random, some of the wrong ones and as many right ones, and the clustered standard error is
    that of the difference this makes. The metric's own error would be the wrong one: most of it is
    what the rows of a group share before and after.

    Args:
        metric: A name of `BINARY_METRICS`.
        predictions: The judge as it is.

    Returns:
        None where the metric is undefined, no verdict is wrong, or there are fewer than two groups.

    Raises:
        InputError: The metric is not of two classes.
    """
    if metric not in BINARY_METRICS:
        raise InputError(
            f"{metric!r} is not a metric of decisions; those are {', '.join(BINARY_METRICS)}"
        )
    if predictions.group_count < 2:
        return None
    rng = np.random.default_rng(0)
    errors = [_churned_se(metric, predictions, rng) for _ in range(RANDOM_EDITS)]
    finite = [se for se in errors if se is not None and math.isfinite(se)]
    if not finite:
        return None
    quantiles = NormalDist().inv_cdf(1 - ALPHA) + NormalDist().inv_cdf(POWER)
    size = quantiles * math.sqrt(float(np.mean(np.square(finite))))
    n, groups = predictions.n, predictions.group_count
    basis = (
        f"the smallest change of {metric} that a paired test on {n:,} rows in {groups:,} groups"
        f" shows with {POWER:.0%} power, if {CHURN:.0%} of the wrong verdicts are mended and as"
        " many right ones broken"
    )
    return DetectableChange(size=size, basis=basis, n=n)


def _churned_se(metric: str, predictions: JudgedArrays, rng: np.random.Generator) -> float | None:
    """Return the standard error of the difference that flipping some wrong and as many right
    verdicts makes; where a position stands for several rows it is drawn how many of them flip.
    """
    label, before, weight = predictions.positive, predictions.predicted, predictions.weight
    rows = np.ones(len(label), np.int64) if weight is None else weight
    wrong, right = np.flatnonzero(before != label), np.flatnonzero(before == label)
    flips = int(rows[wrong].sum())
    flips = min(max(1, round(CHURN * flips)), flips, int(rows[right].sum()))
    if flips == 0:
        return None
    flipped = np.zeros(len(rows), np.int64)
    for some in (wrong, right):
        if weight is None:
            flipped[rng.choice(some, flips, replace=False)] = 1
        else:
            flipped[some] = rng.multivariate_hypergeometric(weight[some], flips, method="marginals")
    cell = 2 * label.astype(np.int64) + before
    # The same label, the other verdict.
    counts = count_rows(cell, rows - flipped, 4) + count_rows(cell ^ 1, flipped, 4)
    old, new = cell_influence(metric, count_rows(cell, rows, 4)), cell_influence(metric, counts)
    if old is None or new is None:
        return None
    same, turned = new[1][cell] - old[1][cell], new[1][cell ^ 1] - old[1][cell]
    n, groups = int(rows.sum()), predictions.shared_groups
    moved = same * (rows - flipped) + turned * flipped
    if groups is not None:
        return influence_se(moved, groups)[0] * len(moved) / n
    mean = float(moved.sum()) / n
    squares = float((same - mean) ** 2 @ (rows - flipped) + (turned - mean) ** 2 @ flipped)
    return math.sqrt(n / (n - 1) * squares) / n if n > 1 else math.inf
