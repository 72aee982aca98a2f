"""Correlations against SciPy, and their intervals against resampled and known ones."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import (
    Level,
    alpha_of_tables,
    correlations,
    kendall_tau,
    krippendorff_alpha,
)

pairs = st.lists(st.tuples(st.integers(-2, 4), st.integers(0, 5)), min_size=2, max_size=40)


@given(pairs)
@settings(max_examples=80, deadline=None)
def test_correlations_equal_scipy_whatever_the_ties(rows: list[tuple[int, int]]) -> None:
    """Pearson, Spearman, and tau-b follow SciPy; a constant side is None with the reason."""
    from scipy import stats

    x, y = np.array(rows, np.float64).T
    found = correlations(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert all(e.value is None and "is the same" in e.reason for e in found.values())
        return
    expected = {
        "pearson": stats.pearsonr(x, y).statistic,
        "spearman": stats.spearmanr(x, y).statistic,
        "kendall_tau": stats.kendalltau(x, y).statistic,
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-12), name
        assert found[name].n == len(rows)


def test_thousands_of_distinct_values_equal_scipy() -> None:
    """The merge that counts concordant pairs is right where nearly no two values tie."""
    from scipy import stats

    rng = np.random.default_rng(1)
    x = rng.normal(size=3001)
    y = np.where(rng.random(3001) < 0.3, np.round(x, 1), rng.normal(size=3001))
    assert kendall_tau(x, y).value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert correlations(x, y)["spearman"].value == pytest.approx(
        stats.spearmanr(x, y).statistic, abs=1e-12
    )
    assert correlations(1e9 + x, 1e-9 * y)["pearson"].value == pytest.approx(
        stats.pearsonr(x, y).statistic, abs=1e-6
    )


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("graded", [False, True])
def test_the_interval_is_as_wide_as_a_bootstrap_of_rows_or_groups(
    graded: bool, grouped: bool
) -> None:
    """Drawing rows (or groups of rows) a thousand times spreads as the influence function says."""
    from scipy import stats

    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(80), 5)
    shared = np.repeat(rng.normal(size=80), 5)
    x = shared + rng.normal(size=400)
    y = shared + rng.normal(size=400)
    if graded:
        x, y = np.round(x).clip(-1, 2), np.round(y).clip(-1, 2)
    scipy_of = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall_tau": stats.kendalltau,
    }
    rows_of = np.arange(400).reshape(80, 5) if grouped else np.arange(400).reshape(400, 1)
    draws = {name: [] for name in scipy_of}
    for _ in range(600):
        rows = rows_of[rng.integers(0, len(rows_of), len(rows_of))].ravel()
        for name, function in scipy_of.items():
            draws[name].append(float(function(x[rows], y[rows]).statistic))
    for name, estimate in correlations(x, y, groups if grouped else None).items():
        low, high = np.quantile(draws[name], (0.025, 0.975))
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.high - estimate.low == pytest.approx(high - low, rel=0.2), name
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.035), name


def test_odd_inputs_have_stated_answers() -> None:
    """Empty, constant, perfect and tiny inputs say why; lengths and non-finite numbers are
    refused.
    """
    assert kendall_tau([], []).reason == "there are no rows to correlate"
    constant = correlations([1, 1, 1], [1, 2, 3])["spearman"]
    assert (constant.value, constant.n, constant.reason) == (
        None,
        3,
        "every first number is the same",
    )
    both = correlations([1, 1], [2, 2])["pearson"]
    assert both.reason == "every first number and every second number is the same"
    perfect = kendall_tau([1, 2, 3, 4, 5], [2, 4, 6, 8, 9])
    assert (perfect.value, perfect.low, perfect.reason) == (
        1.0,
        None,
        "a perfect correlation shows no spread",
    )
    tiny = kendall_tau([1, 2, 3], [1, 3, 2])
    assert (tiny.value, tiny.low) == (pytest.approx(1 / 3), None)
    assert tiny.reason == "fewer than 4 rows cannot show the spread"
    few = correlations([1, 2, 3, 4, 5], [1, 3, 2, 5, 5], np.array([0, 0, 1, 1, 2]))["pearson"]
    assert (few.low, few.reason) == (None, "fewer than 4 groups cannot show the spread")
    with pytest.raises(InputError, match="2 numbers against 3"):
        correlations([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="not finite"):
        correlations([1, np.nan], [1, 2])


@given(pairs)
@settings(max_examples=60, deadline=None)
def test_any_numbers_give_ordered_intervals_within_their_range(rows: list[tuple[int, int]]) -> None:
    """The interval holds the value and stays in [-1, 1]; turning a side around turns the value
    around.
    """
    x, y = np.array(rows, np.float64).T
    for name, estimate in correlations(x, y, np.arange(len(x)) // 2).items():
        if estimate.low is not None and estimate.high is not None:
            assert estimate.value is not None
            assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1, name
            assert correlations(-x, y)[name].value == pytest.approx(-estimate.value)


LEVELS: tuple[Level, ...] = ("nominal", "ordinal")
tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, None]), min_size=raters, max_size=raters),
        min_size=1,
        max_size=15,
    )
)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_alpha_equals_the_krippendorff_package(units: list[list[float | None]]) -> None:
    """With gaps and any number of raters, on both levels; None where the package has no
    answer.
    """
    ratings = np.array(units, np.float64).T
    kept = ratings[:, np.isfinite(ratings).sum(0) >= 2]
    distinct = len(np.unique(kept[np.isfinite(kept)]))
    for level in LEVELS:
        found = krippendorff_alpha(ratings, level)
        assert found.n == kept.shape[1]
        if distinct < 2:
            assert found.value is None
            assert found.reason in (
                "no unit has two ratings",
                "all ratings are one and the same value",
            )
        else:
            expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
            assert found.value == pytest.approx(expected, abs=1e-9), level


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=50))
@settings(max_examples=40, deadline=None)
def test_a_table_of_two_raters_gives_what_their_ratings_give(rows: list[tuple[int, int]]) -> None:
    """Alpha from the (K, K) table, many tables at once, is alpha from the two columns."""
    ratings = np.array(rows, np.float64).T
    table = np.zeros((4, 4))
    np.add.at(table, tuple(ratings.astype(int)), 1)
    for level in LEVELS:
        together = alpha_of_tables(np.stack([table, 2 * table, np.eye(4)]), level=level)
        alone = krippendorff_alpha(ratings, level).value
        assert together.shape == (3,)
        assert together[2] == pytest.approx(1.0)
        if alone is None:
            assert np.isnan(together[:2]).all()
        else:
            assert together[0] == pytest.approx(alone, abs=1e-12)


def test_odd_ratings_have_stated_answers() -> None:
    """Perfect agreement is not certain; one unit, one value and no pair say why; bad tables are
    refused.
    """
    perfect = krippendorff_alpha([[0, 1, 2, 1, 0, 2], [0, 1, 2, 1, 0, 2]])
    assert perfect.value == 1.0
    assert perfect.low is not None
    assert perfect.low < 1.0
    single = krippendorff_alpha([[1], [2]])
    assert (single.value, single.low, single.reason) == (
        0.0,
        None,
        "the figure rests on one unit, which cannot show the spread",
    )
    assert krippendorff_alpha([[1, 1], [1, 1]]).reason == "all ratings are one and the same value"
    assert krippendorff_alpha([[1, np.nan], [np.nan, 2]]).reason == "no unit has two ratings"
    many = krippendorff_alpha(np.arange(600.0).reshape(2, 300), "ordinal")
    assert many.value is not None
    assert (many.low, many.reason) == (None, "too many different ratings for an interval")
    for ratings, level, message in [
        ([1, 2], "nominal", r"shape \(2,\)"),
        (np.arange(2400).reshape(2, 1200), "nominal", "2,400"),
        ([[np.inf, 1], [1, 1]], "nominal", "infinite"),
    ]:
        with pytest.raises(InputError, match=message):
            krippendorff_alpha(ratings, level)  # type: ignore[arg-type]
