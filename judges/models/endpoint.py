"""Any OpenAI-compatible endpoint: hosted, vLLM, Ollama, llama.cpp, or the simulated model served.

One try per call: the request's body goes through a transport (the `openai` package, or aiohttp
alone), and what comes back is read here, alike for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Set
from typing import Any

from ..errors import ModelError
from .address import Address
from .model import Completion, Request
from .retries import too_late
from .transport import Answer, Transport, TransportName
from .wire import read_answer, read_completion


class Endpoint:
    """A chat model behind an OpenAI-compatible base URL; implements `model.Model`.

    Args:
        name: The model's name at the endpoint.
        transport: What sends the requests; see `TransportName`.
        address: Fields of `Address`.

    Raises:
        InputError: See `Address`.
    """

    def __init__(
        self,
        *,
        name: str,
        transport: TransportName = "openai",
        **address: Any,  # Any: as `Address` types them
    ) -> None:
        self._name = name
        self._at = Address(**address)
        self._transport = _open_transport(transport, self._at)

    def __repr__(self) -> str:
        return f"Endpoint({self._name!r}, {self._at.base_url!r})"

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return self._name

    @property
    def endpoint(self) -> str:
        """See `Model.endpoint`."""
        return self._at.base_url

    @property
    def simulated(self) -> bool:
        """Whether the name is that of the embedded model, served over HTTP."""
        return self._name == "simulated" or self._name.startswith("simulated:")

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        self._at.require_key(f"{self._name} at ")
        body = self._body(request, unsupported_parameters)
        answer = await self._try(body)
        if isinstance(answer, ModelError):
            raise answer
        return read_answer(
            answer.status,
            answer.content,
            answer.headers,
            request,
            sent=body,
            read=self._read,
            base_url=self._at.base_url,
            path=self._at.path,
            key_hint=self._at.key_hint,
        )

    def _body(self, request: Request, refused: Set[str]) -> Mapping[str, Any]:  # Any: JSON
        return sent_body(self._name, request, refused)

    def _read(self, raw: bytes, request: Request) -> Completion:
        return read_completion(raw, request)

    async def close(self) -> None:
        """See `Model.close`."""
        await self._transport.close()

    async def _try(self, body: Mapping[str, Any]) -> Answer | ModelError:  # Any: JSON
        try:
            async with asyncio.timeout(self._at.timeout):
                return await self._transport.post(body)
        except TimeoutError:
            return too_late(self._at.base_url, self._at.timeout)


def _open_transport(name: TransportName, address: Address) -> Transport:
    if name == "plain":
        from .plain_transport import PlainTransport

        return PlainTransport(address)
    from .openai_transport import OpenAITransport

    return OpenAITransport(address)


def sent_body(
    model: str, request: Request, unsupported_parameters: Set[str]
) -> dict[str, Any]:  # Any: JSON
    """Return what is sent: the request without what the endpoint refuses, under the names it may
    take.
    """
    body = {"model": model, **request.body()}
    # Newer models of OpenAI refuse the old name.
    if "max_tokens" in unsupported_parameters and "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")
    if "logprobs" in unsupported_parameters:
        body.pop("top_logprobs", None)
    return {name: value for name, value in body.items() if name not in unsupported_parameters}
