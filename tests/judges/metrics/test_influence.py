"""Influence functions against finite differences, the jackknife and the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BoolArray, FloatArray, InputError
from judgewright.judges.metrics import (
    BINARY_METRICS,
    CHOICE_METRICS,
    PAIRED_METRICS,
    influence,
    point,
)

BINARY = [name for name in PAIRED_METRICS if name in BINARY_METRICS]
CLASSES = [name for name in PAIRED_METRICS if name in CHOICE_METRICS]


def _rows(n: int = 240, seed: int = 3) -> tuple[BoolArray, BoolArray]:
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.35
    return label, np.where(rng.random(n) < np.where(label, 0.15, 0.3), ~label, label)


def _weighted(metric: str, label: BoolArray, predicted: BoolArray, weights: FloatArray) -> float:
    table = np.bincount(2 * label.astype(np.int64) + predicted, weights, 4).reshape(2, 2)
    return float(BINARY_METRICS[metric](table))


@pytest.mark.parametrize("metric", BINARY)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_influence_is_the_derivative_of_the_metric_in_the_row_weights(
    metric: str, seed: int
) -> None:
    """A small change of all weights moves the metric by the mean of change times influence."""
    label, predicted = _rows(80, seed)
    value = point(metric, label, predicted)
    if value is None or len({*map(tuple, np.array([label, predicted]).T.tolist())}) < 4:
        return
    phi = influence(metric, label, predicted)
    assert phi.mean() == pytest.approx(0, abs=1e-12)
    direction = np.random.default_rng(seed).normal(size=80)
    step = 1e-5
    ahead, behind = (
        _weighted(metric, label, predicted, 1 + sign * step * direction) for sign in (1, -1)
    )
    assert (ahead - behind) / (2 * step) == pytest.approx((direction * phi).mean(), abs=1e-7)


@pytest.mark.parametrize("metric", CLASSES)
@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_the_influence_on_a_metric_of_classes_is_its_derivative(
    metric: str, seed: int, classes: int
) -> None:
    """The same holds for accuracy, kappa and macro F1 over classes, whether or not each of them
    occurs.
    """
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, 60)
    predicted = np.where(rng.random(60) < 0.3, rng.integers(0, classes, 60), label)
    value = point(metric, label, predicted)
    if value is None:
        return
    phi = influence(metric, label, predicted)
    assert phi.mean() == pytest.approx(0, abs=1e-12)

    def weighted(weights: FloatArray) -> float:
        table = np.bincount(classes * label + predicted, weights, classes**2).reshape(
            classes, classes
        )
        return float(CHOICE_METRICS[metric](table))

    direction = rng.normal(size=60)
    step = 1e-5
    slope = (weighted(1 + step * direction) - weighted(1 - step * direction)) / (2 * step)
    assert slope == pytest.approx((direction * phi).mean(), abs=1e-7)


def test_a_metric_of_one_class_takes_decisions() -> None:
    """Recall of a class is recall of `this class or not`, and a metric of classes has no single
    one.
    """
    label, predicted = _rows()
    assert point("recall[orders]", label, predicted) == point("recall", label, predicted)
    np.testing.assert_array_equal(
        influence("f1[orders]", label, predicted), influence("f1", label, predicted)
    )
    with pytest.raises(InputError, match="kappa_grades\\[orders\\]"):
        point("kappa_grades[orders]", label, predicted)


def test_off_by_one_takes_grades() -> None:
    """Its influence is the row's hit minus the share of hits."""
    label, predicted = np.array([0.0, 3.0, 2.0, 1.0]), np.array([1.0, 1.0, 2.0, 0.0])
    assert point("off_by_one", label, predicted) == 0.75
    assert influence("off_by_one", label, predicted).tolist() == [0.25, -0.75, 0.25, 0.25]


def test_kappas_standard_error_is_the_published_one() -> None:
    """On a textbook table the influence gives statsmodels' large-sample error of kappa,
    .12699606293110033.
    """
    label = np.repeat([False, False, True, True], [20, 5, 10, 15])
    predicted = np.repeat([False, True, False, True], [20, 5, 10, 15])
    se = influence("kappa", label, predicted).std() / np.sqrt(50)
    assert se == pytest.approx(0.12699606293110033, abs=1e-12)


def test_an_undefined_metric_has_no_point_and_no_influence() -> None:
    """The gate sees None where a benchmark would print 0 by convention."""
    label, never = np.array([True, False, True]), np.zeros(3, np.bool_)
    assert point("precision", label, never) is None
    assert point("recall", label, never) == 0.0
    assert point("accuracy", never[:0], never[:0]) is None
    with pytest.raises(InputError, match="the judge calls no row positive"):
        influence("precision", label, never)
    with pytest.raises(InputError, match="no row has both"):
        influence("off_by_one", never[:0], never[:0])


def test_wrong_arguments_are_named() -> None:
    """An unknown metric, unequal lengths and grades in place of booleans are refused."""
    yes = np.ones(3, np.bool_)
    with pytest.raises(InputError, match="'ndcg'"):
        point("ndcg", yes, yes)
    with pytest.raises(InputError, match="3 labels for 2"):
        point("f1", yes, yes[:2])
    with pytest.raises(InputError, match="float64"):
        influence("f1", yes.astype(np.float64), yes)
