"""The thread that commits: what queued up during one commit goes into the next.

A lone write waits for nobody, and a crowd of writes shares one `fsync`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ...judges import JudgewrightError, WorkspaceError

T = TypeVar("T")

BATCH = 500
"""Writes in one commit at most."""


class Cursor(Protocol):
    """What a statement found or changed."""

    @property
    def rowcount(self) -> int:
        """How many rows a statement changed."""
        ...

    def fetchone(self) -> Any:  # Any: SQL values
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:  # Any: SQL values
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:  # Any: SQL values
        """Go through the rows that are left."""
        ...


class Connection(Protocol):
    """What a write is given, of either kind of store: a question mark stands for each value."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor:  # Any: SQL values
        """Run one statement, with a question mark for each parameter."""
        ...


@dataclass(slots=True)
class Write:
    """One queued write; its future is settled after the commit that holds it."""

    work: Callable[[Connection], Any]  # Any: each write returns what it likes
    alone: str
    """What nobody else may write meanwhile."""
    future: Future[Any]
    value: Any = None
    error: JudgewrightError | None = None

    def settle(self) -> None:
        """Tell whoever waits."""
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(self.error)


class Committer(Protocol):
    """How a kind of store commits."""

    def commit(self, batch: Sequence[Write]) -> None:
        """Run writes in one transaction and set the value or the error of each; a failing one fails
        alone.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Writer:
    """One thread over one connection, which it closes at its end.

    Args:
        committer: Used by this thread alone.
    """

    def __init__(self, committer: Committer) -> None:
        self._committer = committer
        self._queue: deque[Write] = deque()
        # Guards the queue and the three flags: a write is queued only while the thread will still
        # see it.
        self._changed = threading.Condition()
        self._stopping = False
        self._ended = False
        self._broken = False
        # A daemon, so that a program that forgot to stop it can end.
        self._thread = threading.Thread(target=self._run, name="workspace-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Connection], T], alone: str = "") -> Future[T] | None:
        """Queue a write; the future is done once it has been committed, or has failed alone.

        Returns:
            None when the thread has ended as it was told to: another writer has to take the write.
            While it is stopping it still takes writes, such as those of a callback on an earlier
            one.

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
            self._queue.append(Write(work, alone, future))
            self._changed.notify()
        return future

    def stop(self) -> None:
        """Commit what is queued and end the thread; safe to call twice."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        batch: list[Write] = []
        try:
            while batch := self._take():
                self._committer.commit(batch)
                while batch:
                    batch.pop(0).settle()
        finally:
            # Something is left only when the thread broke off, and then nobody may wait for ever.
            for write in [*batch, *self._end()]:
                write.error = _broken_off()
                write.settle()
            self._committer.close()

    def _take(self) -> list[Write]:
        """Wait for writes and return the next ones; none when there are none left and the thread is
        to end.
        """
        with self._changed:
            while not self._queue and not self._stopping:
                self._changed.wait()
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            self._ended = not batch
        return batch

    def _end(self) -> list[Write]:
        """Take no more writes; return those that nobody will commit."""
        with self._changed:
            self._broken = not self._ended
            unwritten = list(self._queue)
            self._queue.clear()
        return unwritten


def error_of_write(error: Exception) -> JudgewrightError:
    """Say in our words what a write raised that is no error of the store's."""
    if isinstance(error, JudgewrightError):
        return error
    translated = WorkspaceError(f"a write to the workspace failed: {type(error).__name__}: {error}")
    translated.__cause__ = error
    return translated


def _broken_off() -> WorkspaceError:
    return WorkspaceError("the writer of the workspace broke off; its traceback says why")
