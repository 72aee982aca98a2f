"""Requests and tokens in a minute: the user's limits, and what an endpoint's headers say is
left.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges.models import RateLimits, RateReport, Remaining, read_rates, read_seconds

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
        ("1795359630", 30.0),
        ("1795359630000", 30.0),
        ("2026-11-22T15:00:45Z", 45.0),
        ("2026-11-22T16:00:45+01:00", 45.0),
        ("Sun, 22 Nov 2026 15:01:00 GMT", 60.0),
        ("2026-11-22T14:00:00Z", 0.0),
    ],
)
def test_a_reset_is_read_in_every_format(text, seconds):
    """Durations, seconds, moments since 1970, dates; a moment that is past is now."""
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


@pytest.mark.parametrize(
    ("headers", "report"),
    [
        (
            {
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "149984",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            RateReport(requests=Remaining(59, 1.0), tokens=Remaining(149_984, 360.0)),
        ),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-11-22T15:00:10Z",
                "date": DATE,
            },
            RateReport(requests=Remaining(0, 10.0)),
        ),
        (
            {"x-ratelimit-remaining": "3", "x-ratelimit-reset": "20"},
            RateReport(requests=Remaining(3, 20.0)),
        ),
        ({"x-ratelimit-remaining-requests": "3"}, None),
        ({"x-ratelimit-remaining-requests": "many", "x-ratelimit-reset-requests": "1s"}, None),
        ({"x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "1s"}, None),
        ({}, None),
    ],
)
def test_headers_of_several_providers_are_read(headers, report):
    """A number without a time, or the other way round, says nothing."""
    assert read_rates(headers) == report


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


def test_what_the_endpoint_says_is_left_is_not_exceeded_before_its_reset(instant):
    """Five are left after the first request: five more go out, then nothing for ten seconds."""
    rates = RateLimits(instant)
    first = rates.take(100)
    rates.learn(first, RateReport(requests=Remaining(5, 10.0)))
    for _ in range(5):
        assert rates.wait(100) == 0
        rates.take(100)
    assert rates.wait(100) == 10.0
    instant.time += 10.0
    assert rates.wait(100) == 0


def test_an_answer_counts_what_was_sent_after_its_request(instant):
    """Ten are in flight when the first answer says that twelve are left: three more may go out."""
    rates = RateLimits(instant)
    sent = [rates.take(100) for _ in range(10)]
    rates.learn(sent[0], RateReport(requests=Remaining(12, 30.0)))
    for _ in range(3):
        assert rates.wait(100) == 0
        rates.take(100)
    assert rates.wait(100) == 30.0
    rates.learn(sent[9], RateReport(requests=Remaining(8, 30.0)))  # the newer answer says more
    assert rates.wait(100) == 0


def test_tokens_left_are_obeyed_too(instant):
    """250 tokens are left: two requests of 100, not three."""
    rates = RateLimits(instant)
    rates.learn(rates.take(100), RateReport(tokens=Remaining(250, 20.0)))
    rates.take(100)
    rates.take(100)
    assert rates.wait(100) == 20.0


def test_a_reset_in_an_hour_is_tried_after_a_minute(instant):
    """No header stops a run for longer; a refusal would say so itself."""
    rates = RateLimits(instant)
    rates.learn(rates.take(1), RateReport(requests=Remaining(0, 3600.0)))
    assert rates.wait(1) == 60.0


def test_a_header_that_contradicts_itself_is_not_believed(instant):
    """Nothing is ever left, not even right after its own reset: from the second time on it is
    ignored.
    """
    rates = RateLimits(instant)
    nothing = RateReport(requests=Remaining(0, 30.0))
    rates.learn(rates.take(1), nothing)
    for _ in range(2):
        assert rates.wait(1) == 30.0
        instant.time += 30.0
        rates.learn(rates.take(1), nothing)
    assert rates.wait(1) == 0
    rates.learn(rates.take(1), nothing)
    assert rates.wait(1) == 0


def test_a_header_that_leaves_less_than_a_request_takes_is_not_believed_for_ever(instant):
    """Ten tokens are left for a minute, in every answer to requests of 500: two minutes are lost,
    not one a request.
    """
    rates = RateLimits(instant)
    little = RateReport(tokens=Remaining(10, 60.0))
    for _ in range(50):
        instant.time += rates.wait(500)
        rates.learn(rates.take(500), little)
    assert instant.time == 120.0
    assert rates.disbelieved == {"tokens"}


def test_a_refusal_makes_a_header_credible_again(instant):
    """A limit of one request a minute looks the same from outside: each refusal doubles how long it
    is obeyed.
    """
    rates = RateLimits(instant)
    nothing = RateReport(requests=Remaining(0, 60.0))
    refusals, served_at = 0, -60.0
    for _ in range(100):
        instant.time += rates.wait(0)
        sent = rates.take(0)
        refused = instant.time < served_at + 60.0
        refusals += refused
        if not refused:
            served_at = instant.time
        rates.learn(sent, nothing, refused=refused)
    assert refusals == 5


def test_a_header_that_is_true_is_believed(instant):
    """5,000 tokens a minute for requests of 500: all of them go out at once, and nothing is
    refused.
    """
    rates = RateLimits(instant)
    left, full_at = 5000.0, 0.0
    for _ in range(100):
        instant.time += rates.wait(500)
        if instant.time >= full_at:
            left, full_at = 5000.0, instant.time + 60.0
        assert left >= 500
        left -= 500
        rates.learn(rates.take(500), RateReport(tokens=Remaining(left, full_at - instant.time)))
    assert instant.time == 9 * 60.0
    assert rates.disbelieved == set()
