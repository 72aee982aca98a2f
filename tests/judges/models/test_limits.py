"""The adaptive limit, as arithmetic over a clock."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges.models import AdaptiveLimit, RateLimits, SystemClock


def fill(limit: AdaptiveLimit) -> list[int]:
    tickets = []
    while (ticket := limit.admit()) is not None:
        tickets.append(ticket)
    return tickets


def test_no_more_are_admitted_than_the_limit_says(instant):
    """Twenty at first, and one more only when one has come back."""
    limit = AdaptiveLimit(instant)
    tickets = fill(limit)
    assert (len(tickets), limit.in_flight) == (20, 20)
    limit.release(tickets[0])
    assert limit.admit() is not None
    assert limit.admit() is None


def test_one_episode_of_refusals_cuts_once(instant):
    """Everything in flight is refused together: the limit falls by a fifth, not by its twentieth
    power.
    """
    limit = AdaptiveLimit(instant)
    for ticket in fill(limit):
        limit.release(ticket, refused=True)
    assert limit.limit == 16
    for ticket in fill(limit):
        limit.release(ticket, refused=True)
    assert limit.limit == 12  # 12.8


def test_a_refusal_now_and_then_cuts_nothing(instant):
    """One in ten is refused at any rate: the limit goes on growing, and nobody else need pause."""
    limit = AdaptiveLimit(instant)
    for _ in range(20):
        for i, ticket in enumerate(fill(limit)):
            limit.release(ticket, refused=i % 10 == 9, answered=i % 10 != 9)
            assert not limit.crowded
    assert limit.limit > 30


def test_the_limit_finds_what_an_endpoint_bears(instant):
    """An endpoint that takes 30 at once and refuses the rest is sent not much more than that."""
    limit = AdaptiveLimit(instant, start=90)
    limits = []
    for _ in range(200):
        for i, ticket in enumerate(fill(limit)):
            limit.release(ticket, refused=i >= 30, answered=i < 30)
        limits.append(limit.limit)
    assert all(24 <= one <= 42 for one in limits[20:])


def test_the_limit_doubles_until_the_first_crowded_round_or_the_ceiling(instant):
    """Twenty, forty, eighty, a hundred: after three rounds."""
    limit = AdaptiveLimit(instant, high=100)
    limits = []
    for _ in range(4):
        limits.append(limit.limit)
        for ticket in fill(limit):
            limit.release(ticket, answered=True)
    assert limits == [20, 40, 80, 100]


def test_after_a_crowded_round_a_clean_saturated_round_grows_the_limit_by_a_twentieth(instant):
    """Twenty-five were too many; twenty answers with all slots taken make it twenty-one, and not
    forty.
    """
    limit = AdaptiveLimit(instant, start=25)
    for ticket in fill(limit):
        limit.release(ticket, refused=True)
    assert limit.limit == 20
    for ticket in fill(limit):
        limit.release(ticket, answered=True)
    assert limit.limit == 21


def test_a_slot_waits_for_the_rate(instant):
    """One request a second: the second waits, although there is room."""
    limit = AdaptiveLimit(instant, rates=RateLimits(instant, requests_per_minute=60))
    assert limit.admit() is not None
    assert limit.admit() is None
    assert limit.wait() == pytest.approx(1.0, rel=0.1)
    instant.time += limit.wait()
    assert limit.admit() is not None


def test_an_unsaturated_round_does_not_grow_the_limit(instant):
    """A hundred answers one at a time say nothing about what the endpoint could bear."""
    limit = AdaptiveLimit(instant)
    for _ in range(100):
        ticket = limit.admit()
        assert ticket is not None
        limit.release(ticket, answered=True)
    assert limit.limit == 20


def test_a_pause_admits_nobody_until_its_latest_end(instant):
    """Of two pauses the later end counts."""
    limit = AdaptiveLimit(instant)
    limit.pause(10.0)
    limit.pause(3.0)
    assert limit.paused == 10.0
    assert limit.admit() is None
    instant.time = 10.0
    assert limit.paused == 0.0
    assert limit.admit() is not None


@settings(max_examples=60, deadline=None)
@given(
    start=st.integers(1, 100),
    high=st.integers(1, 200),
    steps=st.lists(st.sampled_from(["admit", "answer", "limit", "fail"]), max_size=300),
)
def test_the_limit_stays_within_its_bounds_and_counts_right(start, high, steps):
    """Whatever happens, in-flight matches the tickets out and the limit stays between floor and
    ceiling.
    """
    limit = AdaptiveLimit(SystemClock(), start=start, high=high)
    out: list[int] = []
    for step in steps:
        if step == "admit":
            if (ticket := limit.admit()) is not None:
                out.append(ticket)
        elif out:
            limit.release(out.pop(0), refused=step == "limit", answered=step == "answer")
        assert limit.in_flight == len(out)
        assert min(4, start, high) <= limit.limit <= high
