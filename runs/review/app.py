"""The application: the sections' pages, behind the guards."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ...judges import JudgewrightError
from ...judges.extras import LIGHT_INSTALL, improves
from ..config.environment import Environment
from ..config.place import Place
from ..reports.rendering import open_templates
from .app_state import AppState
from .guards import Guards
from .routes import route
from .sections import SECTIONS

HERE = Path(__file__).parent

LOOK_SECONDS = 2.0
"""How often the server looks whether jobs wait for a worker."""


def review_app(
    place: Path | Place, *, token: str, port: int, environment: Environment, ticket: str = ""
) -> Starlette:
    """Return the review page of a workspace as an ASGI application.

    Args:
        token: The secret of the link; who has it may decide.
        port: Where it will be served, on 127.0.0.1.
        environment: Base URL and keys, for the gate that a decision may start.
        ticket: A secret that opens the page once; empty for none.
    """
    templates = open_templates(__package__ or "")
    templates.globals["improves"] = improves()
    templates.globals["light_install"] = LIGHT_INSTALL
    templates.globals["sections"] = [(section.name, section.path) for section in SECTIONS]
    state = AppState(Place.of(place), environment, templates)
    pool = state.pool

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(_keep_working(state, pool))
        yield
        watching.cancel()
        state.works.stop()
        pool.shutdown()
        state.workspace.close()

    async def lost(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return HTMLResponse(
                state.render("error.html", title="Nothing here", message="There is no such page."),
                404,
            )
        return PlainTextResponse(f"{error.detail}\n", error.status_code, headers=error.headers)

    routes = [
        *(route(address, state, pool) for section in SECTIONS for address in section.addresses),
        Route(
            "/favicon.ico",
            lambda _: FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml"),
        ),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guards, token=token, port=port, ticket=ticket)],
        exception_handlers={HTTPException: lost},
        lifespan=lifespan,
    )
    app.state.pages = state
    return app


async def _keep_working(state: AppState, pool: Executor) -> None:
    """See to it that jobs are worked: those left over by an earlier server, and those whose worker
    was killed.
    """
    while True:
        with contextlib.suppress(JudgewrightError):
            await asyncio.get_running_loop().run_in_executor(pool, state.keep_working)
        await asyncio.sleep(LOOK_SECONDS)
