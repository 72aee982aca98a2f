"""Which address shows what, and how an answer to it is made: each module of pages lists its own
addresses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ...judges import InputError, JudgewrightError
from .app_state import AppState
from .errors import place_of, words_of
from .forms import read_form
from .stream import News, stream_news
from .works import Work, WorkWanted

MOST_QUERIES = 8
"""So often a page may ask for rows that have to be worked out first."""
PATIENCE = 1.5
"""Seconds that a visitor waits for such rows before a page says what is being done."""

Page = Callable[[AppState, Request], Response]
"""What answers: a function that runs in a thread that reads; of a POST, `request.state.form` has
the fields.
"""
AsyncPage = Callable[[AppState, Request], Awaitable[Response]]
"""What answers on the event loop, and therefore may not wait for a disk: a stream of events, an
upload.
"""


@dataclass(frozen=True, slots=True)
class Address:
    """One address of the page.

    Args:
        path: As Starlette spells it, such as `/runs/{run}`.
        page: What answers.
        method: `GET` to look, `POST` to change something.
    """

    path: str
    page: Page
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class AsyncAddress:
    """The same for an answer that is made on the event loop, which reads a request's body
    itself.
    """

    path: str
    page: AsyncPage
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class LiveAddress:
    """An address that tells what changes while somebody looks on: `look` is asked every second, in
    a thread that reads.
    """

    path: str
    look: Callable[[AppState, Request], News]
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of the navigation, and the addresses that belong to it.

    Args:
        name: As the navigation has it; a template says `{% set section = 'Runs' %}` to be marked as
            part of it.
        path: Where the entry leads.
        addresses: Of its pages.
    """

    name: str
    path: str
    addresses: Sequence[Address | AsyncAddress | LiveAddress]


def route(address: Address | AsyncAddress | LiveAddress, state: AppState, pool: Executor) -> Route:
    """Make a Starlette route of an address; whatever its page raises becomes a page that says
    so.
    """
    if isinstance(address, Address):
        answer = _in_pool(address, state, pool)
    elif isinstance(address, AsyncAddress):
        answer = _on_loop(address.page, state)
    else:
        answer = _looking(address.look, state)
    return Route(address.path, answer, methods=[address.method])


def _looking(
    look: Callable[[AppState, Request], News], state: AppState
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return stream_news(state, request, lambda: look(state, request))

    return answer


def _on_loop(page: AsyncPage, state: AppState) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return await page(state, request)
        except HTTPException:
            raise
        except Exception as error:  # noqa: BLE001  # as in `_safely`
            return _failed(state, error)

    return answer


def _in_pool(
    address: Address, state: AppState, pool: Executor
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        request.state.form = await read_form(request) if request.method == "POST" else {}
        loop = asyncio.get_running_loop()
        patient = request.method == "POST" or _is_part(request)
        for _ in range(MOST_QUERIES):
            result = await loop.run_in_executor(pool, _safely, address.page, state, request)
            if isinstance(result, Response):
                return result
            work = state.works.begin(result)
            if result.leads_on:
                return RedirectResponse(f"/work/{work.work_id}", 303)
            if not await _ends(work, None if patient else PATIENCE):
                return HTMLResponse(
                    state.render("work.html", work=work, again=_address(request)), 202
                )
        return _failed(
            state, InputError("the rows changed while they were read", hint="look again")
        )

    return answer


async def _ends(work: Work, seconds: float | None) -> bool:
    """Wait for a work; tell whether it has ended."""
    assert work.task is not None
    await asyncio.wait([work.task], timeout=seconds)
    return work.ended


def _is_part(request: Request) -> bool:
    """Whether our script asks, for a part of a page, rather than a person for a page."""
    return request.headers.get("sec-fetch-dest", "document") == "empty"


def _address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _safely(page: Page, state: AppState, request: Request) -> Response | WorkWanted:
    try:
        return page(state, request)
    except WorkWanted as wanted:
        return wanted
    except Exception as error:  # noqa: BLE001  # a traceback in the log could quote a row
        return _failed(state, error)


def _failed(state: AppState, error: Exception) -> Response:
    """Answer an error with a page: 404 for an input error, 503 for endpoint, budget or disk, 500
    for a defect.
    """
    if isinstance(error, JudgewrightError):
        message, status = words_of(error), 404 if isinstance(error, InputError) else 503
    else:
        message, status = (
            f"This is a defect in judgewright; please report it: {place_of(error)}",
            500,
        )
    body = state.render("error.html", title="This cannot be shown", message=message)
    return HTMLResponse(body, status)
