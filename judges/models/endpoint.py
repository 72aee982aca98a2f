"""Any OpenAI-compatible endpoint: hosted, vLLM, Ollama, llama.cpp, or `judgewright simulate`.

One try per call. The `openai` package does the talking with its own retries off, on the aiohttp
transport and without its response models, which is most of what a call costs in CPU. It runs on
openai 2.x (httpx) and 3.x (httpx2) alike, so no object of either HTTP package is named here.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import InputError, ModelError, UnreachedError
from .base_url import checked_url
from .model import Completion, Request
from .response_body import ACCEPTED, BodyReader, body_of, transport_errors
from .wire import read_completion, read_fault, read_filtered

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError, AsyncOpenAI

_HEADERS = {"X-Stainless-Raw-Response": "stream", **ACCEPTED}
"""The first is the SDK's own switch for leaving the body alone: it has been read by then, up to a limit."""
_NO_KEY = "none"
_KEY_REFUSED = {401, 403}
_SHORTEST_SECRET = 8


class Endpoint:
    """A chat model behind an OpenAI-compatible base URL; implements `model.Model`.

    Args:
        name: The model's name at the endpoint.
        base_url: Up to where `/chat/completions` begins, such as `https://api.openai.com/v1`.
        api_key: The key; None for a server that asks for none. The environment is not read for one.
        timeout: Seconds for one whole try.
        headers: Further headers, as `ModelSettings` checks them.
        max_connections: How many connections may be open at once.
        key_hint: What to do where the endpoint asks for a key, or refuses the one it got.
        needs_key: Whether to send nothing, because the key that belongs to the endpoint is missing.
        custom_headers: Whether OPENAI_CUSTOM_HEADERS, which the SDK reads by itself, is meant for this endpoint.

    Raises:
        InputError: The base URL is not one, carries credentials, or the key cannot stand in a header.
    """

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str | None,
        timeout: float = 120.0,
        headers: Mapping[str, str] = MappingProxyType({}),
        max_connections: int = 100,
        key_hint: str = "",
        needs_key: bool = False,
        custom_headers: bool = False,
    ) -> None:
        self._name = name
        self._base_url = checked_url(base_url)
        self._secret = _Secret(api_key)
        self._headers = {**headers, **_HEADERS}
        self._timeout = timeout
        self._max_connections = max_connections
        self._key_hint = key_hint
        self._needs_key = needs_key
        self._custom_headers = custom_headers
        self._client: AsyncOpenAI | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self._name!r}, {self._base_url!r})"

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return self._name

    @property
    def endpoint(self) -> str:
        """See `Model.endpoint`."""
        return self._base_url

    @property
    def simulated(self) -> bool:
        """Whether the name is that of the embedded model, served over HTTP."""
        return self._name == "simulated" or self._name.startswith("simulated:")

    async def complete(self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()) -> Completion:
        """See `Model.complete`."""
        if self._needs_key:
            raise UnreachedError(f"{self._name} at {self._base_url} needs a key", fatal=True, hint=self._key_hint)
        body = {"model": self._name, **_without(request, unsupported_parameters)}
        answer = await self._try(body, request)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def close(self) -> None:
        """See `Model.close`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _try(self, body: dict[str, Any], request: Request) -> Completion | ModelError:  # Any: JSON
        """Send one body.

        A fault is returned and raised by the caller: raised here it would carry the SDK's error as
        its context, and with it the request and the key.
        """
        from openai import APIConnectionError, APIStatusError, OpenAIError

        try:
            async with asyncio.timeout(self._timeout):
                return await self._post(body, request)
        except APIStatusError as error:
            return self._status_fault(error, body)
        except APIConnectionError as error:
            return self._connection_fault(error)
        except TimeoutError:
            return ModelError(f"no answer from {self._base_url} within {self._timeout:g} s", retryable=True)
        except (OpenAIError, OSError, ValueError, *transport_errors()) as error:
            # The body broke off or cannot be decompressed.
            reason = self._secret.scrub(f"{type(error).__name__}: {error}")
            return ModelError(f"the reply of {self._base_url} broke off: {reason}", retryable=True)

    async def _post(self, body: dict[str, Any], request: Request) -> Completion | ModelError:  # Any: JSON
        client = self._connect()
        options: Any = {"headers": self._headers}  # Any: the SDK keeps the type of its options to itself
        # Any: the SDK types the unread response as the parsed body.
        answer: Any = await client.post("/chat/completions", body=body, cast_to=object, options=options)
        content = body_of(answer.http_response)
        if isinstance(content, ModelError):
            return content
        return read_completion(self._secret.scrub_bytes(content), request, answer.http_response.headers)

    def _connect(self) -> AsyncOpenAI:
        """Return the SDK's client, made on first use because it belongs to the running loop."""
        if self._client is not None:
            return self._client
        from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAioHttpClient

        limits = type(DEFAULT_CONNECTION_LIMITS)(max_connections=self._max_connections)
        reader = BodyReader(self._base_url)
        # A redirect would carry the row's text, if not the key, to a host nobody named.
        http = DefaultAioHttpClient(
            timeout=self._timeout,
            limits=limits,
            follow_redirects=False,
            event_hooks={"response": [reader.read]},
        )
        client = AsyncOpenAI(
            api_key=self._secret.reveal(),
            base_url=self._base_url,
            # Retries are the client's: here they would be neither counted nor paid from the budget.
            max_retries=0,
            timeout=self._timeout,
            http_client=http,
        )
        if urlsplit(self._base_url).hostname != "api.openai.com":
            # The SDK reads them from the environment and sends them to any host.
            client.organization = client.project = None
        if not self._custom_headers:
            # It reads these too, an Authorization among them, and has no public way to leave them out.
            client._custom_headers = {}
        self._client = client
        return client

    def _status_fault(self, error: APIStatusError, body: dict[str, Any]) -> Completion | ModelError:  # Any: JSON
        content = body_of(error.response)
        raw = b"" if isinstance(content, ModelError) else self._secret.scrub_bytes(content)
        if error.status_code == 400 and (refusal := read_filtered(raw)):
            return refusal
        headers = {name.lower(): self._secret.scrub(value) for name, value in error.response.headers.items()}
        fault = read_fault(error.status_code, raw, headers, sent=body, base_url=self._base_url)
        if error.status_code in _KEY_REFUSED and self._key_hint:
            fault.hint = self._key_hint
        return fault

    def _connection_fault(self, error: APIConnectionError) -> ModelError:
        import aiohttp

        reason, untrusted, unreached = "no reason given", False, False
        cause = error.__cause__
        while cause is not None:
            reason = str(cause) or reason  # the innermost one says most
            untrusted = untrusted or isinstance(cause, aiohttp.ClientConnectorCertificateError)
            unreached = unreached or isinstance(cause, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError))
            cause = cause.__cause__
        reason = self._secret.scrub(reason)
        if untrusted:
            return UnreachedError(f"the certificate of {self._base_url} is not trusted: {reason}", fatal=True)
        if unreached:
            return UnreachedError(f"{self._base_url} cannot be reached: {reason}", retryable=True)
        return ModelError(f"the connection to {self._base_url} broke: {reason}", retryable=True)


class _Secret:
    """A key that does not print, and that takes itself out of what does."""

    __slots__ = ("_forms", "_key")

    def __init__(self, key: str | None) -> None:
        self._key = (key or "").strip()
        if not (self._key.isascii() and self._key.isprintable()) or " " in self._key:
            raise InputError(
                "the API key has characters that cannot stand in a header", hint="check the variable it is in"
            )
        self._forms: tuple[str, ...] = ()
        # A shorter text may occur by chance, and replacing it would spoil a reply.
        if len(self._key) >= _SHORTEST_SECRET:
            plain = base64.b64encode(self._key.encode()).decode().rstrip("=")
            self._forms = (self._key, plain, plain.translate(str.maketrans("+/", "-_")), self._key[-8:])

    def __repr__(self) -> str:
        return "[key]"

    def reveal(self) -> str:
        return self._key or _NO_KEY

    def scrub(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text

    def scrub_bytes(self, raw: bytes) -> bytes:
        for form in self._forms:
            raw = raw.replace(form.encode(), b"[key]")
        return raw


def _without(request: Request, unsupported_parameters: frozenset[str]) -> dict[str, Any]:  # Any: JSON
    """Return the request's parameters without those the endpoint refuses, under the names it may take."""
    body = request.body()
    # Newer models of OpenAI refuse the old name.
    if "max_tokens" in unsupported_parameters and "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")
    if "logprobs" in unsupported_parameters:
        body.pop("top_logprobs", None)
    return {name: value for name, value in body.items() if name not in unsupported_parameters}
