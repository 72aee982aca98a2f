"""Which address shows what, and how an answer to it is made: each module of pages lists its own addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ...judges import InputError, JudgewrightError
from .app_state import AppState, WorkWanted
from .errors import place_of
from .forms import read_form

MOST_QUERIES = 8
"""So often a page may ask for rows that have to be worked out first."""

Page = Callable[[AppState, Request], Response]
"""What answers: a function that runs in a thread that reads; of a POST, `request.state.form` has the fields."""
AsyncPage = Callable[[AppState, Request], Awaitable[Response]]
"""What answers on the event loop, and therefore may not wait for a disk: a stream of events, an upload."""


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
    """The same for an answer that is made on the event loop, which reads a request's body itself."""

    path: str
    page: AsyncPage
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of the navigation, and the addresses that belong to it.

    Args:
        name: As the navigation has it; a template says `{% set section = 'Runs' %}` to be marked as part of it.
        path: Where the entry leads.
        addresses: Of its pages.
    """

    name: str
    path: str
    addresses: Sequence[Address | AsyncAddress]


def route(address: Address | AsyncAddress, state: AppState, pool: Executor) -> Route:
    """Make a Starlette route of an address; whatever its page raises becomes a page that says so."""
    answer = _on_loop(address.page, state) if isinstance(address, AsyncAddress) else _in_pool(address.page, state, pool)
    return Route(address.path, answer, methods=[address.method])


def _on_loop(page: AsyncPage, state: AppState) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return await page(state, request)
        except HTTPException:
            raise
        except Exception as error:  # noqa: BLE001  # as in `_safely`
            return _failed(state, error)

    return answer


def _in_pool(page: Page, state: AppState, pool: Executor) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        request.state.form = await read_form(request) if request.method == "POST" else {}
        loop = asyncio.get_running_loop()
        for _ in range(MOST_QUERIES):
            made = await loop.run_in_executor(pool, _safely, page, state, request)
            if isinstance(made, Response):
                return made
            try:
                await state.prepare(made)
            except JudgewrightError as error:
                return _failed(state, error)
        return _failed(state, InputError("the rows changed while they were read", hint="look again"))

    return answer


def _safely(page: Page, state: AppState, request: Request) -> Response | WorkWanted:
    try:
        return page(state, request)
    except WorkWanted as wanted:
        return wanted
    except Exception as error:  # noqa: BLE001  # a traceback in the log could quote a row
        return _failed(state, error)


def _failed(state: AppState, error: Exception) -> Response:
    """Answer an error with a page: 404 for an input error, 503 for endpoint, budget or disk, 500 for a defect."""
    if isinstance(error, JudgewrightError):
        message = f"{error}{f' ({error.hint})' if error.hint else ''}"
        body = state.render("error.html", title="This cannot be shown", message=message)
        return HTMLResponse(body, 404 if isinstance(error, InputError) else 503)
    message = f"This is a defect in judgewright; please report it: {place_of(error)}"
    return HTMLResponse(state.render("error.html", title="This cannot be shown", message=message), 500)
