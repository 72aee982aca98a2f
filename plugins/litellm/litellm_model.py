"""Models whose providers do not speak OpenAI's dialect, through LiteLLM: Anthropic, Gemini,
Bedrock, Vertex AI.

LiteLLM translates the request and the reply, and nothing else: key and address are handed to it,
its retries, callbacks and downloads are off, and every byte goes through `_Gate`, which sends one
request to one origin and follows no redirect. Errors are read from what the provider answered, as
`wire` reads those of any endpoint.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from ...judges.errors import InputError, ModelError
from ...judges.models.address import Address
from ...judges.models.base_url import Origin
from ...judges.models.endpoint import sent_body
from ...judges.models.model import Completion, Request
from ...judges.models.response_body import BodyReader
from ...judges.models.retries import too_late
from ...judges.models.transport import Answer
from ...judges.models.wire import read_answer, read_completion
from ...optimize.proposers.import_litellm import load_litellm

PROVIDERS = ("anthropic", "gemini", "bedrock", "vertex_ai")
"""Those whose every request was seen to go through the gate."""
_EXTRA = frozenset(
    (
        "reasoning_effort",
        "thinking",
        "top_p",
        "top_k",
        "stop",
        "frequency_penalty",
        "presence_penalty",
        "service_tier",
        "safety_settings",
        "verbosity",
    )
)
"""Further fields of a request. LiteLLM takes fields as settings of its own, an address among them;
none of those.
"""
_CAPABLE = {
    "litellm_provider": "gemini",
    "mode": "chat",
    "supports_system_messages": True,
    "supports_response_schema": True,
}


@dataclass(slots=True)
class _Exchange:
    """One try: what was sent and what came back."""

    sent: int = 0
    answer: Answer | None = None
    fault: ModelError | None = None


_EXCHANGE: ContextVar[_Exchange] = ContextVar("exchange")
"""Of the running try; LiteLLM passes nothing of ours through."""


class LiteLLMModel:
    """A chat model of a provider that LiteLLM knows; implements `Model`, and is a `ModelKind`.

    Args:
        name: `litellm/PROVIDER/MODEL`, the provider one of `PROVIDERS`.
        extra_body: The names of further fields that requests will have.
        address: Fields of `Address`; the base URL is the provider's without the path of the
            request, such as `https://api.anthropic.com`, and the key of `vertex_ai` an access
            token.

    Raises:
        InputError: The provider is none of them, a field cannot be sent, or the address or the key
            cannot be used.
    """

    def __init__(
        self,
        *,
        name: str,
        extra_body: Collection[str] = (),
        **address: Any,  # Any: as `Address` types them
    ) -> None:
        self._name = name
        self._provider = self.provider_of(name)
        self._model = name.split("/", 2)[2]
        for field in extra_body:
            if field not in _EXTRA:
                raise InputError(
                    f"extra_body.{field}: this field cannot be sent through LiteLLM",
                    hint=f"there are {', '.join(sorted(_EXTRA))}",
                )
        self._at = Address(**address)
        self._handler: Any = (
            None  # Any: LiteLLM's, made on first use because it belongs to the running loop
        )
        self._http: Any = None  # Any: httpx's client below it

    @staticmethod
    def provider_of(name: str) -> str:
        """See `ModelKind.provider_of`."""
        _, provider, *model = name.split("/", 2)
        if provider not in PROVIDERS:
            raise InputError(
                f"model {name!r}: Judgewright asks {', '.join(PROVIDERS)} through LiteLLM, not"
                f" {provider!r}",
                hint="most other providers have an OpenAI-compatible address: NAME@https://host/v1",
            )
        if not any(model):
            raise InputError(
                f"model {name!r} has no name of a model", hint=f"write litellm/{provider}/MODEL"
            )
        return provider

    def __repr__(self) -> str:
        return f"LiteLLMModel({self._name!r}, {self._at.base_url!r})"

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
        """See `Model.simulated`."""
        return False

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        self._at.require_key(f"{self._name} at ")
        parameters = sent_body(self._model, request, unsupported_parameters)
        del parameters["model"]  # LiteLLM wants it with its provider
        reply = await self._try(parameters, request)
        if isinstance(reply, ModelError):
            raise reply
        return reply

    async def close(self) -> None:
        """See `Model.close`."""
        http, self._http, self._handler = self._http, None, None
        if http is not None:
            await http.aclose()

    async def _try(
        self, parameters: dict[str, Any], request: Request
    ) -> Completion | ModelError:  # Any: JSON
        """Send one request; a fault is returned, as a raised one would have LiteLLM's error, and
        the key, behind it.
        """
        litellm = load_litellm()
        if self._handler is None:
            if self._route == "gemini" and f"gemini/{self._model}" not in litellm.model_cost:
                # Of a model it has not heard of it believes the least, and rewrites the messages.
                litellm.register_model({f"gemini/{self._model}": _CAPABLE})
            self._http, self._handler = _open_handler(self._at)
        supported = litellm.get_supported_openai_params(
            model=self._model, custom_llm_provider=self._route
        )
        for name in parameters:
            if supported and name not in supported and name not in _EXTRA and name != "messages":
                name = name.replace("top_logprobs", "logprobs")
                return ModelError(
                    f"{self._provider} has no parameter {name}", status=400, refused_parameter=name
                )
        exchange = _Exchange()
        _EXCHANGE.set(exchange)
        problem = "no answer was read"
        try:
            async with asyncio.timeout(self._at.timeout):
                # Below its wrapper, which logs in a task of its own, retries and looks into caches.
                ask = inspect.unwrap(litellm.acompletion)
                reply = await ask(
                    **parameters, **self._asking(), litellm_logging_obj=self._log(parameters)
                )
            if exchange.answer is not None:
                body = orjson.dumps(reply.model_dump(mode="json"))
                return read_completion(body, request)
        except TimeoutError:
            return too_late(self._at.base_url, self._at.timeout)
        except ModelError as error:
            return error
        except Exception as error:  # noqa: BLE001  # LiteLLM wraps what the gate and its own reading raise in many ways
            problem = f"{type(error).__name__}: {error}"
        return self._fault(exchange, parameters, request, problem)

    @property
    def _route(self) -> str:
        """The provider as LiteLLM knows it; Vertex AI speaks as Gemini does, and is asked with an
        access token.
        """
        return "gemini" if self._provider == "vertex_ai" else self._provider

    def _asking(self) -> dict[str, Any]:  # Any: LiteLLM's settings of one call
        url = self._at.base_url
        if self._provider == "anthropic":
            url = f"{url.removesuffix('/v1')}/v1/messages"
        headers = dict(self._at.headers)
        if self._provider == "vertex_ai":
            headers["Authorization"] = f"Bearer {self._at.secret.reveal()}"
        settings: dict[str, Any] = {
            "model": f"{self._route}/{self._model}",
            "api_key": self._at.secret.reveal(),
            "api_base": url,
            "client": self._handler,
            "timeout": self._at.timeout,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
            "cache": {"no-cache": True, "no-store": True},
            "no-log": True,
        }
        if headers:
            settings["extra_headers"] = headers
        if self._provider == "bedrock":
            # Only for the signature, which a key of this kind does not use; unset it would be
            # looked up.
            settings["aws_region_name"] = _region(self._at.base_url)
            settings["aws_bedrock_runtime_endpoint"] = self._at.base_url
        return settings

    def _log(
        self, parameters: Mapping[str, Any]
    ) -> Any:  # Any: LiteLLM's, which its parts write their notes into
        from litellm.litellm_core_utils.litellm_logging import Logging

        return Logging(
            model=self._model,
            messages=parameters["messages"],
            stream=False,
            call_type="acompletion",
            start_time=datetime.now(UTC),
            litellm_call_id="judgewright",
            function_id="",
        )

    def _fault(
        self, exchange: _Exchange, parameters: Mapping[str, Any], request: Request, problem: str
    ) -> Completion | ModelError:
        """Return the error of a try, or the reply that it stands for."""
        answer = exchange.answer
        if exchange.fault is not None:
            return exchange.fault
        problem = self._at.secret.scrub(problem.partition("\n")[0])[:300]
        if answer is None:
            return ModelError(f"LiteLLM sent nothing to {self._at.base_url}: {problem}", status=400)
        if answer.status < 300:
            return ModelError(
                f"the reply of {self._at.base_url} cannot be read: {problem}",
                retryable=True,
                status=200,
            )
        try:
            return read_answer(
                answer.status,
                answer.content,
                answer.headers,
                request,
                sent=parameters,
                base_url=self._at.base_url,
                key_hint=self._at.key_hint,
            )
        except ModelError as error:
            return error


def _region(base_url: str) -> str:
    """Return the region in the host of Bedrock; any other word does for an address of one's own."""
    parts = Origin.of(base_url).host.split(".")
    return parts[1] if parts[0].startswith("bedrock") and len(parts) > 2 else "us-east-1"


def _open_handler(address: Address) -> tuple[Any, Any]:  # Any: httpx's, LiteLLM's
    """Return an HTTP client, and LiteLLM's handler that sends through it and no other way."""
    import httpx
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    origin = Origin.of(address.base_url)
    reader = BodyReader(address.base_url, errors=(httpx.HTTPError,))
    http = httpx.AsyncClient(
        limits=httpx.Limits(max_connections=address.max_connections),
        timeout=address.timeout,
        follow_redirects=False,
    )

    class Gate(httpx.AsyncBaseTransport):
        """Lets one request of a try through, to the address it is meant for, and keeps what is
        answered.
        """

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            exchange = _EXCHANGE.get()
            exchange.sent += 1
            target = f"{request.url.scheme}://{request.url.netloc.decode()}"
            if exchange.sent > 1 or Origin.of(target) != origin:
                # A second one would be neither counted nor paid from the budget.
                raise _NotSentError(
                    f"LiteLLM's request number {exchange.sent} to {target} was not sent"
                )
            if "authorization" in request.headers and "x-goog-api-key" in request.headers:
                del request.headers["x-goog-api-key"]
            request.headers["accept-encoding"] = "gzip"
            answer = await self.send(request)
            # As an error of ours: LiteLLM answers some of httpx's by asking again, past this gate.
            if isinstance(answer, ModelError):
                exchange.fault = answer
                raise _NotSentError(str(answer))
            exchange.answer = answer
            kind = {"content-type": answer.headers.get("content-type", "application/json")}
            return httpx.Response(
                answer.status, content=answer.content, headers=kind, request=request
            )

        async def send(self, request: httpx.Request) -> Answer | ModelError:
            try:
                response = await http.send(request, stream=True)
                try:
                    content = await reader.body(
                        response.status_code, response.headers, response.aiter_raw()
                    )
                finally:
                    await response.aclose()
            except httpx.HTTPError as error:
                return _connection_fault(error, address)
            return address.answer(response.status_code, content, response.headers)

    handler = AsyncHTTPHandler()
    handler.client = httpx.AsyncClient(
        transport=Gate(), timeout=address.timeout, follow_redirects=False, trust_env=False
    )
    return http, handler


class _NotSentError(Exception):
    """What the gate raises through LiteLLM; the try's `_Exchange` says why."""


def _connection_fault(error: Exception, address: Address) -> ModelError:
    import httpx

    reason = address.secret.scrub(str(error) or type(error).__name__)
    return address.connection_fault(
        reason,
        untrusted="CERTIFICATE_VERIFY_FAILED" in reason,
        unreached=isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError),
    )
