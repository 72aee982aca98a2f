"""The engine: where the calls of one `Client.ask` are sent from. This process is one kind (`Here`).

Another is many processes (`runs.engine`); an `Exchange` sends no single calls and is none.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Protocol

from ..errors import BudgetSpent, Interrupted
from .counters import Call, Counters, Progress
from .dispatcher import ClientContext, Dispatcher
from .model import Model, Request

_REPORT_EVERY = 0.1


class Engine(Protocol):
    """Brings calls to their outcomes."""

    def ask(
        self,
        context: ClientContext,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
        progress: Callable[[Progress], None] | None,
    ) -> BudgetSpent | None:
        """Give every call its outcome; return why some have none, where the budget does not cover
        them.

        Args:
            context: The client's.
            calls: Without outcomes, each once.
            make: Makes the request at a position, for calls that come without theirs.
            counters: Of the `ask` that they belong to.
            progress: Called in this thread about ten times a second; an exception from it stops
                everything as Ctrl-C does, and is raised.

        Raises:
            ModelError: Every other request would fail as well.
            Interrupted: Ctrl-C; what was in flight was awaited and recorded. A second Ctrl-C gives
                it up.
            WorkspaceError: The record cannot be written.
        """
        ...


class Here:
    """Sends them from this process, in an event loop of its own thread, which starts when it is
    first needed.

    Args:
        model: Whose connections are released at the end.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def ask(
        self,
        context: ClientContext,
        calls: Sequence[Call],
        make: Callable[[int], Request],
        counters: Counters,
        progress: Callable[[Progress], None] | None,
    ) -> BudgetSpent | None:
        """See `Engine.ask`; several threads may ask at the same time."""
        dispatcher = Dispatcher(context, calls, make, counters)
        work = asyncio.run_coroutine_threadsafe(dispatcher.run(), self._running_loop())
        try:
            _watch(work, counters, progress)
        except KeyboardInterrupt:
            self._drain(dispatcher, work, counters)
        finally:
            # The progress callback failed: its error goes on, and what was paid for is still
            # recorded.
            if not work.done():
                self._drain(dispatcher, work, counters)
        work.result()
        if dispatcher.stopped is None or isinstance(dispatcher.stopped, BudgetSpent):
            return dispatcher.stopped
        raise dispatcher.stopped

    def close(self) -> None:
        """Release the model's connections and the thread; it may be asked again."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        try:
            asyncio.run_coroutine_threadsafe(self._model.close(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon, so that a program that fails can end without closing its client.
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="judgewright-client", daemon=True
                )
                self._thread.start()
            return self._loop

    def _drain(self, dispatcher: Dispatcher, work: Future[None], counters: Counters) -> None:
        """Send nothing more and await what is on the wire; a further Ctrl-C gives it up."""
        with draining(counters) as interrupted:
            self._running_loop().call_soon_threadsafe(dispatcher.stop, interrupted)
            try:
                _watch(work, counters, None)
            except KeyboardInterrupt:
                work.cancel()
                raise


@contextmanager
def draining(counters: Counters) -> Generator[Interrupted]:
    """Yield the error to stop with while what is on the wire is awaited; it says how many were
    answered in the end.

    Raises:
        Interrupted: A further Ctrl-C gave it up.
    """
    interrupted = Interrupted(
        "", hint="the same command goes on: what was answered is not asked again"
    )
    try:
        yield interrupted
    except KeyboardInterrupt:
        message = "stopped at once: calls in flight were given up and may have been charged"
        raise Interrupted(message, hint=interrupted.hint) from None
    answered = f"{counters.done:,} of {counters.total:,}"
    interrupted.args = (f"stopped with {answered} requests answered, all of them kept",)


def _watch(
    work: Future[None], counters: Counters, progress: Callable[[Progress], None] | None
) -> None:
    """Return when the work is done; report meanwhile."""
    while not wait([work], timeout=_REPORT_EVERY).done:
        if progress is not None:
            progress(counters.progress())
