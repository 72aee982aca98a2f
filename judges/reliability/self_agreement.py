"""How far a judge agrees with itself when asked again.

How far people agree with each other stands in `human_agreement.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray, JudgedDataset, group_codes
from ..metrics import BINARY_METRICS, Cells, Estimate, point
from ..metrics.agreement import kappa
from ..metrics.delta import ONE_UNIT, SIGNED, mean_over_rows, shared_codes
from ..metrics.jackknife import jackknife_intervals
from ..verdict import Verdict

NO_PAIR = "no row was answered twice"
ONE_DECISION = (
    "two of the sides give every row one and the same decision, so that chance explains everything"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One metric over the rounds, measured on the rows that every round answered."""

    values: tuple[float, ...]
    """One a round; empty where the metric is undefined in some round."""
    sd: Estimate
    """Standard deviation over rounds, n the number of rounds; its interval supposes normal values.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Retest:
    """How far several rounds of the same questions agree."""

    rounds: int
    n: int
    """Rows that every round answered."""
    self_agreement: Estimate
    """Share of the n rows with the same decision in every round."""
    grade_agreement: Estimate
    """Share of the n rows with the same grade in every round."""
    kappa: Estimate
    """Mean of Cohen's kappa over all pairs of rounds."""
    spread: Mapping[str, Spread]
    """Of each metric of decisions."""
    flips: Mapping[str, tuple[float, ...]]
    """By row id, the grade of each round of a row whose decision is not always the same; those
    nearest to half and half first.
    """


def retest(rounds: Sequence[JudgedDataset]) -> Retest:
    """Compare several rounds of the same judge on the same rows.

    Args:
        rounds: Two or more, rows in the same order.

    Raises:
        InputError: There are fewer than two rounds, or their rows differ.
    """
    if len(rounds) < 2:
        raise InputError(
            f"{len(rounds)} round cannot be compared with itself",
            hint="ask twice or more: --repeat 3",
        )
    rows = rounds[0].dataset.rows
    ids = [row.id for row in rows]
    if any([row.id for row in other.dataset.rows] != ids for other in rounds[1:]):
        raise InputError("the rounds are not of the same rows in the same order")
    verdicts: dict[int, list[Verdict]] = {}
    for i, answers in enumerate(zip(*(each.answers for each in rounds), strict=True)):
        of_row = [answer for answer in answers if isinstance(answer, Verdict)]
        if len(of_row) == len(rounds):
            verdicts[i] = of_row
    shape = (len(verdicts), len(rounds))
    decisions, scores = (
        np.array([[value(one) for one in of_row] for of_row in verdicts.values()], np.float64)
        .reshape(shape)
        .T
        for value in (attrgetter("positive"), attrgetter("score"))
    )
    groups = group_codes([rows[i] for i in verdicts])
    same_decision = (decisions == decisions[0]).all(axis=0).astype(np.float64)
    same_grade = (scores == scores[0]).all(axis=0).astype(np.float64)
    # Metrics are measured on the same rows in every round, or a lost answer would look like noise.
    common = [each.only([i for i in verdicts if rows[i].label is not None]) for each in rounds]
    votes = decisions.sum(axis=0)
    split = [
        k
        for k in np.argsort(np.abs(2 * votes - len(rounds)), kind="stable")
        if 0 < votes[k] < len(rounds)
    ]
    answered = [*verdicts]
    return Retest(
        rounds=len(rounds),
        n=len(verdicts),
        self_agreement=mean_over_rows(same_decision, groups, missing=NO_PAIR),
        grade_agreement=mean_over_rows(same_grade, groups, missing=NO_PAIR),
        kappa=mean_kappa(decisions, groups),
        spread={name: _spread(name, common) for name in BINARY_METRICS},
        flips={ids[answered[k]]: tuple(scores[:, k].tolist()) for k in split},
    )


def mean_kappa(decisions: FloatArray, groups: IntArray) -> Estimate:
    """Return the mean over all pairs of sides of Cohen's kappa (Cohen 1960) of their decisions.

    Args:
        decisions: Zeros and ones, one line a side; shape (sides, n).
        groups: Codes 0..G-1; shape (n,).
    """
    n = decisions.shape[1]
    if n == 0:
        return Estimate.undefined(0, NO_PAIR)
    patterns, code = np.unique(decisions.astype(np.int64).T, axis=0, return_inverse=True)
    pairs = itertools.combinations(range(len(decisions)), 2)
    cell_of = np.stack([2 * patterns[:, i] + patterns[:, j] for i, j in pairs], axis=1)
    membership = np.eye(4)[cell_of].reshape(len(patterns), -1)
    statistic = partial(_kappas, membership)
    cells = Cells(code=code.ravel(), size=len(patterns), groups=shared_codes(groups))
    value = float(statistic(cells.counts[None].astype(np.float64))[0])
    if not math.isfinite(value):
        return Estimate.undefined(n, ONE_DECISION)
    positive = float(decisions.mean())
    intervals = jackknife_intervals(
        {"kappa": statistic},
        cells,
        bounds={"kappa": SIGNED},
        # One error costs more where one decision prevails (`table_intervals.py`).
        certain=4 * positive * (1 - positive),
    )
    return Estimate.of(value, intervals["kappa"], n, missing=ONE_UNIT)


def _kappas(membership: FloatArray, counts: FloatArray) -> FloatArray:
    return kappa((counts @ membership).reshape(len(counts), -1, 2, 2)).mean(axis=-1)


def _spread(metric: str, rounds: Sequence[JudgedDataset]) -> Spread:
    points = [point(metric, *each.compared(metric)) for each in rounds]
    values = np.array([value for value in points if value is not None], np.float64)
    if len(values) < len(points):
        reason = f"{metric} is undefined in {len(points) - len(values)} of {len(points)} rounds"
        return Spread(values=(), sd=Estimate.undefined(len(points), reason))
    return Spread(values=tuple(values.tolist()), sd=_deviation(values))


def _deviation(values: FloatArray) -> Estimate:
    """Return the standard deviation with the interval of a normal sample: (r - 1) s^2 / sigma^2 is
    chi-squared.
    """
    from scipy.stats import chi2

    r, sd = len(values), float(values.std(ddof=1))
    far, near = chi2.ppf((0.975, 0.025), r - 1)
    return Estimate(
        value=sd, low=sd * math.sqrt((r - 1) / far), high=sd * math.sqrt((r - 1) / near), n=r
    )
