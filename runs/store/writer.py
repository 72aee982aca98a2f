"""The thread that commits: what queued up during one commit goes into the next.

A lone write waits for nobody, and a crowd of writes shares one `fsync`.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from ...judges import JudgewrightError, WorkspaceError

T = TypeVar("T")

BATCH = 500
"""Writes in one commit at most."""

_ITEM_ERRORS = (sqlite3.Error, JudgewrightError, ValueError, TypeError, LookupError)
"""What one write may fail with alone. Anything else is a fault of ours: it ends the writer, aloud."""


@dataclass(slots=True)
class _Write:
    """One queued write; its future is settled after the commit that holds it."""

    work: Callable[[sqlite3.Connection], Any]  # Any: each write returns what it likes
    future: Future[Any]
    value: Any = None
    error: BaseException | None = None

    def settle(self, failure: WorkspaceError | None = None) -> None:
        error = self.error or failure
        if error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(error)


class Writer:
    """One thread over one connection, which it closes at its end.

    Args:
        connection: In autocommit mode, usable from another thread.
        explain: Says an error of SQLite's in our words.
    """

    def __init__(self, connection: sqlite3.Connection, explain: Callable[[sqlite3.Error], WorkspaceError]) -> None:
        self._connection = connection
        self._explain = explain
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        # A daemon, so that a program that forgot to stop it can end.
        self._thread = threading.Thread(target=self._run, name="workspace-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue a write; the future is done once it has been committed, or has failed alone.

        Raises:
            WorkspaceError: The thread has broken off.
        """
        if not self._thread.is_alive():
            raise _broken_off()
        future: Future[T] = Future()
        # Running from the start: whoever stops waiting for a write does not take it back.
        future.set_running_or_notify_cancel()
        self._queue.put(_Write(work, future))
        return future

    def stop(self) -> None:
        """Commit what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        batch: list[_Write] = []
        try:
            more = True
            while more:
                batch, more = _take(self._queue)
                if batch:
                    self._commit(batch)
                while batch:
                    batch.pop(0).settle()
        finally:
            self._connection.close()
            # Something is left only after a fault of ours, and then nobody may wait for ever.
            for write in [*batch, *_rest(self._queue)]:
                write.settle(_broken_off())

    def _commit(self, batch: Sequence[_Write]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                self._try(write)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            for write in batch:
                write.error = write.error or self._explain(error)

    def _try(self, write: _Write) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT item")
        try:
            write.value = write.work(connection)
        except _ITEM_ERRORS as error:
            if not connection.in_transaction:
                # A full disk may end the whole transaction: then every write of the batch has failed.
                raise
            write.error = self._explain(error) if isinstance(error, sqlite3.Error) else error
            connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")


def _take(writes: queue.SimpleQueue[_Write | None]) -> tuple[list[_Write], bool]:
    """Wait for a write, then take what else is there; the second value says whether to come back for more."""
    batch: list[_Write] = []
    write = writes.get()
    while write is not None:
        batch.append(write)
        if len(batch) == BATCH:
            return batch, True
        try:
            write = writes.get_nowait()
        except queue.Empty:
            return batch, True
    return batch, False


def _rest(writes: queue.SimpleQueue[_Write | None]) -> list[_Write]:
    left: list[_Write] = []
    with contextlib.suppress(queue.Empty):
        while True:
            if (write := writes.get_nowait()) is not None:
                left.append(write)
    return left


def _broken_off() -> WorkspaceError:
    return WorkspaceError("the writer of the workspace broke off; its traceback says why")
