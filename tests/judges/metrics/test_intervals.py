"""Intervals: against formulas that need no resampling, and by how often they cover the truth."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest

from judgewright.judges import BoolArray, FloatArray, IntArray
from judgewright.judges.metrics import (
    BINARY_METRICS,
    Cells,
    Estimate,
    influence_se,
    jackknife,
    krippendorff_alpha,
    left_out_se,
    mean_over_rows,
    score_interval,
    share_interval,
    t_quantile,
    table_intervals,
    wilson,
)


def _on_tables(name: str, counts: FloatArray) -> FloatArray:
    return BINARY_METRICS[name](counts.reshape(-1, 2, 2))


def test_wilson_has_no_answer_without_rows_and_stays_inside_one() -> None:
    """The interval of a proportion lies in [0, 1] and touches the end only where every row
    agrees.
    """
    assert wilson(0, 0) is None
    low, high = wilson(7, 7) or (2.0, 2.0)
    assert 0.6 < low < high == 1.0


@pytest.mark.parametrize("groups", [None, np.arange(90) % 17], ids=["rows", "groups"])
def test_the_error_is_that_of_leaving_out_each_unit(groups: IntArray | None) -> None:
    """F1 and kappa of 90 rows, without each row or group in turn, spread about the value on all."""
    from sklearn.metrics import cohen_kappa_score, f1_score

    rng = np.random.default_rng(4)
    label = rng.random(90) < 0.4
    predicted = np.where(rng.random(90) < 0.2, ~label, label)
    unit = np.arange(90) if groups is None else groups
    cells = Cells(code=2 * label + predicted, size=4, groups=groups)
    found = jackknife({name: partial(_on_tables, name) for name in ("f1", "kappa")}, cells)
    for name, theirs in (("f1", f1_score), ("kappa", cohen_kappa_score)):
        without = [theirs(label[unit != u], predicted[unit != u]) for u in range(unit.max() + 1)]
        squares = ((np.array(without) - theirs(label, predicted)) ** 2).sum()
        assert found[name] == pytest.approx(np.sqrt(squares * unit.max() / (unit.max() + 1)))


def test_a_statistic_that_one_unit_alone_defines_has_no_error() -> None:
    """Recall on a single positive row does not exist without it."""
    cells = Cells(code=np.array([0, 0, 1, 3]), size=4)
    statistics = {name: partial(_on_tables, name) for name in ("recall", "accuracy")}
    found = jackknife(statistics, cells)
    assert found["recall"] is None
    assert found["accuracy"] is not None


@pytest.mark.parametrize("grouped", [False, True])
def test_bundles_of_units_stand_for_too_many_of_them(grouped: bool) -> None:
    """A scale of 1,001 grades has a million cells: leaving out bundles of rows gives about the
    error of a mean.
    """
    rng = np.random.default_rng(6)
    code = rng.integers(0, 1_000_000, 3000)
    groups = np.arange(3000) // 3 if grouped else None
    value = np.arange(1_000_000) / 1_000_000
    found = jackknife(
        {"mean": lambda c: c @ value / c.sum(1)}, Cells(code=code, size=1_000_000, groups=groups)
    )["mean"]
    assert found == pytest.approx(value[code].std() / np.sqrt(3000), rel=0.25)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_sorted_file_has_the_error_of_a_shuffled_one(grouped: bool) -> None:
    """Bundles of 8,000 units sorted by their value differ as bundles of independent units do."""
    value = np.arange(8000) / 8000
    cells = Cells(code=np.arange(8000), size=8000, groups=np.arange(8000) if grouped else None)
    error = jackknife({"mean": lambda c: c @ value / c.sum(1)}, cells)["mean"]
    assert error == pytest.approx(value.std() / np.sqrt(8000), rel=0.1)


DRAWS = 300
LEAST = 0.93 * DRAWS
"""Of 300 draws; what `benchmarks/coverage.py` measures on 2,000 stands above .94 on these designs.
"""


def _intervals(
    label: BoolArray, verdict: BoolArray, groups: IntArray | None
) -> dict[str, tuple[float, float] | None]:
    return table_intervals(
        BINARY_METRICS, Cells(code=2 * label + verdict, size=4, groups=groups), 2
    )


def test_every_metric_is_covered_on_twenty_groups_that_err_together() -> None:
    """A resampled percentile interval held the truth in .92 to .94 of such draws."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(20), 20)
    truth, held = (
        dict.fromkeys(BINARY_METRICS, 0.8) | {"mcc": 0.6, "kappa": 0.6},
        dict.fromkeys(BINARY_METRICS, 0),
    )
    for _ in range(DRAWS):
        label = rng.random(400) < 0.5
        right = rng.random(400) < np.repeat(rng.beta(4.8, 1.2, 20), 20)
        for name, interval in _intervals(label, label == right, groups).items():
            low, high = interval or (2.0, -2.0)
            held[name] += low <= truth[name] <= high
    assert {name: count for name, count in held.items() if count < LEAST} == {}


def test_a_perfect_judge_is_as_certain_as_its_rows_allow() -> None:
    """Kappa of n right rows has the interval of n right rows on its range; one group has none."""
    label = np.arange(60) % 2 == 0
    found = _intervals(label, label, None)
    low, high = wilson(60, 60) or (0.0, 0.0)
    assert found["kappa"] == pytest.approx((2 * low - 1, 2 * high - 1))
    assert found["f1"] == pytest.approx(wilson(30, 30))
    assert _intervals(label, label, np.zeros(60, np.int64))["kappa"] is None


def test_alpha_is_covered_where_one_value_prevails() -> None:
    """Every table of two raters of 30 rows, by its chance: a tenth is positive, 19 in 20 agree."""
    from scipy.stats import multinomial

    apart, wrong = 0.05, (1 - math.sqrt(0.9)) / 2
    both = 0.1 * (1 - wrong) ** 2 + 0.9 * wrong**2
    positive = both + apart / 2
    truth = 1 - apart / (2 * positive * (1 - positive))
    table = multinomial(30, [both, apart, 1 - both - apart])
    held, every = 0.0, 0.0
    for agreed, differed in itertools.product(range(31), repeat=2):
        chance = float(table.pmf([agreed, differed, 30 - agreed - differed]))
        if chance < 1e-6:
            continue
        first = np.arange(30) < agreed
        second = np.arange(30) < agreed + differed
        found = krippendorff_alpha([first, second])
        if found.low is not None and found.high is not None:
            every += chance
            held += chance * (found.low <= truth <= found.high)
    assert every > 0.9
    assert held / every > 0.94


def test_what_rests_on_one_row_has_no_interval() -> None:
    """One positive rating among 30 rows: alpha is undefined without its row, which is said."""
    nothing, once = np.zeros(30), np.eye(30)[0]
    for other, value in ((nothing, 0.0), (once, 1.0)):
        found = krippendorff_alpha([once, other])
        assert (found.value, found.low, found.high) == (value, None, None)
        assert "rests on one unit" in found.reason


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


def test_a_difference_of_zeros_and_ones_has_the_interval_of_its_mirror_image() -> None:
    """Three of 50 rows moved one way: no row that moved back does not rule out a loss."""
    moves = np.repeat([1.0, 0.0], [3, 47])
    up, down, still = (
        mean_over_rows(each, np.arange(50), missing="", bounds=(-1.0, 1.0))
        for each in (moves, -moves, 0 * moves)
    )
    assert (up.low, up.high) == pytest.approx((-(down.high or 0), -(down.low or 0)))
    assert still.low == pytest.approx(-(still.high or 0))
    share = mean_over_rows(moves, np.arange(50), missing="")
    assert (share.low, share.high) == wilson(3, 50)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    """NaN and infinity never travel, neither as a value nor as a bound."""
    with pytest.raises(ValueError, match="finite"):
        Estimate(value=number, low=None, high=None, n=3)
    with pytest.raises(ValueError, match="finite"):
        Estimate(value=0.5, low=number, high=None, n=3)


def test_a_missing_value_says_why() -> None:
    """An undefined metric carries its reason into JSON, and cannot be made without one."""
    estimate = Estimate.undefined(4, "no row is labelled negative")
    assert estimate.to_json() == {
        "value": None,
        "low": None,
        "high": None,
        "n": 4,
        "reason": "no row is labelled negative",
    }
    with pytest.raises(ValueError, match="reason"):
        Estimate(value=None, low=None, high=None, n=4)


def test_an_estimate_prints_its_interval() -> None:
    """People see the value and the interval in one line."""
    assert str(Estimate(value=0.5, low=0.25, high=0.75, n=9)) == "0.5000 [0.2500, 0.7500]"
    assert str(Estimate(value=0.5, low=None, high=None, n=1, reason="one row")) == "0.5000"
    assert str(Estimate.undefined(0, "no rows")) == "n/a (no rows)"
