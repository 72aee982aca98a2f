"""The ledger of looks in the workspace database: a chain that shows what was edited or taken away.

An entry is a look begun, a look concluded, the rows that a run sees and those sealed to it, or a
prompt whose figures on some rows were seen. Of rows the chain holds the hashes of their keys and
fingerprints, which stand in tables of their own, once for however many runs had the same rows.

Each entry carries a hash over itself and the hash before it. How many there are and the last hash
are kept twice more, in a row of their own and in `ledger.head` beside the database, so that cutting
off the last entry shows as well. It guards against slips and restored copies, not against somebody
who rewrites all three.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from ...judges import WorkspaceError, write_beside
from ...judges.splits import Side
from ...optimize.holdout.ledger import (
    MAX_LOOKS,
    GateOutcome,
    History,
    Look,
    LookRecord,
    Measured,
)
from ...optimize.holdout.look_counting import (
    LookRequest,
    remember_rows,
    requested_look,
    require_allowed,
    require_open,
)
from ...optimize.holdout.row_fingerprints import RowFingerprints
from ...optimize.holdout.sides import PlacedGroup, SeenRows, Sides
from ...optimize.holdout.text_fingerprints import Fingerprints
from .database import Database
from .schema import now
from .writer import Connection

_T = TypeVar("_T")
_Json = dict[str, Any]  # Any: JSON
_Entries = list[tuple[int, str, str, bytes]]
"""Number, holdout, content and hash of each."""
_Appended = Sequence[_Json]
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

    def __init__(
        self,
        database: Database,
        *,
        max_looks: int = MAX_LOOKS,
    ) -> None:
        self._database = database
        self._max_looks = max_looks
        self._file = database.head_file

    def remember(self, seen: SeenRows, *, allow_opened: bool = False) -> None:
        """See `Ledger.remember`."""

        def decide(connection: Connection, entries: _Entries) -> tuple[None, _Appended]:
            history = _history(entries, _Bodies(connection.execute))
            if history.memory(seen.run_id) is not None:
                return None, ()
            memory = remember_rows(history.memories, seen, allow_opened=allow_opened)
            return None, (_memory_entry(connection, memory),)

        self.enter(decide)

    def begin(self, request: LookRequest) -> Look:
        """See `Ledger.begin`."""

        def decide(connection: Connection, entries: _Entries) -> tuple[Look, _Appended]:
            history = _history(entries, _Bodies(connection.execute))
            look = requested_look(history, request)
            if history.record(look) is not None:
                return look, ()
            require_allowed(look, self._max_looks)
            return look, ({"entry": "begin", **asdict(look)},)

        return self.enter(decide)

    def measured(self, version: str, rows: RowFingerprints, *, by: str) -> None:
        """See `Ledger.measured`."""

        def decide(connection: Connection, entries: _Entries) -> tuple[None, _Appended]:
            entry: _Json = {"entry": "measured", "version": version, "rows": rows.hash.hex()}
            entry["looks"] = len(_looks_of(entries).records)
            if any(entry.items() <= json.loads(content).items() for _, _, content, _ in entries):
                return None, ()
            prints = _store_rows(connection, rows).get(rows.hash.hex())
            return None, (entry | {"by": by, "prints": prints},)

        self.enter(decide)

    def conclude(self, look: Look, *, outcome: GateOutcome, reason: str) -> None:
        """See `Ledger.conclude`."""

        def decide(_: Connection, entries: _Entries) -> tuple[None, _Appended]:
            if not require_open(_looks_of(entries).record(look), look, outcome):
                return None, ()
            end = {"entry": "conclude", **asdict(look), "outcome": outcome, "reason": reason}
            return None, (end,)

        self.enter(decide)

    def history(self) -> History:
        """Return all looks, remembered rows and measured prompts, in order.

        Raises:
            WorkspaceError: The keys of rows that an entry names were edited or removed.
        """
        return _history(self._database.read(_ENTRIES), _Bodies(self._database.read))

    def large_rows(self) -> set[bytes]:
        """Return the hashes of parts of so many rows that only a decision is worth comparing
        them.
        """
        return {bytes(name) for (name,) in self._database.read(_LARGE)}

    def verify(self) -> int:
        """Walk the chain and return how many entries it has.

        Raises:
            WorkspaceError: An entry, or the keys of rows it names, was edited, removed or added,
                here or in `ledger.head`.
        """
        before = None
        while True:  # until nobody has added an entry between the two reads
            beside = self._read_file()
            entries, head = self._database.read(_ENTRIES), self._database.read(_HEAD)
            if head == before:
                break
            before = head
        walked = self._verify(entries, head, beside)
        bodies = _Bodies(self._database.read)
        _history(entries, bodies)
        bodies.check()
        return walked.entries

    def _verify(self, entries: _Entries, head: list[tuple[int, bytes]], beside: _Head) -> _Head:
        link, links = _START, [_START.hex()]
        for i, (seq, holdout, content, stored) in enumerate(entries, 1):
            link = _link(link, i, holdout, content)
            if (seq, stored) != (i, link):
                raise _broken(f"entry {i} has been edited or removed")
            links.append(link.hex())
        walked = _Head(len(entries), links[-1])
        stored_head = _Head(head[0][0], head[0][1].hex()) if head else _EMPTY
        if stored_head != walked:
            raise _broken(f"it has {walked.entries} entries, its head says {stored_head.entries}")
        # A beginning of the chain is what a crash between a commit and the file leaves, and what
        # other machines add to.
        if not 0 <= beside.entries <= walked.entries or beside.hash != links[beside.entries]:
            raise _broken(
                f"it has {walked.entries} entries, {self._file.name} says {beside.entries}"
            )
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

    def enter(self, decide: Callable[[Connection, _Entries], tuple[_T, _Appended]]) -> _T:
        """Verify the ledger, append what is decided upon its entries, and write its new end beside
        the database.
        """

        def work(connection: Connection) -> tuple[_T, _Head]:
            entries = connection.execute(_ENTRIES).fetchall()
            head = connection.execute(_HEAD).fetchall()
            end = self._verify(entries, head, self._read_file())
            result, appended = decide(connection, entries)
            for entry in appended:
                end = _append(connection, end, entry)
            return result, end

        with self._database.ledger_lock:
            result, end = self._database.submit(work, alone=_LEDGER).result()
            self._write_head(end)
        return result

    def _write_head(self, head: _Head) -> None:
        beside = self._read_file()
        if head == beside or (self._database.shared and head.entries < beside.entries):
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_beside(self._file, f"{head.entries} {head.hash}\n")
        except OSError as error:
            raise WorkspaceError(f"cannot write {self._file}: {error.strerror}") from error


_ENTRIES = "SELECT seq, holdout, entry_json, hash FROM ledger ORDER BY seq"
_HEAD = "SELECT entries, hash FROM ledger_head"
_SET_HEAD = """
INSERT INTO ledger_head (id, entries, hash) VALUES (1, ?, ?)
ON CONFLICT (id) DO UPDATE SET entries = excluded.entries, hash = excluded.hash
"""
_LARGE = "SELECT hash FROM known_rows WHERE length(body) > 4000000"
_SPLITS = "SELECT payload_json FROM event WHERE kind = 'split'"
_LEDGER = "ledger"
"""Under which name its writers keep out of each other's way."""
_NO_HOLDOUT = ""
"""What stands for the holdout in an entry that is about several parts."""


def _append(connection: Connection, head: _Head, entry: _Json) -> _Head:
    seq = head.entries + 1
    content = json.dumps({"created": now(), **entry}, sort_keys=True)
    link = _link(bytes.fromhex(head.hash), seq, entry.get("holdout", _NO_HOLDOUT), content)
    values = (seq, entry.get("holdout", _NO_HOLDOUT), content, link)
    connection.execute(
        "INSERT INTO ledger (seq, holdout, entry_json, hash) VALUES (?, ?, ?, ?)", values
    )
    connection.execute(_SET_HEAD, (seq, link))
    return _Head(seq, link.hex())


def _link(previous: bytes, seq: int, holdout: str, content: str) -> bytes:
    body = json.dumps([seq, holdout, content]).encode()
    return hashlib.blake2b(previous + body, digest_size=32).digest()


def _looks_of(entries: _Entries) -> History:
    """Read every look in order, each with its conclusion, and nothing else."""
    records: dict[Look, LookRecord] = {}
    for _, _, content, _ in entries:
        entry = json.loads(content)
        if entry["entry"] not in ("begin", "conclude"):
            continue
        look = Look.from_json(entry)
        # A conclusion takes the place of the look it concludes, which keeps its position.
        records[look] = LookRecord(
            look=look, outcome=entry.get("outcome"), reason=entry.get("reason")
        )
    return History(records=list(records.values()))


def _memory_entry(connection: Connection, memory: SeenRows) -> _Json:
    """Store the keys of a run's rows, and return the entry that names them."""
    return {
        "entry": "rows",
        "run_id": memory.run_id,
        "open": memory.open.hash.hex(),
        "sealed": {name: rows.hash.hex() for name, rows in memory.sealed.items()},
        "opened": dict(memory.opened),
        "alike": dict(memory.alike),
        "prints": _store_rows(connection, memory.open, *memory.sealed.values()),
        "sides": None if memory.sides is None else _store_sides(connection, memory.sides),
        "notes": list(memory.sides.notes) if memory.sides else [],
    }


def _store_rows(connection: Connection, *parts: RowFingerprints) -> dict[str, str]:
    """Store keys and fingerprints of rows; return the hash of the fingerprints by the hash of the
    keys.
    """
    stored: dict[str, str] = {}
    for rows in parts:
        _store(connection, "known_rows", rows.hash, rows.to_bytes())
        if rows.prints is not None:
            _store(connection, "row_prints", rows.prints.hash, rows.prints.body)
            stored[rows.hash.hex()] = rows.prints.hash.hex()
    return stored


def _store_sides(connection: Connection, sides: Sides) -> str:
    """Store where groups are; return the hash."""
    body = sides.to_bytes()
    digest = hashlib.blake2b(body, digest_size=32).digest()
    _store(connection, "side", digest, body)
    return digest.hex()


def _store(connection: Connection, table: str, digest: bytes, body: bytes) -> None:
    insert = f"INSERT INTO {table} (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING"  # noqa: S608 - our own names
    connection.execute(insert, (digest, body))


class _Bodies:
    """The keys, fingerprints and sides that entries name, each read when it is asked for and held
    against its hash.
    """

    def __init__(
        self, read: Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
    ) -> None:  # Any: SQL values
        self._read = read
        self._rows: dict[tuple[str, str | None], RowFingerprints] = {}

    @cached_property
    def _seals(self) -> dict[str, Side]:
        seals: dict[str, Side] = {}
        for (content,) in self._read(_SPLITS, ()):
            sealed = json.loads(content)["seals"]
            seals |= {sealed["holdout"]: "holdout", sealed["final"]: "final"}
        return seals

    def rows(self, name: str, prints: str | None) -> RowFingerprints:
        """Return rows by the hashes of their keys and fingerprints; earlier versions kept no
        fingerprints.
        """
        if (name, prints) not in self._rows:
            beside = (lambda: None) if prints is None else partial(self._prints, prints)
            body = partial(self._body, "known_rows", name)
            self._rows[name, prints] = RowFingerprints.stored(
                body, beside, known_hash=bytes.fromhex(name)
            )
        return self._rows[name, prints]

    def sides(self, entry: _Json, sealed: Mapping[str, RowFingerprints]) -> Sides | None:
        """Return where a run's groups are; of an earlier version, which parts of its split were
        sealed how.
        """
        if "sides" in entry:
            name = entry["sides"]
            return (
                None
                if name is None
                else Sides.from_bytes(self._body("side", name), tuple(entry["notes"]))
            )
        groups: list[PlacedGroup] = []
        for name, part in sealed.items():
            if name in self._seals:
                groups += (
                    PlacedGroup(b"", min(group.rows), self._seals[name]) for group in part.groups
                )
        return Sides(tuple(groups)) if groups else None

    def check(self) -> None:
        """Read all that was named so far.

        Raises:
            WorkspaceError: Some of it was edited or removed.
        """
        for name, prints in self._rows:
            self._body("known_rows", name)
            if prints is not None:
                self._body("row_prints", prints)

    def _prints(self, name: str) -> Fingerprints:
        return Fingerprints(self._body("row_prints", name))

    def _body(self, table: str, name: str) -> bytes:
        select = f"SELECT body FROM {table} WHERE hash = ?"  # noqa: S608 - our own names
        for (body,) in self._read(select, (bytes.fromhex(name),)):
            if hashlib.blake2b(body, digest_size=32).hexdigest() == name:
                return bytes(body)
        raise _broken(f"the keys of rows {name[:12]} have been edited or removed")


def _history(entries: _Entries, bodies: _Bodies) -> History:
    """Read all entries."""
    memories, measured = [], []
    for _, _, content, _ in entries:
        entry = json.loads(content)
        if entry["entry"] == "rows":
            memories.append(_memory(entry, bodies))
        elif entry["entry"] == "measured":
            rows = bodies.rows(entry["rows"], entry["prints"])
            measured.append(
                Measured(version=entry["version"], by=entry["by"], rows=rows, looks=entry["looks"]),
            )
    return replace(_looks_of(entries), memories=memories, measured=measured)


def _memory(entry: _Json, bodies: _Bodies) -> SeenRows:
    prints = entry.get("prints", {})
    sealed = {name: bodies.rows(rows, prints.get(rows)) for name, rows in entry["sealed"].items()}
    return SeenRows(
        run_id=entry["run_id"],
        open=bodies.rows(entry["open"], prints.get(entry["open"])),
        sealed=sealed,
        opened=entry["opened"],
        alike=entry.get("alike", {}),
        sides=bodies.sides(entry, sealed),
    )


def _broken(what: str) -> WorkspaceError:
    return WorkspaceError(
        f"the ledger of looks has been tampered with: {what}",
        hint=(
            "put database and ledger.head back together from one backup, or label fresh rows in a"
            " new workspace"
        ),
    )
