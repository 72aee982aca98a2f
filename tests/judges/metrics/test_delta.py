"""Intervals from pulls, against SciPy's t and against resampling."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges.metrics import (
    influence_se,
    left_out_se,
    mean_share,
    score_interval,
    share_interval,
    t_quantile,
)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 12, 30, 100, 5000])
def test_the_quantile_is_students(freedom: int) -> None:
    """Within 0.2 % of SciPy's, from one degree of freedom on."""
    from scipy.stats import t

    assert t_quantile(freedom) == pytest.approx(t.ppf(0.975, freedom), rel=2e-3)


def test_without_freedom_the_quantile_is_infinite() -> None:
    """One unit says nothing about the spread."""
    assert t_quantile(0) == np.inf
    assert influence_se(np.array([0.0])) == (np.inf, 1)
    assert share_interval(0.5, np.zeros(0)) is None


def test_a_mean_of_grouped_values_covers_as_often_as_it_says() -> None:
    """With 12 groups of 6 values that move together, about 95 % of 400 intervals hold the true
    mean.
    """
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


def test_the_error_of_a_mean_without_each_group_is_found_from_the_pulls() -> None:
    """Leaving out each of nine unequal groups in turn, by hand; independent values have the usual
    error.
    """
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 30])
    values = rng.random(len(groups))
    without = np.array([values[groups != g].mean() for g in range(9)])
    se, units = left_out_se(values - values.mean(), groups)
    assert se == pytest.approx(np.sqrt(8 / 9 * ((without - values.mean()) ** 2).sum()))
    assert units == pytest.approx(66**2 / (1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 900))
    assert left_out_se(values) == pytest.approx((values.std(ddof=1) / np.sqrt(66), 66))
    assert left_out_se(values, np.zeros(66, np.int64)) == (np.inf, 1.0)


def test_a_proportion_of_many_rows_has_wilsons_interval() -> None:
    """With the error of independent rows and no doubt about it the interval is SciPy's, on any
    range.
    """
    from scipy.stats import binomtest

    expected = binomtest(90, 100).proportion_ci(method="wilson")
    se = np.sqrt(0.9 * 0.1 / 100)
    assert score_interval(0.9, se, np.inf) == pytest.approx((expected.low, expected.high))
    low, high = score_interval(0.8, 2 * se, np.inf, bounds=(-1.0, 1.0))
    assert ((low + 1) / 2, (high + 1) / 2) == pytest.approx((expected.low, expected.high))


def test_few_units_and_an_unknown_error_widen_the_interval() -> None:
    """Student's t for few units; where no error is known, as many rows as units stand behind the
    value.
    """
    from scipy.stats import binomtest

    widths = [
        high - low
        for low, high in (score_interval(0.7, 0.05, units) for units in (2, 5, 20, np.inf))
    ]
    assert widths == sorted(widths, reverse=True)
    expected = binomtest(7, 10).proportion_ci(method="wilson")
    assert score_interval(0.7, None, 10) == pytest.approx((expected.low, expected.high))
    assert score_interval(1.0, 0.0, 10, certain=40)[0] > score_interval(1.0, 0.0, 10)[0]
