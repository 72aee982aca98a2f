"""One HTTP request over aiohttp's connections and parser, without its session: a tenth of the SDK's
CPU.

A session builds the same request and headers anew for each call, which is two thirds of its work.
Nothing here follows a redirect, keeps a cookie, or reads proxies, certificates or a `.netrc` from
the environment; what needs those goes through `openai_transport`.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from ..errors import ModelError, files_hint
from .address import Address
from .response_body import ACCEPTED, BodyReader
from .transport import Answer

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.connector import Connection


@dataclass(frozen=True, slots=True)
class _Open:
    """What belongs to one event loop."""

    connector: aiohttp.TCPConnector
    request: aiohttp.ClientRequest
    """Says where to connect to; only its headers are sent."""
    no_limit: aiohttp.ClientTimeout
    head: bytes
    """The head of each request, up to the length of its body."""
    reader: BodyReader


class PlainTransport:
    """Implements `transport.Transport`.

    Args:
        address: Where to, with which key; the time limit is the caller's.
    """

    def __init__(self, address: Address) -> None:
        self._at = address
        self._open: _Open | None = None

    async def post(self, body: Mapping[str, Any]) -> Answer | ModelError:  # Any: JSON
        """See `Transport.post`."""
        import aiohttp
        from aiohttp.http_exceptions import HttpProcessingError

        to = self._open or self._connect()
        content = orjson.dumps(body)
        connection: Connection | None = None
        answered = False
        try:
            connection = await to.connector.connect(to.request, [], to.no_limit)
            protocol, wire = connection.protocol, connection.transport
            if protocol is None or wire is None:
                raise aiohttp.ServerDisconnectedError  # it was lost as soon as it was open
            # Bodies are unpacked up to a limit by `BodyReader`.
            protocol.set_response_params(read_until_eof=True, auto_decompress=False)
            wire.write(b"%s%d\r\n\r\n%s" % (to.head, len(content), content))
            response, payload = await protocol.read()
            while 100 <= response.code < 200 and response.code != 101:
                response, payload = await protocol.read()
            answered = True
            if payload.is_eof() and "content-encoding" not in response.headers:
                # It came with its head, as most do, so it is small.
                reply: bytes | ModelError = payload.read_nowait()
            else:
                reply = await to.reader.body(response.code, response.headers, payload.iter_any())
            # Closes the connection where its body was not read to the end: no rest may be taken for
            # the next answer.
            connection.release()
        except aiohttp.ClientConnectorCertificateError as error:
            reason = self._at.secret.scrub(str(error.certificate_error))
            return self._at.connection_fault(reason, untrusted=True)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            reason = self._reason(error)
            return self._at.connection_fault(reason, unreached=True, hint=files_hint(error))
        except TimeoutError:
            raise
        except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError, zlib.error) as error:
            reason = self._reason(error)
            if not answered:
                return self._at.connection_fault(reason)
            message = f"the reply of {self._at.base_url} broke off: {reason}"
            return ModelError(message, retryable=True)
        finally:
            if connection is not None:
                connection.close()  # nothing is left to close after `release`
        return self._at.answer(response.code, reply, response.headers)

    async def close(self) -> None:
        """See `Transport.close`."""
        connection, self._open = self._open, None
        if connection is not None:
            await connection.connector.close()

    def _connect(self) -> _Open:
        """Make what the running loop needs, on first use."""
        import aiohttp
        from yarl import URL

        trusted: ssl.SSLContext | bool = True
        if self._at.base_url.startswith("https:"):
            import certifi

            # The same authorities on every machine, and the same as under the SDK.
            trusted = ssl.create_default_context(cafile=certifi.where())
        headers = {
            **self._at.headers,
            **ACCEPTED,
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        headers.setdefault("User-Agent", "judgewright")
        if self._at.secret.known:
            headers["Authorization"] = f"Bearer {self._at.secret.reveal()}"
        url = URL(self._at.base_url + self._at.path, encoded=True)
        request = aiohttp.ClientRequest(
            "POST", url, headers=headers, loop=asyncio.get_running_loop()
        )
        lines = [f"POST {url.raw_path_qs} HTTP/1.1"]
        for name, value in request.headers.items():
            if name.lower() != "content-length":
                lines.append(f"{name}: {value}")
        self._open = _Open(
            connector=aiohttp.TCPConnector(limit=self._at.max_connections, ssl=trusted),
            request=request,
            # The time limit is the caller's.
            no_limit=aiohttp.ClientTimeout(total=None, sock_connect=None),
            head="\r\n".join([*lines, "Content-Length: "]).encode("ascii"),
            reader=BodyReader(self._at.base_url, errors=(aiohttp.ClientError,)),
        )
        return self._open

    def _reason(self, error: Exception) -> str:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__  # the innermost one says most
        return self._at.secret.scrub(
            f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        )
