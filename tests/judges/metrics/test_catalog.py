"""The catalog of metrics: one entry for every metric that `measure` can return."""

from __future__ import annotations

from judgewright.judges.metrics import (
    CALIBRATION_METRICS,
    DIRAS_METRICS,
    LOWER_IS_BETTER,
    METRICS,
)


def test_every_metric_has_one_line_that_says_which_way_is_good() -> None:
    """The families that are computed elsewhere are covered too, and the direction stands in the
    line.
    """
    assert {*CALIBRATION_METRICS, *DIRAS_METRICS} <= METRICS.keys()
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
