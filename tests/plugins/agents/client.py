"""A real MCP client that talks to the server over stdin and stdout, as a coding agent does."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

T = TypeVar("T")


def with_server(
    folder: Path,
    work: Callable[[ClientSession], Awaitable[T]],
    *options: str,
    variables: Mapping[str, str] | None = None,
) -> T:
    """Start a server for a folder, do something with it, and end it."""

    no_models = str(folder / "none.yaml")

    async def run() -> T:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "judgewright", "agents", "mcp", "--folder", str(folder), *options],
            env={**os.environ, "JUDGEWRIGHT_MODELS": no_models, **(variables or {})},
            cwd=folder,
        )
        with Path(os.devnull).open("w") as nowhere:
            async with (
                stdio_client(server, errlog=nowhere) as (read, write),
                ClientSession(read, write) as session,
            ):
                await session.initialize()
                return await work(session)

    return anyio.run(run)


def call_all(
    folder: Path,
    *calls: tuple[str, dict[str, Any]],
    options: tuple[str, ...] = (),
    variables: Mapping[str, str] | None = None,
) -> list[CallToolResult]:
    """Call tools one after another on one server."""

    async def work(session: ClientSession) -> list[CallToolResult]:
        return [await session.call_tool(name, arguments) for name, arguments in calls]

    return with_server(folder, work, *options, variables=variables)


def text_of(result: CallToolResult) -> str:
    """All that an agent reads of an answer."""
    texts = [one.text for one in result.content if isinstance(one, TextContent)]
    return "\n".join(texts) + str(result.structured_content or "")


def body_of(result: CallToolResult) -> dict[str, Any]:
    """The object that a tool answered with."""
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content
