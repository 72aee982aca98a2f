"""The interval of ECE: where it holds the truth, and what it is on many rows."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges.metrics import ece, ece_by_chance, ece_interval


@pytest.mark.parametrize("n", [5, 30, 100])
def test_the_error_of_a_calibrated_judge_may_be_zero(n: int) -> None:
    """A judge whose probabilities are true has no error, though its few rows always show one."""
    rng = np.random.default_rng(n)
    held, shown = 0, 0.0
    for _ in range(200):
        stated = rng.random(n)
        label = rng.random(n) < stated
        low, high = ece_interval(label, stated, None, draws=500)
        seen = float(ece(label, stated))
        assert low - 1e-12 <= seen <= high + 1e-12
        held += low == 0.0
        shown += seen / 200
    assert held >= 0.93 * 200
    assert shown > 0.05


@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_holds_a_large_error_as_often_as_it_says(clustered: bool) -> None:
    """A judge that is off by 0.15 everywhere, on 200 rows alone or in 25 groups that lean
    together.
    """
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(25), 8) if clustered else None
    held = 0
    for _ in range(200):
        stated = rng.uniform(0.2, 1.0, 200)
        lean = np.repeat(rng.choice([-0.05, 0.05], 25), 8) if clustered else 0.0
        label = rng.random(200) < stated - 0.15 + lean
        low, high = ece_interval(label, stated, groups, draws=500)
        held += low <= 0.15 <= high
    assert held >= 0.93 * 200


def test_chance_makes_about_as_much_error_as_is_told() -> None:
    """The error of calibrated judges on 40 rows has the mean that the remark names."""
    rng = np.random.default_rng(3)
    seen, told = [], []
    for _ in range(200):
        stated = rng.random(40)
        one, chance = ece_by_chance(rng.random(40) < stated, stated, np.arange(40))
        seen.append(one)
        told.append(chance)
    assert np.mean(told) == pytest.approx(np.mean(seen), rel=0.25)
