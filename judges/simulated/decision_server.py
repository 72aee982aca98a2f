"""Serve a decision model over HTTP as one kind of endpoint does, with injected errors.

`Faults` work as they do for chat; `garbage` is a probability above 1, `truncate` leaves a question
out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..models.question import INTERFACES, DecisionApi, Question, State
from ..models.tokens import approximate_tokens
from . import decisions
from .chat import RefusedError, json_response, read_body
from .decisions import DecisionError, Json, Named
from .faults import Faults
from .model import Simulated
from .serve import Dropped, Service

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

Decide = Callable[[Question, State], Sequence[float]]
"""Gives a probability for each option of a question, in their order."""
Answers = list[tuple[str | None, Json]]


class DecisionService(Service):
    """The endpoint's routes over one decision model.

    Args:
        api: Its kind.
        decide: Answers instead of the simulated judge.
        model: The name that it serves.
        faults: What goes wrong.
    """

    decimals = 4
    """Of the numbers of System One; the others are exact."""

    def __init__(
        self,
        api: DecisionApi,
        decide: Decide | None = None,
        *,
        model: str = "simulated",
        faults: Faults | None = None,
    ) -> None:
        super().__init__(faults or Faults())
        self.api: DecisionApi = api
        self.model = model
        self._decide = decide or partial(Simulated().decide, repeat=self.faults.seed)

    def app(self, path: str | None = None) -> Starlette:
        """Return the endpoint; a path is instead of the usual one of its kind."""
        return self.serve(path or f"/v1{INTERFACES[self.api].path}")

    def fault(self, http: HttpRequest, digest: bytes) -> str | None:
        """Return what goes wrong with an answer.

        Raises:
            DecisionError: It goes wrong in place of one.
        """
        fault = self._transient(digest) or self._sticky(digest)
        if fault is not None and fault.isdecimal():
            wait = self.faults.retry_after
            raise DecisionError(int(fault), f"injected fault {fault}", retry_after=wait)
        return fault

    def answers(self, state: State, named: Named, fault: str | None) -> Answers:
        """Return the answer to each question, by its name."""
        answers: Answers = []
        for name, question in named:
            shares = self._decide(question, state)
            shown = [*shares[:-1], 1.7] if fault == "garbage" else shares
            answers.append((name, decisions.write_answer(self.api, question, shares, shown)))
        if fault == "refusal":
            answers[0] = answers[0][0], {"type": "refusal"}
        return answers[:-1] if fault == "truncate" else answers

    def body(self, answers: Answers, tokens: int, fault: str | None) -> Any:  # Any: JSON
        """Return the body of a response to a request of so many tokens."""
        body = decisions.write_answers(self.api, self.model, answers, tokens)
        if self.api == "systemone":
            text = json.dumps(body)
            return json.loads(text, parse_float=lambda one: round(float(one), self.decimals))
        return body

    def error_body(self, error: DecisionError) -> Any:  # Any: JSON
        """Return the body of an error."""
        return decisions.write_error(self.api, error)

    async def _respond(self, http: HttpRequest) -> Response | Dropped:
        try:
            return await self._answer(http)
        except DecisionError as error:
            return self._error(error)

    async def _answer(self, http: HttpRequest) -> Response | Dropped:
        try:
            body, digest = read_body(await http.body())
        except RefusedError as refusal:
            raise decisions.invalid(self.api, str(refusal)) from None
        state, named = decisions.read_decision(self.api, body)
        if body.get("model") not in (self.model, None):
            raise DecisionError(404, f"{body['model']!r} is not served here", "model_not_found")
        await asyncio.sleep(self.faults.latency)
        fault = self.fault(http, digest)
        self._bill(digest)
        if fault == "timeout":
            await asyncio.sleep(self.faults.hold)
            return Dropped()
        tokens = approximate_tokens(json.dumps(body, ensure_ascii=False))
        body = self.body(self.answers(state, named, fault), tokens, fault)
        text = json.dumps(body).encode()  # orjson would write null for NaN
        length = len(text) // 2 if fault == "badjson" else None
        return json_response(text[:length], headers=self._headers())

    def _headers(self) -> dict[str, str]:
        return {"x-request-id": f"req_{self.stats.requests}"} if self.api == "decisions" else {}

    def _error(self, error: DecisionError) -> Response:
        """Write an error; a gateway's time-out is a page."""
        from starlette.responses import HTMLResponse

        if error.status == 504:
            return HTMLResponse("<html><body>504 Gateway Time-out</body></html>", 504)
        headers = self._headers()
        if error.retry_after is not None and error.status in (429, 503):
            headers["retry-after"] = f"{error.retry_after:g}"
        return json_response(self.error_body(error), status=error.status, headers=headers)
