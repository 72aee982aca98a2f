"""Intervals: against formulas that need no resampling, and by how often they cover the truth."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from judgewright.judges import FloatArray
from judgewright.judges.metrics import BINARY_METRICS, Cells, bootstrap, percentile_interval, wilson


def _on_tables(name: str, counts: FloatArray) -> FloatArray:
    return BINARY_METRICS[name](counts.reshape(-1, 2, 2))


def _share_of_cell_1(counts: FloatArray) -> FloatArray:
    return counts[:, 1] / counts.sum(1)


def _normal(interval: tuple[float, float] | None) -> tuple[float, float]:
    assert interval is not None
    low, high = interval
    return (low + high) / 2, (high - low) / (2 * 1.959964)


@pytest.mark.parametrize("n", [25, 4000])
def test_resampled_rows_give_the_standard_error_of_a_mean(n: int) -> None:
    """Few rows (drawn one by one) and many (drawn as cells) both give sqrt(p (1 - p) / n), widened
    for few rows.

    Percentiles are narrower than t's by sqrt((n - 1) / n), and by the normal quantile in place of
    t's.
    """
    from scipy.stats import t as student

    code = (np.arange(n) % 5 == 0).astype(np.int64)
    found = bootstrap({"mean": _share_of_cell_1}, Cells(code=code, size=2), resamples=8000)["mean"]
    centre, se = _normal(found)
    assert centre == pytest.approx(0.2, abs=0.03)
    wider = np.sqrt(n / (n - 1)) * student.ppf(0.975, n - 1) / 1.959964
    assert se == pytest.approx(np.sqrt(0.2 * 0.8 / n) * wider, rel=0.1)


def test_resampled_groups_give_the_cluster_robust_standard_error() -> None:
    """The linearised variance of a ratio of group sums, sum((y_g - m n_g)^2) / n^2, is met."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 300)
    groups = np.repeat(np.arange(300), sizes)
    code = (rng.random(len(groups)) < np.repeat(rng.random(300), sizes)).astype(np.int64)
    mean = code.mean()
    residual = np.bincount(groups, code) - mean * sizes
    robust = np.sqrt((residual**2).sum()) / len(code)
    naive = np.sqrt(mean * (1 - mean) / len(code))
    cells = Cells(code=code, size=2, groups=groups)
    _, se = _normal(bootstrap({"mean": _share_of_cell_1}, cells, resamples=8000)["mean"])
    assert se == pytest.approx(robust, rel=0.06)
    assert se > 1.3 * naive


def test_an_almost_empty_table_of_groups_and_cells_is_resampled_alike() -> None:
    """With a cell of its own for nearly every row the sparse path gives the dense path's
    interval.
    """
    rng = np.random.default_rng(6)
    n, groups = 6000, np.arange(6000) // 6
    value = rng.random(n) + np.repeat(rng.random(1000), 6)
    code = np.argsort(np.argsort(value))
    wide = bootstrap(
        {"mean": lambda c: c @ np.sort(value) / c.sum(1)}, Cells(code=code, size=n, groups=groups)
    )["mean"]
    residual = np.bincount(groups, value - value.mean())
    centre, se = _normal(wide)
    assert centre == pytest.approx(value.mean(), abs=0.005)
    assert se == pytest.approx(np.sqrt((residual**2).sum()) / n, rel=0.06)


@pytest.mark.parametrize("metric", ["f1", "kappa", "mcc"])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(metric: str) -> None:
    """In 400 simulated benchmarks of 150 rows, 95 % intervals hold the true value in 91 to 98.5
    %.
    """
    share = np.array([0.48, 0.12, 0.08, 0.32])
    truth = float(_on_tables(metric, share[None])[0])
    rng = np.random.default_rng(8)
    held = 0
    for run in range(400):
        code = rng.choice(4, 150, p=share)
        found = bootstrap(
            {metric: partial(_on_tables, metric)}, Cells(code=code, size=4), resamples=500, seed=run
        )
        low, high = found[metric] or (2.0, -2.0)
        held += low <= truth <= high
    assert 0.91 <= held / 400 <= 0.985


def test_one_unit_has_no_interval() -> None:
    """No rows, one row, and many rows of one group cannot show a spread."""
    for cells in (
        Cells(code=np.zeros(0, np.int64), size=2),
        Cells(code=np.array([1]), size=2),
        Cells(code=np.array([1, 0, 1]), size=2, groups=np.zeros(3, np.int64)),
    ):
        assert bootstrap({"mean": _share_of_cell_1}, cells) == {"mean": None}


def test_a_statistic_mostly_undefined_has_no_interval() -> None:
    """One positive in a thousand rows is absent from over a third of the resamples; none at all
    from all.
    """
    assert percentile_interval(np.array([np.nan, np.nan, 1.0])) is None
    assert percentile_interval(np.array([np.nan, 0.0, 1.0])) is not None
    cells = Cells(code=np.zeros(50, np.int64), size=4)
    assert bootstrap({"recall": partial(_on_tables, "recall")}, cells)["recall"] is None


def test_the_same_seed_gives_the_same_interval() -> None:
    """The seed is an argument and the only source of chance."""
    cells = Cells(code=np.arange(100) % 3 % 2, size=2)
    first, again, other = (
        bootstrap({"m": _share_of_cell_1}, cells, seed=s, resamples=300)["m"] for s in (1, 1, 2)
    )
    assert first == again != other


def test_wilson_has_no_answer_without_rows_and_stays_inside_one() -> None:
    """The interval of a proportion lies in [0, 1] and touches the end only where every row
    agrees.
    """
    assert wilson(0, 0) is None
    low, high = wilson(7, 7) or (2.0, 2.0)
    assert 0.6 < low < high == 1.0
