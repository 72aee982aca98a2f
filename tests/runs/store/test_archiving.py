"""Old runs archived, of every pair of kinds: all of them is in the archive, what must stay is here, all comes back."""

import pytest

from judgewright.judges import InputError
from judgewright.runs.store import (
    CallStore,
    Database,
    HoldoutLedger,
    LabelStore,
    RunJournal,
    create_run,
    list_runs,
    set_state,
)
from judgewright.runs.store.archiving import archive
from judgewright.runs.store.merging import merge

from .stores import Store
from .test_merging import answer, fill, other

__all__ = ["other"]
LATER, EARLIER = "9999-01-01", "2000-01-01"


def finish(database: Database, *, salt: str, first: int) -> str:
    """Run something to its end, with a look and three calls of its own."""
    run_id = create_run(database, "optimize", {"salt": salt})
    for number in range(first, first + 3):
        answer(database, run_id, number, salt)
    journal = RunJournal(database, run_id)
    journal.record("split", {"salt": salt})
    journal.record("step", {"n": 1})
    ledger = HoldoutLedger(database)
    look = ledger.begin("h", run_id=run_id, before="a", after=salt)
    ledger.conclude(look, outcome="refused", reason="because")
    set_state(database, run_id, "done")
    database.release()
    return run_id


def count(database: Database, table: str) -> int:
    """How many lines a table has."""
    return database.read(f"SELECT count(*) FROM {table}")[0][0]


def test_runs_that_are_done_are_moved_and_come_back(store: Store, other: Store) -> None:
    """Events, calls and money are in the archive, looks in both, and a merge brings back what there was."""
    with store.open() as source, other.open() as target:
        runs = [finish(source, salt="one", first=0), finish(source, salt="two", first=3)]
        before = {run_id: (RunJournal(source, run_id).events(), CallStore(source, run_id).summary()) for run_id in runs}
        history, looks = HoldoutLedger(source).history(), HoldoutLedger(source).looks("h")
        archived = archive(source, target, before=LATER)
        assert (archived.runs, archived.events, archived.calls, archived.kept_calls) == (2, 4, 6, 0)
        assert list_runs(source) == ()
        assert [count(source, table) for table in ("event", "call", "attempt", "failure")] == [0, 0, 0, 0]
        for run_id in runs:
            assert (RunJournal(target, run_id).events(), CallStore(target, run_id).summary()) == before[run_id]
        ledger = HoldoutLedger(source)
        assert (ledger.history(), ledger.looks("h")) == (history, looks)
        assert ledger.verify() == 4
        assert ledger.begin("h", run_id="next", before="a", after="c").number == 3
        source.release()
        target.release()
        # Given again there is nothing to do.
        assert archive(source, target, before=LATER).runs == 0
        merge(target, source)
        assert [run.run_id for run in list_runs(source)] == runs
        for run_id in runs:
            assert (RunJournal(source, run_id).events(), CallStore(source, run_id).summary()) == before[run_id]
        assert [look.look.after for look in HoldoutLedger(source).looks("h")] == ["one", "two", "c"]


def test_calls_stay_while_a_run_may_need_them(store: Store, other: Store) -> None:
    """A run that was stopped stays with its labels, and so does every answer; runs that are too young stay."""
    with store.open() as source, other.open() as target:
        done = finish(source, salt="one", first=10)
        assert archive(source, target, before=EARLIER).runs == 0
        stopped = fill(source, salt="two")
        calls, attempts, labels = (count(source, table) for table in ("call", "attempt", "label"))
        archived = archive(source, target, before=LATER)
        assert (archived.runs, archived.calls, archived.kept_calls, archived.unfinished) == (1, 0, 3, (stopped,))
        assert [run.run_id for run in list_runs(source)] == [stopped]
        assert [run.run_id for run in list_runs(target)] == [done]
        assert (calls, attempts, labels) == tuple(count(source, table) for table in ("call", "attempt", "label"))
        assert count(target, "call") == 3
        assert not LabelStore(target).records()


def test_a_run_with_labels_stays(store: Store, other: Store) -> None:
    """A queue is done when its rows are labelled, and its labels are read again from then on."""
    with store.open() as source, other.open() as target:
        queue = fill(source, salt="one")
        set_state(source, queue, "done")
        source.release()
        assert archive(source, target, before=LATER).runs == 0
        assert len(LabelStore(source).records(queue)) == 2


def test_an_archiving_that_was_cut_off_is_done_again(store: Store, other: Store) -> None:
    """What was entered in the archive before, or is there with another answer, costs nothing."""
    with store.open() as source, other.open() as target:
        run_id = finish(source, salt="one", first=0)
        merge(source, target, only=[run_id])
        source.release()
        target.release()
        archived = archive(source, target, before=LATER)
        assert (archived.runs, archived.calls) == (1, 3)
        source.release()
        target.release()
        again = finish(source, salt="another answer", first=0)
        archived = archive(source, target, before=LATER)
        # The archive keeps its own answers, so these are not taken out.
        assert (archived.runs, archived.calls, archived.kept_calls) == (1, 0, 3)
        assert len(RunJournal(target, again).events()) == 2


def test_a_run_told_in_two_ways_is_not_taken_out(store: Store, other: Store) -> None:
    """The error is that of a merge, and nothing is lost."""
    with store.open() as source, other.open() as target:
        run_id = finish(source, salt="one", first=0)
        merge(source, target, only=[run_id])
        for database, number in ((source, 2), (target, 3)):
            journal = RunJournal(database, run_id)
            journal.record("split", {"salt": "one"})
            journal.record("step", {"n": 1})
            journal.record("step", {"n": number})
        source.release()
        target.release()
        with pytest.raises(InputError, match="in two ways"):
            archive(source, target, before=LATER)
        assert count(source, "event") == 3
