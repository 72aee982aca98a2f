"""Runs and their journals in the workspace database.

The events of a run form a chain: each carries a hash over itself and the hash before it. An edited
or missing event shows when the journal is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from ...judges import InputError, WorkspaceError
from ...optimize.journal import Event, Payload, as_json, require_same
from .database import Database, Holder
from .schema import now
from .writer import Connection

LATEST = "latest"
"""What a person writes for the run that was started last."""

RunState = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run as the workspace knows it."""

    run_id: str
    kind: str
    """The command, such as `optimize` or `bench`."""
    state: RunState
    config: Mapping[str, Any]  # Any: JSON, each command has its own
    created: str
    """UTC, ISO 8601."""
    updated: str
    pid: int
    """Process of the last session."""
    host: str
    name: str = ""
    """What people call it; no two runs have the same."""
    tags: tuple[str, ...] = ()


def create_run(database: Database, kind: str, config: Mapping[str, Any]) -> str:  # Any: JSON
    """Enter a new run, running from now on, and return its id, which sorts by time of creation.

    Raises:
        InputError: The configuration is not JSON.
        WorkspaceError: The database cannot be written.
    """
    content = as_json(kind, config)
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    at = now()
    values = (run_id, kind, "running", content, at, at, os.getpid(), socket.gethostname())
    database.claim(run_id)  # what nobody has claimed is not running
    _execute(database, _CREATE, values)
    return run_id


def set_state(database: Database, run_id: str, state: RunState) -> None:
    """Say how a run stands; the calling process becomes the one that last sat over it.

    Raises:
        InputError: There is no such run.
        WorkspaceError: The database cannot be written.
    """
    values = (state, now(), os.getpid(), socket.gethostname(), run_id)
    if _execute(database, _SET_STATE, values) != 1:
        raise _unknown(run_id)


def set_config(database: Database, run_id: str, config: Mapping[str, Any]) -> None:  # Any: JSON
    """Replace a run's configuration, for a resumed run with a new budget.

    Raises:
        InputError: There is no such run, or the configuration is not JSON.
    """
    values = (as_json(get_run(database, run_id).kind, config), now(), run_id)
    _execute(database, _SET_CONFIG, values)


def _execute(database: Database, sql: str, values: tuple[object, ...]) -> int:
    """Write with one statement, and return how many rows it changed."""
    return database.submit(lambda connection: connection.execute(sql, values).rowcount).result()


def get_run(database: Database, run_id: str) -> RunRecord:
    """Return one run.

    Raises:
        InputError: There is no such run.
    """
    rows = database.read(f"{_SELECT} WHERE run_id = ?", (run_id,))
    if not rows:
        raise _unknown(run_id)
    return _run(database, rows[0])


def find_run(
    database: Database,
    name: str,
    *,
    kinds: Collection[str] = (),
    come_to: Collection[str] = (),
    unfinished: bool = False,
) -> str:
    """Return the id of the run that a person means.

    Args:
        name: An id, the beginning of one run's id alone, a run's name, or `latest`.
        kinds: What the command is for, such as `optimize`: `latest` is the latest of these, and the
            beginning of an id is compared with these; all unless given.
        come_to: `latest` has written an event of one of these kinds.
        unfinished: `latest` is one that has not ended, where there is such a run.

    Raises:
        InputError: There is no such run, or there are several, which are listed.
    """
    of = " or ".join(kinds) or "run"
    where, values = _where(kinds)
    sql = f"SELECT run_id, state FROM run{where} ORDER BY seq DESC"  # noqa: S608 - question marks only
    runs = database.read(sql, values)
    if name == LATEST:
        if not runs:
            raise InputError(f"there is no {of} in this workspace yet", hint="start one")
        if come_to:
            where, values = _where(kinds, come_to)
            sql = f"SELECT run_id, state FROM run{where} ORDER BY seq DESC"  # noqa: S608
            runs = database.read(sql, values)
        open_runs = [run for run in runs if unfinished and run[1] != "done"]
        if not runs:
            raise InputError(
                f"no {of} in this workspace has come far enough", hint="`judgewright runs list`"
            )
        return (open_runs or runs)[0][0]
    fitting = [run_id for run_id, _ in runs if name and run_id.startswith(name)]
    if name in fitting or database.read("SELECT 1 FROM run WHERE run_id = ?", (name,)):
        return name
    if named := database.read("SELECT run_id FROM run_name WHERE name = ?", (name,)):
        return named[0][0]
    if not fitting:
        raise _unknown(name)
    if len(fitting) > 1:
        raise InputError(
            f"{name!r} begins {len(fitting)} runs: {', '.join(fitting)}",
            hint="write more of the id",
        )
    return fitting[0]


def _where(kinds: Collection[str], events: Collection[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the clause that selects runs of some kinds that have written an event of some kinds;
    all where none are named.
    """
    conditions: list[str] = []
    if kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(kinds))})")
    if events:
        marks = ", ".join("?" * len(events))
        its = f"event.run_id = run.run_id AND event.kind IN ({marks})"
        conditions.append(f"EXISTS (SELECT 1 FROM event WHERE {its})")  # noqa: S608
    return f" WHERE {' AND '.join(conditions)}" if conditions else "", (*kinds, *events)


def writing_run(database: Database, holder: Holder) -> str:
    """Say which run a process writes, such as `run 20261121-031502-a1b2c3 (optimize), process 12 on
    host`.
    """
    rows = database.read(_WRITTEN_BY, (holder.pid, holder.host)) if holder.pid is not None else []
    return f"run {rows[0][0]} ({rows[0][1]}), {holder}" if rows else str(holder)


def list_runs(
    database: Database, *kinds: str, events: Collection[str] = ()
) -> tuple[RunRecord, ...]:
    """Return every run in the order they were created.

    Args:
        kinds: Only runs of these kinds. To read all takes a while where a queue holds the ids of
            many rows.
        events: Only runs that have written an event of one of these kinds.
    """
    where, values = _where(kinds, events)
    rows = database.read(f"{_SELECT}{where} ORDER BY seq", values)
    return tuple(_run(database, row) for row in rows)


@contextmanager
def run_session(database: Database, run_id: str) -> Iterator[None]:
    """Keep a run's state true while somebody works on it: running, then done, stopped or failed."""
    database.claim(run_id)
    _settle_killed(database)
    set_state(database, run_id, "running")
    try:
        yield
    except InputError:
        set_state(database, run_id, "failed")
        raise
    except BaseException:
        set_state(database, run_id, "stopped")
        raise
    set_state(database, run_id, "done")


def _settle_killed(database: Database) -> None:
    """Write down that runs whose process was killed have stopped, and that what they had in flight
    is lost.

    What was handed over to a batch or in files may still be answered; calls that several processes
    send have leases.
    """
    for run_id, config, pid, host in database.read(_RUNNING):
        if database.is_at_work(run_id, Holder(pid=pid, host=host)):
            continue
        about = json.loads(config)
        by_hand = any(about.get(name) not in (None, "live") for name in ("via", "optimizer_via"))
        alone = about.get("engine", "here") == "here" and not by_hand

        def settle(connection: Connection, run_id: str = run_id, alone: bool = alone) -> None:
            connection.execute(_STOP, (run_id,))
            if alone:
                connection.execute(_LOSE, (now(), run_id))

        database.submit(settle).result()


class RunJournal:
    """A `Journal` in the workspace database; opening it verifies what an earlier session recorded.

    Raises:
        InputError: There is no such run.
        WorkspaceError: An event was edited or removed.
    """

    def __init__(self, database: Database, run_id: str) -> None:
        get_run(database, run_id)
        self._database = database
        self._run_id = run_id
        self._events, self._head = self._load()
        self._position = 0

    def record(self, kind: str, payload: Payload) -> Event:
        """See `Journal.record`."""
        content = as_json(kind, payload)
        if self._position < len(self._events):
            event = require_same(self._events[self._position], kind, content)
        else:
            event = self._append(kind, content)
        self._position += 1
        return event

    def append(self, kind: str, payload: Payload) -> Event:
        """Write an event after the last one, such as a person's decision about a finished run."""
        self._position = len(self._events)
        return self.record(kind, payload)

    def events(self) -> tuple[Event, ...]:
        """See `Journal.events`."""
        return tuple(self._events)

    def _append(self, kind: str, content: str) -> Event:
        seq, created = len(self._events), now()
        link = _link(self._head, seq, kind, content, created)
        values = (self._run_id, seq, kind, content, created, link)

        def write(connection: Connection) -> None:
            connection.execute(_APPEND, values)
            connection.execute(
                "UPDATE run SET updated = ? WHERE run_id = ?", (created, self._run_id)
            )

        self._database.submit(write).result()
        event = Event(seq=seq, kind=kind, payload=json.loads(content), created=created)
        self._events.append(event)
        self._head = link
        return event

    def _load(self) -> tuple[list[Event], bytes]:
        events: list[Event] = []
        head = hashlib.blake2b(self._run_id.encode(), digest_size=32).digest()
        for i, (seq, kind, content, created, link) in enumerate(
            self._database.read(_EVENTS, (self._run_id,))
        ):
            head = _link(head, i, kind, content, created)
            if (seq, link) != (i, head):
                raise WorkspaceError(
                    f"event {i} of run {self._run_id} has been edited or removed; its hash does"
                    " not fit",
                    hint="the run cannot be trusted or resumed: start a new one",
                )
            events.append(Event(seq=seq, kind=kind, payload=json.loads(content), created=created))
        return events, head


_SELECT = (
    "SELECT run_id, kind, state, config_json, created, updated, pid, host, name, tags FROM run"
    " LEFT JOIN run_name USING (run_id)"
)
_CREATE = """
INSERT INTO run (run_id, kind, state, config_json, created, updated, pid, host) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: E501
_WRITTEN_BY = (
    "SELECT run_id, kind FROM run WHERE state = 'running' AND pid = ? AND host = ? ORDER BY seq"
    " DESC LIMIT 1"
)
_SET_STATE = "UPDATE run SET state = ?, updated = ?, pid = ?, host = ? WHERE run_id = ?"
_RUNNING = "SELECT run_id, config_json, pid, host FROM run WHERE state = 'running'"
_STOP = "UPDATE run SET state = 'stopped' WHERE run_id = ? AND state = 'running'"
_LOSE = "UPDATE attempt SET state = 'lost', settled = ? WHERE state = 'sent' AND run_id = ?"
_SET_CONFIG = "UPDATE run SET config_json = ?, updated = ? WHERE run_id = ?"
_APPEND = (
    "INSERT INTO event (run_id, seq, kind, payload_json, created, hash) VALUES (?, ?, ?, ?, ?, ?)"
)
_EVENTS = "SELECT seq, kind, payload_json, created, hash FROM event WHERE run_id = ? ORDER BY seq"


def _link(head: bytes, seq: int, kind: str, content: str, created: str) -> bytes:
    body = json.dumps([seq, kind, content, created]).encode()
    return hashlib.blake2b(head + body, digest_size=32).digest()


def _run(database: Database, row: tuple[Any, ...]) -> RunRecord:  # Any: SQL values
    run_id, kind, state, config, created, updated, pid, host, name, tags = row
    # A process that was killed could not say that it stopped.
    if state == "running" and not database.is_at_work(run_id, Holder(pid=pid, host=host)):
        state = "stopped"
    return RunRecord(
        run_id=run_id,
        kind=kind,
        state=state,
        config=json.loads(config),
        created=created,
        updated=updated,
        pid=pid,
        host=host,
        name=name or "",
        tags=tuple((tags or "").split()),
    )


def _unknown(run_id: str) -> InputError:
    return InputError(
        f"there is no run {run_id!r} in this workspace",
        hint="`judgewright runs list` shows them all; `latest` is the last one",
    )
