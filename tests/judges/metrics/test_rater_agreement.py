"""Krippendorff's alpha against the krippendorff package, Fleiss' kappa by hand, and their
intervals.
"""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import Level, alpha_of_tables, krippendorff_alpha

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
        found = krippendorff_alpha(ratings, level, resamples=20)
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
        alone = krippendorff_alpha(ratings, level, resamples=2).value
        assert together.shape == (3,)
        assert together[2] == pytest.approx(1.0)
        if alone is None:
            assert np.isnan(together[:2]).all()
        else:
            assert together[0] == pytest.approx(alone, abs=1e-12)


def test_the_interval_is_a_bootstrap_of_units_and_of_groups_of_units() -> None:
    """Drawing units one by one gives the same interval; units that come in copies widen it."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 120)
    ratings = np.array(
        [np.where(rng.random(120) < 0.25, rng.integers(0, 4, 120), truth) for _ in range(3)],
        np.float64,
    )
    ratings[2, rng.random(120) < 0.4] = np.nan
    found = krippendorff_alpha(ratings, "ordinal")
    draws = [
        krippendorff.alpha(
            reliability_data=ratings[:, rng.integers(0, 120, 120)], level_of_measurement="ordinal"
        )
        for _ in range(400)
    ]
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(draws, (0.025, 0.975))), abs=0.025
    )
    copies = np.repeat(ratings, 4, axis=1)
    apart = krippendorff_alpha(copies, "ordinal")
    together = krippendorff_alpha(copies, "ordinal", groups=np.repeat(np.arange(120), 4))
    widths = [(e.high or 0) - (e.low or 0) for e in (found, apart, together)]
    assert widths[2] == pytest.approx(widths[0], rel=0.15)
    assert widths[1] < 0.7 * widths[2]


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
        "one unit cannot show the spread",
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
