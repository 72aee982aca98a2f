"""Intervals from pulls, against SciPy's t and against resampling."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges.metrics import (
    influence_se,
    left_out_se,
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
