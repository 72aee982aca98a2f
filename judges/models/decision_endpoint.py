"""A decision model behind one of three interfaces; see `question.py` and `decision_wire.py`."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from .decision_wire import PATHS, read_answers, wire_body
from .endpoint import Endpoint
from .model import Completion, Request
from .question import DecisionApi, read_request
from .wire import read_answering_fault, read_fault


class DecisionEndpoint(Endpoint):
    """Implements `model.Model` for requests of `question_request`.

    Args:
        api: Which body the endpoint takes.
        path: What stands behind the base URL, where it is not the usual path of the interface.
        address: As `Endpoint` takes it.
    """

    def __init__(
        self,
        *,
        api: DecisionApi,
        path: str | None = None,
        **address: Any,  # Any: as `Endpoint` types them
    ) -> None:
        super().__init__(path=PATHS[api] if path is None else path, **address)
        self._api: DecisionApi = api

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        self._at.require_key(f"{self._name} at ")
        question, state = read_request(request)
        body = {**request.extra_body, **wire_body(self._api, self._name, [question], state)}
        answer = await self._try(body)
        if isinstance(answer, ModelError):
            raise answer
        if 200 <= answer.status < 300:
            return read_answers(self._api, answer.content, [question], state)[0]
        if answer.status == 400 and (reply := read_answering_fault(answer.content, request)):
            return reply
        raise read_fault(
            answer.status,
            answer.content,
            answer.headers,
            sent=body,
            base_url=self._at.base_url,
            key_hint=self._at.key_hint,
        )
