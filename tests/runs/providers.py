"""Model providers over real HTTP that note each request's Authorization header."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from judgewright.judges.simulated import Faults, Server, Simulated, make_app


@dataclass
class Provider:
    """A served model, and what it saw."""

    url: str = ""
    seen: list[str] = field(default_factory=list)
    """The Authorization header of each request, whatever became of it."""
    demands: str | None = None
    """The only Authorization that is let in; None lets everybody in."""
    refuses: str = ""
    """Parameters that are refused with 400, joined by +."""
    garbles: bool = False
    """Whether every reply is prose without a verdict."""
    delay: float = 0.0
    """Seconds each request waits for its answer."""
    moved_to: str | None = None
    """Where a 307 sends everybody."""

    @property
    def origin(self) -> str:
        """Without the path."""
        return self.url.removesuffix("/v1")


class _Doorkeeper:
    """Middleware: note who comes, and send away who may not in."""

    def __init__(self, app: ASGIApp, provider: Provider) -> None:
        self.app = app
        self.provider = provider

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.responses import JSONResponse, RedirectResponse

        headers = dict(scope["headers"])
        authorization = headers.get(b"authorization", b"").decode()
        self.provider.seen.append(authorization)
        await asyncio.sleep(self.provider.delay)
        if self.provider.moved_to is not None:
            await RedirectResponse(self.provider.moved_to + scope["path"], 307)(
                scope, receive, send
            )
        elif self.provider.demands not in (None, authorization):
            await JSONResponse({"error": {"message": "Missing credentials"}}, 401)(
                scope, receive, send
            )
        else:
            await self.app(scope, receive, send)


@contextmanager
def serving(provider: Provider | None = None) -> Iterator[Provider]:
    """Serve the simulated model on a free port."""
    provider = provider or Provider()
    faults = [f"refuse={provider.refuses}"] if provider.refuses else []
    if provider.garbles:
        faults.append("garbage=1")
    app = make_app(Simulated(), Faults.parse(",".join(faults)))
    app.add_middleware(_Doorkeeper, provider=provider)
    with Server(app) as server:
        provider.url = server.base_url
        yield provider
