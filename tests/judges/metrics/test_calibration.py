"""Calibration metrics and the bins of a reliability curve, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BoolArray, FloatArray, InputError
from judgewright.judges.metrics import (
    calibration_intervals,
    ece,
    ece_by_chance,
    ece_interval,
    reliability_bins,
    tally,
    wilson,
)

rows = st.lists(
    st.tuples(st.booleans(), st.integers(0, 20).map(lambda k: k / 20) | st.floats(0, 1, width=32)),
    min_size=2,
    max_size=60,
).filter(lambda pairs: len({label for label, _ in pairs}) == 2)


def labels_and_probabilities(pairs: list[tuple[bool, float]]) -> tuple[BoolArray, FloatArray]:
    """Take the two sides apart."""
    return np.array([y for y, _ in pairs]), np.array([p for _, p in pairs], np.float64)


@given(rows)
@settings(max_examples=60, deadline=None)
def test_values_equal_scikit_learns(pairs: list[tuple[bool, float]]) -> None:
    """Ties included; of ECE the edges are those of its calibration curve."""
    from sklearn import metrics as sk
    from sklearn.calibration import calibration_curve

    label, score = labels_and_probabilities(pairs)
    values = calibration_intervals(label, score, None)
    observed, stated = calibration_curve(label, score, n_bins=10)
    share = np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], score), minlength=10)
    expected = {
        "auroc": sk.roc_auc_score(label, score),
        "average_precision": sk.average_precision_score(label, score),
        "brier": sk.brier_score_loss(label, score),
        "ece": (np.abs(observed - stated) * share[share > 0]).sum() / len(pairs),
    }
    assert {name: values[name][0] for name in expected} == pytest.approx(expected, abs=1e-9)
    # The bins of the reliability curve give the error back, and no row is in two or in none.
    bins = reliability_bins(label, score)
    gaps = [b.share.n * abs(b.share.value - b.probability) for b in bins if b.share.n]  # type: ignore[operator]
    assert sum(gaps) / len(label) == pytest.approx(expected["ece"], abs=1e-9)
    assert sum(b.share.n for b in bins) == len(label)
    assert all(b.probability is None and b.share.value is None for b in bins if b.share.n == 0)


def test_the_bins_are_scikit_learns_with_wilsons_intervals() -> None:
    """Shares and mean probabilities agree with `calibration_curve`."""
    from sklearn.calibration import calibration_curve

    rng = np.random.default_rng(3)
    probability = rng.random(400).round(2)
    label = rng.random(400) < probability**2
    filled = [b for b in reliability_bins(label, probability) if b.share.n]
    shares, means = calibration_curve(label, probability, n_bins=10)
    np.testing.assert_allclose([b.share.value for b in filled], shares)
    np.testing.assert_allclose([b.probability for b in filled], means)
    first = filled[0].share
    assert (first.low, first.high) == wilson(round(shares[0] * first.n), first.n)


@pytest.mark.parametrize(
    ("label", "probability", "error"),
    [
        ([True, False, False, True], [0.3, 1 - 0.7, 0.35, 0.25], (abs(2 - 0.85) + 0.35) / 4),
        ([False, True], [0.0, 1.0], 0.0),
        ([True, False], [0.0, 1.0], 1.0),
        ([False] * 3, [0.1, 0.5, 0.9], 0.5),
    ],
    ids=["1 - 0.7 counts as 0.3", "ends", "ends turned", "one class"],
)
def test_the_bins_of_the_error(label: list[bool], probability: list[float], error: float) -> None:
    """The first bin holds zero and the last holds one, so no certain row is dropped."""
    assert ece(np.array(label), np.array(probability)) == pytest.approx(error)


def test_no_rows_give_nan_and_bad_probabilities_are_named() -> None:
    """Nothing in, NaN out; a percentage or a missing value is refused with its value."""
    assert np.isnan(ece(np.zeros(0, np.bool_), np.zeros(0)))
    with pytest.raises(InputError, match=r"95\.0"):
        ece(np.array([True]), np.array([95.0]))
    with pytest.raises(InputError, match="not finite"):
        ece(np.array([True]), np.array([np.nan]))
    with pytest.raises(InputError, match="2 labels for 1"):
        tally(np.array([True, False]), np.array([0.5]))


@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_from_cells_of_neighbours_match_those_of_every_row(clustered: bool) -> None:
    """Two thousand distinct probabilities: exact values, and the intervals of rows resampled one by
    one.
    """
    from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

    rng = np.random.default_rng(3)
    p = rng.beta(0.7, 0.7, 2000)
    y = rng.random(2000) < p**1.3
    groups = np.arange(2000) % 150 if clustered else None
    found = calibration_intervals(y, p, groups)
    unit = np.arange(2000) if groups is None else groups
    members = [np.flatnonzero(unit == u) for u in range(unit.max() + 1)]
    draws = []
    for _ in range(400):
        rows = np.concatenate([members[u] for u in rng.integers(0, len(members), len(members))])
        draws.append((roc_auc_score(y[rows], p[rows]), average_precision_score(y[rows], p[rows])))
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    assert found["auroc"][0] == pytest.approx(roc_auc_score(y, p))
    assert found["brier"][0] == pytest.approx(brier_score_loss(y, p))
    for name, a, b in zip(("auroc", "average_precision"), low, high, strict=True):
        interval = found[name][1]
        assert interval is not None
        assert interval == pytest.approx((a, b), abs=0.25 * (b - a))


def test_one_class_leaves_auroc_without_a_value() -> None:
    """The metrics that exist are given, the others are None."""
    found = calibration_intervals(np.ones(30, np.bool_), np.linspace(0, 1, 30), None)
    assert found["auroc"] == (None, None)
    assert found["brier"][0] is not None


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
