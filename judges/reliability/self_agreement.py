"""How far a judge agrees with itself when asked again, and which gains are lost in that noise.

A gain smaller than what a mere repetition changes cannot be told from none. How far people agree
with each other stands in `human_agreement.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..errors import InputError
from ..judged_dataset import FloatArray, IntArray, JudgedDataset, group_codes
from ..metrics import BINARY_METRICS, Cells, Estimate, as_json, influence, point
from ..metrics.agreement import kappa
from ..metrics.delta import ONE_UNIT, SIGNED, mean_over_rows, shared_codes
from ..metrics.jackknife import jackknife_intervals
from ..metrics.paired_comparison import clustered_se
from ..rows import Row
from ..verdict import Verdict
from .noise import Noise

NO_PAIR = "no row was answered twice"
ONE_DECISION = (
    "two of the sides give every row one and the same decision, so that chance explains everything"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One metric over the rounds, measured on the rows that every round answered."""

    metric: str
    values: tuple[float, ...]
    """One a round; empty where the metric is undefined in some round."""
    mean: float | None
    low: float | None
    high: float | None
    """The lowest and the highest round."""
    sd: Estimate
    """Standard deviation over rounds, n the number of rounds; its interval supposes normal values.
    """
    noise: float | None
    """Standard deviation as the rows' changes imply it, for which two rounds suffice; clustered by
    group.
    """
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A row whose decision is not the same in every round."""

    row_id: str
    label: float | None
    positive: int
    """Rounds that call it positive."""
    scores: tuple[float, ...]
    """The grade of each round."""

    def to_json(self) -> dict[str, object]:
        """Return id, label, rounds that call it positive, and grades."""
        return {
            "id": self.row_id,
            "label": self.label,
            "positive": self.positive,
            "scores": self.scores,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retest:
    """How far several rounds of the same questions agree."""

    judge: str
    model: str
    simulated: bool
    rounds: int
    n: int
    """Rows that every round answered."""
    rows: int
    """Rows in each round."""
    measured: int
    """Rows behind the metrics: those of the n that have a label."""
    self_agreement: Estimate
    """Share of the n rows with the same decision in every round."""
    grade_agreement: Estimate
    """Share of the n rows with the same grade in every round."""
    kappa: Estimate
    """Mean of Cohen's kappa over all pairs of rounds."""
    spread: Mapping[str, Spread]
    flips: tuple[Flip, ...]
    """Those nearest to half and half first."""

    def noise(self, metric: str) -> Noise | None:
        """Return how far two repeats of this judge lie apart in a metric; None where it is
        undefined.
        """
        spread = self.spread.get(metric)
        if spread is None or spread.noise is None:
            return None
        basis = (
            f"one standard deviation of the difference in {metric} between two repeats of this"
            f" judge, {self.rounds} rounds of {self.measured:,} rows"
        )
        # A difference of two repeats has twice the variance of one.
        return Noise(metric=metric, size=math.sqrt(2) * spread.noise, basis=basis, n=self.measured)

    def to_json(self) -> dict[str, object]:
        """Return the object that stands under `repeats` in `bench --json`."""
        spreads: dict[str, dict[str, object]] = {}
        for name, spread in self.spread.items():
            body: dict[str, object] = {
                "values": spread.values,
                "mean": spread.mean,
                "low": spread.low,
                "high": spread.high,
            }
            body |= {"sd": spread.sd.to_json(), "noise": spread.noise, "n": self.measured}
            if spread.reason:
                body["reason"] = spread.reason
            spreads[name] = body
        names = ("rounds", "n", "self_agreement", "grade_agreement", "kappa")
        body = {name: as_json(getattr(self, name)) for name in names}
        return body | {"spread": spreads, "flips": [flip.to_json() for flip in self.flips]}


def retest(
    rounds: Sequence[JudgedDataset],
    *,
    metrics: Sequence[str] = tuple(BINARY_METRICS),
) -> Retest:
    """Compare several rounds of the same judge on the same rows.

    Args:
        rounds: Two or more, rows in the same order.
        metrics: Names of metrics that have an influence function, whose spread is wanted.

    Raises:
        InputError: There are fewer than two rounds, their rows differ, or a metric is unknown.
    """
    if len(rounds) < 2:
        raise InputError(
            f"{len(rounds)} round cannot be compared with itself",
            hint="ask twice or more: --repeat 3",
        )
    first = rounds[0]
    ids = [row.id for row in first.dataset.rows]
    if any([row.id for row in other.dataset.rows] != ids for other in rounds[1:]):
        raise InputError("the rounds are not of the same rows in the same order")
    answered: list[int] = []
    verdicts: list[list[Verdict]] = []
    for i, answers in enumerate(zip(*(each.answers for each in rounds), strict=True)):
        of_row = [answer for answer in answers if isinstance(answer, Verdict)]
        if len(of_row) == len(rounds):
            answered.append(i)
            verdicts.append(of_row)
    rows = [first.dataset.rows[i] for i in answered]
    shape = (len(rows), len(rounds))
    decisions = (
        np.array([[v.positive for v in of_row] for of_row in verdicts], np.float64).reshape(shape).T
    )
    scores = (
        np.array([[v.score for v in of_row] for of_row in verdicts], np.float64).reshape(shape).T
    )
    groups = group_codes(rows)
    same_decision = (decisions == decisions[0]).all(axis=0).astype(np.float64)
    same_grade = (scores == scores[0]).all(axis=0).astype(np.float64)
    # Metrics are measured on the same rows in every round, or a lost answer would look like noise.
    labelled = [i for i, row in zip(answered, rows, strict=True) if row.label is not None]
    common = [each.only(labelled) for each in rounds]
    return Retest(
        judge=first.judge,
        model=first.model,
        simulated=any(each.simulated for each in rounds),
        rounds=len(rounds),
        n=len(answered),
        rows=len(first.answers),
        measured=len(labelled),
        self_agreement=mean_over_rows(same_decision, groups, missing=NO_PAIR),
        grade_agreement=mean_over_rows(same_grade, groups, missing=NO_PAIR),
        kappa=mean_kappa(decisions, groups),
        spread={name: _spread(name, common) for name in metrics},
        flips=_flips(rows, decisions, scores),
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
        sd = Estimate.undefined(len(points), reason)
        return Spread(
            metric=metric,
            values=(),
            mean=None,
            low=None,
            high=None,
            sd=sd,
            noise=None,
            reason=reason,
        )
    influences = [influence(metric, *each.compared(metric)) for each in rounds]
    errors = [
        clustered_se(b - a, rounds[0].groups) for a, b in itertools.combinations(influences, 2)
    ]
    # Variances average, standard errors do not; each difference holds the noise of two rounds.
    size = math.sqrt(float(np.mean(np.square(errors))) / 2)
    noise = size if math.isfinite(size) else None
    return Spread(
        metric=metric,
        values=tuple(values.tolist()),
        mean=float(values.mean()),
        low=float(values.min()),
        high=float(values.max()),
        sd=_deviation(values),
        noise=noise,
    )


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


def _flips(rows: Sequence[Row], decisions: FloatArray, scores: FloatArray) -> tuple[Flip, ...]:
    flips: list[Flip] = []
    for row, votes, grades in zip(rows, decisions.T, scores.T, strict=True):
        positive = int(votes.sum())
        if 0 < positive < len(votes):
            flips.append(
                Flip(
                    row_id=row.id, label=row.label, positive=positive, scores=tuple(grades.tolist())
                )
            )
    return tuple(sorted(flips, key=lambda flip: abs(2 * flip.positive - len(flip.scores))))
