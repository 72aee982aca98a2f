"""The ledger of looks in the workspace database: a chain that shows what was edited or taken away.

An entry is a look begun, a look concluded, or the rows that a run sees and those sealed to it. Of rows the chain holds
the hash of their keys, which stand in a table of their own, once for however many runs had the same rows.

Each entry carries a hash over itself and the hash before it. How many there are and the last hash are
kept twice more, in a row of their own and in `ledger.head` beside the database, so that cutting off the
last entry shows as well. It guards against slips and restored copies, not against somebody who
rewrites all three.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...judges import WorkspaceError, write_beside
from ...optimize.known_rows import KnownRows
from ...optimize.ledger import (
    MAX_LOOKS,
    Look,
    LookAsked,
    LookOutcome,
    LookRecord,
    RowMemory,
    find_look,
    find_memory,
    find_opened,
    look_asked,
    require_allowed,
    require_open,
)
from .database import Database
from .schema import now

_START = hashlib.blake2b(b"judgewright ledger", digest_size=32).digest()


@dataclass(frozen=True, slots=True)
class _Head:
    """How many entries there are, and the hash of the last one in hexadecimal."""

    entries: int
    hash: str


_EMPTY = _Head(0, _START.hex())


class HoldoutLedger:
    """A `Ledger` in the workspace database; it verifies itself before every entry.

    Args:
        max_looks: Looks on a holdout since its last accept after which `begin` refuses.
    """

    def __init__(self, database: Database, *, max_looks: int = MAX_LOOKS) -> None:
        self._database = database
        self._max_looks = max_looks
        self._file = database.path.with_name("ledger.head")

    def remember(
        self, run_id: str, *, open: KnownRows, sealed: Mapping[str, KnownRows], allow_opened: bool = False
    ) -> RowMemory:
        """See `Ledger.remember`."""

        def enter(connection: sqlite3.Connection) -> tuple[RowMemory, _Head]:
            entries = connection.execute(_ENTRIES).fetchall()
            head = self._verify(entries, connection.execute(_HEAD).fetchall())
            memories = _memories(entries, connection.execute(_KNOWN).fetchall())
            memory = find_memory(memories, run_id)
            if memory is None:
                opened = find_opened(memories, sealed, allowed=allow_opened)
                memory = RowMemory(run_id=run_id, open=open, sealed=dict(sealed), opened=opened)
                head = _append(connection, head, _memory_entry(connection, memory))
            return memory, head

        memory, head = self._database.submit(enter).result()
        self._write_file(head)
        return memory

    def begin(
        self, holdout: str, *, run_id: str, before: str, after: str, purpose: str = "gate", line: str = ""
    ) -> Look:
        """See `Ledger.begin`."""
        asked = LookAsked(holdout=holdout, run_id=run_id, before=before, after=after, purpose=purpose, line=line)

        def enter(connection: sqlite3.Connection) -> tuple[Look, _Head]:
            entries = connection.execute(_ENTRIES).fetchall()
            head = self._verify(entries, connection.execute(_HEAD).fetchall())
            records = _records(entries)
            look = look_asked(records, _memories(entries, connection.execute(_KNOWN).fetchall()), asked)
            if find_look(records, look) is None:
                require_allowed(look, self._max_looks)
                head = _append(connection, head, {"entry": "begin", **asdict(look)})
            return look, head

        look, head = self._database.submit(enter).result()
        self._write_file(head)
        return look

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """See `Ledger.conclude`."""

        def enter(connection: sqlite3.Connection) -> _Head:
            entries = connection.execute(_ENTRIES).fetchall()
            head = self._verify(entries, connection.execute(_HEAD).fetchall())
            if require_open(_records(entries), look, outcome):
                end = {"entry": "conclude", **asdict(look), "outcome": outcome, "reason": reason}
                head = _append(connection, head, end)
            return head

        self._write_file(self._database.submit(enter).result())

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """See `Ledger.looks`."""
        return tuple(r for r in _records(self._database.read(_ENTRIES)) if r.look.holdout == holdout)

    def verify(self) -> int:
        """Walk the chain and return how many entries it has.

        Raises:
            WorkspaceError: An entry, or the keys of rows it names, was edited, removed or added, here or in
                `ledger.head`.
        """
        entries, head = self._database.read(_ENTRIES), self._database.read(_HEAD)
        walked = self._verify(entries, head)
        _memories(entries, self._database.read(_KNOWN))
        return walked.entries

    def _verify(self, entries: list[tuple[Any, ...]], head: list[tuple[Any, ...]]) -> _Head:  # Any: SQL values
        link, links = _START, [_START.hex()]
        for i, (seq, holdout, content, stored) in enumerate(entries, 1):
            link = _link(link, i, holdout, content)
            if (seq, stored) != (i, link):
                raise _broken(f"entry {i} has been edited or removed")
            links.append(link.hex())
        walked = _Head(len(entries), links[-1])
        kept = _Head(head[0][0], head[0][1].hex()) if head else _EMPTY
        if kept != walked:
            raise _broken(f"it has {walked.entries} entries, its head says {kept.entries}")
        beside = self._read_file()
        # One entry behind is what a crash between the commit and the file leaves.
        if beside.entries not in (walked.entries, walked.entries - 1) or beside.hash != links[beside.entries]:
            raise _broken(f"it has {walked.entries} entries, {self._file.name} says {beside.entries}")
        return walked

    def _read_file(self) -> _Head:
        try:
            count, _, link = self._file.read_text(encoding="ascii").strip().partition(" ")
            return _Head(int(count), link)
        except FileNotFoundError:
            return _EMPTY
        except OSError as error:
            raise WorkspaceError(f"cannot read {self._file}: {error.strerror}") from error
        except ValueError:
            raise _broken(f"{self._file.name} is not readable") from None

    def _write_file(self, head: _Head) -> None:
        if head == self._read_file():
            return
        try:
            write_beside(self._file, f"{head.entries} {head.hash}\n")
        except OSError as error:
            raise WorkspaceError(f"cannot write {self._file}: {error.strerror}") from error


_ENTRIES = "SELECT seq, holdout, entry_json, hash FROM ledger ORDER BY seq"
_HEAD = "SELECT entries, hash FROM ledger_head"
_KNOWN = "SELECT hash, body FROM known_rows"
_NO_HOLDOUT = ""
"""What stands for the holdout in an entry that is about several parts."""


def _append(connection: sqlite3.Connection, head: _Head, entry: dict[str, Any]) -> _Head:  # Any: JSON
    seq = head.entries + 1
    content = json.dumps({**entry, "created": now()}, sort_keys=True)
    link = _link(bytes.fromhex(head.hash), seq, entry.get("holdout", _NO_HOLDOUT), content)
    values = (seq, entry.get("holdout", _NO_HOLDOUT), content, link)
    connection.execute("INSERT INTO ledger (seq, holdout, entry_json, hash) VALUES (?, ?, ?, ?)", values)
    connection.execute("INSERT OR REPLACE INTO ledger_head (id, entries, hash) VALUES (1, ?, ?)", (seq, link))
    return _Head(seq, link.hex())


def _link(previous: bytes, seq: int, holdout: str, content: str) -> bytes:
    body = json.dumps([seq, holdout, content]).encode()
    return hashlib.blake2b(previous + body, digest_size=32).digest()


def _records(entries: Iterable[tuple[Any, ...]]) -> list[LookRecord]:  # Any: SQL values
    """Return every look in order, each with its conclusion."""
    records: dict[Look, LookRecord] = {}
    for _, _, content, _ in entries:
        entry = json.loads(content)
        if entry["entry"] == "rows":
            continue
        # Entries of an earlier format lack the later fields of a look.
        look = Look(**{name: entry[name] for name in Look.__dataclass_fields__ if name in entry})
        # A conclusion takes the place of the look it concludes, which keeps its position.
        records[look] = LookRecord(look=look, outcome=entry.get("outcome"), reason=entry.get("reason"))
    return list(records.values())


def _memory_entry(connection: sqlite3.Connection, memory: RowMemory) -> dict[str, Any]:  # Any: JSON
    """Store the keys of a run's rows, and return the entry that names them."""
    for rows in (memory.open, *memory.sealed.values()):
        connection.execute("INSERT OR IGNORE INTO known_rows (hash, body) VALUES (?, ?)", (rows.hash, rows.to_bytes()))
    return {
        "entry": "rows",
        "run_id": memory.run_id,
        "open": memory.open.hash.hex(),
        "sealed": {name: rows.hash.hex() for name, rows in memory.sealed.items()},
        "opened": dict(memory.opened),
    }


def _memories(entries: Iterable[tuple[Any, ...]], known: Iterable[tuple[bytes, bytes]]) -> list[RowMemory]:
    """Return the rows of every run; Any: SQL values."""
    bodies = dict(known)
    read: dict[str, KnownRows] = {}

    def rows_of(name: str) -> KnownRows:
        if name not in read:
            body = bodies.get(bytes.fromhex(name))
            if body is None or hashlib.blake2b(body, digest_size=32).hexdigest() != name:
                raise _broken(f"the keys of rows {name[:12]} have been edited or removed")
            read[name] = KnownRows.from_bytes(body)
        return read[name]

    found = []
    for _, _, content, _ in entries:
        entry = json.loads(content)
        if entry["entry"] == "rows":
            sealed = {name: rows_of(hashed) for name, hashed in entry["sealed"].items()}
            opened = rows_of(entry["open"])
            found.append(RowMemory(run_id=entry["run_id"], open=opened, sealed=sealed, opened=entry["opened"]))
    return found


def _broken(what: str) -> WorkspaceError:
    return WorkspaceError(
        f"the ledger of looks has been tampered with: {what}",
        hint="put database and ledger.head back together from one backup, or label fresh rows in a new workspace",
    )
