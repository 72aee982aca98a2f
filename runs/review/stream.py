"""Server-sent events: what changed on a page while somebody looks on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .app_state import AppState

PAUSE = 1.0
"""Seconds between two looks."""
QUIET_LOOKS = 15
"""After so many looks without news a comment is sent, so that a visitor who left is noticed."""


@dataclass(frozen=True, slots=True)
class News:
    """What a stream tells at one look.

    Args:
        markup: Elements with ids, which take the place of those on the page.
        stamp: Changes when the page as a whole has something else to show, and is loaded anew.
        last: Whether nothing will change after this.
    """

    markup: str
    stamp: str = ""
    last: bool = False


def stream_news(state: AppState, request: Request, look: Callable[[], News]) -> Response:
    """Answer with a stream of what `look` returns, whenever it is something else than before."""
    stamp = request.query_params.get("stamp", "")

    def badge() -> str:
        return state.render("open_jobs.html")

    async def tell() -> AsyncIterator[bytes]:
        before, quiet = "", 0
        while not state.closing and not await request.is_disconnected():
            try:
                news, jobs = await asyncio.get_running_loop().run_in_executor(
                    state.pool, lambda: (look(), badge())
                )
            except Exception:  # noqa: BLE001  # the page says why, once it is loaded anew
                yield event("end", "")
                return
            if stamp and news.stamp != stamp:
                yield event("reload", "")
                return
            if (markup := news.markup + jobs) != before:
                before, quiet = markup, 0
                yield event("renew", markup)
            if news.last:
                yield event("end", "")
                return
            quiet += 1
            if quiet % QUIET_LOOKS == 0:
                yield b": still here\n\n"
            await asyncio.sleep(PAUSE)

    return StreamingResponse(tell(), media_type="text/event-stream")


def event(name: str, data: str) -> bytes:
    """Write one event; no text in the data can begin another field or another event."""
    lines = "".join(
        f"data: {line}\n" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )
    return f"event: {name}\n{lines}\n".encode(errors="replace")
