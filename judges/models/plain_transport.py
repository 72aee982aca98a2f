"""One HTTP request over aiohttp, with nothing between: a fifth of the SDK's CPU.

It follows no redirect, keeps no cookie, and reads neither proxies nor certificates nor a `.netrc` from the environment;
what needs those goes through `openai_transport`.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from ..errors import ModelError, UnreachedError
from .response_body import ACCEPTED, BodyReader
from .transport import CHAT, Answer, Secret

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL


class PlainTransport:
    """Implements `transport.Transport`.

    Args:
        base_url: As `checked_url` returns it.
        secret: The key.
        headers: Further headers.
        max_connections: How many connections may be open at once.
    """

    def __init__(self, *, base_url: str, secret: Secret, headers: Mapping[str, str], max_connections: int) -> None:
        self._base_url = base_url
        self._secret = secret
        self._headers = headers
        self._max_connections = max_connections
        self._open: tuple[aiohttp.ClientSession, URL, BodyReader] | None = None

    async def post(self, body: Mapping[str, Any]) -> Answer | ModelError:  # Any: JSON
        """See `Transport.post`."""
        import aiohttp

        session, url, reader = self._open or self._connect()
        answered = False
        try:
            async with session.post(url, data=orjson.dumps(body), allow_redirects=False) as response:
                answered = True
                content = await reader.body(response.status, response.headers, response.content.iter_any())
                # Nothing of a body that was not read to its end may be taken for the next answer.
                if not response.content.is_eof():
                    response.close()
        except aiohttp.ClientConnectorCertificateError as error:
            reason = self._secret.scrub(str(error.certificate_error))
            return UnreachedError(f"the certificate of {self._base_url} is not trusted: {reason}", fatal=True)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return UnreachedError(f"{self._base_url} cannot be reached: {self._reason(error)}", retryable=True)
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError, ValueError, zlib.error) as error:
            event = (
                f"the reply of {self._base_url} broke off" if answered else f"the connection to {self._base_url} broke"
            )
            return ModelError(f"{event}: {self._reason(error)}", retryable=True)
        if isinstance(content, ModelError):
            return content
        headers = response.headers
        if response.status >= 300:
            headers = self._secret.scrub_headers(headers)
        return Answer(response.status, self._secret.scrub_bytes(content), headers)

    async def close(self) -> None:
        """See `Transport.close`."""
        connection, self._open = self._open, None
        if connection is not None:
            await connection[0].close()

    def _connect(self) -> tuple[aiohttp.ClientSession, URL, BodyReader]:
        """Make the session on first use, because it belongs to the running loop."""
        import aiohttp
        from yarl import URL

        trusted: ssl.SSLContext | bool = True
        if self._base_url.startswith("https:"):
            import certifi

            # The same authorities on every machine, and the same as under the SDK.
            trusted = ssl.create_default_context(cafile=certifi.where())
        headers = {**self._headers, **ACCEPTED, "Accept": "application/json", "Content-Type": "application/json"}
        headers.setdefault("User-Agent", "judgewright")
        if self._secret.known:
            headers["Authorization"] = f"Bearer {self._secret.reveal()}"
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._max_connections, ssl=trusted),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            # The time limit is the caller's, and bodies are unpacked up to a limit by `BodyReader`.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            trust_env=False,
        )
        url = URL(self._base_url + CHAT, encoded=True)
        self._open = session, url, BodyReader(self._base_url, errors=(aiohttp.ClientError,))
        return self._open

    def _reason(self, error: Exception) -> str:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__  # the innermost one says most
        return self._secret.scrub(f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__)
