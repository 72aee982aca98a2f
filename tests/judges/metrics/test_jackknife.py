"""Standard errors by leaving out one unit, against doing just that with scikit-learn."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from judgewright.judges import FloatArray, IntArray
from judgewright.judges.metrics import BINARY_METRICS, Cells, jackknife


def _on_tables(name: str, counts: FloatArray) -> FloatArray:
    return BINARY_METRICS[name](counts.reshape(-1, 2, 2))


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
