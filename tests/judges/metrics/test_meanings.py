"""metric_meaning: one line for every metric that measure can return."""

from __future__ import annotations

import pytest

from judgewright.judges import InputError
from judgewright.judges.metrics import (
    BINARY_METRICS,
    CALIBRATION_METRICS,
    CHOICE_METRICS,
    DIRAS_METRICS,
    GRADE_METRICS,
    LOWER_IS_BETTER,
    MEANINGS,
    metric_meaning,
)


def test_every_metric_has_one_line_that_says_which_way_is_good() -> None:
    """Each table of metrics is covered, and the direction stands in the line."""
    tables = (BINARY_METRICS, CALIBRATION_METRICS, CHOICE_METRICS, DIRAS_METRICS, GRADE_METRICS)
    assert {name for table in tables for name in table} <= MEANINGS.keys()
    for name in (*MEANINGS, "ndcg@10", "ndcg_exp@3"):
        line = metric_meaning(name)
        assert "\n" not in line
        assert line.endswith("lower is better" if name in LOWER_IS_BETTER else "higher is better"), name


def test_the_cut_off_stands_in_the_line_and_an_unknown_name_is_refused() -> None:
    """ndcg@5 says five documents; a metric that does not exist names those that do."""
    assert "first 5 documents" in metric_meaning("ndcg@5")
    for name in ("ndcg", "ndcg@", "ndcg@x", "f2"):
        with pytest.raises(InputError, match=repr(name)) as caught:
            metric_meaning(name)
        assert "ndcg@k" in (caught.value.hint or "")
