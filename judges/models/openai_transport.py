"""One HTTP request over the `openai` package, which knows proxies, certificates and headers of the
environment.

Its own retries are off, it stands on aiohttp, and its response models are skipped: they are most of
what a call costs in CPU. It runs on openai 2.x (httpx) and 3.x (httpx2) alike, so no object of
either HTTP package is named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import ModelError, files_hint
from .address import Address
from .response_body import ACCEPTED, BodyReader, body_of, sdk_errors
from .transport import Answer

if TYPE_CHECKING:
    from openai import APIConnectionError, AsyncOpenAI, OpenAI

_HEADERS = {"X-Stainless-Raw-Response": "stream", **ACCEPTED}
"""The first is the SDK's own switch for leaving the body alone: it has been read by then, up to a
limit.
"""


class OpenAITransport:
    """Implements `transport.Transport`.

    Args:
        address: Where to, with which key; its time limit is for the SDK's own timers.
    """

    def __init__(self, address: Address) -> None:
        self._at = address
        self._client: AsyncOpenAI | None = None

    async def post(self, body: Mapping[str, Any]) -> Answer | ModelError:  # Any: JSON
        """See `Transport.post`."""
        from openai import APIConnectionError, APIStatusError, OpenAIError

        client = self._connect()
        # Any: the SDK keeps the type of its options to itself
        options: Any = {"headers": {**self._at.headers, **_HEADERS}}
        try:
            # Any: the SDK types the unread response as the parsed body.
            answer: Any = await client.post(
                self._at.path, body=body, cast_to=object, options=options
            )
            return self._answer(answer.http_response)
        except APIStatusError as error:
            return self._answer(error.response)
        except APIConnectionError as error:
            return self._connection_fault(error)
        except TimeoutError:
            raise
        except (OpenAIError, OSError, ValueError, *sdk_errors()) as error:
            # The body broke off or cannot be decompressed.
            reason = self._at.secret.scrub(f"{type(error).__name__}: {error}")
            return ModelError(
                f"the reply of {self._at.base_url} broke off: {reason}", retryable=True
            )

    async def close(self) -> None:
        """See `Transport.close`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _answer(
        self, response: Any
    ) -> Answer | ModelError:  # Any: of either HTTP package the SDK may stand on
        # Its own mapping goes through all names for each one that is looked for.
        headers: dict[str, str] = {}
        for name, value in response.headers.raw:
            headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        return self._at.answer(response.status_code, body_of(response), headers)

    def _connect(self) -> AsyncOpenAI:
        """Return the SDK's client, made on first use because it belongs to the running loop."""
        if self._client is not None:
            return self._client
        from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAioHttpClient

        limits = type(DEFAULT_CONNECTION_LIMITS)(max_connections=self._at.max_connections)
        reader = BodyReader(self._at.base_url)
        # A redirect would carry the row's text, if not the key, to a host nobody named.
        http = DefaultAioHttpClient(
            timeout=self._at.timeout,
            limits=limits,
            follow_redirects=False,
            event_hooks={"response": [reader.read]},
        )
        client = AsyncOpenAI(
            api_key=self._at.secret.reveal(),
            base_url=self._at.base_url,
            # Retries are the client's: here they would be neither counted nor paid from the budget.
            max_retries=0,
            timeout=self._at.timeout,
            http_client=http,
        )
        _drop_environment(client, self._at)
        self._client = client
        return client

    def _connection_fault(self, error: APIConnectionError) -> ModelError:
        import aiohttp

        reason, untrusted, unreached = "no reason given", False, False
        cause = error.__cause__
        while cause is not None:
            reason = str(cause) or reason  # the innermost one says most
            untrusted = untrusted or isinstance(cause, aiohttp.ClientConnectorCertificateError)
            unreached = unreached or isinstance(
                cause, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
            )
            cause = cause.__cause__
        return self._at.connection_fault(
            self._at.secret.scrub(reason),
            untrusted=untrusted,
            unreached=unreached,
            hint=files_hint(error),
        )


def sdk_headers(address: Address) -> dict[str, str]:
    """Return what the SDK sends with each request to an address, but for the body's own headers."""
    from openai import OpenAI

    client = OpenAI(api_key=address.secret.reveal(), base_url=address.base_url)
    _drop_environment(client, address)
    key = {"Authorization": f"Bearer {address.secret.reveal()}"}
    headers = {**key, **client.default_headers, **address.headers}
    return {
        name: value
        for name, value in headers.items()
        if isinstance(value, str) and name.lower() != "content-type"
    }


def _drop_environment(client: OpenAI | AsyncOpenAI, address: Address) -> None:
    """Keep the SDK from sending what it reads from the environment to any host."""
    if urlsplit(address.base_url).hostname != "api.openai.com":
        client.organization = client.project = None
    if not address.custom_headers:
        # An Authorization may be among them, and there is no public way to leave them out.
        client._custom_headers = {}
