"""The server: each tool runs the command of its name in a process of its own, so that an agent and
a person get the same answer, and what is cancelled ends as by Ctrl-C, with what was paid kept.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio
import orjson
from anyio.abc import Process
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from ...judges.errors import DEFECT, DataError, InputError, JudgewrightError
from ...judges.models.call_record import Spending
from .session import Session
from .tools import TOOLS, Arguments, Export, Optimize

_Report = Callable[[float, float | None, str | None], Awaitable[None]]
AT_ONCE = 4
"""Commands that work at the same time; of those that count money there is one."""
LOOK_SECONDS = 1.0
"""Between two notices of progress."""
GRACE_SECONDS = 20.0
"""How long a cancelled command may take to write down what was paid."""
LARGEST = 100_000_000
"""Bytes of what a command prints that are read; one that prints more answers nothing."""
MOST_ANSWERED = 1_000_000
"""Bytes of an answer."""
_DONE = (0, 1, 4)
"""Exit codes of a command that did what it is for, whatever came of it."""
INSTRUCTIONS = (
    "Measure an LLM judge against human labels, find where it errs, improve its prompt there, and"
    " let sealed rows decide once. Say n and the interval with every figure, and that the model is"
    " simulated where it is. Call `plan` before `optimize`. Do not repeat a gate until it passes:"
    " every look at sealed rows counts. A person adopts a prompt, no tool does."
)


@dataclass(slots=True)
class AgentServer:
    """The tools of one session."""

    session: Session
    _paying: anyio.Lock = field(default_factory=anyio.Lock)
    _working: anyio.Semaphore = field(default_factory=partial(anyio.Semaphore, AT_ONCE))

    async def list_tools(
        self,
        ctx: ServerRequestContext[Any],  # Any: the lifespan's, there is none
        params: PaginatedRequestParams | None,
    ) -> ListToolsResult:
        """Return every tool with what it takes."""
        return ListToolsResult(tools=[_describe(name, kind) for name, kind in TOOLS.items()])

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        """Answer a call; what is wrong is said in plain words, for the agent to mend."""
        try:
            if params.name not in TOOLS:
                there = ", ".join(TOOLS)
                raise InputError(f"there is no tool {params.name!r:.80}; there are {there}")
            arguments = _read(TOOLS[params.name], params.arguments or {})
            words, values = arguments.command(self.session)
            async with self._paying if arguments.pays else nullcontext(), self._working:
                words += ["--json", f"--workspace={self.session.place}"]
                if (left := self.session.budget_for(arguments)) is not None:
                    of_all = "+" * isinstance(arguments, Optimize)  # beside what its run has spent
                    words.append(f"--budget={of_all}{left}")
                words += ["--", *values]
                return await self._work(arguments, words, ctx.session.report_progress)
        except JudgewrightError as error:
            return _failed(self.session.clean(_sentence(str(error), error.hint)))
        except OSError as error:
            return _failed(f"{type(error).__name__}: {error.strerror}")

    async def _work(
        self, arguments: Arguments, words: list[str], report: _Report
    ) -> CallToolResult:
        code, out = await self._run(words, arguments, report)
        try:
            body = orjson.loads(out)
        except orjson.JSONDecodeError:
            return _failed(f"the command {words[0]} ended with code {code} and said nothing")
        failure = body.get("error")
        if failure and len(body) <= 2:  # nothing but the error, and the version of its schema
            return _failed(self.session.clean(_explain(failure)))
        if failure:
            body["error"] = _explain(failure)
        trimmed = self.session.clean(arguments.trim(body))
        if arguments.pays and (spent := self.session.spent()):
            trimmed["budget_of_this_server"] = spent
        text = orjson.dumps(trimmed).decode()
        if len(text) > MOST_ANSWERED:
            return _failed(f"the answer has {len(text):,} letters, too many for an agent")
        return CallToolResult(
            content=[TextContent(text=text)],
            structured_content=trimmed,
            is_error=bool(failure) or code not in _DONE,
        )

    async def _run(
        self, words: list[str], arguments: Arguments, report: _Report
    ) -> tuple[int, bytes]:
        """Run a command to its end; cancelled, it is stopped first and what it cost is counted."""
        session = self.session
        before = await anyio.to_thread.run_sync(session.last_attempt)
        # -P: a module in the folder, which may be somebody else's, is never imported.
        process = await anyio.open_process(
            (sys.executable, "-P", "-m", "judgewright", *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=session.folder,
            env=session.variables,
            start_new_session=True,
        )
        count = partial(session.since, before, process.pid)
        out = bytearray()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._tell, count, report)
                assert process.stdout is not None
                async for part in process.stdout:
                    out += part if len(out) <= LARGEST else b""
                await process.wait()
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
                if arguments.pays:
                    _, spending = await anyio.to_thread.run_sync(count)
                    session.count(spending)
        return process.returncode or 0, bytes(out)

    async def _tell(self, count: Callable[[], tuple[int, Spending]], report: _Report) -> None:
        """Tell the agent how far a command is, by what the store has of it."""
        shown = 0.0
        while True:
            await anyio.sleep(LOOK_SECONDS)
            calls, spending = await anyio.to_thread.run_sync(count)
            shown = max(shown + 0.001, float(calls))  # it has to rise
            cost = spending.settled_cost + spending.in_doubt_cost
            await report(shown, None, f"{calls:,} calls, ${cost:.4f}")


def serve(session: Session) -> None:
    """Serve the tools over stdin and stdout until the client goes."""

    async def run() -> None:
        tools = AgentServer(session)
        server = Server[Any](
            "judgewright",
            version=version("judgewright"),
            instructions=INSTRUCTIONS,
            on_list_tools=tools.list_tools,
            on_call_tool=tools.call_tool,
        )
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def _describe(name: str, kind: type[Arguments]) -> Tool:
    return Tool(
        name=name,
        description=" ".join((kind.__doc__ or "").split()),
        input_schema=kind.model_json_schema(),
        annotations=ToolAnnotations(
            read_only_hint=not kind.pays and kind is not Export,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=kind.pays,
        ),
    )


def _read(kind: type[Arguments], values: dict[str, Any]) -> Arguments:  # Any: the agent's JSON
    """Read what an agent says.

    Raises:
        InputError: A name is unknown, or a value is not of its type or too large; it is not quoted.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[:5]
        lines = (f"{'.'.join(map(str, one['loc']))[:80]}: {one['msg']}" for one in first)
        raise InputError(
            "; ".join(lines), hint=f"it takes {', '.join(kind.model_fields)}"
        ) from None


def _explain(failure: dict[str, Any]) -> str:  # Any: JSON
    """Say why a command failed, without what may quote a row."""
    if failure["hint"] == DEFECT:
        return f"this is a defect in judgewright ({failure['kind']}); a person can report it"
    if failure["kind"] == DataError.__name__:
        return _sentence(
            "the file cannot be read as rows of this judge with a label",
            "look at it with `judgewright data check FILE`; `label` and `columns` name its columns",
        )
    return _sentence(failure["message"], failure["hint"])


def _sentence(message: str, hint: str | None) -> str:
    return f"{message} (hint: {hint})" if hint else message


def _failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message)], is_error=True)


async def _stop(process: Process) -> None:
    """End a command that is still at work as Ctrl-C would, and kill it if it does not end."""
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    await process.aclose()
