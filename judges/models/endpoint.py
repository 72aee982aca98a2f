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
from .wire import read_answer


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
        self._limit = _TimeLimit(self._at.timeout)
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
        body = sent_body(self._name, request, unsupported_parameters)
        answer = await self._try(body)
        if isinstance(answer, ModelError):
            raise answer
        return read_answer(
            answer.status,
            answer.content,
            answer.headers,
            request,
            sent=body,
            base_url=self._at.base_url,
            key_hint=self._at.key_hint,
        )

    async def close(self) -> None:
        """See `Model.close`."""
        self._limit.close()
        await self._transport.close()

    async def _try(self, body: Mapping[str, Any]) -> Answer | ModelError:  # Any: JSON
        try:
            with self._limit:
                return await self._transport.post(body)
        except TimeoutError:
            return too_late(self._at.base_url, self._limit.seconds)


class _TimeLimit:
    """`asyncio.timeout` for many tasks with one limit: one timer for all of them, where each would
    cost 10 % of a call.

    Args:
        seconds: For which a task may be inside.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._inside: dict[asyncio.Task[Any], float] = {}
        """Each task's deadline, the earliest first."""
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        self._inside[task] = loop.time() + self.seconds
        if len(self._inside) == 1:
            self.close()
            self._timer = loop.call_later(self.seconds, self._end_late)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if kind is GeneratorExit:  # its loop is gone
            return
        task = asyncio.current_task()
        assert task is not None
        ended = self._inside.pop(task, None) is None
        # Unless somebody else has cancelled it as well.
        if ended and not task.uncancel() and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def close(self) -> None:
        """End the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        for task, deadline in list(self._inside.items()):
            if deadline > loop.time():
                self._timer = loop.call_at(deadline, self._end_late)
                break
            del self._inside[task]
            task.cancel()


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
