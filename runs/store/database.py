"""What a workspace's store must do: many readers, writes that are durable before they are
acknowledged.

Writes are functions over a connection, handed to a thread of their own (see `writer`). A
workspace's own is a file (`sqlite_database`), which one process writes at a time; a plug-in may
bring a server, which many do. All take the same statements: question marks for values,
`INSERT ... ON CONFLICT`, and no function that only one of them has.
"""

from __future__ import annotations

import atexit
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from ...judges import WorkspaceError
from .writer import Connection, Writer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that others wait for, as far as the store knows."""

    pid: int | None
    host: str

    def __str__(self) -> str:
        return "another process" if self.pid is None else f"process {self.pid} on {self.host}"


def other_format(name: str, version: int, known: int) -> WorkspaceError:
    """Return the error of a worker that is not of the version of who lent it the database, and does
    not upgrade it.
    """
    return WorkspaceError(
        f"{name} has format {version}, and this worker's Judgewright writes {known}",
        hint="install the same version on all workers and where the command is given",
    )


class Database(ABC):
    """A workspace's database, upgraded when it is opened.

    Args:
        folder: Where files that belong to it are; not every kind makes it.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.ledger_lock = threading.Lock()
        """Held by a thread from its entry in the ledger until `head_file` tells of it."""
        self._gate = threading.Lock()
        self._closed = False
        self._writer: Writer | None = None

    @property
    @abstractmethod
    def head_file(self) -> Path:
        """The file in which this machine keeps the end of the ledger that it saw last."""

    @property
    @abstractmethod
    def shared(self) -> bool:
        """Whether other machines write to it too."""

    @abstractmethod
    def claim(self, what: str = "") -> None:
        """Become the one that writes about something, before it is read; until `release` or
        `close`.

        Args:
            what: Such as a run's id. A store that one process writes at a time is claimed as a
                whole; any other needs a name, and claims nothing without.

        Raises:
            WorkspaceError: Another process has claimed it, and nobody said to wait for it.
        """

    @abstractmethod
    def is_at_work(self, run_id: str, by: Holder) -> bool:
        """Whether the process that last sat over a run still does; one that was killed does not."""

    @abstractmethod
    def read(
        self, sql: str, parameters: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:  # Any: SQL values
        """Return the rows of one SELECT.

        Raises:
            WorkspaceError: They cannot be read.
        """

    @abstractmethod
    def find_faults(self) -> tuple[int, list[str]]:
        """Read all that there is; return how many pages or tables that are, and what cannot be
        read.
        """

    def submit(self, work: Callable[[Connection], T], *, alone: str = "") -> Future[T]:
        """Queue a write; the future is done once it has been committed, or has failed alone.

        Once queued, a write happens: cancelling the future's waiter does not take it back. It may
        be run a second time, where the first one could not be committed.

        Args:
            alone: What nobody else may write from when it begins until it is committed, such as the
                ledger, because it reads before it writes; all who write that say the same name.

        Raises:
            WorkspaceError: Another process is writing, or the database has been closed.
        """
        if self._writer is None and not self._closed:
            self.claim()  # outside the gate: while this waits, other threads may read
        with self._gate:
            if self._closed:
                raise self._said_closed()
            future = None if self._writer is None else self._writer.submit(work, alone)
            while future is None:
                # The first write, or the first after one that ended while `release` was waiting for
                # it.
                self._writer = self._start()
                future = self._writer.submit(work, alone)
            return future

    def release(self) -> None:
        """Commit what is queued and let another process write; what was claimed is so no more."""
        with self._gate:
            writer = self._writer
        if writer is None:
            self._unlock()
            return
        # Outside the gate: a callback on a future may read, or submit what the writer then takes
        # along.
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
        # Outside the gate: a callback on a future that submits again is refused, not waited for.
        if writer is not None:
            writer.stop()
        self._unlock()
        self._close_readers()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> Writer:
        writer = self._open_writer()
        # A program that forgets `close` still commits what it queued.
        atexit.register(self.close)
        return writer

    def _unlock(self) -> None:
        self._let_others_write()
        atexit.unregister(self.close)

    @abstractmethod
    def _open_writer(self) -> Writer:
        """Connect to write, and start the thread."""

    @abstractmethod
    def _let_others_write(self) -> None:
        """Give back what was claimed; the writer has ended."""

    @abstractmethod
    def _close_readers(self) -> None:
        """Close every connection that reads."""

    def _said_closed(self) -> WorkspaceError:
        return WorkspaceError(f"{self.name} has been closed")
