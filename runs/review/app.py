"""The application: which address shows what. Pages are functions of the state and the request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ...judges import InputError, JudgewrightError
from ..config.environment import Environment
from . import decisions, diff, pages
from .app_state import AppState
from .guards import Guards
from .jobs import place_of
from .rendering import open_templates

HERE = Path(__file__).parent
MAX_FORM = 1_000_000
"""Bytes of a form; a longer one is refused."""
THREADS = 2
"""Threads that read: few and lasting, because each holds a connection to the database for as long as it lives."""

Page = Callable[[AppState, Request], Response]


def review_app(root: Path, *, token: str, port: int, environment: Environment) -> Starlette:
    """Return the review page of a workspace as an ASGI application.

    Args:
        token: The secret of the link; who has it may decide.
        port: Where it will be served, on 127.0.0.1.
        environment: Base URL and keys, for the gate that a decision may start.
    """
    state = AppState(root, environment, open_templates())
    pool = ThreadPoolExecutor(THREADS, "judgewright-review")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        pool.shutdown()
        state.workspace.close()

    def at(path: str, page: Page, *methods: str) -> Route:
        async def answer(request: Request) -> Response:
            request.state.form = await read_form(request) if request.method == "POST" else {}
            return await asyncio.get_running_loop().run_in_executor(pool, _safely, page, state, request)

        return Route(path, answer, methods=list(methods) or ["GET"])

    async def lost(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return HTMLResponse(state.render("error.html", title="Nothing here", message="There is no such page."), 404)
        return PlainTextResponse(f"{error.detail}\n", error.status_code, headers=error.headers)

    routes = [
        at("/", pages.runs),
        at("/runs/{run}", pages.run),
        at("/runs/{run}/live", pages.live),
        at("/runs/{run}/flips", pages.flips),
        at("/runs/{run}/reliability.svg", pages.reliability),
        at("/runs/{run}/diff", diff.diff),
        at("/runs/{run}/decide", decisions.decide, "POST"),
        at("/runs/{run}/edit", decisions.edit, "POST"),
        at("/judges", pages.judges),
        at("/judges/{name}", pages.judge),
        at("/work", pages.job),
        at("/work/live", pages.job_live),
        Route("/favicon.ico", lambda _: FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guards, token=token, port=port)],
        exception_handlers={HTTPException: lost},
        lifespan=lifespan,
    )


async def read_form(request: Request) -> dict[str, list[str]]:
    """Read the fields of a plain form.

    Raises:
        HTTPException: It is too long, or not such a form.
    """
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise HTTPException(415, "a plain form is expected")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM:
                raise HTTPException(413, f"a form of more than {MAX_FORM:,} bytes is not read")
    except ClientDisconnect:
        raise HTTPException(400, "the form did not arrive whole") from None
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=1_000, errors="strict")
    except ValueError:
        raise HTTPException(400, "the form is not readable") from None


def _safely(page: Page, state: AppState, request: Request) -> Response:
    """Answer an error with a page: 404 for an input error, 503 for endpoint, budget or disk, 500 for a defect."""
    try:
        return page(state, request)
    except JudgewrightError as error:
        message = f"{error}{f' ({error.hint})' if error.hint else ''}"
        body = state.render("error.html", title="This cannot be shown", message=message)
        return HTMLResponse(body, 404 if isinstance(error, InputError) else 503)
    except Exception as error:  # noqa: BLE001  # a traceback in the log could quote a row
        message = f"This is a defect in judgewright; please report it: {place_of(error)}"
        return HTMLResponse(state.render("error.html", title="This cannot be shown", message=message), 500)
