"""The pace: it finds what an endpoint takes, and is refused rarely."""

from collections import deque

import pytest

from judgewright.plugins.dask.pace import GROWTH, Pace


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """See `rates.Clock.now`."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """See `rates.Clock.sleep`."""
        self.time += seconds


def simulate(
    *, capacity: float, workers: int, seconds: float, latency: float = 0.2
) -> tuple[float, float]:
    """Send as fast as the paces allow to an endpoint with a rate limit; return answers a second and
    refusals' share.
    """
    clock, answered, refused = Clock(), 0, 0
    paces = [Pace(clock, start=25.0) for _ in range(workers)]
    level, due = 0.1 * capacity, deque[tuple[float, int, int, bool]]()
    while clock.time < seconds:
        clock.time += 0.002
        level = min(0.1 * capacity, level + 0.002 * capacity)
        while due and due[0][0] <= clock.time:
            _, worker, sent, turned_away = due.popleft()
            paces[worker].learn(sent, refused=turned_away)
        for worker, pace in enumerate(paces):
            while not pace.wait():
                turned_away = level < 1.0
                level -= not turned_away
                answered, refused = answered + (not turned_away), refused + turned_away
                due.append((clock.time + latency, worker, pace.take(), turned_away))
    return answered / seconds, refused / (answered + refused)


@pytest.mark.parametrize(("capacity", "workers"), [(400.0, 4), (400.0, 1), (50.0, 2), (2000.0, 4)])
def test_it_finds_the_rate_and_is_rarely_refused(capacity: float, workers: int) -> None:
    """Over half a minute: nine tenths of the limit, its beginning included, and under 2 %
    refused.
    """
    rate, refusals = simulate(capacity=capacity, workers=workers, seconds=30.0)
    assert rate > 0.9 * capacity
    assert refusals < 0.02


def test_a_refusal_of_what_was_sent_before_a_cut_cuts_nothing() -> None:
    """Ten requests in flight are refused together: one step back."""
    clock = Clock()
    pace = Pace(clock, start=90.0)
    sent = [pace.take() for _ in range(10)]
    for one in sent:
        pace.learn(one, refused=True)
    assert pace.per_second == pytest.approx(90.0 / GROWTH[0])


def test_a_pace_that_is_not_used_does_not_grow() -> None:
    """Nothing was tested by sending little."""
    clock = Clock()
    pace = Pace(clock, start=100.0)
    for _ in range(50):
        clock.time += 0.2
        assert pace.wait() == 0.0
        pace.learn(pace.take(), refused=False)
    assert pace.per_second == 100.0


def test_an_endpoint_that_gets_slower_is_followed_within_seconds() -> None:
    """Most are refused: much is cut at once, not a fiftieth a time."""
    clock = Clock()
    pace = Pace(clock, start=400.0)
    for _ in range(8):
        for refused in (True,) * 15 + (False,) * 5:
            pace.learn(pace.take(), refused=refused)
        clock.time += 0.2
    assert pace.per_second < 20.0
