"""A decision model behind one of three interfaces; see `question.py` and `decision_wire.py`."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from .decision_wire import PATHS, read_together, split_answers, wire_body
from .endpoint import Endpoint
from .model import Completion, Request
from .question import SERVICES, DecisionApi, read_request
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
        who = "; ".join(f"{name}: {services}" for name, services in SERVICES.items())
        self._hint = (
            f"check the model's name, base URL, path ({self._at.path}) and api, {api} ({who})"
        )

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`; of several questions it is what `read_together` returns."""
        self._at.require_key(f"{self._name} at ")
        questions, state = read_request(request)
        body = {**request.extra_body, **wire_body(self._api, self._name, questions, state)}
        answer = await self._try(body)
        if isinstance(answer, ModelError):
            raise answer
        try:
            if 200 <= answer.status < 300:
                reply = read_together(self._api, answer.content, questions, state)
                return reply if len(questions) > 1 else split_answers(reply)[0]
            # Of several questions one may be refused; each is then sent alone.
            alone = 400 <= answer.status < 500 and len(questions) == 1
            if alone and (reply := read_answering_fault(answer.content, request)):
                return reply
            raise read_fault(
                answer.status,
                answer.content,
                answer.headers,
                sent=request.extra_body,
                base_url=self._at.base_url,
                path=self._at.path,
                key_hint=self._at.key_hint,
            )
        except ModelError as error:
            # So answers who takes another body.
            if error.status == 404 or (
                error.status in {200, 400, 405, 422, 502} and not error.hint
            ):
                error.hint = self._hint
            raise
