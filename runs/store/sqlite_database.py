"""The workspace's one SQLite file: many readers, one writer, nothing acknowledged before it is
durable.

What is not promised: a disk that lies about `fsync`, and a bit that flips in the file (see `calls`,
where bodies carry a hash).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...judges import JudgewrightError, WorkspaceError
from .database import Database, Holder
from .lock import WriterLock
from .schema import MIGRATIONS, Migration, back_up, stamp, upgrade, version_of
from .writer import Write, Writer, error_of_write

_PATIENCE = 10.0
"""Seconds to wait for another connection's commit."""
_TURN = 0.004
"""Seconds between two tries to begin a commit while another process commits; a try costs what a
row's call does.
"""
_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=10000")


class SqliteDatabase(Database):
    """A workspace's database in a file, which one process writes at a time.

    Args:
        path: The file; it and its folder are made, for this user alone, where they are missing.
        migrations: The upgrades that make up its format.
        on_busy: Where given, a write waits while another process writes, and this is told once for
            whom; else such a write is refused.

    Raises:
        WorkspaceError: The file is damaged (it has been moved aside, not deleted), was written by a
            newer Judgewright, or cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        migrations: Sequence[Migration] = MIGRATIONS,
        on_busy: Callable[[Holder], None] | None = None,
    ) -> None:
        super().__init__(str(path), path.parent)
        self.path = path
        self.patience = _PATIENCE
        self._on_busy = on_busy
        self._migrations = tuple(migrations)
        self._lock = WriterLock(path.parent / "workspace.lock")
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._prepare()

    @property
    def head_file(self) -> Path:
        """See `Database.head_file`."""
        return self.path.with_name("ledger.head")

    @property
    def shared(self) -> bool:
        """See `Database.shared`."""
        return False

    def claim(self, what: str = "") -> None:
        """See `Database.claim`."""
        self._lock.acquire(on_busy=self._on_busy)

    def is_at_work(self, run_id: str, by: Holder) -> bool:
        """See `Database.is_at_work`: whoever writes holds the lock."""
        holder = self._lock.holder()
        return holder is not None and (holder.pid is None or holder == by)

    def read(
        self, sql: str, parameters: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:  # Any: SQL values
        """Return the rows of one SELECT, on a connection of the calling thread's own.

        Raises:
            WorkspaceError: The file cannot be read.
        """
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._reader()
            return connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self.explain(error) from error

    def find_faults(self) -> tuple[int, list[str]]:
        """See `Database.find_faults`."""
        faults = [row[0] for row in self.read("PRAGMA integrity_check") if row[0] != "ok"]
        return self.read("PRAGMA page_count")[0][0], faults

    def _prepare(self) -> None:
        """Make the file, look for damage, and upgrade it."""
        self._make_file()
        self._check()
        self._upgrade()

    def _open_writer(self) -> Writer:
        self._lock.acquire()
        try:
            return Writer(_Transactions(self, self._connect()))
        except WorkspaceError:
            self._lock.release()
            raise

    def _let_others_write(self) -> None:
        self._lock.release()

    def _close_readers(self) -> None:
        with self._gate:
            readers, self._readers = self._readers, []
        for connection in readers:
            connection.close()

    def _connect(self, *, reading: bool = False) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(
                self.path, timeout=self.patience, isolation_level=None, check_same_thread=False
            )
            mode = connection.execute(
                "PRAGMA journal_mode" + ("" if reading else "=WAL")
            ).fetchone()[0]
            for pragma in (*_PRAGMAS, f"query_only={'ON' if reading else 'OFF'}"):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self.explain(error) from error
        if not reading and mode != "wal":
            connection.close()
            raise WorkspaceError(
                f"{self.path}: the file system does not allow write-ahead logging (journal mode is"
                f" {mode!r})",
                hint="keep the workspace on a local disk",
            )
        return connection

    def _reader(self) -> sqlite3.Connection:
        with self._gate:
            if self._closed:
                raise self._said_closed()
            connection = self._connect(reading=True)
            self._readers.append(connection)
            return connection

    def _make_file(self) -> None:
        """Make folder and file readable by their owner alone; SQLite gives its side files the same
        mode.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.path.exists():
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise WorkspaceError(
                f"cannot make the database {self.path}: {error.strerror}"
            ) from error

    def _check(self) -> None:
        """Look for damage: at the file's beginning, and everywhere after a process that wrote was
        killed.
        """
        check = (
            "PRAGMA quick_check(1)"
            if self._ended_uncleanly()
            else "SELECT 'ok', count(*) FROM sqlite_master"
        )
        damage = "ok"
        try:
            with contextlib.closing(
                sqlite3.connect(self.path, timeout=10.0, isolation_level=None)
            ) as connection:
                damage = connection.execute(check).fetchone()[0]
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise self.explain(error) from error
            damage = str(error)
        if damage != "ok":
            raise self._set_aside(damage)

    def _ended_uncleanly(self) -> bool:
        """Whether a log was left behind by nobody who is writing now; a clean end empties it."""
        try:
            if not os.stat(f"{self.path}-wal").st_size:
                return False
            self._lock.acquire()
        except (FileNotFoundError, WorkspaceError):
            return False
        self._lock.release()
        return True

    def _set_aside(self, damage: str) -> WorkspaceError:
        """Rename a damaged file together with its log, under names that SQLite still takes as a
        pair.
        """
        self._lock.acquire()
        aside = self.path.with_name(f"{self.path.name}.damaged-{stamp()}")
        try:
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")
        except OSError as error:
            return WorkspaceError(
                f"{self.path} is damaged ({damage}) and cannot be moved aside: {error.strerror}"
            )
        finally:
            self._lock.release()
        return WorkspaceError(
            f"{self.path} is damaged ({damage}); it has been moved to {aside.name}, nothing was"
            " deleted",
            hint="put a backup in its place, or run again to begin with an empty database",
        )

    def _upgrade(self) -> None:
        latest = len(self._migrations)
        with contextlib.closing(self._connect(reading=True)) as connection:
            version = self._version(connection, latest)
        if version == latest:
            return
        # Two processes may open a new workspace at once: the second finds it made.
        self._lock.acquire(wait=10.0)
        try:
            with contextlib.closing(self._connect()) as connection:
                version = self._version(connection, latest)
                if 0 < version < latest:
                    target = self.path.with_name(f"{self.path.name}.v{version}-{stamp()}.backup")
                    back_up(connection, target)
                upgrade(connection, self._migrations[version:], since=version)
        except sqlite3.Error as error:
            raise self.explain(error) from error
        finally:
            self._lock.release()

    def _version(self, connection: sqlite3.Connection, latest: int) -> int:
        try:
            version, tables = version_of(connection)
        except sqlite3.Error as error:
            raise self.explain(error) from error
        if version > latest:
            raise WorkspaceError(
                f"{self.path} has format {version}; this Judgewright reads up to {latest}",
                hint="it was written by a newer Judgewright: upgrade to open it",
            )
        if version == 0 and tables:
            raise WorkspaceError(
                f"{self.path} is a database of another program ({tables} tables, format 0)"
            )
        return version

    def explain(self, error: sqlite3.Error) -> WorkspaceError:
        """Say an error of SQLite's in our words; the one place where that is done."""
        # Errors that the module raises by itself, such as one about a closed connection, carry no
        # code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        problem, hint = _WORDS.get(code, ("cannot be used", None))
        return WorkspaceError(f"{self.path} {problem}: {error}", hint=hint)


class _Transactions:
    """A `Committer` over a connection in autocommit mode, usable from another thread."""

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        self._database, self._connection = database, connection
        self._path, self._inode = database.path, os.stat(database.path).st_ino

    def commit(self, batch: Sequence[Write]) -> None:
        """See `Committer.commit`."""
        connection = self._connection
        try:
            self._begin()
            for write in batch:
                self._try(write)
            connection.execute("COMMIT")
            self._require_file()
        except Exception as error:  # noqa: BLE001  # the door around a commit: its writes fail, the next go on
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            for write in batch:
                write.error = write.error or self._ours(error)

    def _begin(self) -> None:
        """Begin to write, once no other process does: SQLite's own waiting looks ever less often,
        and some starve.
        """
        connection, patience = self._connection, self._database.patience
        until = time.monotonic() + patience
        connection.execute("PRAGMA busy_timeout=0")
        try:
            while True:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    if (
                        error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                        or time.monotonic() > until
                    ):
                        raise
                time.sleep(_TURN)
        finally:
            connection.execute(f"PRAGMA busy_timeout={int(1000 * patience)}")

    def _require_file(self) -> None:
        """Refuse to say that something is kept in a file that has been deleted, which a program may
        go on writing.
        """
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self._path).st_ino == self._inode:
                return
        raise WorkspaceError(
            f"{self._path} was deleted or exchanged while it was written; what came since is lost",
            hint="put a backup in its place, or begin anew",
        )

    def _try(self, write: Write) -> None:
        """Run one write; whatever it raises, the others of its commit are kept."""
        connection = self._connection
        connection.execute("SAVEPOINT item")
        try:
            write.value = write.work(connection)
        except (
            Exception
        ) as error:  # the door around a write: the others may hold replies that were paid for
            if not connection.in_transaction:
                # A full disk may end the whole transaction: then every write of the batch has
                # failed.
                raise
            write.error = self._ours(error)
            connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")

    def _ours(self, error: Exception) -> JudgewrightError:
        if isinstance(error, sqlite3.Error):
            return self._database.explain(error)
        return error_of_write(error)

    def close(self) -> None:
        """See `Committer.close`."""
        self._connection.close()


_WORDS: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_FULL: (
        "could not be written, the disk is full",
        "free some space; everything committed is kept",
    ),
    sqlite3.SQLITE_IOERR: (
        "could not be read or written",
        "look at the disk and its quota; what was committed is kept",
    ),
    sqlite3.SQLITE_BUSY: ("is locked by another program", "close the program that has it open"),
    sqlite3.SQLITE_LOCKED: ("is locked by another program", "close the program that has it open"),
    sqlite3.SQLITE_READONLY: ("is read-only", "look at the rights of the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "look at the rights of the file and its folder, and at `ulimit -n`",
    ),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "put a backup in its place"),
    sqlite3.SQLITE_NOTADB: ("is not a database", "put a backup in its place"),
}
