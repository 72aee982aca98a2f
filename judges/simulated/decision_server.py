"""Serve a decision model over HTTP as one kind of endpoint does, with injected errors.

`Faults` work as they do for chat; `garbage` is a probability above 1, `truncate` leaves a question
out. A script names what goes wrong with each request in turn: a status, such
as `429` or, with Retry-After, `429 after 2`; `quota`, `too_long` or `refusal_error`; `timeout`,
`empty` or `badjson`; or `SPOILT`.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..models.decision_wire import PATHS
from ..models.question import DecisionApi, Question, State
from ..models.tokens import approximate_tokens
from . import decisions
from .chat import RefusedError, json_response, read_body
from .decisions import DecisionError, Json
from .faults import Faults
from .model import Simulated
from .serve import Dropped, Stats

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

Decide = Callable[[Question, State], Sequence[float]]
"""Gives a probability for each option of a question, in their order."""
_SHARES: dict[str, Callable[[Sequence[float]], Sequence[float]]] = {
    "sum_low": lambda shares: [0.99 * share for share in shares],
    "sum_high": lambda shares: [1.2 * share for share in shares],
    "over_one": lambda shares: [*shares[:-1], 1.7],
    "nan": lambda shares: [*shares[:-1], math.nan],
}
_Answers = list[tuple[str | None, Json]]
_ANSWERS: dict[str, Callable[[_Answers], _Answers]] = {
    "refusal": lambda named: [(named[0][0], {"type": "refusal"}), *named[1:]],
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
_ENVELOPE_CODES = {413: 5021, 422: 5012, 429: 3040}


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


class _DecisionService:
    """The endpoint's routes over one decision model."""

    def __init__(self, api: DecisionApi, decide: Decide, options: DecisionOptions) -> None:
        self._api: DecisionApi = api
        self._decide = decide
        self._options = options
        self._attempts: Counter[bytes] = Counter()
        self._billed: set[bytes] = set()
        self.stats = Stats()

    async def post(self, http: HttpRequest) -> Response | Dropped:
        """Answer one request, or spoil it."""
        self.stats.requests += 1
        try:
            response = await self._post(http, self.stats.requests - 1)
        except DecisionError as error:
            response = self._error(error)
        dropped = isinstance(response, Dropped)
        self.stats.answers["dropped" if dropped else str(response.status_code)] += 1
        return response

    async def _post(self, http: HttpRequest, number: int) -> Response | Dropped:
        body, digest = self._admit(http.headers.get("authorization"), await http.body())
        state, named = decisions.read_decision(self._api, body)
        if body.get("model") not in (self._options.model, None):
            raise DecisionError(404, f"{body['model']!r} is not served here", "model_not_found")
        await asyncio.sleep(self._options.faults.latency)
        fault = self._fault(digest, number)
        self.stats.billed += 1
        self.stats.questions += len(named)
        self._billed.add(digest)
        self.stats.bodies = len(self._billed)
        if fault == "timeout":
            await asyncio.sleep(self._options.faults.hold)
            return Dropped()
        tokens = approximate_tokens(json.dumps(body, ensure_ascii=False))
        text = self._answers(state, named, tokens, fault)
        lengths = {"badjson": len(text) // 2, "empty": 0}
        return json_response(text[: lengths.get(fault or "")], headers=self._headers())

    def _admit(self, header: str | None, raw: bytes) -> tuple[Json, bytes]:
        """Return the body and its digest, if the key is right and it is JSON."""
        key = self._options.key
        if key is not None and header != f"Bearer {key}":
            forbidden = header is None and self._api == "systemone"
            raise DecisionError(403 if forbidden else 401, "no valid API key", "invalid_api_key")
        try:
            return read_body(raw)
        except RefusedError as refusal:
            raise decisions.invalid(self._api, str(refusal)) from None

    def _fault(self, digest: bytes, number: int) -> str | None:
        """Return what goes wrong with an answer; raise what goes wrong instead of one."""
        faults, script = self._options.faults, self._options.script
        self._attempts[digest] += 1
        fault = faults.transient(digest, self._attempts[digest]) or faults.sticky(digest)
        if number < len(script):
            fault = script[number]
        if fault is None:
            return None
        self.stats.faults[fault] += 1
        name, _, wait = fault.partition(" after ")
        status, code = _ERRORS.get(name, (int(name) if name.isdecimal() else None, None))
        if status is not None:
            seconds = float(wait) if wait else faults.retry_after
            raise DecisionError(status, f"injected fault {name}", code, retry_after=seconds)
        return {"garbage": "over_one", "truncate": "missing"}.get(fault, fault)

    def _answers(
        self, state: State, named: decisions.Named, tokens: int, fault: str | None
    ) -> bytes:
        answers: _Answers = []
        for name, question in named:
            clean = self._decide(question, state)
            shown = _SHARES[fault](clean) if fault in _SHARES else clean
            answers.append((name, decisions.write_answer(self._api, question, clean, shown)))
        if fault in _ANSWERS:
            answers = _ANSWERS[fault](answers)
        model = self._options.model + ("-other" if fault == "other_model" else "")
        body = decisions.write_answers(self._api, model, answers, tokens)
        if self._options.envelope:
            body = _enveloped(body, [])
        if self._api == "systemone":
            digits = self._options.decimals
            body = json.loads(json.dumps(body), parse_float=lambda text: round(float(text), digits))
        return json.dumps(body).encode()  # orjson would write null for NaN

    def _headers(self) -> dict[str, str]:
        return {"x-request-id": f"req_{self.stats.requests}"} if self._api == "decisions" else {}

    def _error(self, error: DecisionError) -> Response:
        """Write an error; a gateway's time-out is a page."""
        from starlette.responses import HTMLResponse

        if error.status == 504:
            return HTMLResponse("<html><body>504 Gateway Time-out</body></html>", 504)
        headers = self._headers()
        if error.retry_after is not None and error.status in (429, 503):
            headers["retry-after"] = f"{error.retry_after:g}"
        body = decisions.write_error(self._api, error)
        if self._options.envelope:
            code = _ENVELOPE_CODES.get(error.status, error.status)
            if error.code == "insufficient_quota":
                code = 4006
            body = _enveloped(None, [{"code": code, "message": error.message}])
        return json_response(body, status=error.status, headers=headers)

    async def show_stats(self, http: HttpRequest) -> Response:
        """Report the counts."""
        return json_response(self.stats)


def _enveloped(result: Json | None, errors: list[Json]) -> Json:
    return {"result": result, "success": not errors, "errors": errors, "messages": []}


def make_decisions_app(
    api: DecisionApi, decide: Decide | None = None, options: DecisionOptions | None = None
) -> Starlette:
    """Build a decision endpoint, which counts its own requests; `decide` answers instead of the
    simulated judge.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    options = options or DecisionOptions()
    decide = decide or partial(Simulated().decide, repeat=options.faults.seed)
    service = _DecisionService(api, decide, options)
    routes = [
        Route(options.path or f"/v1{PATHS[api]}", service.post, methods=["POST"]),
        Route("/stats", service.show_stats, methods=["GET"]),
    ]
    return Starlette(routes=routes)
