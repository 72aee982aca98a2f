"""A decision model behind one of three interfaces; see `question.py` and `decision_wire.py`."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from ..errors import ModelError
from .decision_wire import read_together, split_answers, wire_body
from .endpoint import Endpoint
from .model import Completion, Request
from .question import INTERFACES, DecisionApi, read_request


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
        super().__init__(path=INTERFACES[api].path if path is None else path, **address)
        self._api: DecisionApi = api
        who = "; ".join(f"{name}: {one.services}" for name, one in INTERFACES.items())
        self._hint = (
            f"check the model's name, base URL, path ({self._at.path}) and api, {api} ({who})"
        )

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`; of several questions it is what `read_together` returns."""
        try:
            return await super().complete(request)
        except ModelError as error:
            # So answers who takes another body.
            if error.status == 404 or (
                error.status in {200, 400, 405, 422, 502} and not error.hint
            ):
                error.hint = self._hint
            raise

    def _body(self, request: Request, refused: Set[str]) -> Mapping[str, Any]:  # Any: JSON
        body = wire_body(self._api, self._name, *read_request(request))
        return {**request.extra_body, **body}

    def _read(self, raw: bytes, request: Request) -> Completion:
        questions, state = read_request(request)
        reply = read_together(self._api, raw, questions, state)
        return reply if len(questions) > 1 else split_answers(reply)[0]
