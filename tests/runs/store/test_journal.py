"""Runs and journals in a file: durable, comparable, and tampering shows."""

import os
import re
from pathlib import Path

import pytest

from judgewright.judges import InputError, WorkspaceError
from judgewright.runs.store import RunJournal, create_run, get_run, list_runs, set_state

from ...optimize.in_memory import MemoryJournal
from .stores import SqliteStore, Store


def test_a_run_is_created_running_and_ends_as_said(store: Store) -> None:
    """Its configuration comes back; its state is the last one set."""
    with store.open() as database:
        run_id = create_run(database, "optimize", {"judge": "groundedness", "steps": 15})
        made = get_run(database, run_id)
        assert (made.kind, made.state, made.config) == (
            "optimize",
            "running",
            {"judge": "groundedness", "steps": 15},
        )
        assert made.pid == os.getpid()
        set_state(database, run_id, "done")
        ended = get_run(database, run_id)
    assert (ended.state, ended.created) == ("done", made.created)
    assert ended.updated >= made.updated


def test_run_ids_are_names_that_sort_by_time(store: Store) -> None:
    """Each is fit for a file name, and the list is in order of creation."""
    with store.open() as database:
        made = [create_run(database, "bench", {}) for _ in range(5)]
        listed = [run.run_id for run in list_runs(database)]
    assert listed == made
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", run_id) for run_id in made)
    assert sorted(made, key=lambda run_id: run_id[:15]) == made


def test_an_unknown_run_is_named(store: Store) -> None:
    """Reading, setting and opening say which run there is not."""
    with store.open() as database:
        for act in (
            lambda: get_run(database, "nope"),
            lambda: set_state(database, "nope", "done"),
            lambda: RunJournal(database, "nope"),
        ):
            with pytest.raises(InputError, match="'nope'"):
                act()


def test_a_configuration_must_be_json(store: Store) -> None:
    """What cannot be read again is refused before the run exists."""
    with store.open() as database:
        with pytest.raises(InputError, match="'bench'"):
            create_run(database, "bench", {"path": Path("rows.jsonl")})
        assert list_runs(database) == ()


def walk(
    journal: RunJournal | MemoryJournal, seconds: float, *, steps: int = 3, f1: float = 0.5
) -> None:
    """Record what a small walk finds."""
    journal.record("split", {"train": 3, "names": ["é", "\u2028", "\ud800"]})
    for step in range(steps):
        journal.record("step", {"n": step, "f1": f1, "volatile": {"seconds": seconds}})


def test_a_walk_interrupted_and_resumed_has_the_journal_of_an_undisturbed_one(store: Store) -> None:
    """Two sittings in two openings of the file give the events of one; nothing is written twice."""
    whole = MemoryJournal()
    walk(whole, 1.0)
    with store.open() as database:
        run_id = create_run(database, "optimize", {})
        walk(RunJournal(database, run_id), 1.0, steps=1)
    with store.open() as database:
        journal = RunJournal(database, run_id)
        assert len(journal.events()) == 2
        walk(journal, 99.0)
        assert len(journal.events()) == 4
    with store.open() as database:
        kept = RunJournal(database, run_id).events()
    assert [(e.seq, e.kind, e.payload["volatile"] if e.seq else None) for e in kept] == [
        (0, "split", None),
        (1, "step", {"seconds": 1.0}),
        (2, "step", {"seconds": 99.0}),
        (3, "step", {"seconds": 99.0}),
    ]
    assert [(e.seq, e.kind) for e in kept] == [(e.seq, e.kind) for e in whole.events()]
    assert kept[0].payload == whole.events()[0].payload


def test_replaying_does_not_need_the_writers_lock(tmp_path: Path) -> None:
    """A walk over recorded events alone only reads, where one process writes at a time."""
    store = SqliteStore(tmp_path)
    with store.open() as writer, store.open() as reader:
        run_id = create_run(writer, "optimize", {})
        walk(RunJournal(writer, run_id), 1.0)
        journal = RunJournal(reader, run_id)
        walk(journal, 2.0)
        with pytest.raises(WorkspaceError, match="is writing"):
            journal.record("decision", {})


def test_a_diverging_run_is_stopped_and_writes_nothing(store: Store) -> None:
    """The message names the event and the field; the journal is as it was."""
    with store.open() as database:
        run_id = create_run(database, "optimize", {})
        walk(RunJournal(database, run_id), 1.0)
        with pytest.raises(
            WorkspaceError, match=r"resumed run diverged at event 1 \(step\): f1 was 0.5, now 0.75"
        ):
            walk(RunJournal(database, run_id), 1.0, f1=0.75)
        assert len(RunJournal(database, run_id).events()) == 4


def test_journals_of_two_runs_are_apart(store: Store) -> None:
    """Each run has its own positions."""
    with store.open() as database:
        one, two = (RunJournal(database, create_run(database, "optimize", {})) for _ in range(2))
        one.record("split", {"n": 1})
        two.record("split", {"n": 2})
        assert [e.payload for e in one.events() + two.events()] == [{"n": 1}, {"n": 2}]
        assert two.events()[0].seq == 0


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE event SET payload_json = replace(payload_json, '0.5', '0.9') WHERE seq = 1",
        "UPDATE event SET kind = 'skip' WHERE seq = 2",
        "UPDATE event SET created = '2001-01-01' WHERE seq = 0",
        "DELETE FROM event WHERE seq = 1",
        "DELETE FROM event WHERE seq = 0",
        "DELETE FROM event WHERE seq = 1; UPDATE event SET seq = seq - 1 WHERE seq > 1",
    ],
)
def test_an_edited_or_removed_event_shows(store: Store, tampering: str) -> None:
    """Opening the journal walks the chain of hashes."""
    with store.open() as database:
        run_id = create_run(database, "optimize", {})
        walk(RunJournal(database, run_id), 1.0)
    store.edit(tampering)
    with store.open() as database, pytest.raises(WorkspaceError, match="edited or removed"):
        RunJournal(database, run_id)
