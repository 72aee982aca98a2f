"""The bets behind a race: the wealth is what the formula says, and it rarely grows against a true
claim.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.optimize.racing import STAKES, ConfidenceSequence

DIFFERENCES = st.lists(st.integers(-4, 4).map(lambda quarter: quarter / 4), min_size=1, max_size=25)


def watched(differences: list[float]) -> ConfidenceSequence:
    """Two candidates, of which the first costs so much more than the second on one unit after the
    other.
    """
    bets = ConfidenceSequence(2, len(differences))
    for d in differences:
        bets.watch(np.array([[0.0, d], [-d, 0.0]]), np.array([True, True]))
    return bets


@settings(max_examples=80)
@given(DIFFERENCES)
def test_the_peak_is_that_of_the_wealth_written_out(differences: list[float]) -> None:
    """One product a stake, their mean after every unit, the highest of the means."""
    wealth, peak, total = [1.0] * len(STAKES), 1.0, 0.0
    for seen, d in enumerate(differences):
        mean = -total / (len(differences) - seen)
        if 1 + mean <= 0:
            wealth = [math.inf] * len(STAKES) if d > mean else wealth
        else:
            wealth = [
                w * (1 + s * max(d - mean, -1 - mean) / (1 + mean))
                for w, s in zip(wealth, STAKES, strict=True)
            ]
        total += d
        peak = max(peak, sum(wealth) / len(wealth))
    assert math.exp(watched(differences).peak[0, 1]) == pytest.approx(peak, rel=1e-9)


@given(DIFFERENCES)
def test_a_lead_that_cannot_be_made_up_is_certain_and_no_other_is(differences: list[float]) -> None:
    """Evidence without end stands only where the rest of the units cannot turn the sum."""
    found = watched(differences)
    before, after = np.cumsum([0.0, *differences[:-1]]), np.cumsum(differences)
    left = len(differences) - np.arange(len(differences))
    assert np.isinf(found.peak[0, 1]) == bool(((before >= left) & (after > left - 1)).any())


def test_bets_on_who_has_left_the_race_stand_still() -> None:
    """A pair with a candidate that no longer runs keeps its evidence."""
    bets = ConfidenceSequence(3, 50)
    costs = np.array([[0.0, 0.5, 0.5], [-0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]])
    for _ in range(5):
        bets.watch(costs, np.array([True, True, True]))
    before = bets.peak.copy()
    for _ in range(5):
        bets.watch(costs, np.array([True, False, True]))
    assert bets.peak[0, 1] == before[0, 1]
    assert bets.peak[0, 2] > before[0, 2]


def test_evidence_against_a_true_claim_reaches_the_bar_no_more_often_than_alpha() -> None:
    """Of 500 orders of rows whose differences sum to nothing, looked at after every row, at most 5
    % and its noise.
    """
    rng = np.random.default_rng(0)
    rows, runs, alpha = 120, 500, 0.05
    crossed = 0
    for _ in range(runs):
        half = rng.choice([0.0, 0.2, 1.0], rows // 2, p=[0.7, 0.15, 0.15])
        bets = watched(rng.permutation(np.concatenate((half, -half))).tolist())
        crossed += bets.peak[0, 1] >= math.log(1 / alpha)
    # Three standard errors of a share of 5 % in 500 runs.
    assert crossed <= runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))


def test_a_clear_difference_is_found_long_before_the_last_row() -> None:
    """Rows of which one in five costs more: known within 150 of 1,000."""
    rng = np.random.default_rng(1)
    differences = (rng.random(1000) < 0.2) * 1.0 - (rng.random(1000) < 0.05)
    bets = ConfidenceSequence(2, 1000)
    for d in differences[:150]:
        bets.watch(np.array([[0.0, d], [-d, 0.0]]), np.array([True, True]))
    assert bets.peak[0, 1] >= math.log(20)
