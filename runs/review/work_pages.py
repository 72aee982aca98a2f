"""Looking on while a process works something out that a page or a form has asked for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError
from .app_state import AppState
from .routes import Address, AsyncAddress
from .stream import News, stream_news
from .works import Work


def work(state: AppState, request: Request) -> Response:
    """Say what is being done; once it is done, lead to what came of it."""
    found = _find(state, request)
    if not found.ended:
        return HTMLResponse(state.render("work.html", work=found, again=request.url.path), 202)
    if found.error is not None:
        raise found.error
    return RedirectResponse(found.leads_to or "/", 303)


async def live(state: AppState, request: Request) -> Response:
    """Tell what it is at; the page is loaded anew when it has ended."""
    found = _find(state, request)

    def look() -> News:
        return News(
            state.render("work_state.html", work=found), stamp="ended" if found.ended else "working"
        )

    return stream_news(state, request, look)


def _find(state: AppState, request: Request) -> Work:
    found = state.works.find(request.path_params["work"])
    if found is None:
        raise InputError("this work is not known any more", hint="go back and ask for it again")
    return found


ADDRESSES = (Address("/work/{work}", work), AsyncAddress("/work/{work}/live", live))
