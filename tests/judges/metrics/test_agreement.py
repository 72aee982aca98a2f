"""Agreement metrics against scikit-learn, and their answers where they do not exist."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import (
    CALIBRATION_METRICS,
    LOWER_IS_BETTER,
    METRICS,
    NO_ROWS,
    agreement,
    table_value,
)

binary_rows = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)
graded_rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@given(binary_rows)
@settings(max_examples=60, deadline=None)
def test_binary_metrics_equal_scikit_learn(rows: list[tuple[bool, bool]]) -> None:
    """Wherever they exist, and where a denominator is empty there is none, as with
    zero_division=nan.
    """
    from sklearn import metrics as sk

    label, predicted = np.array(rows).T
    table = agreement.confusion(label, predicted)
    assert table.tolist() == sk.confusion_matrix(label, predicted, labels=[False, True]).tolist()
    expected = {
        "precision": sk.precision_score(label, predicted, zero_division=np.nan),
        "recall": sk.recall_score(label, predicted, zero_division=np.nan),
        "specificity": sk.recall_score(label, predicted, pos_label=False, zero_division=np.nan),
        "f1": sk.f1_score(label, predicted, zero_division=np.nan),
        "accuracy": sk.accuracy_score(label, predicted),
        # What scikit-learn gives for one class is no measurement: 0 for the correlation, whatever
        # the judge says.
        "mcc": sk.matthews_corrcoef(label, predicted)
        if len(set(label)) == len(set(predicted)) == 2
        else np.nan,
        "kappa": sk.cohen_kappa_score(label, predicted) if len(set(label)) == 2 else np.nan,
        "balanced_accuracy": sk.balanced_accuracy_score(label, predicted)
        if len(set(label)) == 2
        else np.nan,
    }
    for name, wanted in expected.items():
        value, reason = table_value(name, table)
        assert (value is None) == bool(reason), name
        assert (np.nan if value is None else value) == pytest.approx(
            wanted, abs=1e-12, nan_ok=True
        ), name


@given(graded_rows)
@settings(max_examples=60, deadline=None)
def test_grade_metrics_equal_scikit_learn(rows: list[tuple[int, int]]) -> None:
    """The three kappas and the mean distance follow scikit-learn wherever it gives a number."""
    from sklearn import metrics as sk

    label, predicted = np.array(rows).T
    levels = (0, 1, 2, 3)
    table = agreement.confusion(label, predicted, levels)
    assert table_value("mae", table)[0] == pytest.approx(sk.mean_absolute_error(label, predicted))
    assert table_value("off_by_one", table)[0] == pytest.approx(
        np.mean(abs(label - predicted) <= 1)
    )
    if len(set(label)) == 1:
        assert [
            table_value(name, table)[0] for name, metric in METRICS.items() if metric.beyond_chance
        ] == [None] * 4
        return
    for name, weights in [
        ("kappa_grades", None),
        ("kappa_linear", "linear"),
        ("kappa_quadratic", "quadratic"),
    ]:
        expected = sk.cohen_kappa_score(label, predicted, labels=levels, weights=weights)
        assert table_value(name, table)[0] == pytest.approx(expected, abs=1e-12), name


@given(graded_rows)
@settings(max_examples=60, deadline=None)
def test_f1_over_classes_equals_scikit_learn(rows: list[tuple[int, int]]) -> None:
    """Macro F1 over the classes that occur; a class that does not occur changes nothing."""
    from sklearn.metrics import f1_score

    label, predicted = np.array(rows).T
    for levels in ((0, 1, 2, 3), (0, 1, 2, 3, 4, 5)):
        table = agreement.confusion(label, predicted, levels)
        expected = f1_score(label, predicted, average="macro", zero_division=0)
        assert float(agreement.f1_macro(table)) == pytest.approx(expected, abs=1e-12)
        assert table_value("accuracy_grades", table)[0] == pytest.approx(
            np.mean(label == predicted)
        )


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_many_tables_at_once_give_what_each_gives_alone(tables: list[list[int]]) -> None:
    """Vectorising over leading axes changes no value, NaN included."""
    stack = np.array(tables, np.float64).reshape(-1, 1, 2, 2)
    formulas = [metric.formula for metric in METRICS.values() if metric.formula is not None]
    for function in formulas:
        together = function(stack)
        assert together.shape == (len(tables), 1)
        alone = [float(function(table[0])) for table in stack]
        np.testing.assert_array_equal(together[:, 0], alone)


@pytest.mark.parametrize(
    ("metric", "table", "value", "reason"),
    [
        ("precision", [[4, 0], [4, 0]], None, "the judge calls no row positive"),
        ("recall", [[2, 2], [0, 0]], None, "no row is labelled positive"),
        ("f1", [[4, 0], [0, 0]], None, "no row is positive, neither by label nor by verdict"),
        ("mcc", [[4, 0], [4, 0]], None, "the labels or the verdicts hold only one class"),
        ("specificity", [[0, 0], [1, 3]], None, "no row is labelled negative"),
        ("balanced_accuracy", [[0, 0], [1, 3]], None, "the labels hold only one class"),
        ("kappa", [[0, 0], [0, 3]], None, "labels and verdicts hold one and the same class"),
        ("kappa", [[4, 2], [0, 0]], None, "the labels hold only one class"),
        ("kappa", [[4, 0], [2, 0]], 0.0, ""),
        (
            "kappa_quadratic",
            [[0, 0, 0], [1, 3, 1], [0, 0, 0]],
            None,
            "the labels hold only one class",
        ),
        ("f1", [[0, 0], [0, 0]], None, NO_ROWS),
        ("accuracy", [[0, 0], [0, 0]], None, NO_ROWS),
    ],
)
def test_a_metric_that_does_not_exist_has_a_stated_answer(
    metric: str, table: list[list[int]], value: float | None, reason: str
) -> None:
    """Single-class and empty tables give None with the reason; a constant judge of two classes
    agrees by chance.
    """
    assert table_value(metric, np.array(table)) == (value, reason)


def test_a_grade_off_the_scale_is_named() -> None:
    """The error shows the value that is on no level."""
    with pytest.raises(InputError, match=r"2\.5"):
        agreement.confusion([0, 1], [1, 2.5], (0, 1, 2, 3))
    with pytest.raises(InputError, match="2 labels for 1"):
        agreement.confusion([0, 1], [1])
    with pytest.raises(InputError, match="'f2'"):
        table_value("f2", np.eye(2))


def test_levels_need_not_start_at_zero() -> None:
    """A scale of 1..5 counts by level, in the order the levels are given."""
    table = agreement.confusion([1, 5, 3], [1, 4, 5], (1, 2, 3, 4, 5))
    assert table[0, 0] == table[4, 3] == table[2, 4] == 1
    assert table_value("mae", table)[0] == 1.0
    assert agreement.confusion([True, False], [True, True], (1, 0)).tolist() == [[1, 0], [1, 0]]


def test_every_metric_has_one_line_that_says_which_way_is_good() -> None:
    """The families that are computed elsewhere are covered too, and the direction stands in the
    line.
    """
    assert METRICS.keys() >= set(CALIBRATION_METRICS)
    for name, metric in METRICS.items():
        assert "\n" not in metric.description
        assert metric.description.endswith(
            "lower is better" if name in LOWER_IS_BETTER else "higher is better"
        ), name


def test_the_cells_of_a_metric_are_those_its_formula_reads() -> None:
    """A row more in any other cell changes nothing; in one of its own it does."""
    for metric in METRICS.values():
        if metric.formula is None or "decisions" not in metric.needs:
            continue
        table = [[4.0, 2.0], [1.0, 5.0]]
        for cell in range(4):
            more = [line.copy() for line in table]
            more[cell // 2][cell % 2] += 1
            assert (metric.formula(more) != metric.formula(table)) == (cell in metric.cells)  # type: ignore[arg-type]
