"""Many requests through one client: over real HTTP, and against scripted models where time must be
free.
"""

import _thread
import asyncio
import base64
import gc
import itertools
import logging
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BudgetSpent, InputError, Interrupted, ModelError, WorkspaceError
from judgewright.judges.models import (
    Budget,
    Client,
    Completion,
    Endpoint,
    MemoryRecord,
    Message,
    Price,
    Prices,
    Progress,
    Request,
    Spending,
    SystemClock,
)

KEY = "sk-test-CANARY-5f3a9c1e7b"


class Eager(random.Random):
    """Draws the shortest jitter, so that a retry comes at once."""

    def uniform(self, a: float, b: float) -> float:
        return a


class Scripted:
    """A model in this process that answers from a function of the text and how often it came."""

    name = "scripted"
    endpoint = "test:1"
    simulated = False

    def __init__(
        self, answer=lambda text, nth: Completion(text=f"echo {text}", tokens_in=20, tokens_out=5)
    ):
        self.answer = answer
        self.counts: Counter[str] = Counter()
        self.left_out: list[frozenset[str]] = []
        self.closed = 0

    async def complete(self, request, *, unsupported_parameters=frozenset()):
        text = request.messages[-1].content
        self.counts[text] += 1
        self.left_out.append(unsupported_parameters)
        await asyncio.sleep(0)
        answer = self.answer(text, self.counts[text])
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def close(self):
        self.closed += 1


def fault(status=None, **more) -> ModelError:
    return ModelError(f"scripted {status}", retryable=True, status=status, **more)


def rows(n: int, **more) -> list[Request]:
    return [Request(messages=(Message("user", f"row {i}"),), **more) for i in range(n)]


def over_http(fake, **more) -> Client:
    return Client(
        Endpoint(name="m", base_url=fake.url, api_key=KEY, timeout=120.0), rng=Eager(), **more
    )


@pytest.fixture
def prices():
    """A dollar per thousand tokens."""
    return Prices(Price(input=1000, output=1000))


# Order, duplicates, the record.


def test_equal_requests_are_sent_once(fake):
    """And answered at every place; beyond the first as recorded, because they cost nothing."""
    asked = [*rows(3), *rows(3), *rows(1)]
    with over_http(fake) as client:
        got = client.ask(asked)
    assert [c.text for c in got] == [f"echo row {i}" for i in (0, 1, 2, 0, 1, 2, 0)]
    assert [c.recorded for c in got] == [False] * 3 + [True] * 4
    assert len(fake.seen) == 3
    assert (client.stats.requests, client.stats.recorded, client.stats.calls) == (7, 4, 3)


def test_what_the_record_knows_is_not_asked_again(fake):
    """A resumed run sends nothing, pays nothing, and says so; a failure is replayed as the same
    failure.
    """
    record = MemoryRecord()
    ok = fake.answer
    fake.answer = lambda seen: (
        fake.Reply(status=400, body={"error": {"message": "bad row"}})
        if seen.text == "row 7"
        else ok(seen)
    )
    with over_http(fake, record=record) as client:
        first = client.ask(rows(1200))
    sent = len(fake.seen)
    with over_http(fake, record=record) as client:
        again = client.ask(rows(1200))
    assert len(fake.seen) == sent == 1200
    assert all(c.recorded and c.latency == 0.0 for c in again if isinstance(c, Completion))
    assert [c.text for c in again if isinstance(c, Completion)] == [
        c.text for c in first if isinstance(c, Completion)
    ]
    assert str(again[7]) == str(first[7]) == "the endpoint answered 400: bad row"
    assert (client.stats.calls, client.stats.recorded, client.stats.failed) == (0, 1199, 1)


class Journal(MemoryRecord):
    """A record whose writes become durable on another thread, and which writes down their order."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []

    def _later(self, event: str) -> Future[None]:
        future: Future[None] = Future()

        def commit() -> None:
            self.events.append(event)
            future.set_result(None)

        threading.Timer(0.005, commit).start()
        return future

    def sent(self, key, **more):
        super().sent(key, **more)
        return self._later(f"sent {key.hex()}")

    def done(self, key, completion, **more):
        super().done(key, completion, **more)
        return self._later("done " + completion.text.removeprefix("echo "))


def test_an_attempt_is_committed_before_it_is_sent_and_an_answer_before_it_is_returned():
    """Committed, sent, answered, committed, returned: for every row."""
    record = Journal()

    asked = rows(60)
    keys = {r.messages[0].content: r.key(endpoint="test:1", model="scripted").hex() for r in asked}

    def answer(text, nth):
        assert f"sent {keys[text]}" in record.events
        record.events.append(f"wire {text}")
        return Completion(text=f"echo {text}")

    with Client(Scripted(answer), record=record, concurrency=16) as client:
        client.ask(asked)
        assert sum(e.startswith("done") for e in record.events) == 60
    for i in range(60):
        events = f"sent {keys[f'row {i}']}", f"wire row {i}", f"done row {i}"
        order = [record.events.index(event) for event in events]
        assert order == sorted(order)


def test_no_more_than_concurrency_attempts_are_sent_and_not_yet_committed():
    """That is what a crash may bill again."""
    open_calls: set[str] = set()
    most = 0
    record = Journal()
    settle = record.done

    def answer(text, nth):
        nonlocal most
        open_calls.add(text)
        most = max(most, len(open_calls))
        return Completion(text=text)

    def done(key, completion, **more):
        future = settle(key, completion, **more)
        future.add_done_callback(lambda _: open_calls.discard(completion.text))
        return future

    record.done = done
    with Client(Scripted(answer), record=record, concurrency=8) as client:
        client.ask(rows(100))
    assert most <= 8


def test_a_record_that_cannot_be_written_stops_the_ask():
    """The disk is full: nothing more is sent, and the error is the record's."""

    class Full(MemoryRecord):
        def done(self, key, completion, **more):
            future: Future[None] = Future()
            future.set_exception(WorkspaceError("disk full"))
            return future

    model = Scripted()
    with Client(model, record=Full()) as client, pytest.raises(WorkspaceError, match="disk full"):
        client.ask(rows(1000))
    assert sum(model.counts.values()) < 100


# Retries.


def test_passing_faults_are_retried_until_they_pass(fake):
    """503, 500, a dropped connection, garbage, a cut reply: once each, for every row."""
    faults = [
        fake.Reply(status=503, body={"error": {"message": "overloaded"}}),
        fake.Reply(status=500, body=b"oops"),
        fake.Reply(drop=True),
        fake.Reply(body=b"<html>"),
        fake.Reply(body=fake.completion("x" * 3000), cut=True),
    ]
    ok = fake.answer
    fake.answer = lambda seen: faults[seen.nth - 1] if seen.nth <= len(faults) else ok(seen)
    with over_http(fake) as client:
        got = client.ask(rows(20))
    assert [c.text for c in got] == [f"echo row {i}" for i in range(20)]
    assert set(fake.counts.values()) == {6}
    assert (client.stats.attempts, client.stats.retries, client.stats.failed) == (120, 100, 0)


def test_retry_after_pauses_everyone_when_everyone_is_refused(fake):
    """A closed window of a quarter second: after the first refusals nobody sends until it is
    over.
    """
    opens: list[float] = []

    def answer(seen):
        now = fake.times[-1]
        if seen.total == 30:
            opens.append(now + 0.25)
        if opens and now < opens[0]:
            wait = {"retry-after-ms": str(1000 * (opens[0] - now))}
            return fake.Reply(
                status=429, body={"error": {"message": "slow"}}, headers=wait, delay=0.002
            )
        return fake.Reply(body=fake.completion(), delay=0.002)

    fake.answer = answer
    with over_http(fake, concurrency=8) as client:
        got = client.ask(rows(100))
    assert all(isinstance(c, Completion) for c in got)
    knocked = sum(opens[0] - 0.25 < t < opens[0] for t in fake.times)
    assert knocked <= 20  # eight were on the wire, a handful had to be refused; then silence


def test_a_refusal_now_and_then_holds_up_its_own_row_only(instant):
    """One request in ten is refused at random: ten rows wait for themselves, and nobody waits for
    them.
    """

    def answer(text, nth):
        late = int(text.split()[1]) % 10 == 5 and nth == 1
        return fault(429, retry_after=30.0) if late else Completion(text=text)

    with Client(Scripted(answer), clock=instant, concurrency=8, rng=Eager()) as client:
        got = client.ask(rows(100))
    assert all(isinstance(c, Completion) for c in got)
    assert instant.slept == [30.0] * 10


def test_a_pause_holds_while_the_record_is_being_written():
    """Between the refusal and the end of the pause nothing is sent, though the record takes its
    time.
    """
    times: list[float] = []

    def answer(text, nth):
        times.append(time.monotonic())
        limited = text == "row 0" and nth == 1
        return fault(429, retry_after=0.3) if limited else Completion(text=text)

    class Slow(Journal):
        def not_charged(self, key):
            super().not_charged(key)
            return self._later("not charged")

    with Client(Scripted(answer), record=Slow(), concurrency=2) as client:
        client.ask(rows(30))
    assert len(times) == 31
    before_the_pause = next(
        i for i, (a, b) in enumerate(itertools.pairwise(times), 1) if b - a > 0.25
    )
    assert before_the_pause < 25


class Rounds(Scripted):
    """Answers nobody before as many are in flight as are expected next."""

    def __init__(self, *expected: int):
        super().__init__()
        self.expected = list(expected)
        self.in_flight = self.most = 0
        self.full = asyncio.Event()

    async def complete(self, request, *, unsupported_parameters=frozenset()):
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        full, waits = self.full, bool(self.expected)
        if waits and self.in_flight >= self.expected[0]:
            self.expected.pop(0)
            self.full = asyncio.Event()
            full.set()
        if waits:
            await full.wait()
        self.in_flight -= 1
        return await super().complete(request, unsupported_parameters=unsupported_parameters)


@pytest.mark.parametrize(("concurrency", "rounds"), [(None, (4, 8, 16, 32, 64)), (150, (150,))])
def test_the_concurrency_doubles_up_to_its_ceiling_or_starts_where_it_was_named(
    concurrency, rounds
):
    """Four, eight and so on to sixty-four where nobody named a number, and never more; a person who
    names one knows the endpoint.
    """
    model = Rounds(*rounds)
    with Client(model, concurrency=concurrency) as client:
        client.ask(rows(400))
    assert (model.most, model.expected) == (rounds[-1], [])
    assert client.stats.calls == 400


def test_an_overload_is_nobodys_poison(instant):
    """503 says nothing about the row: it keeps its tries."""
    model = Scripted(
        lambda text, nth: fault(503) if text == "row 5" and nth < 7 else Completion(text=text)
    )
    with Client(model, clock=instant) as client:
        got = client.ask(rows(100))
    assert all(isinstance(c, Completion) for c in got)


class Latest(random.Random):
    """Draws the longest jitter."""

    def uniform(self, a: float, b: float) -> float:
        return b


def redirect() -> ModelError:
    return ModelError("scripted 302", status=302, fatal=True, hint="name that address")


FAILING: dict[str, tuple[int, ModelError, dict[str, Any], range, str]] = {
    "tries are used up": (3, fault(), {}, range(8, 9), "given up after 8 tries"),
    "it took too long": (
        *(0, fault(503), {"tries": 1000, "row_seconds": 100.0, "rng": Latest()}),
        *(range(5, 10), "scripted 503"),
    ),
    "a poison row": (5, fault(500), {}, range(3, 4), "given up after 3 tries"),
    "the first is redirected": (0, redirect(), {}, range(1, 2), "scripted 302"),
    "one is redirected": (50, redirect(), {}, range(1, 2), "scripted 302"),
    "too long a text": (2, ModelError("too long", status=400), {}, range(1, 2), "too long"),
}
"""Which row fails and with what; the settings; how often it is sent; what is said of it."""


@pytest.mark.parametrize("case", FAILING)
def test_a_row_that_fails_is_one_failure_among_answers(instant, case):
    """It is recorded as the same failure, and the others are answered."""
    row, error, more, sent, message = FAILING[case]
    model = Scripted(lambda text, nth: error if text == f"row {row}" else Completion(text=text))
    more = {"rng": Eager(), **more}
    with Client(model, record=MemoryRecord(), clock=instant, concurrency=4, **more) as client:
        got, again = client.ask(rows(100)), client.ask(rows(100))
    for outcomes in (got, again):
        assert [i for i, c in enumerate(outcomes) if not isinstance(c, Completion)] == [row]
        assert message in str(outcomes[row])
    assert model.counts[f"row {row}"] in sent
    assert (client.stats.calls, client.stats.failed) == (99, 2)


STOPS = {
    "an outage": (fault(502), 0, 2000, "10 requests in a row were given up", 700),
    "an outage after answers": (fault(502), 300, 2000, "10 requests in a row were given up", 1000),
    "a session that ran out": (redirect(), 50, 1000, "10 requests in a row were given up", 100),
    "a wrong address, one row": (redirect(), 0, 1, "302", 2),
    "a wrong address, five rows": (redirect(), 0, 5, "302", 6),
    "a wrong address": (redirect(), 0, 2000, "302", 20),
    "a daily limit": (fault(429, retry_after=3600.0), 0, 5, "another 3,600 s", 6),
}
"""What every row meets from which on; of how many; what is said; fewer were sent than so many."""


@pytest.mark.parametrize("case", STOPS)
def test_what_every_row_would_meet_stops_the_ask_and_is_asked_again_on_resume(instant, case):
    """None of the rows is recorded as failed."""
    error, before, n, message, most = STOPS[case]
    down = True

    def answer(text, nth):
        return error if down and int(text.split()[1]) >= before else Completion(text=text)

    model = Scripted(answer)
    with Client(model, record=MemoryRecord(), clock=instant, concurrency=4) as client:
        with pytest.raises(ModelError, match=message) as caught:
            client.ask(rows(n))
        assert caught.value.fatal
        assert error.hint is None or caught.value.hint == error.hint
        assert sum(model.counts.values()) < most
        down = False
        got = client.ask(rows(before + 100))
    assert all(isinstance(c, Completion) for c in got)
    assert sum(c.recorded for c in got) == before


def test_backoff_grows_with_full_jitter_and_has_a_ceiling(instant):
    """Each wait is drawn from zero to half a second doubled per try, at most half a minute."""

    model = Scripted(lambda text, nth: fault(503) if nth < 10 else Completion(text=text))
    with Client(model, clock=instant, rng=Latest(), tries=10) as client:
        assert client.ask_one(rows(1)[0]).text == "row 0"
    assert instant.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_definite_failure_is_kept_even_when_the_ask_is_being_stopped(fake):
    """A 400 that comes back while the budget is spent is that row's failure, not the budget's."""
    refused = fake.Reply(status=400, body={"error": {"message": "bad row"}}, delay=0.2)
    fake.answer = lambda seen: (
        refused if seen.text == "row 0" else fake.Reply(body=fake.completion())
    )
    budget = Budget(money=None, tokens=1000, spent=Spending())
    with over_http(fake, budget=budget) as client:
        got = client.ask(rows(100, max_tokens=5))
    assert "bad row" in str(got[0])
    assert isinstance(got[-1], BudgetSpent)


@pytest.mark.parametrize("status", [401, 404])
def test_a_wrong_key_or_model_stops_at_once(fake, status):
    """What every other row would meet as well is raised after a handful of attempts."""
    fake.answer = lambda seen: fake.Reply(
        status=status, body={"error": {"message": "no"}}, delay=0.005
    )
    with (
        over_http(fake) as client,
        pytest.raises(ModelError, match=f"answered {status}: no") as caught,
    ):
        client.ask(rows(500))
    assert caught.value.fatal
    assert len(fake.seen) <= 20


def test_a_programming_error_in_a_model_is_raised_as_it_is():
    """It is not retried and not hidden."""
    model = Scripted(lambda text, nth: ZeroDivisionError("a bug"))
    with Client(model) as client, pytest.raises(ZeroDivisionError, match="a bug"):
        client.ask(rows(100))
    assert sum(model.counts.values()) <= 40


# Parameters.


# The budget.


def test_a_budget_in_money_is_never_exceeded_with_64_in_flight(fake, prices):
    """A dollar at 25 tokens of a dollar a thousand each: at most forty are billed, the rest is told
    so.
    """
    fake.answer = lambda seen: fake.Reply(body=fake.completion(), delay=0.003)
    budget = Budget(money=1.0, tokens=None, spent=Spending())
    with over_http(fake, budget=budget, prices=prices) as client:
        got = client.ask(rows(200, max_tokens=5))
    made = [c for c in got if isinstance(c, Completion)]
    assert len(fake.seen) * 0.025 <= 1.0
    assert (
        len(made) == len(fake.seen) >= 38
    )  # it waits for releases: all but a last worst case is used
    assert (
        sum(c.cost for c in made) == pytest.approx(client.stats.cost) == pytest.approx(budget.cost)
    )
    assert all(isinstance(c, BudgetSpent) for c in got[len(made) :])
    assert [isinstance(c, Completion) for c in got] == [i < len(made) for i in range(200)]


def test_a_budget_in_money_without_a_price_is_refused_before_anything_is_sent(fake):
    """With the way out."""
    budget = Budget(money=1.0, tokens=None, spent=Spending())
    with (
        over_http(fake, budget=budget) as client,
        pytest.raises(InputError, match="price of model 'm' is unknown"),
    ):
        client.ask(rows(3))
    assert not fake.seen


def test_what_was_refused_at_the_door_is_not_charged_and_a_lost_answer_is(fake, prices):
    """429 and 400 cost nothing; a dropped connection counts with its worst case."""
    budget = Budget(money=10.0, tokens=None, spent=Spending())
    record = MemoryRecord()
    limited = fake.Reply(
        status=429, body={"error": {"message": "slow"}}, headers={"retry-after-ms": "5"}
    )
    fake.answer = lambda seen: (
        limited if seen.nth < 4 else fake.Reply(status=400, body={"error": {"message": "no"}})
    )
    with over_http(fake, budget=budget, prices=prices, record=record) as client:
        client.ask(rows(1))
    assert budget.cost == 0.0
    assert record.spending() == Spending()
    fake.answer = lambda seen: (
        fake.Reply(drop=True) if seen.nth == 1 else fake.Reply(body=fake.completion())
    )
    with over_http(fake, budget=budget, prices=prices) as client:
        client.ask([Request(messages=(Message("user", "another"),), max_tokens=5)])
    assert budget.cost > 0.025


def test_two_clients_share_a_budget_and_wait_for_each_other():
    """The judge's and the optimizer's: one holds the whole budget until it is answered, the other
    then goes on.
    """
    gate, held = threading.Event(), threading.Event()
    budget = Budget(money=None, tokens=1500, spent=Spending())

    class Held(Scripted):
        async def complete(self, request, *, unsupported_parameters=frozenset()):
            held.set()
            await asyncio.to_thread(gate.wait)
            return Completion(text="held", tokens_in=1, tokens_out=1)

    asked = Request(messages=(Message("user", "x"),), max_tokens=1400)
    with Client(Held(), budget=budget) as one, Client(Scripted(), budget=budget) as two:
        first = threading.Thread(target=lambda: one.ask([asked]))
        first.start()
        assert held.wait(120)
        # The first report comes while the second client has had to wait.
        got = two.ask([asked], progress=lambda progress: gate.set())
        assert [c.text for c in got] == ["echo x"]
        first.join()


# Stopping.


@pytest.fixture
def ctrl_c():
    """Python's own answer to Ctrl-C, also where the tests were started with the signal ignored, as
    in a script.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_when(claim):
    """Return a progress callback that presses Ctrl-C once, as soon as the claim about the progress
    holds.
    """
    pressed = threading.Event()

    def report(progress: Progress) -> None:
        if not pressed.is_set() and claim(progress):
            pressed.set()
            _thread.interrupt_main()

    return report


def main_thread_is_in(*functions: str) -> bool:
    """Whether the main thread is in these functions, the innermost last."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    outermost_first = iter(reversed(names))
    return all(name in outermost_first for name in functions)


def test_ctrl_c_keeps_what_is_in_flight_and_resuming_asks_only_the_rest(fake, ctrl_c):
    """The signal arrives in the middle: what was sent is answered and recorded, nothing is asked
    twice.
    """
    fake.answer = lambda seen: fake.Reply(body=fake.completion(f"echo {seen.text}"), delay=0.05)
    record = MemoryRecord()
    with over_http(fake, record=record) as client:
        with pytest.raises(Interrupted, match=r"requests answered, all of them kept") as caught:
            client.ask(rows(3000), progress=interrupt_when(lambda p: p.done >= 30))
        assert caught.value.hint is not None
        kept = client.stats.calls
        assert 30 <= kept == len(fake.seen) < 3000
        assert record.spending().in_doubt_tokens == 0
        got = client.ask(rows(200))
    assert sum(c.recorded for c in got) == min(kept, 200)
    assert max(fake.counts.values()) == 1


def test_a_second_ctrl_c_gives_up_what_is_in_flight(fake, ctrl_c):
    """The server hangs: the person need not wait for it, and the attempts stay in doubt."""
    fake.answer = lambda seen: fake.Reply(body=fake.completion(), delay=3600.0)
    record = MemoryRecord()
    over = threading.Event()

    def press_again() -> None:
        # Not before the first has been understood: the client now waits for what is in flight.
        while not over.wait(0.02):
            if main_thread_is_in("_drain", "wait"):
                _thread.interrupt_main()
                return

    second = threading.Thread(target=press_again)
    with over_http(fake, record=record) as client:
        second.start()
        with pytest.raises(Interrupted, match="may have been charged"):
            client.ask(rows(100), progress=interrupt_when(lambda p: fake.in_flight > 0))
        over.set()
        second.join()
        assert fake.in_flight > 0
    assert record.spending().in_doubt_tokens > 0


def test_an_interrupt_does_not_wait_for_a_pause(fake, ctrl_c):
    """A Retry-After is not slept out by one who wants to stop: here it would never end."""

    class Endless(SystemClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    fake.answer = lambda seen: fake.Reply(
        status=429, body={"error": {"message": "m"}}, headers={"retry-after": "60"}
    )
    press = interrupt_when(lambda p: len(fake.seen) > 0 and fake.in_flight == 0)
    with over_http(fake, clock=Endless()) as client, pytest.raises(Interrupted):
        client.ask(rows(50), progress=press)


@pytest.mark.parametrize(
    ("raised", "comes_out"), [(KeyboardInterrupt(), Interrupted), (RuntimeError("x"), RuntimeError)]
)
def test_a_progress_callback_that_raises_stops_the_ask_and_loses_nothing_paid(
    fake, raised, comes_out
):
    """Ctrl-C does as the signal itself does; its own error comes out."""
    fake.answer = lambda seen: fake.Reply(body=fake.completion(), delay=0.02)

    def report(progress: Progress) -> None:
        raise raised

    with over_http(fake) as client, pytest.raises(comes_out):
        client.ask(rows(2000), progress=report)
    assert len(fake.seen) == client.stats.calls < 2000


class Text(str):
    """A text that is counted while anybody holds it."""

    alive = most = 0

    def __new__(cls, text: str):
        cls.alive += 1
        cls.most = max(cls.most, cls.alive)
        return super().__new__(cls, text)

    def __del__(self) -> None:
        type(self).alive -= 1


class Rendered(Sequence):
    """Requests that are made anew whenever they are needed."""

    def __len__(self) -> int:
        return 5000

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return Request(messages=(Message("user", Text(f"row {i}")),))


def test_the_texts_of_all_rows_are_never_held_at_once():
    """Of 5,000 at most those of a few look-ups, and each row gets its own answer."""

    class Quick(Scripted):
        async def complete(self, request, *, unsupported_parameters=frozenset()):
            return Completion(text=f"echo {request.messages[0].content}")

    with Client(Quick(), concurrency=16) as client:
        got = client.ask(Rendered())
    assert [outcome.text for outcome in got] == [f"echo row {i}" for i in range(5000)]
    assert Text.most < 2000
    assert Text.alive < 50


# Progress and the rest.


def test_progress_is_reported_in_the_calling_thread_and_ends_complete(fake, prices):
    """While it goes on, never backwards, with cost and tokens."""
    fake.answer = lambda seen: fake.Reply(body=fake.completion(), delay=0.05)
    seen: list[tuple[Progress, int]] = []
    with over_http(fake, prices=prices) as client:
        client.ask(
            [*rows(150), *rows(10)], progress=lambda p: seen.append((p, threading.get_ident()))
        )
    assert {thread for _, thread in seen} == {threading.get_ident()}
    assert [p.done for p, _ in seen] == sorted(p.done for p, _ in seen)
    last = seen[-1][0]
    assert (last.done, last.total, last.failed, last.recorded, last.tokens) == (
        160,
        160,
        0,
        10,
        150 * 25,
    )
    assert last.cost == pytest.approx(150 * 0.025)
    assert len(seen) >= 2


def test_it_works_where_a_loop_is_already_running():
    """As in a notebook."""

    async def notebook() -> str:
        with Client(Scripted()) as client:
            return client.ask_one(rows(1)[0]).text

    assert asyncio.run(notebook()) == "echo row 0"


def test_threads_may_ask_one_client_at_the_same_time(fake):
    """They share its slots, and none of them is forgotten."""
    fake.answer = lambda seen: fake.Reply(body=fake.completion(f"echo {seen.text}"), delay=0.005)
    got: dict[str, str] = {}
    with over_http(fake, concurrency=4) as client:

        def work(name: str) -> None:
            for i in range(10):
                text = f"{name} {i}"
                got[text] = client.ask_one(Request(messages=(Message("user", text),))).text

        threads = [threading.Thread(target=work, args=(f"thread {t}",)) for t in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == {f"thread {t} {i}": f"echo thread {t} {i}" for t in range(12) for i in range(10)}
    assert fake.most_in_flight <= 4


def test_what_another_ask_was_answered_meanwhile_is_not_sent_again():
    """It ended between the look-up and the sending: its replies are taken from the record."""

    class Overtaken(MemoryRecord):
        looks = 0

        def lookup(self, keys):
            answers = super().lookup(keys)
            self.looks += 1
            if self.looks == 1:
                client.ask(rows(3))
            return answers

    model = Scripted()
    with Client(model, record=Overtaken()) as client:
        got = client.ask(rows(3))
    assert [c.text for c in got] == [f"echo row {i}" for i in range(3)]
    assert set(model.counts.values()) == {1}


def test_the_key_is_in_no_error_record_or_log(fake, caplog):
    """A server that says the key back in every way it can: as an answer, an error, a refusal."""
    echo = f"{KEY} {base64.b64encode(KEY.encode()).decode()} {KEY[-8:]}"
    replies = [
        fake.Reply(body=fake.completion(echo)),
        fake.Reply(status=400, body={"error": {"message": echo}}),
        fake.Reply(status=500, body={"error": {"message": echo}}),
        fake.Reply(body=echo.encode()),
    ]
    fake.answer = lambda seen: replies[int(seen.text.split()[-1]) % 4]
    record = MemoryRecord()
    with caplog.at_level(logging.DEBUG), over_http(fake, record=record, tries=2) as client:
        got = client.ask(rows(8))
        keys = [r.key(endpoint=client.model.endpoint, model="m") for r in rows(8)]
        everything = f"{got} {record.lookup(keys)} {client.stats} {client.model!r} {caplog.text}"
    assert sum(isinstance(c, ModelError) for c in got) == 6
    assert "[key]" in everything
    for form in (KEY, KEY[-8:], base64.b64encode(KEY.encode()).decode().rstrip("=")):
        assert form not in everything


@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(st.integers(0, 12), max_size=40),
    bad=st.sets(st.integers(0, 12), max_size=9),  # ten in a row end an ask
    flaky=st.sets(st.integers(0, 12)),
    concurrency=st.integers(1, 8),
)
def test_every_request_has_its_own_outcome_in_its_place(texts, bad, flaky, concurrency):
    """Whatever fails, repeats or hiccups, outcome i belongs to request i."""
    bad_rows, flaky_rows = {f"row {i}" for i in bad}, {f"row {i}" for i in flaky}

    def answer(text, nth):
        if text in bad_rows:
            return ModelError(f"bad {text}", status=400)
        return fault(503) if text in flaky_rows and nth < 3 else Completion(text=text)

    asked = [Request(messages=(Message("user", f"row {i}"),)) for i in texts]
    with Client(Scripted(answer), rng=Eager(), concurrency=concurrency) as client:
        got = client.ask(asked)
    assert len(got) == len(asked)
    for i, outcome in zip(texts, got, strict=True):
        said = outcome.text if isinstance(outcome, Completion) else str(outcome)
        assert said == (f"bad row {i}" if i in bad else f"row {i}")
    assert client.stats.calls == len(set(texts) - bad)


@pytest.mark.parametrize("fails", [False, True])
def test_the_garbage_collector_is_as_it_was_after_an_ask(fails: bool) -> None:
    """What existed is left out of collections while a client asks; not longer, and whatever
    happens.
    """
    frozen: list[int] = []

    def watch(_: Progress) -> None:
        frozen.append(gc.get_freeze_count())
        if fails:
            raise ZeroDivisionError

    with Client(Scripted()) as client, suppress(ZeroDivisionError):
        client.ask([Request(messages=(Message("user", "one"),))], progress=watch)
    assert frozen
    assert all(frozen)
    assert gc.get_freeze_count() == 0


class Keys(MemoryRecord):
    """Notes the keys that are looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []

    def lookup(self, keys):
        self.seen += keys
        return super().lookup(keys)


SCHEMA = {"type": "json_schema", "json_schema": {"name": "v", "strict": True}}


def test_keys_have_not_changed():
    """A stored call is found by its key for ever."""
    record = Keys()
    messages = Message("system", "be strict"), Message("user", "row 1")
    with Client(Scripted(), record=record) as client:
        client.ask([Request(messages=messages, max_tokens=512, response_format=SCHEMA)])
    assert (
        record.seen[0].hex() == "05eb9885b41828fb8989dc81a017f7ff7e427b7e8c1d35fe7a5dc3cebba99417"
    )
