"""What a workspace no longer needs at hand, entered in another one and then taken out.

Runs that are done go, with their events, calls and attempts. The ledger and the rows it names stay, so that a look
stays a look; so do labels, and the runs that were asked for them. Nothing is taken out before it has been read back
from the archive, so an archiving that was cut off is simply done again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...judges import WorkspaceError
from .connection import Connection
from .database import Database
from .merging import in_parts, link_hashes, marks, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What was taken out."""

    runs: int
    events: int
    calls: int
    kept_calls: int
    """Calls of archived runs that stay: a run that is not done may need their answers, or the archive has others."""
    unfinished: tuple[str, ...]
    """Those runs."""


def archive(source: Database, target: Database, *, before: str) -> Archived:
    """Enter the runs that were done before a time in the target, and take them out of the source.

    Args:
        source: The workspace's database.
        target: The archive's.
        before: The time in UTC, as the tables keep it.

    Raises:
        InputError: The archive tells one of the runs, or a look, in another way; nothing was taken out.
        WorkspaceError: Somebody works on one of the runs, or a workspace cannot be read or written.
    """
    source.claim()
    runs = [run_id for (run_id,) in source.read(_DONE, (before,))]
    if not runs:
        return Archived(runs=0, events=0, calls=0, kept_calls=0, unfinished=())
    merge(source, target, only=runs)
    for run_id in runs:
        if link_hashes(source, run_id) != link_hashes(target, run_id):
            raise WorkspaceError(f"{target.name} does not have all of run {run_id}; nothing was taken out")
    events = sum(_count(source, "event", part) for part in in_parts(runs))
    calls = sum(_count(source, "call", part) for part in in_parts(runs))
    answered_there = _answers(source, target, runs)
    unfinished: list[str] = []
    for part in in_parts(runs):
        unfinished = source.submit(lambda connection, part=part: _take_out(connection, part, answered_there)).result()
    kept = sum(_count(source, "call", part) for part in in_parts(runs))
    return Archived(runs=len(runs), events=events, calls=calls - kept, kept_calls=kept, unfinished=tuple(unfinished))


def _answers(source: Database, target: Database, runs: Sequence[str]) -> list[bytes]:
    """Return the keys of calls that the archive has, with the same answer."""
    found: list[bytes] = []
    for run_id in runs:
        mine = source.read("SELECT key, body_hash FROM call WHERE run_id = ? AND state = 'done'", (run_id,))
        for part in in_parts(mine):
            keys = [key for key, _ in part]
            there = dict(target.read(f"SELECT key, body_hash FROM call WHERE key IN ({marks(keys)})", keys))  # noqa: S608
            found += [key for key, body in part if there.get(key) == body]
    return found


def _take_out(connection: Connection, runs: Sequence[str], answers: Collection[bytes]) -> list[str]:
    """Take runs out, and their calls where no other run may need the answers; return the runs that may."""
    names = marks(runs)
    unfinished = [run_id for (run_id,) in connection.execute(_UNFINISHED).fetchall()]
    for table in ("event", "failure"):
        connection.execute(f"DELETE FROM {table} WHERE run_id IN ({names})", tuple(runs))  # noqa: S608 - our own names
    connection.execute(f"DELETE FROM run WHERE run_id IN ({names})", tuple(runs))  # noqa: S608 - our own names
    if unfinished:
        return unfinished
    for part in in_parts(list(answers)):
        sql = f"DELETE FROM call WHERE run_id IN ({names}) AND key IN ({marks(part)})"  # noqa: S608 - our own names
        connection.execute(sql, (*runs, *part))
    left = f"SELECT key FROM call WHERE run_id IN ({names})"  # noqa: S608 - our own names
    sql = f"DELETE FROM attempt WHERE run_id IN ({names}) AND key NOT IN ({left})"  # noqa: S608 - our own names
    connection.execute(sql, (*runs, *runs))
    return []


def _count(source: Database, table: str, runs: Sequence[str]) -> int:
    sql = f"SELECT count(*) FROM {table} WHERE run_id IN ({marks(runs)})"  # noqa: S608 - our own names
    return source.read(sql, runs)[0][0]


_DONE = """
SELECT run_id FROM run WHERE state = 'done' AND updated < ? AND run_id NOT IN (SELECT queue FROM label) ORDER BY seq
"""
_UNFINISHED = "SELECT run_id FROM run WHERE state <> 'done' ORDER BY seq"
