"""The band of a cascade, on a planted stub whose easy and hard rows are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    BoolArray,
    Dataset,
    FloatArray,
    InputError,
    JudgedDataset,
    Row,
    Verdict,
)
from judgewright.judges.metrics.cascade_band import BandPoint, band_curve, choose_band

FAST_COST, SLOW_COST = 2e-5, 1e-3
"""Of a row: the fast model is fifty times cheaper."""


@dataclass(frozen=True, slots=True)
class Stub:
    """Rows of which three in ten are hard: there the fast model's probabilities lie near a half and
    say nothing; on the others they are extreme and right. The slow model is right on 95 %.
    """

    p: FloatArray
    label: BoolArray
    slow: BoolArray

    @classmethod
    def of(cls, n: int, seed: int) -> Stub:
        """Draw rows."""
        rng = np.random.default_rng(seed)
        label, doubt = rng.random(n) < 0.5, rng.beta(1, 25, n)
        hard = rng.random(n) < 0.3
        p = np.where(hard, rng.normal(0.5, 0.1, n), np.where(label, 1 - doubt, doubt))
        return cls(np.clip(p, 0, 1).round(4), label, (rng.random(n) < 0.95) == label)

    def judged(self) -> tuple[JudgedDataset, JudgedDataset]:
        """Return what the fast and the slow model say."""
        ids = [f"r{i}" for i in range(len(self.p))]
        rows = [
            Row(id=one, inputs={"text": one}, label=float(yes))
            for one, yes in zip(ids, self.label, strict=True)
        ]
        dataset = Dataset.of(rows, labels=BINARY)
        fast = tuple(
            Verdict(row_id=one, score=p, positive=p >= 0.5, cost=FAST_COST)
            for one, p in zip(ids, self.p.tolist(), strict=True)
        )
        slow = tuple(
            Verdict(row_id=one, score=float(yes), positive=bool(yes), cost=SLOW_COST)
            for one, yes in zip(ids, self.slow, strict=True)
        )
        return (
            JudgedDataset(dataset=dataset, answers=fast, scale=PROBABILITY),
            JudgedDataset(dataset=dataset, answers=slow, scale=BINARY),
        )

    def of_band(self, low: float, high: float) -> tuple[float, float]:
        """Return agreement and cost of a thousand rows of a band."""
        inside = (low <= self.p) & (self.p <= high)
        decided = np.where(inside, self.slow, self.p >= 0.5)
        return float((decided == self.label).mean()), 1000 * (FAST_COST + SLOW_COST * inside.mean())

    def of_every_band(self) -> tuple[FloatArray, FloatArray]:
        """Return agreement and cost of all bands between 600 edges; shape (bands,)."""
        edges = np.unique(np.concatenate((np.linspace(0.1, 0.9, 500), np.quantile(self.p, Q))))
        order = np.argsort(self.p)
        gain = (self.slow == self.label).astype(float) - ((self.p >= 0.5) == self.label)
        sums = np.append(0.0, np.cumsum(gain[order]))
        at = np.searchsorted(self.p[order], edges)
        first, behind = np.triu_indices(len(edges))
        alone = ((self.p >= 0.5) == self.label).mean()
        agreement = alone + (sums[at[behind]] - sums[at[first]]) / len(self.p)
        return agreement, 1000 * (FAST_COST + SLOW_COST * (at[behind] - at[first]) / len(self.p))


Q = np.linspace(0, 1, 100)


@pytest.fixture(scope="module")
def many() -> tuple[Stub, FloatArray, FloatArray]:
    """A hundred thousand rows, and what every band comes to on them."""
    stub = Stub.of(100_000, seed=999)
    return stub, *stub.of_every_band()


@pytest.mark.parametrize("agreement", [0.93, 0.95, 0.97])
def test_a_band_of_300_labels_costs_hardly_more_than_the_best_one(
    agreement: float, many: tuple[Stub, FloatArray, FloatArray]
) -> None:
    """Of 20 seeds none costs over 5 % more than the best of 100,000 rows of equal agreement."""
    stub, agrees, costs = many
    ratios: list[float] = []
    for seed in range(20):
        chosen = choose_band(*Stub.of(300, seed).judged(), agreement=agreement).point
        reached, cost = stub.of_band(chosen.low, chosen.high)
        ratios.append(cost / costs[agrees >= reached - 1e-9].min())
    assert max(ratios) <= 1.05
    assert np.mean(ratios) <= 1.02


def test_the_agreement_that_is_reported_is_honest(
    many: tuple[Stub, FloatArray, FloatArray],
) -> None:
    """On average over seeds it is that of the band on new rows, not the one it was chosen for."""
    reported: list[float] = []
    true: list[float] = []
    for seed in range(20):
        chosen = choose_band(*Stub.of(300, seed).judged(), agreement=0.95)
        assert chosen.cascade.value is not None
        reported.append(chosen.cascade.value)
        true.append(many[0].of_band(chosen.point.low, chosen.point.high)[0])
    assert abs(np.mean(reported) - np.mean(true)) < 0.01


def test_every_point_of_the_curve_is_what_its_band_comes_to() -> None:
    """Share, agreement and cost, counted row by row; wider bands hold the narrower ones."""
    stub = Stub.of(200, seed=3)
    curve = band_curve(*stub.judged())
    for point in curve:
        agreement, cost = stub.of_band(point.low, point.high)
        assert (point.agreement, point.cost) == pytest.approx((agreement, cost))
    assert (curve[0].share, curve[-1].share) == (0, 1)
    for narrow, wide in pairwise(curve[1:]):
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_a_cost_buys_the_best_agreement_that_it_pays_for() -> None:
    """And without any aim the band agrees as the slow judge does, for less."""
    fast, slow = Stub.of(400, seed=4).judged()
    chosen = choose_band(fast, slow, cost=0.2)
    paid = [one for one in chosen.curve if one.cost is not None and one.cost <= 0.2]
    assert chosen.point in paid
    assert chosen.point.agreement == max(one.agreement for one in paid)
    free: BandPoint = choose_band(fast, slow).point
    assert free.agreement >= chosen.curve[-1].agreement
    assert free.share < 0.5


def test_an_unknown_price_leaves_the_cost_open() -> None:
    """A band is chosen by agreement; a cost cannot be the aim."""
    fast, slow = Stub.of(300, seed=5).judged()
    unpriced = replace(slow, answers=tuple(replace(one, cost=None) for one in slow.verdicts))
    assert choose_band(fast, unpriced, agreement=0.93).point.cost is None
    with pytest.raises(InputError, match="a price is unknown"):
        choose_band(fast, unpriced, cost=1.0)
