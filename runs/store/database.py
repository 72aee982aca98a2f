"""The workspace's one SQLite file: many readers, one writer, nothing acknowledged before it is durable.

Writes are functions over a connection, handed to a thread of their own (see `writer`). What is not
promised: a disk that lies about `fsync`, and a bit that flips in the file (see `calls`, where bodies
carry a hash).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from ...judges import WorkspaceError
from .lock import Holder, WriterLock
from .schema import MIGRATIONS, Migration, back_up, stamp, upgrade, version_of
from .writer import Writer

T = TypeVar("T")

_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=10000")


class Database:
    """One workspace database, upgraded when it is opened.

    Args:
        path: The file; it and its folder are made, for this user alone, where they are missing.
        migrations: The upgrades that make up its format.
        on_busy: Where given, a write waits while another process writes, and this is told once for whom; else such
            a write is refused.
        on_upgrade: Told how far the upgrade of a large file is.

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
        on_upgrade: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self._on_busy = on_busy
        self._migrations = tuple(migrations)
        self._lock = WriterLock(path.parent / "workspace.lock")
        self._gate = threading.Lock()
        self._closed = False
        self._writer: Writer | None = None
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._make_file()
        self._check()
        self._upgrade(on_upgrade)

    def claim(self) -> None:
        """Become the one that writes, before something is read that a write will depend on.

        Raises:
            WorkspaceError: Another process is writing, and nobody said to wait for it.
        """
        self._lock.acquire(on_busy=self._on_busy)

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue a write; the future is done once it has been committed, or has failed alone.

        Once queued, a write happens: cancelling the future's waiter does not take it back.

        Raises:
            WorkspaceError: Another process is writing, or the database has been closed.
        """
        if self._writer is None and not self._closed:
            self.claim()  # outside the gate: while this waits, other threads may read
        with self._gate:
            if self._closed:
                raise WorkspaceError(f"{self.path} has been closed")
            future = None if self._writer is None else self._writer.submit(work)
            while future is None:
                # The first write, or the first after one that ended while `release` was waiting for it.
                self._writer = self._start()
                future = self._writer.submit(work)
            return future

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:  # Any: SQL values
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
            raise self._ours(error) from error

    def release(self) -> None:
        """Commit what is queued and let another process write; the next `submit` asks for the lock anew."""
        with self._gate:
            writer = self._writer
        if writer is None:
            self._lock.release()
            return
        # Outside the gate: a callback on a future may read, or submit what the writer then takes along.
        writer.stop()
        with self._gate:
            if self._writer is writer:  # else somebody went on writing, under the same lock
                self._writer = None
                self._unlock()

    def close(self) -> None:
        """Commit what is queued and close every connection; safe to call twice."""
        with self._gate:
            self._closed = True
            writer, self._writer = self._writer, None
            readers, self._readers = self._readers, []
        # Outside the gate: a callback on a future that submits again is refused, not waited for.
        if writer is not None:
            writer.stop()
        self._unlock()
        for connection in readers:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> Writer:
        self._lock.acquire()
        try:
            writer = Writer(self._connect(), self._ours)
        except WorkspaceError:
            self._lock.release()
            raise
        # A program that forgets `close` still commits what it queued.
        atexit.register(self.close)
        return writer

    def _unlock(self) -> None:
        self._lock.release()
        atexit.unregister(self.close)

    def _connect(self, *, reading: bool = False) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
            mode = connection.execute("PRAGMA journal_mode" + ("" if reading else "=WAL")).fetchone()[0]
            for pragma in (*_PRAGMAS, f"query_only={'ON' if reading else 'OFF'}"):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self._ours(error) from error
        if not reading and mode != "wal":
            connection.close()
            raise WorkspaceError(
                f"{self.path}: the file system does not allow write-ahead logging (journal mode is {mode!r})",
                hint="keep the workspace on a local disk",
            )
        return connection

    def _reader(self) -> sqlite3.Connection:
        with self._gate:
            if self._closed:
                raise WorkspaceError(f"{self.path} has been closed")
            connection = self._connect(reading=True)
            self._readers.append(connection)
            return connection

    def _make_file(self) -> None:
        """Make folder and file readable by their owner alone; SQLite gives its side files the same mode."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.path.exists():
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise WorkspaceError(f"cannot make the database {self.path}: {error.strerror}") from error

    def _check(self) -> None:
        """Look for damage: at the file's beginning, and everywhere after a process that wrote was killed."""
        check = "PRAGMA quick_check(1)" if self._ended_uncleanly() else "SELECT 'ok', count(*) FROM sqlite_master"
        damage = "ok"
        try:
            with contextlib.closing(sqlite3.connect(self.path, timeout=10.0, isolation_level=None)) as connection:
                damage = connection.execute(check).fetchone()[0]
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise self._ours(error) from error
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
        """Rename a damaged file together with its log, under names that SQLite still takes as a pair."""
        self._lock.acquire()
        aside = self.path.with_name(f"{self.path.name}.damaged-{stamp()}")
        try:
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")
        except OSError as error:
            return WorkspaceError(f"{self.path} is damaged ({damage}) and cannot be moved aside: {error.strerror}")
        finally:
            self._lock.release()
        return WorkspaceError(
            f"{self.path} is damaged ({damage}); it has been moved to {aside.name}, nothing was deleted",
            hint="put a backup in its place, or run again to begin with an empty database",
        )

    def _upgrade(self, tell: Callable[[str], None] | None) -> None:
        known = len(self._migrations)
        with contextlib.closing(self._connect(reading=True)) as connection:
            version = self._version(connection, known)
        if version == known:
            return
        # Two processes may open a new workspace at once: the second finds it made.
        self._lock.acquire(wait=10.0)
        try:
            with contextlib.closing(self._connect()) as connection:
                version = self._version(connection, known)
                if 0 < version < known:
                    target = self.path.with_name(f"{self.path.name}.v{version}-{stamp()}.backup")
                    back_up(connection, target, tell=tell)
                upgrade(connection, self._migrations[version:], since=version)
        except sqlite3.Error as error:
            raise self._ours(error) from error
        finally:
            self._lock.release()

    def _version(self, connection: sqlite3.Connection, known: int) -> int:
        try:
            version, tables = version_of(connection)
        except sqlite3.Error as error:
            raise self._ours(error) from error
        if version > known:
            raise WorkspaceError(
                f"{self.path} has format {version}; this Judgewright reads up to {known}",
                hint="it was written by a newer Judgewright: upgrade to open it",
            )
        if version == 0 and tables:
            raise WorkspaceError(f"{self.path} is a database of another program ({tables} tables, format 0)")
        return version

    def _ours(self, error: sqlite3.Error) -> WorkspaceError:
        """Say an error of SQLite's in our words; the one place where that is done."""
        # Errors that the module raises by itself, such as one about a closed connection, carry no code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        said, hint = _WORDS.get(code, ("cannot be used", None))
        return WorkspaceError(f"{self.path} {said}: {error}", hint=hint)


_WORDS: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_FULL: ("could not be written, the disk is full", "free some space; everything committed is kept"),
    sqlite3.SQLITE_IOERR: (
        "could not be read or written",
        "look at the disk and its quota; what was committed is kept",
    ),
    sqlite3.SQLITE_BUSY: ("is locked by another program", "close the program that has it open"),
    sqlite3.SQLITE_LOCKED: ("is locked by another program", "close the program that has it open"),
    sqlite3.SQLITE_READONLY: ("is read-only", "look at the rights of the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "look at the rights of the file and its folder"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "put a backup in its place"),
    sqlite3.SQLITE_NOTADB: ("is not a database", "put a backup in its place"),
}
