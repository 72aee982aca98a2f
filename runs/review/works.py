"""Work on many rows in processes of their own: the server stays small, and a page says what is
being done meanwhile.

`python -m judgewright.runs.review.prepare` is such a process. It tells in lines of JSON what it is
doing and, in the last one, what came of it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...judges import InputError, JudgewrightError, WorkspaceError

Json = Mapping[str, Any]  # Any: JSON
AT_ONCE = 2
"""Processes that work at the same time; what comes later waits."""
MOST_ENDED = 200
"""Works that have ended and are still known, for whoever looks on."""
TOLD_FOR = 60.0
"""Seconds for which an error is kept for the page that wanted the work: the file may have been
mended since.
"""
LONGEST_LINE = 64_000_000
"""Bytes of what a process may say in one line."""


class WorkWanted(Exception):
    """There is too much to read for the server itself; a process of its own does it, and then the
    page is made.

    Args:
        key: What is the same for whoever wants the same.
        what: What `prepare` does.
        asked: What it is told, as JSON.
        title: In words.
        leads_on: Where to go then, as after a form, from what came of it; without it the page can
            be made.
    """

    def __init__(
        self,
        key: Hashable,
        what: str,
        asked: Json,
        title: str,
        *,
        leads_on: Callable[[Json], str] | None = None,
    ) -> None:
        super().__init__(key)
        self.key, self.what, self.asked, self.title, self.leads_on = (
            key,
            what,
            asked,
            title,
            leads_on,
        )


@dataclass(slots=True, kw_only=True)
class Work:
    """What a process of its own does."""

    work_id: str
    key: Hashable
    title: str
    doing: str = ""
    """What it is at, as it said last."""
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

    def begin(self, wanted: WorkWanted) -> Work:
        """Begin a work, or return the one that is at it already; on the event loop."""
        for work in self._by_id.values():
            if work.key == wanted.key and not work.ended:
                return work
        work = Work(
            work_id=secrets.token_hex(8),
            key=wanted.key,
            title=wanted.title,
            doing="Waiting for other work",
        )
        work.task = asyncio.create_task(self._do(work, wanted))
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
                return error if time.monotonic() - work.ended_at < TOLD_FOR else None
        return None

    def stop(self) -> None:
        """End the processes, as the server stops."""
        for work in self._by_id.values():
            if work.task is not None:
                work.task.cancel()

    async def _do(self, work: Work, wanted: WorkWanted) -> None:
        async with self._free:
            work.doing = ""

            def doing(words: str) -> None:
                work.doing = words

            try:
                made = await work_apart(wanted.what, wanted.asked, self._variables, doing)
                work.leads_to = wanted.leads_on(made) if wanted.leads_on else ""
            except JudgewrightError as error:
                work.error = error
        work.ended_at = time.monotonic()


async def work_apart(
    what: str,
    asked: Json,
    variables: Mapping[str, str],
    doing: Callable[[str], None] = lambda words: None,
) -> Json:
    """Have another process do something, and return what came of it.

    Args:
        what: What it does.
        asked: What it is told.
        variables: Its environment.
        doing: Called with what it says it is at.

    Raises:
        InputError: It raised one.
        WorkspaceError: It raised another of our errors, or ended otherwise.
    """
    # -P: a module in the working folder, which may be somebody else's workspace, is never imported.
    command = [sys.executable, "-P", "-m", f"{__package__}.prepare", what]
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=nowhere, env=dict(variables), limit=LONGEST_LINE
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode())
        process.stdin.close()
        told: dict[str, Any] = {}
        async for line in process.stdout:
            told = cast("dict[str, Any]", json.loads(line))
            if "doing" in told:
                doing(str(told["doing"]))
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode or ("made" not in told and "error" not in told):
        raise WorkspaceError(
            "the rows could not be read: the process that read them ended", hint="look again"
        )
    if (error := told.get("error")) is None:
        return cast("Json", told["made"])
    raise (InputError if error["input"] else WorkspaceError)(error["message"], hint=error["hint"])
