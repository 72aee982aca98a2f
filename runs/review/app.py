"""The application: the sections' pages, behind the guards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..config.environment import Environment
from .app_state import AppState
from .guards import Guards
from .rendering import open_templates
from .routes import route
from .sections import SECTIONS

HERE = Path(__file__).parent
THREADS = 2
"""Threads that read: few and lasting, because each holds a connection to the database for as long as it lives."""


def review_app(root: Path, *, token: str, port: int, environment: Environment) -> Starlette:
    """Return the review page of a workspace as an ASGI application.

    Args:
        token: The secret of the link; who has it may decide.
        port: Where it will be served, on 127.0.0.1.
        environment: Base URL and keys, for the gate that a decision may start.
    """
    state = AppState(root, environment, open_templates([(section.name, section.path) for section in SECTIONS]))
    pool = ThreadPoolExecutor(THREADS, "judgewright-review")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        pool.shutdown()
        state.workspace.close()

    async def lost(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return HTMLResponse(state.render("error.html", title="Nothing here", message="There is no such page."), 404)
        return PlainTextResponse(f"{error.detail}\n", error.status_code, headers=error.headers)

    routes = [
        *(route(address, state, pool) for section in SECTIONS for address in section.addresses),
        Route("/favicon.ico", lambda _: FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guards, token=token, port=port)],
        exception_handlers={HTTPException: lost},
        lifespan=lifespan,
    )
