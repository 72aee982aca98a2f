"""The tests behind a slice hold their level, also where rows come in groups."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.slices import (
    Cells,
    compare,
    decompose,
    expected_gain,
    one_direction,
    rows_to_find,
    share_interval,
)
from judgewright.slices.significance import LossScan


def test_independent_rows_give_the_two_sample_score_test() -> None:
    """With one row a group, the gap's z is the pooled two-proportion z."""
    bad = np.zeros(400, np.bool_)
    bad[:60], bad[200:230] = True, True
    member = np.arange(400) < 200
    found = compare(bad, member, np.arange(400))
    assert found is not None
    pooled = 90 / 400
    expected = (0.3 - 0.15) / np.sqrt(pooled * (1 - pooled) * (2 / 200))
    assert found.gap / found.se == pytest.approx(expected, rel=0.01)
    assert found.design == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("agreement", [0.0, 1.0])
def test_grouped_noise_is_called_significant_at_the_nominal_rate(agreement: float) -> None:
    """Under no difference at most about 5 % of tests come out below .05, with and without
    correlated groups.
    """
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(600):
        groups = np.repeat(np.arange(60), 6)
        shared = np.repeat(rng.random(60) < 0.3, 6)
        bad = np.where(rng.random(360) < agreement, shared, rng.random(360) < 0.3)
        found = compare(bad, np.repeat(rng.random(60) < 0.3, 6), groups)
        hits += found is not None and found.p < 0.05
    assert hits / 600 < 0.08


def test_rare_errors_in_a_small_slice_get_the_exact_p() -> None:
    """Where Student's t would flatter, the p-value is Fisher's."""
    from scipy.stats import fisher_exact

    bad, member = np.zeros(600, np.bool_), np.arange(600) < 20
    bad[:3], bad[100:112] = True, True
    found = compare(bad, member, np.arange(600))
    assert found is not None
    exact = fisher_exact([[3, 17], [12, 568]], alternative="greater").pvalue
    assert found.p == pytest.approx(exact, rel=1e-6)


def test_a_slice_of_few_groups_is_never_significant() -> None:
    """Four groups that all err prove nothing about other groups."""
    bad = np.zeros(200, np.bool_)
    bad[:40] = True
    found = compare(bad, bad.copy(), np.arange(200) // 10)
    assert found is not None
    assert found.p == 1.0


def test_an_empty_side_cannot_be_compared() -> None:
    """A slice of no rows or of all rows has no comparison."""
    bad = np.array([True, False])
    assert compare(bad, np.zeros(2, np.bool_), np.arange(2)) is None
    assert compare(bad, np.ones(2, np.bool_), np.arange(2)) is None


def test_the_scan_statistic_is_half_of_g_squared() -> None:
    """For a cell that is worse than the rest, the ratio is G^2 / 2 of the 2x2 table; otherwise
    0.
    """
    from scipy.stats import chi2_contingency

    n, bad = np.array([50.0, 50.0]), np.array([20.0, 2.0])
    found = LossScan(400.0, 60.0, None).llr(n, bad)
    g = chi2_contingency(
        [[20, 30], [40, 310]], correction=False, lambda_="log-likelihood"
    ).statistic
    assert found[0] == pytest.approx(g / 2)
    assert found[1] == 0.0


def test_the_interval_widens_with_the_groups() -> None:
    """Perfectly correlated groups of five give the Wilson interval of a fifth of the rows."""
    from scipy.stats import binomtest

    good = np.repeat(np.arange(40) % 4 > 0, 5)
    independent = share_interval(good, np.arange(200))
    grouped = share_interval(good, np.repeat(np.arange(40), 5))
    assert independent is not None
    assert grouped is not None
    assert independent == pytest.approx(
        tuple(binomtest(150, 200).proportion_ci(method="wilson")), abs=0.002
    )
    assert grouped == pytest.approx(
        tuple(binomtest(30, 40).proportion_ci(method="wilson")), abs=0.005
    )
    assert share_interval(np.zeros(0, np.bool_), np.zeros(0, np.int64)) is None


def test_direction_is_a_sign_test() -> None:
    """Nine of ten errors one way are a direction; five of ten, or nine in one group, are not."""
    errors = np.ones(40, np.bool_)
    mostly = np.arange(40) < 36
    share, p = one_direction(errors & mostly, errors & ~mostly, np.arange(40))
    assert share == pytest.approx(0.9)
    assert p < 0.001
    assert (
        one_direction(
            errors & (np.arange(40) % 2 == 0), errors & (np.arange(40) % 2 == 1), np.arange(40)
        )[1]
        == 1.0
    )
    assert one_direction(errors, ~errors, np.zeros(40, np.int64))[1] == 1.0
    assert one_direction(~errors, ~errors, np.arange(40)) == (None, 1.0)


def test_the_power_rule_gives_the_published_figure() -> None:
    """.42 against .21 needs about 98 rows at 3,000 candidates and about 125 at 61,000."""
    assert rows_to_find(0.42, 0.21, 3_000) == pytest.approx(98, abs=4)
    assert rows_to_find(0.42, 0.21, 61_000) == pytest.approx(125, abs=5)
    assert rows_to_find(0.2, 0.2, 10) == float("inf")


COUNT = st.integers(1, 400)
CELLS = st.builds(lambda a, b, c, d: Cells(tp=a, fp=b, fn=c, tn=d), COUNT, COUNT, COUNT, COUNT)


def value(metric: str, c: Cells) -> float:
    """The metric by its textbook formula; precision as log-odds."""
    return {
        "precision": math.log(c.tp / c.fp),
        "recall": c.tp / (c.tp + c.fn),
        "specificity": c.tn / (c.tn + c.fp),
        "accuracy": (c.tp + c.tn) / (c.tp + c.fp + c.fn + c.tn),
        "f1": 2 * c.tp / (2 * c.tp + c.fp + c.fn),
    }[metric]


@settings(max_examples=100, deadline=None)
@given(CELLS, CELLS, st.sampled_from(["precision", "recall", "specificity", "accuracy", "f1"]))
def test_the_parts_add_up_to_the_gap(inside: Cells, rest: Cells, metric: str) -> None:
    """Prevalence, TPR and FPR explain the whole difference, and for precision each is its own log
    ratio.
    """
    parts = decompose(metric, inside, rest)
    assert parts is not None
    gap = value(metric, inside) - value(metric, rest)
    assert parts.prevalence + parts.tpr + parts.fpr == pytest.approx(gap, abs=1e-9)
    if metric == "precision":
        (_, tpr, fpr), (_, tpr_rest, fpr_rest) = inside.rates, rest.rates
        assert parts.tpr == pytest.approx(math.log(tpr / tpr_rest), abs=1e-9)
        assert parts.fpr == pytest.approx(-math.log(fpr / fpr_rest), abs=1e-9)


def test_a_base_rate_gap_is_not_the_judges_doing() -> None:
    """The same TPR and FPR at another prevalence gives a gap that no prompt can mend."""
    parts = decompose(
        "precision", Cells(tp=90, fp=90, fn=10, tn=810), Cells(tp=450, fp=50, fn=50, tn=450)
    )
    assert parts is not None
    assert parts.prevalence == pytest.approx(math.log(1 / 9))
    assert not parts.judges_doing("fp")
    worse = decompose(
        "precision", Cells(tp=45, fp=20, fn=5, tn=30), Cells(tp=450, fp=50, fn=50, tn=450)
    )
    assert worse is not None
    assert worse.judges_doing("fp")
    assert not worse.judges_doing("fn")


def test_the_gain_in_precision_is_that_of_repairing_the_slice() -> None:
    """Turning false positives of the slice into true negatives until it equals the rest gives the
    stated gain.
    """
    inside, rest = Cells(tp=60, fp=40, fn=9, tn=90), Cells(tp=300, fp=50, fn=30, tn=500)
    everything = Cells(tp=360, fp=90, fn=39, tn=590)
    gain = expected_gain("precision", everything, inside, 100, 450, 0.4, 50 / 350)
    mended = next(x / 100 for x in range(4001) if 60 / (100 - x / 100) >= 300 / 350)
    assert gain == pytest.approx(360 / (450 - mended) - 360 / 450, abs=1e-4)
    assert rest.tp + inside.tp == everything.tp


def test_the_gain_in_f1_brings_the_slice_to_the_rest() -> None:
    """Repairing the same part of both kinds of errors until TP / (TP + FP + FN) equals that of the
    rest.
    """
    inside, everything = Cells(tp=50, fp=30, fn=20, tn=0), Cells(tp=450, fp=80, fn=70, tn=400)
    rest = (50 + 50) / (400 + 50 + 50)
    gain = expected_gain("f1", everything, inside, 100, 600, 0.5, rest)
    part = next(
        x / 1e5 for x in range(100001) if (50 + 20 * x / 1e5) / (100 - 30 * x / 1e5) >= 1 - rest
    )
    after = 2 * (450 + 20 * part) / (2 * (450 + 20 * part) + 80 - 30 * part + 70 - 20 * part)
    assert gain == pytest.approx(after - 2 * 450 / (900 + 150), abs=1e-4)
