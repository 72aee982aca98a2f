"""Shares and sums whose intervals draw groups."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from judgewright.judges import Row, group_codes
from judgewright.judges.reliability import bootstrap_groups


def test_a_statistic_of_group_sums_has_scipys_interval() -> None:
    """A ratio of two sums over sixty groups, against SciPy's percentile bootstrap of pairs of
    sums.
    """
    rng = np.random.default_rng(4)
    sums = np.stack([rng.poisson(5, 60), 5 + rng.poisson(5, 60)], axis=1).astype(np.float64)

    def ratio(counts: np.ndarray) -> np.ndarray:
        top, bottom = np.moveaxis(counts @ sums, -1, 0)
        return top / bottom

    found = bootstrap_groups({"ratio": ratio}, 60, n=600, missing="none")["ratio"]
    theirs = bootstrap(
        (sums[:, 0], sums[:, 1]),
        lambda a, b, axis: a.sum(axis) / b.sum(axis),
        paired=True,
        method="percentile",
        n_resamples=4000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert found.value == pytest.approx(sums[:, 0].sum() / sums[:, 1].sum())
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_one_group_shows_no_spread_and_nan_is_undefined() -> None:
    """A value without an interval, and no value, each with its reason."""
    found = bootstrap_groups(
        {"one": lambda c: c[:, 0], "none": lambda c: c[:, 0] * np.nan}, 1, n=5, missing="gone"
    )
    assert (found["one"].value, found["one"].low) == (1.0, None)
    assert "two" in found["one"].reason
    assert (found["none"].value, found["none"].reason) == (None, "gone")


def test_rows_without_a_group_are_their_own() -> None:
    """Codes in order of first appearance."""
    rows = [
        Row(id=i, inputs={}, group=g) for i, g in (("a", "x"), ("b", ""), ("c", "x"), ("x", ""))
    ]
    assert group_codes(rows).tolist() == [0, 1, 0, 2]
