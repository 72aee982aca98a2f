"""Estimate: numbers or None, never NaN."""

from __future__ import annotations

import math

import pytest

from judgewright.judges.metrics import Estimate


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    """NaN and infinity never travel, neither as a value nor as a bound."""
    with pytest.raises(ValueError, match="finite"):
        Estimate(value=number, low=None, high=None, n=3)
    with pytest.raises(ValueError, match="finite"):
        Estimate(value=0.5, low=number, high=None, n=3)


def test_a_missing_value_says_why() -> None:
    """An undefined metric carries its reason into JSON, and cannot be made without one."""
    estimate = Estimate.undefined(4, "no row is labelled negative")
    assert estimate.to_json() == {
        "value": None,
        "low": None,
        "high": None,
        "n": 4,
        "reason": "no row is labelled negative",
    }
    with pytest.raises(ValueError, match="reason"):
        Estimate(value=None, low=None, high=None, n=4)


def test_an_estimate_prints_its_interval() -> None:
    """People see the value and the interval in one line."""
    assert str(Estimate(value=0.5, low=0.25, high=0.75, n=9)) == "0.5000 [0.2500, 0.7500]"
    assert str(Estimate(value=0.5, low=None, high=None, n=1, reason="one row")) == "0.5000"
    assert str(Estimate.undefined(0, "no rows")) == "n/a (no rows)"
