"""Requests and tokens in a minute, as the user set them; times in headers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges.models import RateLimits, read_seconds

DATE = "Sun, 22 Nov 2026 15:00:00 GMT"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("17ms", 0.017),
        ("2m59.56s", 179.56),
        ("1h30m", 5400.0),
        ("1d2h", 93_600.0),
        ("12", 12.0),
        ("8.64", 8.64),
        ("0", 0.0),
        ("Sun, 22 Nov 2026 15:01:00 GMT", 60.0),
        ("Sun, 22 Nov 2026 14:00:00 GMT", 0.0),
    ],
)
def test_a_pause_is_read_in_every_format(text, seconds):
    """Durations, seconds, dates; a moment that is past is now."""
    assert read_seconds(text, DATE) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "-5", "nan", "inf", "1e9", "s", "6m0", "9" * 400, "99999999999999-01-01"]
)
def test_what_is_no_time_is_none(text):
    """And raises nothing."""
    assert read_seconds(text, DATE) is None


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_the_reader(text, date):
    """Whatever a server writes: None, or seconds that are a number and not negative."""
    seconds = read_seconds(text, date)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)


@given(
    per_minute=st.integers(1, 5000),
    pauses=st.lists(st.sampled_from([0.0, 0.001, 0.3, 1.0, 7.0, 61.0]), max_size=60),
)
def test_no_minute_holds_more_requests_than_allowed(instant_clock, per_minute, pauses):
    """However the sending pauses."""
    clock = instant_clock()
    rates = RateLimits(clock, requests_per_minute=per_minute)
    times: list[float] = []
    for pause in pauses:
        clock.time += pause
        for _ in range(20):
            clock.time += rates.wait(0)
            if rates.wait(0) < 1e-9:
                rates.take(0)
                times.append(clock.time)
    for i, start in enumerate(times):
        assert sum(start <= t < start + 60 - 1e-6 for t in times[i:]) <= per_minute


def test_requests_flow_at_the_rate_that_is_allowed(instant):
    """600 a minute are ten a second: 1,200 requests take two minutes."""
    rates = RateLimits(instant, requests_per_minute=600)
    for _ in range(1200):
        instant.time += rates.wait(0)
        rates.take(0)
    assert 115 < instant.time < 125


def test_tokens_that_were_not_used_are_given_back(instant):
    """A thousand are reserved and a hundred used: the rate is that of a hundred."""
    rates = RateLimits(instant, tokens_per_minute=60_000)
    for _ in range(600):
        instant.time += rates.wait(1000)
        rates.take(1000)
        rates.give_back(900)
    assert 55 < instant.time < 65
