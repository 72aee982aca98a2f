"""An embeddings model behind an OpenAI-compatible base URL, asked through a `Client` as any model
is: its calls are recorded, retried and counted.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from ..errors import ModelError
from ..judged_arrays import FloatArray
from .endpoint import Endpoint
from .model import Completion, Message, Request
from .transport import EMBEDDINGS
from .wire import read_fault

if TYPE_CHECKING:
    from .client import Client


class EmbeddingsEndpoint(Endpoint):
    """Implements `model.Model`: the messages of a request are texts, and the reply holds a vector
    of each, as base64 of 32-bit numbers.

    Args:
        address: As `Endpoint` takes it.
    """

    def __init__(self, **address: Any) -> None:  # Any: as `Endpoint` types them
        super().__init__(path=EMBEDDINGS, **address)

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        self._at.require_key(f"{self._name} at ")
        texts = [message.content for message in request.messages]
        body = {**request.extra_body, "model": self._name, "input": texts}
        answer = await self._try(body)
        if isinstance(answer, ModelError):
            raise answer
        if 200 <= answer.status < 300:
            return _read(answer.content, len(texts))
        raise read_fault(
            answer.status,
            answer.content,
            answer.headers,
            sent=body,
            base_url=self._at.base_url,
            key_hint=self._at.key_hint,
        )


def _read(raw: bytes, texts: int) -> Completion:
    try:
        body: dict[str, Any] = orjson.loads(raw)  # Any: JSON
        parts = sorted(body["data"], key=lambda part: part["index"])
        vectors = np.array([part["embedding"] for part in parts], np.float32)
        usage: dict[str, Any] = body.get("usage") or {}  # Any: JSON
        tokens = int(usage.get("prompt_tokens") or 0)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"the endpoint's reply holds no embeddings: {error!r}") from None
    if vectors.ndim != 2 or len(vectors) != texts or not np.isfinite(vectors).all():
        raise ModelError(f"the endpoint's reply does not hold an embedding for each of {texts}")
    text = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
    return Completion(text=text, tokens_in=tokens, model_returned=str(body.get("model") or ""))


def embed(client: Client, texts: Sequence[str]) -> FloatArray:
    """Return the vector of each text, shape (texts, dimensions). Each is a request of its own, so
    that what was asked once is in the record, whatever is asked with it.

    Raises:
        ModelError: A text has no vector, or not as many dimensions as another.
        BudgetSpent: The budget does not cover them.
    """
    requests = [
        Request(messages=(Message("user", text),), temperature=None, max_tokens=1) for text in texts
    ]
    vectors: list[FloatArray] = []
    for outcome in client.ask(requests):
        if not isinstance(outcome, Completion):
            raise outcome
        vectors.append(np.frombuffer(base64.b64decode(outcome.text), "<f4").astype(np.float64))
    if len({len(vector) for vector in vectors}) > 1:
        raise ModelError(f"{client.model.name} gives vectors of several lengths")
    return np.array(vectors)
