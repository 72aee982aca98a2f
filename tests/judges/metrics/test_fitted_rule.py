"""Calibration and thresholds: equal to scikit-learn, honest across groups, and clear about what is
missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from judgewright.judges import (
    BINARY,
    LOGIT_EDGE,
    PROBABILITY,
    Calibrated,
    DecisionRule,
    InputError,
    Isotonic,
    JudgedDataset,
    OutputScale,
    Platt,
    best_threshold,
    calibrate,
    fit_calibration,
)
from judgewright.judges.metrics import ece

from ...judged_tables import judged_table

GRADED = OutputScale()
SCORES = {
    "f1": lambda y, p: f1_score(y, p, zero_division=0),
    "precision": lambda y, p: precision_score(y, p, zero_division=0),
    "recall": lambda y, p: recall_score(y, p, zero_division=0),
    "balanced_accuracy": balanced_accuracy_score,
    "mcc": matthews_corrcoef,
}
LINES = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=60).filter(
    lambda lines: len({label for label, _ in lines}) == 2
)


def split(lines: Sequence[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities as arrays."""
    return np.array([label for label, _ in lines]), np.array([p for _, p in lines])


# Maps.


@settings(max_examples=60)
@given(LINES, st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_isotonic_map_is_scikit_learns_and_never_falls(
    lines: list[tuple[bool, float]], asked: list[float]
) -> None:
    """On the fitted points, between them and outside them."""
    label, probability = split(lines)
    found = fit_calibration(label, probability, "isotonic")
    assert isinstance(found, Isotonic)
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
        probability, label.astype(float)
    )
    points = np.sort([*asked, *probability])
    mine = np.array([found(p) for p in points])
    np.testing.assert_allclose(mine, theirs.predict(points), atol=1e-9)
    assert (np.diff(mine) >= -1e-12).all()


@settings(max_examples=25)
@example([(False, 0.5), (True, 0.5)])
@given(LINES)
def test_platt_is_the_minimum_of_the_smoothed_log_loss(lines: list[tuple[bool, float]]) -> None:
    """Against SciPy's minimiser over slopes from 0 up."""
    label, probability = split(lines)
    found = fit_calibration(label, probability, "platt")
    assert isinstance(found, Platt)
    inside = np.clip(probability, LOGIT_EDGE, 1 - LOGIT_EDGE)
    logit = np.log(inside / (1 - inside))
    target = np.where(label, (label.sum() + 1) / (label.sum() + 2), 1 / ((~label).sum() + 2))
    assume(np.ptp(logit) > 0.1)

    def loss(parameters: np.ndarray) -> float:
        z = parameters[0] * logit + parameters[1]
        return float((target * np.logaddexp(0, -z) + (1 - target) * np.logaddexp(0, z)).sum())

    best = minimize(loss, [0.5, 0.0], bounds=[(0, None), (None, None)], method="L-BFGS-B")
    assert loss(np.array([found.slope, found.intercept])) <= best.fun + 1e-6 * max(1.0, best.fun)


@settings(max_examples=60, deadline=None)
@given(LINES.map(lambda lines: [label for label, _ in lines]), st.floats(0, 1), st.floats(0, 1e-9))
def test_platt_on_a_constant_confidence_is_the_smoothed_share_of_yes(
    labels: list[bool], confidence: float, hair: float
) -> None:
    """A judge that always states the same confidence is calibrated to one number, without a
    complaint.
    """
    label = np.array(labels)
    probability = np.clip(confidence + hair * np.arange(len(label)) / len(label), 0, 1)
    fitted = fit_calibration(label, probability, "platt")
    yes, no = int(label.sum()), int((~label).sum())
    smoothed = (yes * (yes + 1) / (yes + 2) + no / (no + 2)) / len(label)
    assert isinstance(fitted, Platt)
    assert fitted(confidence) == pytest.approx(smoothed, abs=1e-6)


def test_one_class_cannot_be_calibrated() -> None:
    """There is nothing to learn from labels that are all the same; without a method nothing is
    fitted.
    """
    label, probability = np.ones(30, bool), np.linspace(0, 1, 30)
    with pytest.raises(InputError, match="only one class"):
        fit_calibration(label, probability, "isotonic")
    assert fit_calibration(label, probability, "none") is None


# Thresholds.


@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    lines=st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=50),
    metric=st.sampled_from(sorted(SCORES)),
)
def test_the_threshold_is_the_best_of_all_by_scikit_learn(
    lines: list[tuple[bool, int]], metric: str
) -> None:
    """Nothing beats it; of equal ones it is the nearest to the middle."""
    label, score = np.array([y for y, _ in lines]), np.array([float(s) for _, s in lines])
    if metric == "balanced_accuracy":
        assume(len(np.unique(label)) == 2)
    candidates = np.arange(1.0, 7.0)
    chosen = best_threshold(label, score, candidates, metric=metric, middle=3.0)
    values = {t: SCORES[metric](label, score >= t) for t in candidates}
    assert values[chosen] == pytest.approx(max(values.values()), abs=1e-9)
    tied = [abs(t - 3.0) for t, value in values.items() if value > max(values.values()) - 1e-9]
    assert abs(chosen - 3.0) == min(tied)


def test_a_metric_that_is_none_or_nowhere_is_refused() -> None:
    """An unknown name lists the known ones; balanced accuracy needs both classes."""
    scores = np.array([0.0, 1.0])
    with pytest.raises(InputError, match="'ece' is not a metric of decisions") as refused:
        best_threshold(np.array([True, False]), scores, np.array([1.0]), metric="ece", middle=1)
    assert "balanced_accuracy" in str(refused.value.hint)
    with pytest.raises(InputError, match="exists at no threshold"):
        best_threshold(
            np.array([True, True]), scores, np.array([1.0]), metric="balanced_accuracy", middle=1
        )


# The whole: fit, and try on other groups.


def table(
    lines: Sequence[tuple[float | None, float | None, float | None]],
    *,
    scale: OutputScale = GRADED,
    groups: Sequence[str] | None = None,
) -> JudgedDataset:
    """Rows of (label, score, confidence); None for no label, no verdict or no confidence."""
    labels, scores, confidence = zip(*lines, strict=True) if lines else ((), (), ())
    return judged_table(
        labels,
        scores,
        groups=groups,
        confidence=confidence,
        scale=scale,
        label_scale=BINARY,
        judge="j@1",
        model="m",
    )


def overconfident(n: int = 400, seed: int = 0, *, per_group: int = 4) -> JudgedDataset:
    """A judge that is too sure, and whose grade 1 is a yes to people."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.45
    right = rng.random(n) < 0.8
    score = np.where(truth == right, rng.integers(1, 4, n), 0)
    confidence = np.where(right, rng.uniform(0.9, 1, n), rng.uniform(0.8, 1, n))
    lines = list(zip(truth.astype(float), score.astype(float), confidence, strict=True))
    return table(lines, groups=[f"g{i // per_group}" for i in range(n)])


def test_no_row_is_decided_by_a_rule_its_group_helped_to_fit() -> None:
    """Swapping the two labels of a group moves the kept rule, and not what is said after about that
    group.
    """
    rng = np.random.default_rng(3)
    groups = [f"g{i // 2}" for i in range(120)]
    lines = [
        (float(i % 2), float(rng.integers(0, 4)), float(rng.uniform(0.5, 1))) for i in range(120)
    ]
    swapped = [*lines]
    swapped[10], swapped[11] = (1.0, *lines[10][1:]), (0.0, *lines[11][1:])
    first, second = (calibrate(table(some, groups=groups)) for some in (lines, swapped))
    assert first.rule != second.rule
    assert first.judged_after.answers[10:12] == second.judged_after.answers[10:12]
    assert first.judged_after.answers != second.judged_after.answers


def test_on_a_probability_scale_the_score_is_calibrated_and_then_cut() -> None:
    """Scores twice as high as they should be are halved, and the decisions are those of the
    threshold.
    """
    rng = np.random.default_rng(2)
    score = rng.uniform(0, 1, 600)
    label = rng.random(600) < score / 2
    lines = [(float(y), float(s), None) for y, s in zip(label, score, strict=True)]
    found = calibrate(table(lines, scale=PROBABILITY), metric="accuracy")
    assert found.rule.calibration is not None
    assert found.rule.calibration(0.8) == pytest.approx(0.4, abs=0.1)
    before, after = found.shown()["ece"]
    assert before is not None
    assert after is not None
    assert before.value == pytest.approx(ece(label, score))
    assert after.value < before.value / 3  # type: ignore[operator]
    np.testing.assert_array_equal(found.judged_after.score, score)


def test_the_threshold_alone_needs_no_confidence() -> None:
    """Without a method the verdicts may lack a confidence, and calibration metrics are not made
    up.
    """
    lines = [(float(i % 2), float(1 + i % 2), None) for i in range(40)]
    found = calibrate(table(lines), method="none")
    assert found.rule == DecisionRule(threshold=2)
    assert found.shown()["ece"] == (None, None)
    assert isinstance(found, Calibrated)
    assert found.to_json()["metrics"]["ece"] == {"before": None, "after": None}


def lines_of(
    positives: int, negatives: int, confidence: float | None = 0.9
) -> list[tuple[float, float, float | None]]:
    """So many rows of each class."""
    return [(1.0, 3.0, confidence)] * positives + [(0.0, 0.0, confidence)] * negatives


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        (table(lines_of(8, 8)), "16 rows have a label; a rule needs at least 20"),
        (table(lines_of(40, 0)), "0 of the 40 rows that have a label are negative"),
        (table(lines_of(3, 40)), "3 of the 43 rows that have a label are positive"),
        (table(lines_of(20, 20, None)), "none of the 40 verdicts has a confidence"),
        (
            table([*lines_of(20, 20, None), *lines_of(5, 5)]),
            "10 rows have a label, a verdict and a confidence",
        ),
        (table([*lines_of(9, 9), *[(1.0, None, None)] * 30]), "18 rows have a label and a verdict"),
        (
            table(lines_of(20, 20), groups=["a"] * 20 + [f"b{i}" for i in range(20)]),
            "all 20 positive rows",
        ),
        (
            table(
                lines_of(20, 20),
                scale=OutputScale(kind="choice", labels=("a", "b", "c", "d"), threshold=1),
            ),
            "labels without an order",
        ),
    ],
)
def test_what_is_missing_is_said(judged: JudgedDataset, message: str) -> None:
    """Too few rows, one class, one group, no confidence, no order: each has its sentence."""
    with pytest.raises(InputError, match=message):
        calibrate(judged)


def test_an_unknown_metric_is_refused_before_anything_is_fitted() -> None:
    """The message lists what a threshold can serve."""
    with pytest.raises(InputError, match="'auroc' is not a metric of decisions"):
        calibrate(overconfident(40), metric="auroc")


def test_two_groups_of_a_class_are_enough_to_try_the_rule_on_each() -> None:
    """The folds part groups of a rare class, so that every fold is fitted on both classes."""
    groups = [*(["a", "b"] * 5), *(f"n{i}" for i in range(40))]
    found = calibrate(table(lines_of(10, 40), groups=groups))
    assert found.folds == 5


def test_unscored_rows_stay_unscored() -> None:
    """A rule gives no verdict where the judge gave none, and a note tells how many there are."""
    lines = [*lines_of(20, 20), (1.0, None, None), (None, 3.0, 0.9)]
    found = calibrate(table(lines))
    assert found.after.unscored == {"parse": 1}
    assert found.after.n == 40
    assert any("1 rows have no verdict" in note for note in found.notes)
