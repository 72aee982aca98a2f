"""Intervals from pulls, against SciPy's t and against resampling."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges.metrics.delta import mean_share, pull_se, share_interval, t_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 12, 30, 100, 5000])
def test_the_quantile_is_students(freedom: int) -> None:
    """Within 0.2 % of SciPy's, from one degree of freedom on."""
    from scipy.stats import t

    assert t_quantile(freedom) == pytest.approx(t.ppf(0.975, freedom), rel=2e-3)


def test_without_freedom_the_quantile_is_infinite() -> None:
    """One unit says nothing about the spread."""
    assert t_quantile(0) == np.inf
    assert pull_se(np.array([0.0])) == (np.inf, 1)
    assert share_interval(0.5, np.zeros(0)) is None


def test_a_mean_of_grouped_values_covers_as_often_as_it_says() -> None:
    """With 12 groups of 6 values that move together, about 95 % of 400 intervals hold the true mean."""
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(12), 6)
    held = {"groups": 0, "rows": 0}
    for _ in range(400):
        values = np.repeat(rng.beta(4, 4, 12), 6)
        for kind, by in (("groups", groups), ("rows", None)):
            found = mean_share(values, by)
            held[kind] += (found.low or 0) <= 0.5 <= (found.high or 1)
    assert 0.92 <= held["groups"] / 400 <= 0.98
    assert held["rows"] / 400 < 0.75


def test_values_that_never_vary_are_not_certain() -> None:
    """All right in 30 items: the interval is Wilson's for 30 of 30; a reason given is kept."""
    from scipy.stats import binomtest

    found = mean_share(np.ones(30), reason="a convention")
    expected = binomtest(30, 30).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.reason == "a convention"
    assert mean_share(np.array([0.3])).reason == "one unit cannot show the spread"
