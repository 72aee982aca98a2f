"""A workspace's database on a PostgreSQL server, which many processes and machines write at once.

What one writer's file lock does for a file, a transaction does here, and where a write reads first,
an advisory lock that is held to its end. A run is claimed by an advisory lock of the connection
that writes, so that the claim ends with the process. A server that goes away is waited for, and no
commit whose answer was lost is made twice: the server says of every transaction, by its number,
whether it was committed.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...judges import WorkspaceError
from ...runs.store.database import Database, Holder, other_format
from ...runs.store.schema import MIGRATIONS, Migration
from ...runs.store.writer import Writer
from .session import Patience, ServerError, Session, holder_of, lock_of
from .writing import Transactions, try_claim

if TYPE_CHECKING:
    from .address import PostgresAddress

PATIENCE = 60.0
"""Seconds for which a server that goes away is waited for."""
MOST_READERS = 8
"""Connections of one process that read at the same time; who comes later waits for one."""
_POLL = 0.2
"""Seconds between two tries to claim what another process has."""


class PostgresDatabase(Database):
    """See `Database`.

    Args:
        address: Of the server and its database; the tables are in the first schema of the user's
            search path.
        folder: Where the files that belong to it are on this machine.
        migrations: The upgrades that make up its format.
        on_busy: Where given, `claim` waits while another process has claimed the same, and this is
            told once for whom.
        on_away: Told what is waited for when the server does not answer any more.
        patience: Seconds for which that is.
        lent: Whether a driver elsewhere has opened it for this worker: then it is not upgraded.

    Raises:
        WorkspaceError: It cannot be reached, was written by a newer Judgewright, or holds another
            program's tables.
    """

    def __init__(
        self,
        address: PostgresAddress,
        folder: Path,
        *,
        migrations: Sequence[Migration] = MIGRATIONS,
        on_busy: Callable[[Holder], None] | None = None,
        on_away: Callable[[str], None] | None = None,
        patience: float = PATIENCE,
        lent: bool = False,
    ) -> None:
        super().__init__(str(address), folder)
        self.address = address
        self._on_busy = on_busy
        self._patience = Patience(self.name, patience, on_away)
        self._claimed: set[str] = set()
        self._claiming = threading.Lock()
        self._idle: list[Session] = []
        self._may_read = threading.BoundedSemaphore(MOST_READERS)
        self._upgrade(tuple(migrations), lent=lent)

    @staticmethod
    def is_made(address: PostgresAddress) -> bool:
        """Whether a workspace was ever kept there.

        Raises:
            WorkspaceError: The server cannot be reached.
        """
        session = Session(address, reading=True)
        try:
            return session.execute(_STATE).fetchone()[1]
        finally:
            session.close()

    @property
    def head_file(self) -> Path:
        """See `Database.head_file`."""
        return self.folder / f"ledger-{self.address.digest}.head"

    @property
    def shared(self) -> bool:
        """See `Database.shared`."""
        return True

    def claim(self, what: str = "") -> None:
        """See `Database.claim`."""
        if not what:
            return
        with self._claiming:
            reported = False
            while what not in self._claimed:
                if self.submit(partial(try_claim, what=what)).result():
                    self._claimed.add(what)
                    return
                holder = self._holder(what)
                if self._on_busy is None:
                    raise WorkspaceError(
                        f"{holder} is at work on {what} in {self.name}",
                        hint="wait until it ends, or stop it; reading is possible meanwhile",
                    )
                if not reported:
                    self._on_busy(holder)
                    reported = True
                time.sleep(_POLL)

    def is_at_work(self, run_id: str, by: Holder) -> bool:
        """See `Database.is_at_work`: the server keeps a claim as long as the connection lives."""
        term, values = lock_of(f"claim {run_id}")
        return run_id in self._claimed or bool(self.read(_HOLDER.format(number=term), values))

    def read(
        self, sql: str, parameters: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:  # Any: SQL values
        """See `Database.read`."""
        while True:
            with self._may_read:
                session: Session | None = None
                try:
                    session = self._reader()
                    rows = session.execute(sql, parameters).fetchall()
                    self._patience.answered()
                    self._idle.append(session)
                    return rows
                except ServerError as error:
                    if session is not None:
                        session.close()
                    if not error.away:
                        raise
                    self._close_readers()
                    away = error
            self._patience.wait(away)

    def find_faults(self) -> tuple[int, list[str]]:
        """See `Database.find_faults`; every value is read, so that a page with a wrong checksum
        shows.
        """
        tables = [name for (name,) in self.read(_TABLES)]
        faults: list[str] = []
        for name in tables:
            try:
                self.read(f'SELECT count(CAST(line AS TEXT)) FROM "{name}" AS line')  # noqa: S608 - a table's name
            except WorkspaceError as error:
                faults.append(str(error))
        return len(tables), faults

    def _open_writer(self) -> Writer:
        return Writer(Transactions(self.name, self._connect, self._patience, self._claimed))

    def _let_others_write(self) -> None:
        self._claimed.clear()  # the writer's connection is closed

    def _close_readers(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> Session:
        return Session(self.address, reading=False)

    def _reader(self) -> Session:
        if self._closed:
            raise self._said_closed()
        try:
            return self._idle.pop()
        except IndexError:
            self._patience.require_hope()
            return Session(self.address, reading=True)

    def _holder(self, what: str) -> Holder:
        term, values = lock_of(f"claim {what}")
        holders = self.read(_HOLDER.format(number=term), values)
        return holder_of(holders[0][0] if holders else None)

    def _upgrade(self, migrations: Sequence[Migration], *, lent: bool) -> None:
        try:
            session = Session(self.address, reading=True)
            self._idle.append(session)
            version = self._version(session, len(migrations))
            if version == len(migrations):
                return
            if lent:
                raise other_format(self.name, version, len(migrations))
            session = self._connect()
            try:
                session.script("BEGIN")
                # Two processes may open a new workspace at once: the second finds it made.
                term, values = lock_of("upgrade")
                session.execute(f"SELECT pg_advisory_xact_lock({term})", values)
                version = self._version(session, len(migrations))
                if version == 0:
                    session.script(_FORMAT)
                for migration in migrations[version:]:
                    session.script(_for_postgres(migration.script))
                session.execute("UPDATE judgewright_format SET version = ?", (len(migrations),))
                session.script("COMMIT")
            finally:
                session.close()
        except WorkspaceError:
            self._close_readers()
            raise

    def _version(self, session: Session, known: int) -> int:
        schema, has_format, tables = session.execute(_STATE).fetchone()
        if schema is None:
            raise WorkspaceError(
                f"{self.name}: the user has no schema",
                hint="CREATE SCHEMA, or ask who runs the server",
            )
        version = (
            session.execute("SELECT version FROM judgewright_format").fetchone()[0]
            if has_format
            else 0
        )
        if version > known:
            raise WorkspaceError(
                f"{self.name} has format {version}; this Judgewright reads up to {known}",
                hint="it was written by a newer Judgewright: upgrade to open it",
            )
        if not has_format and tables:
            raise WorkspaceError(
                f"schema {schema} of {self.name} holds another program's tables ({tables})",
                hint=(
                    "make a database or a schema of its own; ?options=-csearch_path%3DNAME names"
                    " the schema"
                ),
            )
        return version


_STATE = """
SELECT current_schema(), to_regclass(quote_ident(current_schema()) || '.judgewright_format') IS NOT NULL,
    (SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v', 'p') AND relname <> 'job' AND relnamespace =
        (SELECT oid FROM pg_namespace WHERE nspname = current_schema()))
"""  # noqa: E501
_FORMAT = """
CREATE TABLE judgewright_format (version BIGINT NOT NULL);
INSERT INTO judgewright_format VALUES (0)
"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
_HOLDER = """
SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND CAST(classid AS BIGINT) << 32 | CAST(objid AS BIGINT) = {number}
"""
_TYPES = (
    (re.compile(r"\bINTEGER PRIMARY KEY\b"), "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\)\s*WITHOUT ROWID\b"), ")"),
)


def _for_postgres(script: str) -> str:
    """Return an upgrade's statements with PostgreSQL's names of the same types."""
    for pattern, theirs in _TYPES:
        script = pattern.sub(theirs, script)
    return script
