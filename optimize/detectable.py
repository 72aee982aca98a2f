"""The smallest gain that a paired test on so many rows could tell from none, worked out on made-up edits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..judges import POWER, InputError, IntArray, Judged, clustered_se, influence, point
from ..judges.metrics import BINARY_METRICS
from ..judges.trust import FLIPPINGS


def smallest_gain(metric: str, judged: Judged, *, churn: float, alpha: float, rows: int, seed: int = 0) -> float | None:
    """Return the smallest gain that a paired test on `rows` rows like these shows with 80 % power.

    An edit is drawn that mends a share of the wrong verdicts and breaks as many right ones, and mends some more on
    top: the gain. The verdicts that make the gain scatter too, so their number is sought for which the gain is as many
    clustered standard errors as the test needs; `detectable_change` takes the churn alone, and promises too much.

    Args:
        metric: A metric of decisions.
        judged: The judge as it is, on open rows.
        churn: Share of the wrong verdicts that are mended while as many right ones are broken.
        alpha: Of the one-sided test.
        rows: As many rows as the test will have.
        seed: Of the edits.

    Returns:
        None where the metric is undefined, or where not even an edit that mends every wrong verdict would be shown.

    Raises:
        InputError: The metric is not one of decisions.
    """
    if metric not in BINARY_METRICS:
        raise InputError(f"the detectable gain is known for metrics of decisions, and {metric} is not one")
    needed = NormalDist().inv_cdf(1 - alpha) + NormalDist().inv_cdf(POWER)
    edits = _Edits(metric=metric, judged=judged, churn=churn, needed=needed, rows=rows, seed=seed)
    low, high = 0, edits.most
    if high == 0 or (top := edits.tried(high)) is None or top[1] < 0:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = edits.tried(middle)
        low, high = (low, middle) if found is None or found[1] >= 0 else (middle, high)
    under, over = edits.tried(low), edits.tried(high)
    if over is None or under is None or under[1] >= 0:
        return over and over[0]
    part = under[1] / (under[1] - over[1])
    return under[0] + part * (over[0] - under[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edits:
    """Made-up edits of one judge, that differ in how many wrong verdicts they mend beyond the churn."""

    metric: str
    judged: Judged
    churn: float
    needed: float
    """Standard errors that a gain must come to."""
    rows: int
    seed: int

    @property
    def _wrong(self) -> IntArray:
        return np.flatnonzero(self.judged.predicted != self.judged.positive)

    @property
    def _flips(self) -> int:
        wrong = len(self._wrong)
        return min(max(1, round(self.churn * wrong)), wrong, len(self.judged.scored) - wrong)

    @property
    def most(self) -> int:
        """Wrong verdicts that the churn leaves."""
        return len(self._wrong) - self._flips

    def tried(self, mended: int) -> tuple[float, float] | None:
        """Return the mean gain of mending so many more, and by how much it exceeds what the test needs."""
        judged, rng = self.judged, np.random.default_rng(self.seed)
        right = np.flatnonzero(judged.predicted == judged.positive)
        before = point(self.metric, judged.positive, judged.predicted)
        gains, variances = [], []
        for _ in range(FLIPPINGS):
            after = judged.predicted.copy()
            after[rng.permutation(self._wrong)[: self._flips + mended]] ^= True
            after[rng.permutation(right)[: self._flips]] ^= True
            value = point(self.metric, judged.positive, after)
            if before is None or value is None:
                continue
            pull = influence(self.metric, judged.positive, after)
            pull = pull - influence(self.metric, judged.positive, judged.predicted)
            gains.append(value - before)
            variances.append(clustered_se(pull - pull.mean(), judged.groups) ** 2)
        if not gains or not np.isfinite(variances).all():
            return None
        gain = float(np.mean(gains))
        return gain, gain - self.needed * math.sqrt(float(np.mean(variances)) * len(judged.scored) / self.rows)
