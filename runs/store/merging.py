"""What one workspace knows, entered in another one as well: runs, calls, labels, looks and the rows
they name.

Nothing in the source is changed, and what stands in the target stays. Done again, it enters only
what is new, so a merge that was cut off is simply done again. Two workspaces that tell the same run
in two ways are refused before anything is entered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...judges import InputError
from .database import Database
from .jobs import JobQueue
from .ledger import merge_ledgers, require_mergeable
from .workspace import Workspace
from .writer import Connection, Cursor

_PART = 500
"""Lines that are entered in one commit."""
Line = tuple[Any, ...]  # Any: SQL values


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


def merge_workspaces(source: Workspace, target: Workspace) -> tuple[Merged, int]:
    """Enter what a workspace knows in another one, with the jobs that have ended; return what was
    new, and how many jobs.

    Raises:
        InputError: There is no such source, both are the same, or see `merge`.
        WorkspaceError: See `merge`.
    """
    source.require()
    if source.is_also(target):
        raise InputError(f"{source.place} cannot be merged into itself")
    merged = merge(source.database, target.database)
    return merged, JobQueue(target.place, None).take_over(JobQueue(source.place, None))


def merge(source: Database, target: Database) -> Merged:
    """Enter what the source knows in the target.

    Args:
        source: Whose runs, calls, labels and looks are entered.

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
    # What entries of the ledger, calls and runs name by its hash comes before them.
    _copy(source, target, "request_frame", ("hash", "head", "tail"))
    for table in ("known_rows", "row_prints", "side"):
        _copy(source, target, table, ("hash", "body"))
    _copy(source, target, "bank", ("version", "body"))
    calls, differing = _merge_calls(source, target)
    attempts = _merge_attempts(source, target)
    events = sum(_merge_run(source, target, run_id, since) for run_id, since in ahead.items())
    # A name that another run has there is left out; the tags are not.
    for columns in (("run_id", "name", "tags"), ("run_id", "tags")):
        _copy(source, target, "run_name", columns)
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
        # The hash of an event tells all before it.
        ours, theirs = (database.read(_LINKS, (run_id,)) for database in (source, target))
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
            hint="keep both workspaces, or `judgewright runs show --out` the one run",
        )
    return ahead


def _merge_run(source: Database, target: Database, run_id: str, since: int) -> int:
    run = source.read(f"SELECT {', '.join(_RUN)} FROM run WHERE run_id = ?", (run_id,))[0]  # noqa: S608
    events = source.read(_EVENTS, (run_id, since))

    def enter(connection: Connection) -> None:
        connection.execute(_ENTER_RUN, run)
        for event in events:
            connection.execute(_insert("event", _EVENT), event)

    target.submit(enter).result()
    return len(events)


def _merge_calls(source: Database, target: Database) -> tuple[int, int]:
    entered = differing = last = 0
    there = dict(target.read("SELECT key, body_hash FROM call WHERE state = 'done'"))
    insert = _insert("call", _CALL)
    sql = f"SELECT {', '.join(_CALL)}, seq FROM call WHERE seq > ? ORDER BY seq LIMIT {_PART}"  # noqa: S608
    while lines := source.read(sql, (last,)):
        last = lines[-1][-1]
        new: list[Line] = []
        for *line, _ in lines:
            key, body_hash = line[:2]
            differing += there.get(key, body_hash) != body_hash
            if key not in there:
                new.append(tuple(line))
        entered += _enter(target, new, lambda connection, line: connection.execute(insert, line))
    _copy(source, target, "failure", ("run_id", "key", "message", "status", "created"))
    return entered, differing


def _merge_attempts(source: Database, target: Database) -> int:
    """Enter attempts, which are known again by their run, call and time; one that was open there
    may be settled.
    """
    insert = _insert("attempt", _ATTEMPT)
    entered = 0
    for (run_id,) in source.read("SELECT DISTINCT run_id FROM attempt"):
        there = {
            (key, created): state for key, created, state in target.read(_ATTEMPTS_OF, (run_id,))
        }
        lines = source.read(
            f"SELECT {', '.join(_ATTEMPT)} FROM attempt WHERE run_id = ? ORDER BY seq",  # noqa: S608
            (run_id,),
        )
        new = [line for line in lines if line[:2] not in there]
        settled = [line for line in lines if line[3] != "sent" and there.get(line[:2]) == "sent"]
        entered += _enter(target, new, lambda connection, line: connection.execute(insert, line))
        _enter(target, settled, _settle)
    return entered


def _settle(connection: Connection, line: Line) -> Cursor:
    key, created, run_id, state, _, _, _, cost, tokens, settled, _ = line
    values = (state, cost, tokens, settled, key, created, run_id)
    return connection.execute(_SETTLE_ATTEMPT, values)


def _merge_labels(source: Database, target: Database) -> int:
    """Enter labels in their order; what a record replaces is found again under its new number."""
    renumbered: dict[int | None, int | None] = {None: None}
    insert = f"{_insert('label', (*_LABEL, 'replaces'))} RETURNING seq"

    def enter(connection: Connection, lines: Sequence[Line]) -> int:
        entered = 0
        for seq, replaces, *values in lines:
            row = connection.execute(_FIND_LABEL, values[:5]).fetchone()
            if row is None:
                row = connection.execute(insert, (*values, renumbered[replaces])).fetchone()
                entered += 1
            renumbered[seq] = row[0]
        return entered

    columns = ", ".join(f'"{name}"' for name in _LABEL)
    lines = source.read(f"SELECT seq, replaces, {columns} FROM label ORDER BY seq")  # noqa: S608
    return target.submit(lambda connection: enter(connection, lines)).result()


def _copy(source: Database, target: Database, table: str, columns: tuple[str, ...]) -> None:
    """Enter the lines of a table that are not there."""
    lines = source.read(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608 - our own names
    insert = _insert(table, columns)
    _enter(target, lines, lambda connection, line: connection.execute(insert, line))


def _insert(table: str, columns: Sequence[str]) -> str:
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
    return f'INSERT INTO "{table}" ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING'  # noqa: S608


def _enter(
    target: Database, lines: Sequence[Line], one: Callable[[Connection, Line], Cursor]
) -> int:
    """Enter lines, some in each commit, and return how many were new."""
    entered = 0
    for start in range(0, len(lines), _PART):
        part = lines[start : start + _PART]
        entered += target.submit(
            lambda connection, part=part: sum(one(connection, line).rowcount for line in part)
        ).result()
    return entered


_STATES = "SELECT run_id, state, updated FROM run ORDER BY seq"
_LINKS = "SELECT hash FROM event WHERE run_id = ? ORDER BY seq"
_RUN = ("run_id", "kind", "state", "config_json", "created", "updated", "pid", "host")
_ENTER_RUN = f"""
INSERT INTO run ({", ".join(_RUN)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, config_json = excluded.config_json,
    updated = excluded.updated, pid = excluded.pid, host = excluded.host
"""  # noqa: S608 - our own names
_EVENT = ("run_id", "seq", "kind", "payload_json", "created", "hash")
_EVENTS = f"SELECT {', '.join(_EVENT)} FROM event WHERE run_id = ? AND seq >= ? ORDER BY seq"  # noqa: S608
_CALL = (
    *("key", "body_hash", "run_id", "purpose", "request_json", "state", "attempts"),
    *("response_json", "http_status", "tokens_in", "tokens_out", "tokens_cached", "cost", "price"),
    *("model_returned", "system_fingerprint", "created", "finished", "frame"),
)
_ATTEMPT = (
    *("key", "created", "run_id", "state", "repeated", "reserved_cost", "reserved_tokens"),
    *("cost", "tokens", "settled", "shard"),
)
_ATTEMPTS_OF = "SELECT key, created, state FROM attempt WHERE run_id = ?"
_SETTLE_ATTEMPT = """
UPDATE attempt SET state = ?, cost = ?, tokens = ?, settled = ?
WHERE key = ? AND created = ? AND run_id = ?
"""
_LABEL = (
    *("queue", "action", "row_id", "annotator", "created", "row_key", "group", "label", "reason"),
    *("seconds", "probability", "design"),
)
_FIND_LABEL = (
    "SELECT seq FROM label WHERE queue = ? AND action = ? AND row_id = ? AND annotator = ? AND"
    " created = ?"
)
