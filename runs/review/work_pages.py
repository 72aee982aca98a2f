"""Looking on while a process works something out that a page or a form has asked for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError
from .app_state import AppState
from .routes import Address, LiveAddress
from .stream import News
from .works import Work


def work(state: AppState, request: Request) -> Response:
    """Say what is being done; once it is done, lead to what came of it."""
    one = _find(state, request)
    if not one.ended:
        return HTMLResponse(state.render("work.html", work=one, again=request.url.path), 202)
    if one.error is not None:
        raise one.error
    return RedirectResponse(one.leads_to or "/", 303)


def live(state: AppState, request: Request) -> News:
    """Tell what it is at; the page is loaded anew when it has ended."""
    one = _find(state, request)
    stamp = "ended" if one.ended else "working"
    return News(state.render("work_state.html", work=one), stamp=stamp)


def _find(state: AppState, request: Request) -> Work:
    one = state.works.find(request.path_params["work"])
    if one is None:
        raise InputError("this work is not known any more", hint="go back and ask for it again")
    return one


ADDRESSES = (Address("/work/{work}", work), LiveAddress("/work/{work}/live", live))
