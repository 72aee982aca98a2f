"""Calibration metrics against scikit-learn and DIRAS's published figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import (
    auroc,
    average_precision,
    brier,
    calibration_intervals,
    ece,
    tally,
)

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"

rows = st.lists(
    st.tuples(st.booleans(), st.integers(0, 20).map(lambda k: k / 20) | st.floats(0, 1, width=32)),
    min_size=2,
    max_size=60,
).filter(lambda pairs: len({label for label, _ in pairs}) == 2)


@given(rows, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_weighted_metrics_equal_scikit_learn(pairs: list[tuple[bool, float]], seed: int) -> None:
    """AUROC, average precision and Brier follow scikit-learn with any row weights, ties
    included.
    """
    from sklearn import metrics as sk

    label = np.array([p[0] for p in pairs])
    score = np.array([p[1] for p in pairs], np.float64)
    weights = np.random.default_rng(seed).integers(1, 5, (3, len(pairs))).astype(np.float64)
    for ours, theirs in [
        (auroc, sk.roc_auc_score),
        (average_precision, sk.average_precision_score),
        (brier, sk.brier_score_loss),
    ]:
        assert float(ours(label, score)) == pytest.approx(theirs(label, score), abs=1e-9)
        expected = [theirs(label, score, sample_weight=w) for w in weights]
        np.testing.assert_allclose(ours(label, score, weights), expected, atol=1e-9)


@given(rows, st.sampled_from([2, 5, 10]))
@settings(max_examples=60, deadline=None)
def test_ece_equals_scikit_learns_calibration_curve(
    pairs: list[tuple[bool, float]], bins: int
) -> None:
    """The default edges are scikit-learn's; the weights are the bins' shares of rows."""
    from sklearn.calibration import calibration_curve

    label = np.array([p[0] for p in pairs])
    score = np.array([p[1] for p in pairs], np.float64)
    observed, stated = calibration_curve(label, score, n_bins=bins)
    member = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], score)
    share = np.bincount(member, minlength=bins)
    expected = (np.abs(observed - stated) * share[share > 0]).sum() / len(pairs)
    assert float(ece(label, score, bins=bins)) == pytest.approx(expected, abs=1e-9)


def test_the_two_edge_rules_part_where_floats_do() -> None:
    """1 - 0.7 is a bit above 0.3: the same bin as 0.3 for linspace, the next one for tenths."""
    label = np.array([True, False, False, True])
    score = np.array([0.3, 1 - 0.7, 0.35, 0.25])
    # linspace: {.3, .3+, .25} and {.35}; tenths: {.3, .25} and {.3+, .35}.
    assert float(ece(label, score)) == pytest.approx((abs(2 - 0.85) + 0.35) / 4)
    assert float(ece(label, score, edges="tenths")) == pytest.approx((abs(2 - 0.55) + 0.65) / 4)


def test_the_first_bin_holds_zero_and_the_last_holds_one() -> None:
    """Both ends of [0, 1] belong to a bin, so no certain row is dropped."""
    label = np.array([False, True])
    assert float(ece(label, np.array([0.0, 1.0]))) == 0.0
    assert float(ece(~label, np.array([0.0, 1.0]))) == 1.0


def test_a_single_class_has_no_ranking() -> None:
    """AUROC and average precision are undefined, not 0 or 0.5; Brier and ECE remain."""
    negative, score = np.zeros(3, np.bool_), np.array([0.1, 0.5, 0.9])
    assert np.isnan(auroc(negative, score))
    assert np.isnan(average_precision(negative, score))
    assert float(brier(negative, score)) == pytest.approx((0.01 + 0.25 + 0.81) / 3)
    assert float(ece(negative, score)) == pytest.approx(0.5)


def test_no_rows_give_nan_and_bad_probabilities_are_named() -> None:
    """Nothing in, NaN out; a percentage or a missing value is refused with its value."""
    none = np.zeros(0, np.bool_)
    assert np.isnan(ece(none, np.zeros(0)))
    assert brier(none, np.zeros(0), np.ones((4, 0))).shape == (4,)
    with pytest.raises(InputError, match=r"95\.0"):
        brier(np.array([True]), np.array([95.0]))
    with pytest.raises(InputError, match="not finite"):
        auroc(np.array([True]), np.array([np.nan]))
    with pytest.raises(InputError, match="2 labels for 1"):
        tally(np.array([True, False]), np.array([0.5]))


@pytest.mark.parametrize(
    "judge", ["gpt-3.5-turbo", "gpt-4-nodef", "gpt-4-nocot", "llama3-8b-instruct"]
)
def test_the_published_diras_calibration_follows_from_tenths(judge: str) -> None:
    """DIRAS's calibration figure, mean of AUROC, 1 - ECE and 1 - Brier, is reproduced to its
    printed digits.
    """
    name = f"diras_chatreport.{judge}.jsonl"
    if not (VERDICTS / name).exists():
        pytest.skip(f"shared/data/verdicts/{name} is not beside the checkout")
    expected = json.loads((VERDICTS / "expected.json").read_text(encoding="utf-8"))[name][
        "calibration"
    ]["computed"]
    lines = [
        json.loads(line) for line in (VERDICTS / name).read_text(encoding="utf-8").splitlines()
    ]
    label = np.array([line["label"] > 0 for line in lines])
    verdict = np.array([bool(line["verdict"]) for line in lines])
    confidence = np.array([line["confidence"] for line in lines], np.float64)
    probability = np.where(verdict, confidence, 1 - confidence)
    ranked = float(auroc(label == verdict, confidence))
    off = float(ece(label, probability, edges="tenths"))
    mean = 100 * (ranked + (1 - off) + (1 - float(brier(label, probability)))) / 3
    assert mean == pytest.approx(expected, abs=1e-6)


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
    found = calibration_intervals(y, p, groups, resamples=1000)
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
    found = calibration_intervals(np.ones(30, np.bool_), np.linspace(0, 1, 30), None, resamples=50)
    assert found["auroc"] == (None, None)
    assert found["brier"][0] is not None
