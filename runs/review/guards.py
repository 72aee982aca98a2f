"""Who may talk to the review page: this machine's user, from the page itself, and nobody else.

A page on another port of this machine is the same site to a browser, which therefore sends it the
cookie and takes its forms; what refuses those is the origin of the request. Another local server
that a person visits can learn the cookie all the same: the page trusts the programs of its own
user.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    # Nothing but our own files, no text of a row can become code; styles and script come from
    # /static alone.
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src"
        " 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`: under that a browser says `Origin: null` of our own forms, and they could
    # not be told.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
SAFE = frozenset({"GET", "HEAD"})


class Guards:
    """ASGI middleware that refuses foreign hosts, visitors without the token, and forms of other
    pages.

    Args:
        app: What is guarded.
        token: The secret of the printed link.
        ticket: Another that lets in the first who has it; empty for none.
        port: Where the server listens; part of the hosts it answers to and of the cookie's name.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int, ticket: str = "") -> None:
        self._app = app
        self._token, self._ticket = token, ticket
        self._cookie = f"judgewright-{port}"
        names = ("127.0.0.1", "localhost")
        # A browser leaves out the port that http has anyway.
        self._hosts = frozenset(
            (*(f"{name}:{port}" for name in names), *(names if port == 80 else ()))
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on; either way with the headers above."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a websocket is nothing we serve: leaving it unanswered closes it

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope) or self._entrance(scope) or self._app
        await answer(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return why the request is not answered, whatever token it has."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("this page answers to 127.0.0.1 and localhost only\n", 400)
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["method"] in SAFE:
            foreign = (
                site in ("same-site", "cross-site") and headers.get("sec-fetch-mode") != "navigate"
            )
            return (
                PlainTextResponse("this page is no part of another one\n", 403) if foreign else None
            )
        if site != "same-origin" or headers.getlist("origin") != [f"http://{hosts[0]}"]:
            return PlainTextResponse(
                "a decision is made on this page itself, not from another one\n", 403
            )
        return None

    def _entrance(self, scope: Scope) -> Response | None:
        """Trade the token of the link for a cookie; refuse who has neither."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if scope["method"] in SAFE and len(tokens) == 1 and self._lets_in(tokens[0]):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            # One slash at the start: `//host` would be another host's address.
            path = "/" + scope["path"].lstrip("/\\")
            entered = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            entered.set_cookie(
                self._cookie, self._token, path="/", httponly=True, samesite="strict"
            )
            return entered
        # Other cookies of this host may be written anyhow; they do not hide ours.
        pairs = ";".join(Headers(scope=scope).getlist("cookie")).split(";")
        named = (pair.strip().partition("=") for pair in pairs)
        cookies = [value for name, _, value in named if name == self._cookie]
        if tokens or not any(map(self._fits, cookies)):
            return PlainTextResponse("open the link that `judgewright review` printed\n", 403)
        return None

    def _fits(self, token: str, secret: str = "") -> bool:
        given = token.encode("utf-8", "surrogatepass")
        return hmac.compare_digest(given, (secret or self._token).encode())

    def _lets_in(self, token: str) -> bool:
        if self._ticket and self._fits(token, self._ticket):
            self._ticket = ""
            return True
        return self._fits(token)
