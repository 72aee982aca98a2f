"""What one workspace knows, entered in another one as well: runs, calls, labels, looks and the rows
they name.

Nothing in the source is changed, and what stands in the target stays. Done again, it enters only
what is new, so a merge that was cut off is simply done again. Two workspaces that tell the same run
in two ways are refused before anything is entered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...judges import InputError
from .connection import Connection
from .database import Database
from .ledger import merge_ledgers, require_mergeable

_PART = 500
"""Lines that are entered in one commit."""
Line = tuple[Any, ...]  # Any: SQL values
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What was new to the target."""

    runs: int
    """Runs that are new, or have gone further."""
    events: int
    calls: int
    attempts: int
    labels: int
    looks: int
    """Entries of the ledger."""
    differing: int
    """Calls that each workspace has an answer of its own to; the target's stays."""


def merge(source: Database, target: Database) -> Merged:
    """Enter what the source knows in the target.

    Args:
        source: Whose runs, calls, labels and looks are entered.
        target: Where.

    Raises:
        InputError: A run, or a look, has gone two ways; all of them are named, and nothing was
            entered.
        WorkspaceError: Somebody works on one of the runs, or a workspace cannot be read or written.
    """
    ahead = _runs_ahead(source, target)
    require_mergeable(source, target)
    for database in (source, target):
        database.claim()
        for run_id in ahead:
            database.claim(run_id)
    _copy_bodies(source, target)
    calls, differing = _merge_calls(source, target)
    attempts = _merge_attempts(source, target)
    events = sum(_merge_run(source, target, run_id, since) for run_id, since in ahead.items())
    return Merged(
        runs=len(ahead),
        events=events,
        calls=calls,
        attempts=attempts,
        labels=_merge_labels(source, target),
        looks=merge_ledgers(source, target),
        differing=differing,
    )


def _runs_ahead(source: Database, target: Database) -> dict[str, int]:
    """Return the runs that are new to the target or have come further, and from which event on."""
    ahead: dict[str, int] = {}
    differing: list[str] = []
    there = {run_id: (state, updated) for run_id, state, updated in target.read(_STATES)}
    for run_id, state, updated in source.read(_STATES):
        if run_id not in there:
            ahead[run_id] = 0
            continue
        ours, theirs = (_link_hashes(database, run_id) for database in (source, target))
        shared = min(len(ours), len(theirs))
        if ours[:shared] != theirs[:shared]:
            differing.append(run_id)
        elif len(ours) > len(theirs) or (
            len(ours) == len(theirs) and (updated, state) > there[run_id][::-1]
        ):
            ahead[run_id] = len(theirs)
    if differing:
        raise InputError(
            f"{', '.join(differing)} went on in both workspaces, and in two ways; nothing was"
            " merged",
            hint="keep both workspaces, or `judgewright runs export` the one run",
        )
    return ahead


def _link_hashes(database: Database, run_id: str) -> list[bytes]:
    """Return the hash of each event of a run, which tells all before it."""
    return [
        link
        for (link,) in database.read(
            "SELECT hash FROM event WHERE run_id = ? ORDER BY seq", (run_id,)
        )
    ]


def _merge_run(source: Database, target: Database, run_id: str, since: int) -> int:
    run = source.read(f"SELECT {_RUN} FROM run WHERE run_id = ?", (run_id,))[0]  # noqa: S608 - our own names
    events = source.read(_EVENTS, (run_id, since))

    def enter(connection: Connection) -> None:
        connection.execute(_ENTER_RUN, run)
        for event in events:
            connection.execute(_ENTER_EVENT, event)

    target.submit(enter).result()
    return len(events)


def _copy_bodies(source: Database, target: Database) -> None:
    """Copy what is named by its hash: frames of requests, and what the ledger's entries and calls
    name.
    """
    for table, columns in (
        ("request_frame", "hash, head, tail"),
        ("known_rows", "hash, body"),
        ("row_prints", "hash, body"),
        ("side", "hash, body"),
    ):
        lines = source.read(f"SELECT {columns} FROM {table}")  # noqa: S608 - our own names
        marks = ", ".join("?" * (columns.count(",") + 1))
        insert = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
        _enter(
            target,
            lines,
            lambda connection, line, insert=insert: connection.execute(insert, line).rowcount,
        )


def _merge_calls(source: Database, target: Database) -> tuple[int, int]:
    entered = differing = 0
    for lines in _pages(source, "call", _CALL):
        keys = [line[1] for line in lines]
        found = target.read(
            f"SELECT key, body_hash FROM call WHERE key IN ({_marks(keys)}) AND state = 'done'",  # noqa: S608
            keys,
        )
        known = dict(found)
        differing += sum(known.get(line[1], line[_BODY_HASH]) != line[_BODY_HASH] for line in lines)
        entered += _enter(
            target,
            [line[1:] for line in lines if line[1] not in known],
            lambda connection, line: connection.execute(_ENTER_CALL, line).rowcount,
        )
    failures = source.read(f"SELECT {_FAILURE} FROM failure")  # noqa: S608 - our own names
    _enter(
        target, failures, lambda connection, line: connection.execute(_ENTER_FAILURE, line).rowcount
    )
    return entered, differing


def _merge_attempts(source: Database, target: Database) -> int:
    """Enter attempts, which are known again by their run, call and time; one that was open there
    may be settled.
    """
    entered = 0
    for (run_id,) in source.read("SELECT DISTINCT run_id FROM attempt"):
        there = {
            (key, created): state for key, created, state in target.read(_ATTEMPTS_OF, (run_id,))
        }
        lines = source.read(
            f"SELECT {_ATTEMPT} FROM attempt WHERE run_id = ? ORDER BY seq",  # noqa: S608
            (run_id,),
        )
        new = [line for line in lines if (line[0], line[1]) not in there]
        settled = [
            line for line in lines if line[3] != "sent" and there.get((line[0], line[1])) == "sent"
        ]
        entered += _enter(
            target, new, lambda connection, line: connection.execute(_ENTER_ATTEMPT, line).rowcount
        )
        _enter(target, settled, _settle)
    return entered


def _settle(connection: Connection, line: Line) -> int:
    key, created, run_id, state, _, _, _, cost, tokens, settled, _ = line
    values = (state, cost, tokens, settled, key, created, run_id)
    return connection.execute(_SETTLE_ATTEMPT, values).rowcount


def _merge_labels(source: Database, target: Database) -> int:
    """Enter labels in their order; what a record replaces is found again under its new number."""
    renumbered: dict[int, int] = {}

    def enter(connection: Connection, line: Line) -> int:
        seq, replaces, *values = line
        known = connection.execute(_FIND_LABEL, values[:5]).fetchone()
        if known is None:
            replaced = None if replaces is None else renumbered[replaces]
            renumbered[seq] = connection.execute(_ENTER_LABEL, (*values, replaced)).fetchone()[0]
        else:
            renumbered[seq] = known[0]
        return known is None

    lines = source.read(f"SELECT seq, replaces, {_LABEL} FROM label ORDER BY seq")  # noqa: S608 - our own names
    return _enter(target, lines, enter)


def _enter(target: Database, lines: Sequence[Line], one: Callable[[Connection, Line], int]) -> int:
    """Enter lines, some in each commit, and return how many were new."""
    entered = 0
    for part in _in_parts(lines):
        entered += target.submit(
            lambda connection, part=part: sum(one(connection, line) for line in part)
        ).result()
    return entered


def _in_parts(lines: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield lines, as many at once as are entered in one commit."""
    for start in range(0, len(lines), _PART):
        yield lines[start : start + _PART]


def _pages(source: Database, table: str, columns: str) -> Iterator[list[Line]]:
    last = 0
    sql = f"SELECT seq, {columns} FROM {table} WHERE seq > ? ORDER BY seq LIMIT {_PART}"  # noqa: S608 - our own names
    while lines := source.read(sql, (last,)):
        yield lines
        last = lines[-1][0]


def _marks(values: Sequence[object]) -> str:
    """Return as many question marks as there are values."""
    return ", ".join("?" * len(values))


_STATES = "SELECT run_id, state, updated FROM run ORDER BY seq"
_RUN = "run_id, kind, state, config_json, created, updated, pid, host"
_ENTER_RUN = f"""
INSERT INTO run ({_RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, config_json = excluded.config_json,
    updated = excluded.updated, pid = excluded.pid, host = excluded.host
"""  # noqa: S608 - our own names
_EVENT = "run_id, seq, kind, payload_json, created, hash"
_EVENTS = f"SELECT {_EVENT} FROM event WHERE run_id = ? AND seq >= ? ORDER BY seq"  # noqa: S608 - our own names
_ENTER_EVENT = f"INSERT INTO event ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own names
_CALL = (
    "key, run_id, purpose, request_json, state, attempts, response_json, body_hash, http_status,"
    " tokens_in, tokens_out, tokens_cached, cost, price, model_returned, system_fingerprint,"
    " created, finished, frame"
)
_BODY_HASH = 8
_ENTER_CALL = (
    f"INSERT INTO call ({_CALL}) VALUES ({_marks(_CALL.split(','))}) ON CONFLICT DO NOTHING"  # noqa: S608
)
_FAILURE = "run_id, key, message, status, created"
_ENTER_FAILURE = f"INSERT INTO failure ({_FAILURE}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608
_ATTEMPT = (
    "key, created, run_id, state, repeated, reserved_cost, reserved_tokens, cost, tokens, settled,"
    " shard"
)
_ATTEMPTS_OF = "SELECT key, created, state FROM attempt WHERE run_id = ?"
_ENTER_ATTEMPT = f"INSERT INTO attempt ({_ATTEMPT}) VALUES ({_marks(_ATTEMPT.split(','))})"  # noqa: S608
_SETTLE_ATTEMPT = """
UPDATE attempt SET state = ?, cost = ?, tokens = ?, settled = ? WHERE key = ? AND created = ? AND run_id = ?
"""  # noqa: E501
_LABEL = (
    'queue, action, row_id, annotator, created, row_key, "group", label, reason, seconds,'
    " probability, design"
)
_FIND_LABEL = (
    "SELECT seq FROM label WHERE queue = ? AND action = ? AND row_id = ? AND annotator = ? AND"
    " created = ?"
)
_ENTER_LABEL = (
    f"INSERT INTO label ({_LABEL}, replaces) VALUES ({_marks(_LABEL.split(','))}, ?) RETURNING seq"  # noqa: S608
)
