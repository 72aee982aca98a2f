"""Who may send a call, where several processes send the calls of a workspace, and which of them are
alive.

A worker leases a call before it sends it, so that no other one pays for it too, and raises its beat
in the table `worker` as long as it lives. A driver watches the beats: a worker whose beat has stood
still for `LEASE` seconds of the driver's own time is dead to everybody, and its leases are free. No
two clocks are compared. Should it only have hung, it finds that it has no lease any more, and sends
nothing. On one machine who died is known at once.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from ...judges.errors import LeaseLost, WorkspaceError
from ...judges.models import FailedCall
from ...runs.store.calls import CallStore, read_spending
from ...runs.store.database import Database
from ...runs.store.lock import WriterLock
from ...runs.store.schema import now
from ...runs.store.writer import Connection

LEASE = 15.0
"""Seconds without a beat after which a worker is taken for dead."""
_AT_ONCE = 250
"""Keys in one statement."""
_LONGEST_GAP = 2.0
"""Seconds between two looks that count at most: who was halted between them has not seen what
happened meanwhile.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a driver tells its workers."""

    sharing: int
    """Among how many the limits are divided."""
    in_flight: int | None
    """Requests in flight at most, of each."""
    stopping: bool
    """Whether to send nothing more."""
    driver_beat: int | None
    """None where the driver has gone."""


class WorkerLeases:
    """The leases of one process that sends calls.

    Args:
        run_id: The run that it sends for.
        driver: Who gives out the calls; the owner that its `Workers` has.
        place: Where it is, for people.
    """

    def __init__(self, database: Database, *, run_id: str, driver: str, place: str) -> None:
        self._database = database
        token = secrets.token_hex(8)
        self.owner = f"{run_id}/{token}"
        self._life = None if database.shared else _Life(database.folder, token)
        if self._life is not None:
            self._life.begin()  # first, so that nobody finds the line without it
        self._held: set[bytes] = set()
        self._lock = threading.Lock()
        row = (self.owner, driver, run_id, place)
        database.submit(lambda connection: connection.execute(_ENTER_WORKER, row)).result()

    def beat(self) -> Orders:
        """Say that this process lives; return what it is to do.

        Raises:
            LeaseLost: It was taken for dead.
        """

        def work(connection: Connection) -> tuple[int, int | None, int, int | None] | None:
            if connection.execute(_ALIVE, (self.owner,)).rowcount != 1:
                return None
            return connection.execute(_ORDERS, (self.owner,)).fetchone()

        row = self._database.submit(work).result()
        if row is None:
            raise taken_for_dead()
        sharing, in_flight, stopping, driver_beat = row
        return Orders(
            sharing=sharing,
            in_flight=in_flight,
            stopping=bool(stopping),
            driver_beat=driver_beat,
        )

    def claim(self, keys: Sequence[bytes]) -> set[bytes]:
        """Lease calls; return those that nobody else has, another thread of this process included.

        Raises:
            LeaseLost: It was taken for dead.
        """

        def work(connection: Connection) -> set[bytes]:
            # Until this is committed nobody can take this process for dead.
            if connection.execute(_ALIVE, (self.owner,)).rowcount != 1:
                raise taken_for_dead()
            claimed: set[bytes] = set()
            for start in range(0, len(new_keys), _AT_ONCE):
                part = new_keys[start : start + _AT_ONCE]
                sql = _CLAIM.format(", ".join(["(?, ?)"] * len(part)))
                parameters = [value for key in part for value in (key, self.owner)]
                claimed.update(
                    bytes(key) for (key,) in connection.execute(sql, parameters).fetchall()
                )
            return claimed

        with self._lock:
            # In one order, so that two processes never wait for each other.
            new_keys = sorted(set(keys) - self._held)
            claimed = self._database.submit(work).result()
            self._held |= claimed
        return claimed

    def release(self, keys: Collection[bytes]) -> None:
        """Give leases back: the calls are answered, given up, or were not sent."""

        def work(connection: Connection) -> None:
            for key in sorted(keys):
                connection.execute(
                    "DELETE FROM lease WHERE key = ? AND owner = ?", (key, self.owner)
                )

        self._database.submit(work).result()
        with self._lock:
            self._held -= set(keys)

    def leave(self) -> None:
        """Give all leases back, and be no worker any more."""

        def work(connection: Connection) -> None:
            connection.execute("DELETE FROM lease WHERE owner = ?", (self.owner,))
            connection.execute("DELETE FROM worker WHERE owner = ?", (self.owner,))

        self._database.submit(work).result()
        if self._life is not None:
            self._life.end()


class _Life:
    """A locked file beside the database: who died without a word is known at once, where all are on
    one machine.
    """

    def __init__(self, folder: Path, token: str) -> None:
        self._path = folder / f"worker-{token}.lock"
        self._lock = WriterLock(self._path)

    @property
    def has_ended(self) -> bool:
        """Whether a process of this machine began it and has died; unknown of those on other
        machines.
        """
        if not self._path.exists():
            return False
        try:
            self._lock.acquire()
        except WorkspaceError:
            return False
        self.end()
        return True

    def begin(self) -> None:
        """Live from now on."""
        self._lock.acquire()

    def end(self) -> None:
        """Leave nothing behind."""
        self._path.unlink(missing_ok=True)
        self._lock.release()


class LeasedCallStore(CallStore):
    """The record of calls for a process that sends only what it has leased.

    An attempt is settled by its own line: where another process took a call over from this one,
    each has its own.
    """

    def __init__(self, database: Database, run_id: str, leases: WorkerLeases) -> None:
        super().__init__(database, run_id)
        self._owner = leases.owner
        self._shards: dict[bytes, str] = {}
        self._attempts: dict[bytes, int] = {}

    def put_into(self, shard: str, keys: Collection[bytes]) -> None:
        """Say which shard calls belong to, before they are sent."""
        self._shards.update(dict.fromkeys(keys, shard))

    def forget(self, keys: Collection[bytes]) -> None:
        """Forget calls that are over."""
        for key in keys:
            self._shards.pop(key, None)
            self._attempts.pop(key, None)

    def sent(
        self, key: bytes, *, reserved_cost: float | None, reserved_tokens: int
    ) -> Future[None]:
        """See `CallRecord.sent`; the attempt is entered only where this process still has the
        lease.
        """
        asked_before = 0 if key in self._damaged else 1
        shard = self._shards[key]

        def enter(connection: Connection) -> None:
            at = now()
            if connection.execute(_STILL_MINE, (key, self._owner)).rowcount != 1:
                raise taken_for_dead()
            connection.execute(_LOSE_EARLIER, (at, self._run_id, key))
            row = (self._run_id, at, key, asked_before, key, reserved_cost, reserved_tokens, shard)
            self._attempts[key] = connection.execute(_ENTER_ATTEMPT, row).fetchone()[0]

        return self._database.submit(enter)

    def _give_up(self, connection: Connection, key: bytes, failure: FailedCall) -> None:
        # Who has the call now says how it ends.
        if connection.execute(_STILL_MINE, (key, self._owner)).rowcount != 1:
            raise taken_for_dead()
        super()._give_up(connection, key, failure)

    def _settle(
        self, connection: Connection, key: bytes, state: str, *, cost: float | None, tokens: int
    ) -> str:
        at = now()
        connection.execute(_SETTLE_ATTEMPT, (state, cost, tokens, at, self._attempts[key]))
        return at


class Workers:
    """What a driver sees of the processes that send calls, and tells its own.

    Args:
        run_id: Its run.
        lease: Seconds without a beat after which a worker is taken for dead.
    """

    def __init__(self, database: Database, run_id: str, *, lease: float = LEASE) -> None:
        self._database = database
        self.lease = lease
        self.owner = f"{run_id}/{secrets.token_hex(8)}/driver"
        self._seen: dict[str, tuple[int, float]] = {}
        """By owner: its beat, and for how many seconds it has stood still."""
        self._looked = time.monotonic()
        row = (self.owner, None, run_id, "the driver")
        database.submit(lambda connection: connection.execute(_ENTER_WORKER, row)).result()

    def look(self) -> tuple[set[str], list[str]]:
        """Return where this driver's living workers are, and where one has died since, of any
        driver.
        """
        elapsed, self._looked = min(time.monotonic() - self._looked, _LONGEST_GAP), time.monotonic()
        rows = self._database.read(_WORKERS, (self.owner,))
        seen: dict[str, tuple[int, float]] = {}
        living: set[str] = set()
        dead: list[str] = []
        for owner, driver, place, beat in rows:
            before, still = self._seen.get(owner, (None, 0.0))
            still = still + elapsed if beat == before else 0.0
            seen[owner] = (beat, still)
            halted = beat == before and still >= self.lease
            if halted or self._has_ended(owner):
                if self._take_back(owner, beat):
                    dead.append(place)
            elif driver == self.owner:
                living.add(place)
        self._seen = seen
        return living, dead

    def _has_ended(self, owner: str) -> bool:
        return (
            not self._database.shared
            and _Life(self._database.folder, owner.split("/")[1]).has_ended
        )

    def order(self, *, sharing: int, in_flight: int | None, stopping: bool) -> None:
        """Tell all workers of this driver what to do, and that the driver lives."""

        def work(connection: Connection) -> None:
            connection.execute(_ALIVE, (self.owner,))
            connection.execute(_ORDER, (sharing, in_flight, int(stopping), self.owner))

        self._database.submit(work).result()

    def leased(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return which calls somebody has leased."""
        leased_keys: set[bytes] = set()
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            sql = f"SELECT key FROM lease WHERE key IN ({', '.join('?' * len(part))})"  # noqa: S608 - question marks only
            leased_keys.update(bytes(key) for (key,) in self._database.read(sql, part))
        return leased_keys

    def leave(self) -> None:
        """Tell the workers that there is no driver any more."""
        self._database.submit(
            lambda connection: connection.execute(
                "DELETE FROM worker WHERE owner = ?", (self.owner,)
            )
        ).result()

    def _take_back(self, owner: str, beat: int) -> bool:
        """Take the leases of a worker, unless it did beat again; return whether they were."""

        def work(connection: Connection) -> bool:
            if connection.execute(_SAME_BEAT, (owner, beat)).rowcount != 1:
                return False
            connection.execute("DELETE FROM lease WHERE owner = ?", (owner,))
            connection.execute("DELETE FROM worker WHERE owner = ?", (owner,))
            return True

        return self._database.submit(work).result()


def spent_on(database: Database, shard: str) -> tuple[float, int]:
    """Return the dollars and tokens that a shard has cost or may have cost, whoever worked on
    it.
    """
    spent = read_spending(database, "shard = ?", (shard,))
    tokens = spent.settled_tokens + spent.in_doubt_tokens
    return spent.settled_cost + spent.in_doubt_cost, tokens


def taken_for_dead() -> LeaseLost:
    """Return the error of a worker that was not heard of for too long."""
    return LeaseLost(
        "this worker was not heard of for too long: others have its calls now",
        hint="see what held it up: a disk, a suspended machine, or more work than it has cores for",
    )


_ENTER_WORKER = """
INSERT INTO worker (owner, driver, run_id, place, beat, sharing, stopping)
VALUES (?, ?, ?, ?, 0, 1, 0)
"""
_ORDERS = """
SELECT own.sharing, own.in_flight, own.stopping, driver.beat
FROM worker own LEFT JOIN worker driver ON driver.owner = own.driver WHERE own.owner = ?
"""
_ORDER = "UPDATE worker SET sharing = ?, in_flight = ?, stopping = ? WHERE driver = ?"
_CLAIM = "INSERT INTO lease (key, owner) VALUES {} ON CONFLICT DO NOTHING RETURNING key"
_ALIVE = "UPDATE worker SET beat = beat + 1 WHERE owner = ?"
_SAME_BEAT = "UPDATE worker SET stopping = 1 WHERE owner = ? AND beat = ?"
_WORKERS = "SELECT owner, driver, place, beat FROM worker WHERE owner <> ?"
_STILL_MINE = "UPDATE lease SET owner = owner WHERE key = ? AND owner = ?"
_LOSE_EARLIER = (
    "UPDATE attempt SET state = 'lost', settled = ? WHERE state = 'sent' AND run_id = ? AND key = ?"
)
_ENTER_ATTEMPT = """
INSERT INTO attempt (run_id, created, key, state, repeated, reserved_cost, reserved_tokens, shard)
VALUES (?, ?, ?, 'sent', ? * (SELECT count(*) FROM call WHERE key = ? AND state = 'done'), ?, ?, ?)
RETURNING seq
"""
_SETTLE_ATTEMPT = "UPDATE attempt SET state = ?, cost = ?, tokens = ?, settled = ? WHERE seq = ?"
