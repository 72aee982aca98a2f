"""Serve a model over HTTP the way OpenAI-compatible endpoints do, with injected errors.

`POST /v1/chat/completions` (no streaming, one choice), `GET /v1/models`, and `GET /stats`, which
counts what was asked, answered and spoilt. No key is asked for; headers are neither stored nor
logged.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, WorldError
from ..models.model import REASONING, Completion, Model, Request
from ..models.tokens import approximate_tokens
from .chat import (
    RefusedError,
    error_response,
    json_response,
    read_body,
    read_request,
    write_answer,
)
from .faults import Faults

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

__all__ = ["Dropped", "Faults", "Server", "Stats", "make_app"]


@dataclass(slots=True)
class Stats:
    """What a served model has done so far."""

    requests: int = 0
    billed: int = 0
    """Completions the model made, whether or not the answer reached the caller."""
    bodies: int = 0
    """Different request bodies among the billed ones; `billed - bodies` were paid twice."""
    answers: Counter[str] = field(default_factory=Counter)
    """What callers got: HTTP statuses, and `dropped` for a connection that was cut."""
    faults: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Requests refused with 400, by the parameter refused."""


class Dropped:
    """A response that promises a body and closes the connection instead."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"4096")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})


class Service:
    """What every kind of endpoint counts; a kind of it answers in `_respond`."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.stats = Stats()
        self._attempts: Counter[bytes] = Counter()
        self._billed: set[bytes] = set()

    async def post(self, http: HttpRequest) -> Response | Dropped:
        """Answer one request, or spoil it."""
        self.stats.requests += 1
        answer = await self._respond(http)
        outcome = "dropped" if isinstance(answer, Dropped) else str(answer.status_code)
        self.stats.answers[outcome] += 1
        return answer

    async def _respond(self, http: HttpRequest) -> Response | Dropped:
        raise NotImplementedError

    def _transient(self, digest: bytes) -> str | None:
        # By body, so that the errors a client sees do not depend on the order of its requests.
        self._attempts[digest] += 1
        return self._counted(self.faults.transient(digest, self._attempts[digest]))

    def _sticky(self, digest: bytes) -> str | None:
        return self._counted(self.faults.sticky(digest))

    def _counted(self, fault: str | None) -> str | None:
        if fault is not None:
            self.stats.faults[fault] += 1
        return fault

    def _bill(self, digest: bytes) -> None:
        self.stats.billed += 1
        self._billed.add(digest)
        self.stats.bodies = len(self._billed)

    def serve(self, path: str, *others: Route) -> Starlette:
        """Return the app that answers at a path, and at `/stats` says what it did."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        async def show_stats(_: HttpRequest) -> Response:
            return json_response(self.stats)

        return Starlette(
            routes=[
                Route(path, self.post, methods=["POST"]),
                Route("/stats", show_stats, methods=["GET"]),
                *others,
            ]
        )


class _ChatService(Service):
    """The endpoint's three routes over one model."""

    def __init__(self, model: Model, faults: Faults) -> None:
        super().__init__(faults)
        self.model = model

    async def _respond(self, http: HttpRequest) -> Response | Dropped:
        try:
            request, digest = self._read(await http.body())
        except RefusedError as refusal:
            return _refused(refusal)
        await asyncio.sleep(self.faults.latency)
        fault = self._transient(digest)
        if fault is not None and fault.isdecimal():
            return error_response(
                int(fault), f"injected fault {fault}", retry_after=self.faults.retry_after
            )
        try:
            completion = await self._complete(request, digest)
        except ModelError as error:
            return error_response(error.status or 500, str(error), retry_after=error.retry_after)
        if fault == "timeout":
            await asyncio.sleep(self.faults.hold)
            return Dropped()
        answer = write_answer(completion, request, self.model.name)
        return json_response(answer[: len(answer) // 2] if fault == "badjson" else answer)

    def _read(self, raw: bytes) -> tuple[Request, bytes]:
        body, digest = read_body(raw)
        try:
            self._refuse(body)
            return read_request(body), digest
        except RefusedError as refusal:
            if refusal.parameter:
                self.stats.refused[refusal.parameter] += 1
            raise

    async def _complete(self, request: Request, digest: bytes) -> Completion:
        completion = await self._answer(request)
        self._bill(digest)
        spoilt = self._sticky(digest)
        if spoilt == "garbage":
            return replace(completion, text=self.faults.garbage_text(digest), logprobs=())
        if spoilt == "refusal":
            return replace(completion, text="", refusal="I cannot judge this.", logprobs=())
        if spoilt == "truncate":
            return _cut(completion)
        return completion

    async def _answer(self, request: Request) -> Completion:
        """Ask the model; where it reasons, only what the limit of tokens leaves is for the
        answer.
        """
        thought, limit = self.faults.reasoning, request.max_tokens
        if limit is not None and limit <= thought:
            prompt = sum(approximate_tokens(message.content) for message in request.messages)
            spent = {REASONING: str(limit)}
            return Completion(
                text="", finish_reason="length", tokens_in=prompt, tokens_out=limit, extra=spent
            )
        if not thought:
            return await self.model.complete(request)
        completion = await self.model.complete(
            replace(request, max_tokens=limit and limit - thought)
        )
        spent = {**completion.extra, REASONING: str(thought)}
        return replace(completion, tokens_out=completion.tokens_out + thought, extra=spent)

    def _refuse(self, body: Mapping[str, Any]) -> None:  # Any: JSON before it is checked
        if body.get("stream"):
            raise RefusedError(
                "streaming is not supported here: leave 'stream' out", "stream", "unsupported_value"
            )
        if body.get("n") not in (None, 1):
            raise RefusedError(
                f"n is {body['n']!r}; only one choice per request is served",
                "n",
                "unsupported_value",
            )
        for name in sorted(self.faults.refuse):
            if body.get(name) is not None and body[name] is not False:
                text = f"Unsupported parameter: '{name}' is not supported with this model."
                raise RefusedError(text, name, "unsupported_parameter")

    async def models(self, http: HttpRequest) -> Response:
        """List the one model that is served."""
        entry = {"id": self.model.name, "object": "model", "created": 0, "owned_by": "judgewright"}
        return json_response({"object": "list", "data": [entry]})


def make_app(model: Model, faults: Faults | None = None) -> Starlette:
    """Build the endpoint over a model; each app counts its own attempts and faults."""
    from starlette.routing import Route

    service = _ChatService(model, faults or Faults())
    models = Route("/v1/models", service.models, methods=["GET"])
    return service.serve("/v1/chat/completions", models)


class Server:
    """The app on a socket: in a thread (`with Server(app) as server: server.base_url`) or in the
    foreground (`run`).
    """

    def __init__(self, app: Starlette, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._app = app
        self._host = host
        self._port = port
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._server: uvicorn.Server | None = None

    @property
    def base_url(self) -> str:
        """The address to give a client, ending in `/v1`; known once the socket is bound."""
        if self._socket is None:
            raise WorldError("the server has not been started")
        host, port = self._socket.getsockname()[:2]
        if ":" in host:  # an IPv6 address
            host = f"[{host}]"
        return f"http://{host}:{port}/v1"

    def run(self, announce: Callable[[str], None]) -> None:
        """Serve until interrupted; `announce` is told the base URL once connections are accepted.

        Raises:
            WorldError: The address is taken or not ours.
        """
        self._bind()
        announce(self.base_url)
        self._configure().run(sockets=[self._bind()])

    def __enter__(self) -> Server:
        listening = self._bind()
        self._server = self._configure()
        # A daemon, so that a test that fails before __exit__ cannot keep the process alive.
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()

    def _bind(self) -> socket.socket:
        """Listen at once, so that connections made before the loop runs wait instead of failing."""
        if self._socket is None:
            family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            listening = socket.socket(family)
            # A server started again at once would find its port still taken.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listening.bind((self._host, self._port))
            except OSError as error:
                listening.close()
                raise WorldError(
                    f"cannot listen on {self._host}:{self._port}: {error.strerror}",
                    hint="--port N takes another port",
                ) from error
            listening.listen(2048)
            self._socket = listening
        return self._socket

    def _configure(self) -> uvicorn.Server:
        import uvicorn

        config = uvicorn.Config(
            self._app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            loop="asyncio",
            timeout_graceful_shutdown=1,
        )
        return uvicorn.Server(config)


def _cut(completion: Completion) -> Completion:
    half = len(completion.text) // 2
    return replace(
        completion,
        text=completion.text[:half],
        finish_reason="length",
        tokens_out=max(1, completion.tokens_out // 2),
        logprobs=completion.logprobs[: len(completion.logprobs) // 2],
    )


def _refused(refusal: RefusedError) -> Response:
    return error_response(400, str(refusal), code=refusal.code, parameter=refusal.parameter)
