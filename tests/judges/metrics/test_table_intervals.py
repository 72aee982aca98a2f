"""Intervals of metrics of a confusion table: how often they hold the truth where that is hard."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges import BoolArray, IntArray
from judgewright.judges.metrics import (
    BINARY_METRICS,
    Cells,
    table_intervals,
    wilson,
)

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
