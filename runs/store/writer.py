"""The thread that commits: what queued up during one commit goes into the next.

A lone write waits for nobody, and a crowd of writes shares one `fsync`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from ...judges import JudgewrightError, WorkspaceError

T = TypeVar("T")

BATCH = 500
"""Writes in one commit at most."""


@dataclass(slots=True)
class _Write:
    """One queued write; its future is settled after the commit that holds it."""

    work: Callable[[sqlite3.Connection], Any]  # Any: each write returns what it likes
    future: Future[Any]
    value: Any = None
    error: JudgewrightError | None = None

    def settle(self) -> None:
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(self.error)


class Writer:
    """One thread over one connection, which it closes at its end.

    Args:
        connection: In autocommit mode, usable from another thread.
        explain: Says an error of SQLite's in our words.
    """

    def __init__(self, connection: sqlite3.Connection, explain: Callable[[sqlite3.Error], WorkspaceError]) -> None:
        self._connection = connection
        self._explain = explain
        self._queue: deque[_Write] = deque()
        # Guards the queue and the three flags: a write is queued only while the thread will still see it.
        self._changed = threading.Condition()
        self._stopping = False
        self._ended = False
        self._broken = False
        # A daemon, so that a program that forgot to stop it can end.
        self._thread = threading.Thread(target=self._run, name="workspace-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T] | None:
        """Queue a write; the future is done once it has been committed, or has failed alone.

        Returns:
            None when the thread has ended as it was told to: another writer has to take the write. While it is
            stopping it still takes writes, such as those of a callback on an earlier one.

        Raises:
            WorkspaceError: The thread has broken off.
        """
        future: Future[T] = Future()
        # Running from the start: whoever stops waiting for a write does not take it back.
        future.set_running_or_notify_cancel()
        with self._changed:
            if self._broken:
                raise _broken_off()
            if self._ended:
                return None
            self._queue.append(_Write(work, future))
            self._changed.notify()
        return future

    def stop(self) -> None:
        """Commit what is queued and end the thread; safe to call twice."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        batch: list[_Write] = []
        try:
            while batch := self._take():
                self._commit(batch)
                while batch:
                    batch.pop(0).settle()
        finally:
            # Something is left only when the thread broke off, and then nobody may wait for ever.
            for write in [*batch, *self._end()]:
                write.error = _broken_off()
                write.settle()
            self._connection.close()

    def _take(self) -> list[_Write]:
        """Wait for writes and return the next ones; none when there are none left and the thread is to end."""
        with self._changed:
            while not self._queue and not self._stopping:
                self._changed.wait()
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            self._ended = not batch
        return batch

    def _end(self) -> list[_Write]:
        """Take no more writes; return those that nobody will commit."""
        with self._changed:
            self._broken = not self._ended
            left = list(self._queue)
            self._queue.clear()
        return left

    def _commit(self, batch: Sequence[_Write]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                self._try(write)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  # the door around a commit: its writes fail, the next go on
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            for write in batch:
                write.error = write.error or self._ours(error)

    def _try(self, write: _Write) -> None:
        """Run one write; whatever it raises, the others of its commit are kept."""
        connection = self._connection
        connection.execute("SAVEPOINT item")
        try:
            write.value = write.work(connection)
        except Exception as error:  # the door around a write: the others may hold replies that were paid for
            if not connection.in_transaction:
                # A full disk may end the whole transaction: then every write of the batch has failed.
                raise
            write.error = self._ours(error)
            connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")

    def _ours(self, error: Exception) -> JudgewrightError:
        if isinstance(error, JudgewrightError):
            return error
        if isinstance(error, sqlite3.Error):
            return self._explain(error)
        translated = WorkspaceError(f"a write to the workspace failed: {type(error).__name__}: {error}")
        translated.__cause__ = error
        return translated


def _broken_off() -> WorkspaceError:
    return WorkspaceError("the writer of the workspace broke off; its traceback says why")
