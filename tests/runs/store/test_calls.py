"""The record of calls: nothing paid twice, nothing damaged served, nothing secret kept."""

import json
import math
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgewright.judges import WorkspaceError
from judgewright.judges.models import (
    CallRecord,
    Client,
    Completion,
    Endpoint,
    FailedCall,
    MemoryRecord,
    Message,
    Request,
    Spending,
    TokenLogprob,
)
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.store import CallStore, Database, SqliteDatabase
from judgewright.runs.store.writer import Connection

from .stores import OPENING, Store

ENDPOINT, MODEL = "http://127.0.0.1:1/v1", "m"


def request(number: int) -> Request:
    """Return one of many different requests."""
    return Request(
        messages=(Message("system", "be strict"), Message("user", f"row {number}")), repeat=1
    )


def key(number: int) -> bytes:
    """Return its key."""
    return request(number).key(endpoint=ENDPOINT, model=MODEL)


def send(record: CallRecord, number: int, *, cost: float | None = 0.5, tokens: int = 100) -> bytes:
    """Enter one attempt and wait until it is durable."""
    record.sent(key(number), reserved_cost=cost, reserved_tokens=tokens).result()
    return key(number)


def reply_to(record: CallRecord, number: int, completion: Completion) -> None:
    """Keep the answer to the attempt that was entered last, and wait until it is durable."""
    record.done(
        key(number), completion, request=request(number), endpoint=ENDPOINT, model=MODEL
    ).result()


ANSWER = Completion(
    text='{"score": 2, "reason": "é\u2028"}',
    finish_reason="length",
    refusal="no",
    tokens_in=30,
    tokens_out=12,
    tokens_cached=5,
    model_returned="m-2026",
    fingerprint="fp",
    logprobs=(TokenLogprob("2", -0.25, (("2", -0.25), ("3", -math.inf))),),
    dropped=("seed",),
    cost=0.125,
    extra={"price": "m at 2026-01-01"},
)


class RecordContract:
    """What every record of calls keeps; each kind inherits it."""

    @pytest.fixture
    def record(self) -> CallRecord:
        """The record under test."""
        raise NotImplementedError

    def test_what_was_never_asked_is_absent(self, record: CallRecord) -> None:
        """Also when many keys are looked up at once."""
        assert record.lookup([key(i) for i in range(1200)]) == {}
        assert record.lookup([]) == {}
        assert record.spending() == Spending()

    def test_an_answer_is_found_and_charged_once(self, record: CallRecord) -> None:
        """Its cost and tokens are settled, and nothing is left in doubt."""
        send(record, 1)
        reply_to(record, 1, ANSWER)
        found = record.lookup([key(1), key(2)])
        assert set(found) == {key(1)}
        answer = found[key(1)]
        assert isinstance(answer, Completion)
        assert answer.text == ANSWER.text
        assert record.spending() == Spending(settled_cost=0.125, settled_tokens=42)

    def test_the_first_answer_to_a_call_stays(self, record: CallRecord) -> None:
        """It has been used; another one that came with others' answers changes nothing."""
        send(record, 1)
        reply_to(record, 1, ANSWER)
        reply_to(record, 1, replace(ANSWER, text="other", recorded=True))
        answer = record.lookup([key(1)])[key(1)]
        assert isinstance(answer, Completion)
        assert answer.text == ANSWER.text
        assert record.spending() == Spending(settled_cost=0.125, settled_tokens=42)

    def test_an_attempt_without_an_answer_is_in_doubt(self, record: CallRecord) -> None:
        """It may have been charged, so its reservation stands."""
        send(record, 1)
        assert record.lookup([key(1)]) == {}
        assert record.spending() == Spending(in_doubt_cost=0.5, in_doubt_tokens=100)

    def test_an_attempt_refused_before_any_work_costs_nothing(self, record: CallRecord) -> None:
        """A 429 is settled at zero."""
        record.not_charged(send(record, 1)).result()
        assert record.spending() == Spending()

    def test_a_call_given_up_is_found_as_the_same_failure(self, record: CallRecord) -> None:
        """A resumed run does not ask again what it has given up."""
        failure = FailedCall(message="eight tries, always 503", status=503)
        record.not_charged(send(record, 1)).result()
        record.failed(key(1), failure).result()
        assert record.lookup([key(1)]) == {key(1): failure}
        assert record.spending() == Spending()


class TestMemoryRecord(RecordContract):
    """The stand-in keeps the contract."""

    @pytest.fixture
    def record(self) -> CallRecord:
        """A record in memory."""
        return MemoryRecord()


class TestCallStore(RecordContract):
    """The record in the workspace keeps the contract, and keeps it across processes."""

    @pytest.fixture
    def record(self, database: Database) -> CallRecord:
        """A record in a file."""
        return CallStore(database, "run-1")

    def test_a_completion_comes_back_whole(self, database: Database) -> None:
        """Every field survives, except that it now says it was recorded and took no time."""
        store = CallStore(database, "run-1")
        send(store, 1)
        reply_to(store, 1, ANSWER)
        expected = {f: getattr(ANSWER, f) for f in Completion.__dataclass_fields__} | {
            "recorded": True,
            "latency": 0.0,
        }
        assert store.lookup([key(1)])[key(1)] == Completion(**expected)

    @settings(
        max_examples=40,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(
        text=st.text(st.characters(exclude_categories=()), max_size=40),
        number=st.integers(0, 10**9),
    )
    def test_any_text_survives(self, database: Database, text: str, number: int) -> None:
        """Control characters, line separators, NUL and half surrogates included: what was paid for
        is kept.
        """
        store = CallStore(database, f"run-{number}")
        asked = Request(
            messages=(
                Message("user", str((text, number)).encode("ascii", "backslashreplace").decode()),
            )
        )
        name = asked.key(endpoint=ENDPOINT, model=MODEL)
        store.sent(name, reserved_cost=None, reserved_tokens=1).result()
        store.done(
            name, Completion(text=text), request=asked, endpoint=ENDPOINT, model=MODEL
        ).result()
        found = store.lookup([name])[name]
        assert isinstance(found, Completion)
        assert found.text == text

    def test_answers_are_shared_and_failures_are_not(self, database: Database) -> None:
        """Another run has the answer for nothing and asks again what the first gave up."""
        one, two = CallStore(database, "run-1"), CallStore(database, "run-2")
        send(one, 1)
        reply_to(one, 1, ANSWER)
        send(one, 2)
        one.failed(key(2), FailedCall(message="no")).result()
        assert set(two.lookup([key(1), key(2)])) == {key(1)}
        assert two.spending() == Spending()
        send(two, 2)
        reply_to(two, 2, ANSWER)
        assert isinstance(two.lookup([key(2)])[key(2)], Completion)
        # The first run, resumed, must walk as it walked before.
        assert one.lookup([key(2)]) == {key(2): FailedCall(message="no")}
        assert CallStore(database, "run-3").lookup([key(2)])[key(2)] == two.lookup([key(2)])[key(2)]

    def test_every_attempt_is_counted(self, database: Database) -> None:
        """A retry leaves its predecessor in doubt unless that one was settled."""
        store = CallStore(database, "run-1")
        store.not_charged(send(store, 1)).result()
        send(store, 1)
        send(store, 1)
        reply_to(store, 1, ANSWER)
        send(store, 2)
        store.failed(key(2), FailedCall(message="timed out")).result()
        summary = store.summary()
        assert (summary.attempts, summary.done, summary.failed) == (4, 1, 1)
        assert (summary.not_charged, summary.in_doubt, summary.repeated, summary.damaged) == (
            1,
            2,
            0,
            0,
        )
        assert store.spending() == Spending(
            settled_cost=0.125, settled_tokens=42, in_doubt_cost=1.0, in_doubt_tokens=200
        )
        states = [state for (state,) in database.read("SELECT state FROM attempt ORDER BY seq")]
        assert states == ["not_charged", "lost", "done", "lost"]

    def test_asking_again_what_was_answered_is_counted_as_repeated(
        self, database: Database
    ) -> None:
        """The promise broken shows; the first answer stays, because it has been used."""
        store = CallStore(database, "run-1")
        send(store, 1)
        reply_to(store, 1, ANSWER)
        send(store, 1)
        reply_to(store, 1, Completion(text="another", cost=0.25))
        found = store.lookup([key(1)])[key(1)]
        assert isinstance(found, Completion)
        assert found.text == ANSWER.text
        assert store.summary().repeated == 1
        assert store.spending().settled_cost == 0.375

    def test_an_answer_to_nothing_is_refused(self, database: Database) -> None:
        """What was never entered as sent cannot be settled."""
        store = CallStore(database, "run-1")
        with pytest.raises(WorkspaceError, match="no attempt"):
            reply_to(store, 1, ANSWER)

    @pytest.mark.parametrize("where", ["a letter in the text", "the hash"])
    def test_a_flipped_byte_on_disk_is_never_served(
        self, store: Store, where: str, measured: Callable[[str], None]
    ) -> None:
        """A damaged reply counts as absent and is said; asked again, it is whole and not called
        repeated.
        """
        with store.open() as database:
            record = CallStore(database, "run-1")
            for number in (1, 2):
                send(record, number)
                reply_to(record, number, Completion(text=f"the verdict is {number} of 3"))
            stored = database.read("SELECT body_hash FROM call WHERE key = ?", (key(1),))[0][0]
        store.flip(stored if where == "the hash" else b"the verdict is 1 of 3")
        with store.open() as database:
            record = CallStore(database, "run-2")
            served = set(record.lookup([key(1), key(2)]))
            damaged = record.summary().damaged
            measured(f"1 bit of {where}: {damaged} found, {len(served & {key(1)})} served")
            assert served == {key(2)}
            assert damaged == 1
            send(record, 1)
            reply_to(record, 1, Completion(text="the verdict is 1 of 3"))
            assert set(record.lookup([key(1), key(2)])) == {key(1), key(2)}
            assert record.summary().repeated == 0

    def test_a_reply_under_another_key_is_never_served(self, database: Database) -> None:
        """The hash covers the key as well as the body."""
        store = CallStore(database, "run-1")
        for number in (1, 2):
            send(store, number)
            reply_to(store, number, Completion(text=str(number)))

        def swap(connection: Connection) -> None:
            connection.execute(
                "UPDATE call SET (response_json, body_hash) = (SELECT response_json, body_hash FROM"
                " call WHERE key = ?) WHERE key = ?",
                (key(1), key(2)),
            )

        database.submit(swap).result()
        assert set(store.lookup([key(1), key(2)])) == {key(1)}

    def test_the_request_is_kept_without_credentials(
        self, database: Database, store: Store
    ) -> None:
        """Its body can be read again; a password in the endpoint's address cannot."""
        record = CallStore(database, "run-1")
        endpoint = "https://me:sk-CANARY@example.org/v1?api-key=sk-CANARY"
        name = request(1).key(endpoint=endpoint, model=MODEL)
        for asked in (request(1), request(2), Request(messages=())):
            name = asked.key(endpoint=endpoint, model=MODEL)
            record.sent(name, reserved_cost=None, reserved_tokens=1).result()
            record.done(name, ANSWER, request=asked, endpoint=endpoint, model=MODEL).result()
            kept = json.loads(
                database.read("SELECT request_json FROM request ORDER BY seq DESC")[0][0]
            )
            assert kept == {"endpoint": "https://example.org/v1", "model": MODEL, **asked.body()}
        assert database.read("SELECT count(*) FROM request_frame") == [(1,)]
        database.close()
        assert store.holds(b"example.org")
        assert not store.holds(b"CANARY")

    def test_a_lookup_takes_any_number_of_keys(self, database: Database) -> None:
        """More than fit into one SELECT are found as well."""
        store = CallStore(database, "run-1")
        for number in range(1100):
            store.sent(key(number), reserved_cost=0.0, reserved_tokens=1)
            reply = Completion(text=str(number))
            last = store.done(
                key(number), reply, request=request(number), endpoint=ENDPOINT, model=MODEL
            )
        last.result()
        found = store.lookup([key(number) for number in range(2000)])
        assert {k: v.text for k, v in found.items() if isinstance(v, Completion)} == {
            key(number): str(number) for number in range(1100)
        }


KILLED = f"""{OPENING}
from judgewright.judges.models.model import Completion, Message, Request
from judgewright.runs.store.calls import CallStore
with opened() as d:
    store = CallStore(d, "run-1")
    for number in range(100_000):
        r = Request(messages=(Message("system", "be strict"), Message("user", f"row {{number}}")), repeat=1)
        k = r.key(endpoint="http://127.0.0.1:1/v1", model="m")
        if k in store.lookup([k]):
            continue
        store.sent(k, reserved_cost=1.0, reserved_tokens=7).result()
        print("billed", number, flush=True)
        answer = Completion(text=str(number), cost=0.5, tokens_in=1)
        store.done(k, answer, request=r, endpoint="http://127.0.0.1:1/v1", model="m").result()
"""  # noqa: E501


def test_a_run_killed_at_any_moment_pays_at_most_one_call_twice(store: Store) -> None:
    """Three kills of a run with one call in flight: nothing answered is asked again, the rest is in
    doubt.
    """
    store.open().close()
    billed = list[int]()
    for lines in (40, 23, 61):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, *store.words], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        billed += [int(process.stdout.readline().split()[1]) for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        billed += [int(line.split()[1]) for line in process.stdout if line.endswith("\n")]
        process.stdout.close()
        process.wait()
    with store.open() as database:
        record = CallStore(database, "run-1")
        summary, spending = record.summary(), record.spending()
        assert set(record.lookup([key(i) for i in billed])) >= {key(i) for i in billed[:-1]}
    assert len(billed) - len(set(billed)) <= 3
    assert summary.repeated == 0
    assert summary.in_doubt <= 3
    assert summary.done == len(set(billed)) or summary.done == len(set(billed)) - 1
    assert spending.in_doubt_cost == summary.in_doubt * 1.0
    # The record never says less than was billed.
    assert summary.done + summary.in_doubt >= len(billed)


def test_a_copied_workspace_still_answers(tmp_path: Path) -> None:
    """After closing, the one file holds everything."""
    with SqliteDatabase(tmp_path / "a" / "j.db") as database:
        store = CallStore(database, "run-1")
        send(store, 1)
        reply_to(store, 1, ANSWER)
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a" / "j.db", tmp_path / "b" / "j.db")
    with SqliteDatabase(tmp_path / "b" / "j.db") as database:
        assert set(CallStore(database, "run-9").lookup([key(1)])) == {key(1)}


def test_the_record_agrees_with_the_bill_of_a_faulty_endpoint(store: Store) -> None:
    """What the server billed is what the record holds as paid or in doubt; asked again, nothing is
    billed.
    """
    faults = Faults.parse(
        "429=0.15,503=0.1,timeout=0.05,badjson=0.05,garbage=0.1,retry_after=0.01,hold=0.01,once=true"
    )
    with Server(make_app(Simulated(), faults)) as server, store.open() as database:
        for run_id in ("run-1", "run-2"):
            endpoint = Endpoint(name="simulated", base_url=server.base_url, api_key=None)
            with Client(endpoint, record=CallStore(database, run_id), concurrency=16) as client:
                assert all(
                    isinstance(answer, Completion)
                    for answer in client.ask([request(i) for i in range(80)])
                )
        with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/stats") as answer:
            stats = json.load(answer)
        first, second = (CallStore(database, run_id).summary() for run_id in ("run-1", "run-2"))
    assert (first.done, second.done, second.attempts) == (80, 0, 0)
    assert first.attempts == stats["requests"] > 80
    assert first.done + first.in_doubt == stats["billed"] > 80
    assert first.not_charged == stats["faults"]["429"] + stats["faults"]["503"]
    assert first.repeated == 0


def test_a_text_that_a_server_cannot_hold_spoils_no_reply(database: Database) -> None:
    """A zero byte in what an endpoint says of itself or of an error; texts of replies and requests
    hold any.
    """
    record = CallStore(database, "run")
    send(record, 1)
    reply_to(record, 1, Completion(text="a\0b", model_returned="m\0", fingerprint="f\0"))
    send(record, 2)
    record.failed(key(2), FailedCall(message="no\0")).result()
    found = record.lookup([key(1), key(2)])
    answer = found[key(1)]
    assert isinstance(answer, Completion)
    assert answer.text == "a\0b"
    assert isinstance(found[key(2)], FailedCall)


def test_a_reply_is_kept_although_another_session_entered_its_attempt(store: Store) -> None:
    """As for a batch that comes back after days: the attempt is found by its call."""
    request = Request(messages=(Message("user", "row"),))
    key = request.key(endpoint="http://e/v1", model="m")
    with store.open() as database:
        first = CallStore(database, "run")
        first.sent(key, reserved_cost=None, reserved_tokens=1).result()
    with store.open() as database:
        second = CallStore(database, "run")
        late = Completion(text="late", tokens_in=3)
        second.done(key, late, request=request, endpoint="http://e/v1", model="m").result()
        assert second.summary().done == 1
        assert second.spending().settled_tokens == 3
