"""Serve a decision model over HTTP as one kind of endpoint does, with injected errors.

`Faults` work as they do for chat; `garbage` is an answer that is no distribution, `truncate` one
that leaves a question out. A script names what goes wrong with each request in turn: a status, such
as `429` or, with Retry-After, `429 after 2`; `quota`, `too_long` or `refusal_error`; `timeout`,
`empty` or `badjson`; or `SPOILT`.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..models.decision_wire import PATHS
from ..models.question import DecisionApi, Question, State
from ..models.tokens import approximate_tokens
from . import decisions
from .chat import RefusedError, json_response, read_body
from .decisions import DecisionError, Json, NamedQuestion
from .faults import Faults
from .model import Simulated
from .rules import pick
from .serve import Dropped, Service

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

Decide = Callable[[Question, State], Sequence[float]]
"""Gives a probability for each option of a question, in their order."""
_Answers = list[tuple[str | None, Json]]
_SHARES: dict[str, Callable[[Sequence[float]], Sequence[float]]] = {
    "sum_low": lambda shares: [0.99 * share for share in shares],
    "sum_high": lambda shares: [1.2 * share for share in shares],
    "over_one": lambda shares: [*shares[:-1], 1.7],
    "nan": lambda shares: [*shares[:-1], math.nan],
}
_ANSWERS: dict[str, Callable[[_Answers], _Answers]] = {
    "refusal": lambda named: [(named[0][0], {"type": "refusal", "name": named[0][0]}), *named[1:]],
    "other_type": lambda named: [(named[0][0], {**named[0][1], "type": "text"}), *named[1:]],
    "missing": lambda named: named[:-1],
    "reordered": lambda named: named[::-1],
}
SPOILT = (*_SHARES, *_ANSWERS, "other_model")
"""What can be wrong with an answer of status 200."""
_ERRORS = {
    "quota": (429, "insufficient_quota"),
    "too_long": (413, "context_length_exceeded"),
    "refusal_error": (400, "content_filter"),
}
_ENVELOPE_CODES = {"insufficient_quota": 4006, 413: 5021, 422: 5012, 429: 3040}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOptions:
    """What a decision endpoint is besides its answers."""

    model: str = "simulated"
    key: str | None = None
    """Asked for as a Bearer token; None asks for none."""
    path: str | None = None
    """Instead of the path of its kind."""
    decimals: int = 4
    """Of the numbers of System One; the others are exact."""
    envelope: bool = False
    """Whether Cloudflare's `{result, success, errors, messages}` is around everything."""
    faults: Faults = field(default_factory=Faults)
    script: Sequence[str | None] = ()
    """What goes wrong with each request; when it has ended, `faults` decide."""


class _DecisionService(Service):
    """The endpoint's routes over one decision model."""

    def __init__(self, api: DecisionApi, decide: Decide, options: DecisionOptions) -> None:
        super().__init__(options.faults)
        self._api: DecisionApi = api
        self._decide = decide
        self._options = options
        self._models = {options.model}
        if api == "sglang":
            self._models |= {None, "default"}

    async def _post(self, http: HttpRequest) -> Response | Dropped:
        number = self.stats.requests - 1
        try:
            self._authorize(http.headers.get("authorization"))
            body, digest = self._read(await http.body())
            state, questions = decisions.read_decision(self._api, body)
            self._check_model(body.get("model"))
            await asyncio.sleep(self.faults.latency)
            fault = self._fault(digest, number)
        except DecisionError as error:
            return self._error(error)
        self._bill(digest)
        self.stats.questions += len(questions)
        if fault == "timeout":
            await asyncio.sleep(self.faults.hold)
            return Dropped()
        return self._answer(body, state, questions, fault)

    def _authorize(self, header: str | None) -> None:
        key = self._options.key
        if key is not None and header != f"Bearer {key}":
            forbidden = header is None and self._api == "systemone"
            raise DecisionError(403 if forbidden else 401, "no valid API key", "invalid_api_key")

    def _check_model(self, model: str | None) -> None:
        if model not in self._models:
            raise DecisionError(404, f"no model {model!r} is served", "model_not_found")

    def _read(self, raw: bytes) -> tuple[Json, bytes]:
        try:
            return read_body(raw)
        except RefusedError as refusal:
            raise decisions.invalid(self._api, str(refusal)) from None

    def _fault(self, digest: bytes, number: int) -> str | None:
        """Return what goes wrong with the answer to a request, if anything.

        Raises:
            DecisionError: There is an error instead.
        """
        fault = self._transient(digest) or self.faults.sticky(digest)
        if number < len(self._options.script):
            fault = self._options.script[number]
        fault = {"truncate": "missing"}.get(fault or "", fault)
        if fault == "garbage":
            fault = pick(("sum_high", "over_one", "nan", "other_type"), digest.hex())
        if fault is None:
            return None
        self.stats.faults[fault] += 1
        name, _, wait = fault.partition(" after ")
        status, code = _ERRORS.get(name, (int(name) if name.isdecimal() else None, None))
        if status is not None:
            seconds = float(wait) if wait else self.faults.retry_after
            raise DecisionError(status, f"injected fault {name}", code, retry_after=seconds)
        return fault

    def _answer(
        self, body: Json, state: State, questions: Sequence[NamedQuestion], fault: str | None
    ) -> Response:
        answers: _Answers = []
        for asked in questions:
            clean = self._decide(asked.question, state)
            shown = _SHARES[fault](clean) if fault in _SHARES else clean
            answer = decisions.write_answer(self._api, asked, clean, shown)
            if self._api == "systemone":
                answer = json.loads(json.dumps(answer), parse_float=self._rounded)
            answers.append((asked.name, answer))
        if fault in _ANSWERS:
            answers = _ANSWERS[fault](answers)
        model = self._options.model + ("-other" if fault == "other_model" else "")
        tokens = approximate_tokens(json.dumps(body, ensure_ascii=False))
        whole = decisions.write_answers(self._api, model, answers, tokens)
        if self._options.envelope:
            whole = _enveloped(whole, [])
        text = json.dumps(whole).encode()  # orjson would write null for NaN
        if fault in ("badjson", "empty"):
            text = text[: len(text) // 2 if fault == "badjson" else 0]
        return json_response(text, headers=self._headers())

    def _rounded(self, number: str) -> float:
        return round(float(number), self._options.decimals)

    def _headers(self) -> dict[str, str]:
        return {"x-request-id": f"req_{self.stats.requests}"} if self._api == "decisions" else {}

    def _error(self, error: DecisionError) -> Response:
        """Write an error; a gateway's time-out is a page."""
        from starlette.responses import HTMLResponse

        headers = self._headers()
        if error.retry_after is not None and error.status in (429, 503):
            headers["retry-after"] = f"{error.retry_after:g}"
        body = decisions.write_error(self._api, error)
        if self._options.envelope:
            code = _ENVELOPE_CODES.get(error.code or "") or _ENVELOPE_CODES.get(error.status)
            errors = [{"code": code or error.status, "message": error.message}]
            body = _enveloped(None, errors)
        if error.status == 504:
            return HTMLResponse("<html><body>504 Gateway Time-out</body></html>", 504)
        return json_response(body, status=error.status, headers=headers)

    async def no_route(self, http: HttpRequest, error: Exception) -> Response:
        """Answer where nothing is served."""
        return self._error(DecisionError(404, f"nothing is served at {http.url.path}"))


def _enveloped(result: Json | None, errors: list[Json]) -> Json:
    return {"result": result, "success": not errors, "errors": errors, "messages": []}


def make_decisions_app(
    api: DecisionApi, decide: Decide | None = None, options: DecisionOptions | None = None
) -> Starlette:
    """Build a decision endpoint; each app counts its own requests and faults.

    Args:
        api: Which kind of endpoint it is.
        decide: Answers instead of the simulated judge.
        options: How the endpoint behaves.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    options = options or DecisionOptions()
    decide = decide or partial(Simulated().decide, repeat=options.faults.seed)
    service = _DecisionService(api, decide, options)
    path = options.path or f"/v1{PATHS[api]}"
    routes = [
        Route(path, service.post, methods=["POST"]),
        Route("/stats", service.show_stats, methods=["GET"]),
    ]
    handlers = {404: service.no_route, 405: service.no_route}
    return Starlette(routes=routes, exception_handlers=handlers)
