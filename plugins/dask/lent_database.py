"""A workspace's file as a worker on the same machine opens it: its driver holds the lock for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from ...judges import WorkspaceError
from ...runs.store.database import Holder, other_format
from ...runs.store.lock import WriterLock
from ...runs.store.sqlite_database import SqliteDatabase

_PATIENCE = 60.0
"""Seconds to wait for another process's commit: several write, and take turns."""


class LentDatabase(SqliteDatabase):
    """A file that another process of this machine has claimed for this one as well: no lock is
    taken, and nothing is made, mended or upgraded.

    Raises:
        WorkspaceError: It is not here, or has another format.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = _LentLock(path)
        self.patience = _PATIENCE

    def _prepare(self) -> None:
        if not self.path.is_file():
            raise WorkspaceError(
                f"there is no workspace {self.path} on this machine",
                hint="workers on other machines need a workspace on a PostgreSQL server",
            )
        newest = len(self._migrations)
        with contextlib.closing(self._connect(reading=True)) as connection:
            version = self._version(connection, newest)
        if version != newest:
            raise other_format(self.name, version, newest)


class _LentLock(WriterLock):
    """Stands for a lock that another process of this machine holds for this one as well."""

    def acquire(
        self, *, wait: float = 0.0, on_busy: Callable[[Holder], None] | None = None
    ) -> None:
        """Do nothing: it is held."""

    def release(self) -> None:
        """Do nothing: who holds it releases it."""

    def holder(self) -> Holder | None:
        """Return no process that is known: it is held, and that is all that is known."""
        return Holder(pid=None, host="")
