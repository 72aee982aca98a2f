"""A decision endpoint that does what a script says, and what gateways around one do.

A script names what goes wrong with each request in turn: a status, such as `429` or, with
Retry-After, `429 after 2`; `quota`, `too_long` or `refusal_error`; `timeout` or `badjson`; or
`SPOILT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from judgewright.judges.models.question import DecisionApi, State
from judgewright.judges.simulated import DecisionService
from judgewright.judges.simulated.decision_server import Answers, Decide
from judgewright.judges.simulated.decisions import DecisionError, Named, write_answer

SHARES: dict[str, Callable[[Sequence[float]], Sequence[float]]] = {
    "sum_low": lambda shares: [0.99 * share for share in shares],
    "sum_high": lambda shares: [1.2 * share for share in shares],
    "over_one": lambda shares: [*shares[:-1], 1.7],
    "nan": lambda shares: [*shares[:-1], math.nan],
}
ANSWERS: dict[str, Callable[[Answers], Answers]] = {
    "refusal": lambda named: [(named[0][0], {"type": "refusal"}), *named[1:]],
    "other_type": lambda named: [(named[0][0], {**named[0][1], "type": "text"}), *named[1:]],
    "missing": lambda named: named[:-1],
    "reordered": lambda named: named[::-1],
}
SPOILT = (*SHARES, *ANSWERS, "other_model")
"""What can be wrong with an answer of status 200."""
ERRORS = {
    "quota": (429, "insufficient_quota"),
    "too_long": (413, "context_length_exceeded"),
    "refusal_error": (400, "content_filter"),
}
ENVELOPE_CODES = {413: 5021, 422: 5012, 429: 3040}


class ScriptedDecisions(DecisionService):
    """The endpoint; a key is asked for as a Bearer token, and `envelope` is Cloudflare's."""

    def __init__(
        self,
        api: DecisionApi,
        decide: Decide | None = None,
        *,
        script: Sequence[str | None] = (),
        key: str | None = None,
        envelope: bool = False,
        decimals: int = 4,
        **service: Any,
    ) -> None:
        super().__init__(api, decide, **service)
        self._script, self._key, self._envelope = iter(script), key, envelope
        self.decimals = decimals

    def fault(self, http: Any, digest: bytes) -> str | None:
        """Return the script's next; when it has ended, `faults` decide."""
        header = http.headers.get("authorization")
        if self._key is not None and header != f"Bearer {self._key}":
            forbidden = header is None and self.api == "systemone"
            raise DecisionError(403 if forbidden else 401, "no valid API key", "invalid_api_key")
        fault = super().fault(http, digest)
        try:
            fault = next(self._script)
        except StopIteration:
            return fault
        if fault is None:
            return None
        self.stats.faults[fault] += 1
        name, _, wait = fault.partition(" after ")
        status, code = ERRORS.get(name, (int(name) if name.isdecimal() else None, None))
        if status is None:
            return fault
        seconds = float(wait) if wait else None
        raise DecisionError(status, f"injected fault {name}", code, retry_after=seconds)

    def answers(self, state: State, named: Named, fault: str | None) -> Answers:
        """Return the answers, spoilt."""
        if fault in SHARES:
            pairs = [(name, one, self._decide(one, state)) for name, one in named]
            shown = SHARES[fault]
            return [(n, write_answer(self.api, one, p, shown(p))) for n, one, p in pairs]
        answers = super().answers(state, named, None if fault in ANSWERS else fault)
        return ANSWERS[fault](answers) if fault in ANSWERS else answers

    def body(self, answers: Answers, tokens: int, fault: str | None) -> Any:
        """Return the body, with another model's name or in an envelope."""
        body = super().body(answers, tokens, fault)
        if fault == "other_model":
            body["model"] += "-other"
        return enveloped(body, []) if self._envelope else body

    def error_body(self, error: DecisionError) -> Any:
        """Return an error's body, or in an envelope what stands there."""
        if not self._envelope:
            return super().error_body(error)
        code = ENVELOPE_CODES.get(error.status, error.status)
        if error.code == "insufficient_quota":
            code = 4006
        return enveloped(None, [{"code": code, "message": error.message}])


def enveloped(result: Any, errors: list[Any]) -> Any:
    """Return what Cloudflare puts around a body."""
    return {"result": result, "success": not errors, "errors": errors, "messages": []}
