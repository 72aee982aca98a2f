"""Work on many rows in processes of their own: the server stays small, and a page says meanwhile
what is being done.
"""

from __future__ import annotations

import asyncio
import pickle
import secrets
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from ...judges import JudgewrightError, WorkspaceError

AT_ONCE = 2
"""Processes that work at the same time; what comes later waits."""
MOST_ENDED = 200
"""Works that have ended and are still known, for whoever looks on."""
KEPT_SECONDS = 60.0
"""How long an error is kept for the page that wanted the work: the file may have been mended since.
"""
Arguments = tuple[Any, ...]  # Any: whatever the function takes


class WorkWanted(Exception):
    """There is too much to read for the server itself; a process of its own does it, and then the
    page is made.

    Args:
        key: What is the same for whoever wants the same.
        function: What the process calls; a function of a module.
        arguments: Of the function.
        title: What it does, in words.
        leads_on: Where to go then, as after a form, from what came of it; without it the page can
            be made.
    """

    def __init__(
        self,
        key: Hashable,
        function: Callable[..., Any],  # Any: what came of it
        arguments: Arguments,
        title: str,
        *,
        leads_on: Callable[[Any], str] | None = None,  # Any: as above
    ) -> None:
        super().__init__(key)
        self.key, self.function, self.arguments = key, function, arguments
        self.title, self.leads_on = title, leads_on


@dataclass(slots=True, kw_only=True)
class Work:
    """What a process of its own does."""

    work_id: str
    key: Hashable
    title: str
    task: asyncio.Task[None] | None = None
    leads_to: str = ""
    """The address where to go once it has ended well; empty where the page that wanted it can be
    made.
    """
    error: JudgewrightError | None = None
    """Why nothing came of it."""
    ended_at: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether it has ended, well or not."""
        return self.task is not None and self.task.done()


class Works:
    """What is being worked out, and for a while what was.

    Args:
        variables: The environment of the processes.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._by_id: dict[str, Work] = {}
        self._free = asyncio.Semaphore(AT_ONCE)

    def begin(self, order: WorkWanted) -> Work:
        """Begin a work, or return the one that is at it already; on the event loop."""
        for work in self._by_id.values():
            if work.key == order.key and not work.ended:
                return work
        work = Work(work_id=secrets.token_hex(8), key=order.key, title=order.title)
        work.task = asyncio.create_task(self._do(work, order))
        self._by_id[work.work_id] = work
        for old in [one.work_id for one in self._by_id.values() if one.ended][:-MOST_ENDED]:
            del self._by_id[old]
        return work

    def find(self, work_id: str) -> Work | None:
        """Return a work by its id; None where it is not known any more."""
        return self._by_id.get(work_id)

    def take_error(self, key: Hashable) -> JudgewrightError | None:
        """Return once why the last work for a page came to nothing; None where it did not, or long
        ago.
        """
        for work in [*self._by_id.values()][::-1]:
            if work.key == key and work.ended:
                error, work.error = work.error, None
                return error if time.monotonic() - work.ended_at < KEPT_SECONDS else None
        return None

    def stop(self) -> None:
        """End the processes, as the server stops."""
        for work in self._by_id.values():
            if work.task is not None:
                work.task.cancel()

    async def _do(self, work: Work, order: WorkWanted) -> None:
        async with self._free:
            try:
                result = await work_apart(order.function, order.arguments, self._variables)
                work.leads_to = order.leads_on(result) if order.leads_on else ""
            except JudgewrightError as error:
                work.error = error
        work.ended_at = time.monotonic()


async def work_apart(
    function: Callable[..., Any], arguments: Arguments, variables: Mapping[str, str]
) -> Any:  # Any: what the function takes and returns
    """Call a function in another process, and return what came of it.

    Args:
        function: A function of a module.
        arguments: Its arguments.
        variables: The environment of the process.

    Raises:
        JudgewrightError: The function raised it.
        WorkspaceError: The process ended otherwise.
    """
    # -P: a module in the working folder, which may be somebody else's workspace, is never imported.
    command = [sys.executable, "-P", "-m", f"{__package__}.prepare"]
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=nowhere, env=dict(variables)
    )
    try:
        answer, _ = await process.communicate(pickle.dumps((function, arguments)))
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise WorkspaceError(
            "the rows could not be read: the process that read them ended", hint="look again"
        )
    result, error = pickle.loads(answer)  # noqa: S301  # our own process wrote it
    if error is not None:
        raise error
    return result
