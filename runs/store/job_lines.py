"""Where the lines of jobs stand: in a file beside a workspace's own, or in a table of its server.

Either gives a connection for one short transaction in which nobody else writes them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...judges import WorkspaceError
from .connection import Connection
from .schema import for_postgres

if TYPE_CHECKING:
    from ..config.postgres_address import PostgresAddress
    from .postgres_session import Session

_TABLE = """
CREATE TABLE IF NOT EXISTS job (
    seq INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    about TEXT NOT NULL,
    arguments TEXT NOT NULL,
    mark TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'stopped', 'done', 'failed')),
    wish TEXT NOT NULL CHECK (wish IN ('', 'pause', 'stop')),
    starts INTEGER NOT NULL,
    pid INTEGER,
    created TEXT NOT NULL,
    started TEXT,
    ended TEXT,
    exit_code INTEGER,
    run_id TEXT,
    message TEXT NOT NULL
)
"""  # noqa: E501


class JobLines(Protocol):
    """The table of jobs."""

    def exist(self) -> bool:
        """Whether a job was ever added."""
        ...

    def open(self) -> contextlib.AbstractContextManager[Connection]:
        """Open it for one transaction.

        Raises:
            WorkspaceError: It cannot be read or written.
        """
        ...


class JobFile:
    """A file: whoever works holds the database's own lock for hours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exist(self) -> bool:
        """See `JobLines.exist`."""
        return self._path.is_file()

    @contextmanager
    def open(self) -> Generator[Connection]:
        """See `JobLines.open`."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            with contextlib.closing(sqlite3.connect(self._path, timeout=30)) as connection:
                connection.isolation_level = None
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_TABLE)
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise WorkspaceError(
                f"the jobs in {self._path} cannot be read or written: {error}"
            ) from error


class JobTable:
    """A table of a server."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address

    def exist(self) -> bool:
        """See `JobLines.exist`."""
        with self._connected() as session:
            return session.execute(_IS_THERE).fetchone()[0]

    @contextmanager
    def open(self) -> Generator[Connection]:
        """See `JobLines.open`."""
        from .postgres_session import lock_of

        # A transaction that is not committed is taken back when its connection is closed.
        with self._connected() as session:
            session.script("BEGIN")
            term, values = lock_of("jobs")
            session.execute(f"SELECT pg_advisory_xact_lock({term})", values)
            if not session.execute(_IS_THERE).fetchone()[0]:
                session.script(for_postgres(_TABLE))
            yield session
            session.script("COMMIT")

    @contextmanager
    def _connected(self) -> Generator[Session]:
        from .postgres_session import Session

        session = Session(self._address, reading=False)
        try:
            yield session
        finally:
            session.close()


_IS_THERE = "SELECT to_regclass(quote_ident(current_schema()) || '.job') IS NOT NULL"
