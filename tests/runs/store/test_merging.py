"""Workspaces merged, of every pair of kinds: all of one is found in the other, once, and nothing is
lost.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.judges.models import Completion, FailedCall, Message, Request
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.runs.store import (
    CallStore,
    Database,
    HoldoutLedger,
    LabelStore,
    NewLabel,
    RunJournal,
    create_run,
    get_run,
    list_runs,
    set_state,
)
from judgewright.runs.store.merging import Merged, merge

from ...look_requests import look_at
from .stores import SqliteStore, Store

ENDPOINT, MODEL = "http://127.0.0.1:1/v1", "m"
NOTHING = Merged(runs=0, events=0, calls=0, attempts=0, labels=0, looks=0, differing=0)


@pytest.fixture(params=["sqlite", "postgres"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Another store, of each kind."""
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "other")
    server = request.getfixturevalue("postgres")
    from ...plugins.postgres.store import PostgresStore

    return PostgresStore(server, tmp_path / "other")


def answer(database: Database, run_id: str, number: int, text: str) -> bytes:
    """Pay for a call."""
    request = Request(messages=(Message("user", f"row {number}"),))
    key = request.key(endpoint=ENDPOINT, model=MODEL)
    record = CallStore(database, run_id)
    record.sent(key, reserved_cost=0.5, reserved_tokens=9).result()
    record.done(
        key, Completion(text=text, cost=0.25), request=request, endpoint=ENDPOINT, model=MODEL
    ).result()
    return key


def label(database: Database, queue: str, row_id: str, replaces: int | None = None) -> None:
    """Label a row, or correct the label."""
    new = NewLabel(
        queue=queue,
        action="label",
        row_key=b"12345678",
        row_id=row_id,
        group=row_id,
        label=1.0,
        annotator="ann",
        seconds=1.5,
        probability=0.5,
        design="all",
        replaces=replaces,
    )
    assert LabelStore(database).append(new, after=replaces or 0)


def fill(database: Database, *, salt: str) -> str:
    """Run something: calls, one of them given up, events, labels with a correction, a look."""
    run_id = create_run(database, "optimize", {"salt": salt})
    for number in range(3):
        answer(database, run_id, number, "the same")
    answer(database, run_id, 3, salt)
    record = CallStore(database, run_id)
    record.sent(b"k" * 32, reserved_cost=1.0, reserved_tokens=7).result()
    record.failed(b"k" * 32, FailedCall(message="no")).result()
    journal = RunJournal(database, run_id)
    journal.record("split", {"salt": salt})
    journal.record("step", {"n": 1})
    label(database, run_id, "a")
    label(database, run_id, "a", LabelStore(database).records(run_id)[-1].seq)
    ledger = HoldoutLedger(database)
    look = ledger.begin(look_at("h", run_id, "a", salt))
    ledger.conclude(look, outcome="refused", reason="because")
    set_state(database, run_id, "stopped")
    database.release()
    return run_id


def test_all_of_one_is_in_the_other_once(store: Store, other: Store) -> None:
    """Runs, events, calls, money, labels and looks; merged again, nothing is new, and the source is
    as it was.
    """
    with store.open() as source, other.open() as target:
        one, two = fill(source, salt="one"), fill(target, salt="two")
        keep = "INSERT INTO bank (version, body) VALUES ('0123456789ab', '{}')"
        source.submit(lambda connection: connection.execute(keep)).result()
        before = (
            CallStore(source, one).summary(),
            LabelStore(source).records(),
            HoldoutLedger(source).history(),
        )
        merged = merge(source, target)
        # Three answers are the same in both, one is not: the target keeps its own.
        assert merged == Merged(
            runs=1, events=2, calls=0, attempts=5, labels=2, looks=2, differing=1
        )
        source.release()
        target.release()
        assert merge(source, target) == replace(NOTHING, differing=1)
        assert before == (
            CallStore(source, one).summary(),
            LabelStore(source).records(),
            HoldoutLedger(source).history(),
        )
        assert [run.run_id for run in list_runs(target)] == [two, one]
        assert target.read("SELECT version, body FROM bank") == [("0123456789ab", "{}")]
        assert get_run(target, one) == get_run(source, one)
        assert RunJournal(target, one).events() == RunJournal(source, one).events()
        assert CallStore(target, one).summary() == before[0]
        mine, theirs = LabelStore(target).records(one), LabelStore(source).records(one)
        assert [(r.row_id, r.created, r.replaces is None) for r in mine] == [
            (r.row_id, r.created, r.replaces is None) for r in theirs
        ]
        assert mine[1].replaces == mine[0].seq
        ledger = HoldoutLedger(target)
        assert ledger.verify() == 4
        assert [record.look.after for record in ledger.history().looks("h")] == ["two", "one"]
        assert ledger.begin(look_at("h", "next", "a", "c")).number == 3


def test_a_run_goes_on_in_the_other_and_comes_back(store: Store, other: Store) -> None:
    """Further events, a call that was open and now is settled, and a look that was concluded
    there.
    """
    with store.open() as source, other.open() as target:
        run_id = create_run(source, "optimize", {})
        RunJournal(source, run_id).record("split", {})
        request = Request(messages=(Message("user", "row"),))
        key = request.key(endpoint=ENDPOINT, model=MODEL)
        CallStore(source, run_id).sent(key, reserved_cost=0.5, reserved_tokens=9).result()
        HoldoutLedger(source).begin(look_at("h", run_id, "a", "b"))
        source.release()
        assert merge(source, target) == Merged(
            runs=1, events=1, calls=0, attempts=1, labels=0, looks=1, differing=0
        )
        reply = Completion(text="late", cost=0.25)
        CallStore(target, run_id).done(
            key, reply, request=request, endpoint=ENDPOINT, model=MODEL
        ).result()
        RunJournal(target, run_id).append("decision", {"yes": True})
        set_state(target, run_id, "done")
        look = HoldoutLedger(target).begin(look_at("h", run_id, "a", "b"))
        HoldoutLedger(target).conclude(look, outcome="accepted", reason="better")
        target.release()
        source.release()
        assert merge(target, source) == Merged(
            runs=1, events=1, calls=1, attempts=0, labels=0, looks=1, differing=0
        )
        assert get_run(source, run_id) == get_run(target, run_id)
        assert CallStore(source, run_id).summary() == CallStore(target, run_id).summary()
        assert HoldoutLedger(source).history().looks("h") == HoldoutLedger(target).history().looks(
            "h"
        )
        source.release()
        target.release()
        assert merge(source, target) == merge(target, source) == NOTHING


def test_a_run_that_went_two_ways_is_named_and_nothing_is_merged(
    store: Store, other: Store
) -> None:
    """Both tell it as they did, and nothing else was entered either."""
    with store.open() as source, other.open() as target:
        run_id = create_run(source, "optimize", {})
        RunJournal(source, run_id).record("split", {})
        source.release()
        merge(source, target)
        source.release()
        target.release()
        for database, way in ((source, "left"), (target, "right")):
            RunJournal(database, run_id).append("step", {"way": way})
            database.release()
        fill(source, salt="another")
        with pytest.raises(InputError, match=run_id):
            merge(source, target)
        assert [run.run_id for run in list_runs(target)] == [run_id]
        assert RunJournal(target, run_id).events()[1].payload == {"way": "right"}


def test_looks_that_were_concluded_in_two_ways_are_named(store: Store, other: Store) -> None:
    """Neither word is taken over the other."""
    with store.open() as source, other.open() as target:
        HoldoutLedger(source).begin(look_at("h", "r", "a", "b"))
        source.release()
        merge(source, target)
        source.release()
        target.release()
        for database, outcome in ((source, "accepted"), (target, "refused")):
            look = HoldoutLedger(database).begin(look_at("h", "r", "a", "b"))
            HoldoutLedger(database).conclude(look, outcome=outcome, reason="so")
            database.release()
        with pytest.raises(InputError, match="two ways"):
            merge(source, target)


def test_a_prompt_that_was_measured_counts_as_measured_after_the_looks_that_are_there(
    store: Store, other: Store
) -> None:
    """An accept in the target does not make it forget what was seen in the source."""
    from .test_ledger import known

    with store.open() as source, other.open() as target:
        HoldoutLedger(source).measured("seen", known(50, 80), by="bench")
        ledger = HoldoutLedger(target)
        ledger.remember(SeenRows(run_id="run", open=known(0, 50), sealed={"h": known(50, 80)}))
        look = ledger.begin(look_at("h", "run", "a", "b"))
        ledger.conclude(look, outcome="accepted", reason="better")
        assert ledger.begin(look_at("h", "other", "b", "c")).measured == 0
        for database in (source, target):
            database.release()
        assert merge(source, target).looks == 1
        assert ledger.begin(look_at("h", "third", "b", "d")).measured == 1


def test_looks_in_a_copy_count_when_it_is_merged_back(tmp_path: Path) -> None:
    """Until then each ledger knows its own."""
    one, copy = SqliteStore(tmp_path), SqliteStore(tmp_path / "copy")
    with one.open() as database:
        HoldoutLedger(database).begin(look_at("h", "first", "a", "b"))
    shutil.copytree(one.path.parent, copy.path.parent)
    with copy.open() as database:
        assert HoldoutLedger(database).begin(look_at("h", "second", "a", "c")).number == 2
        database.release()
    with copy.open() as source, one.open() as target:
        assert merge(source, target).looks == 1
        assert HoldoutLedger(target).begin(look_at("h", "third", "a", "d")).number == 3
