"""The body of an answer, read up to a limit whatever its status, and unpacked up to the same limit.

A body may be endless, may unpack to a thousand times its size, and may come a byte at a time. The
SDK reads the body of an error whole before it says anything, so bodies are read before it, in the
HTTP client's hook for answers, which also leaves the response closed.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections.abc import AsyncIterable, Mapping
from typing import Any

from ..errors import ModelError

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a reply, unpacked."""
MAX_ERROR = 256 * 1024
"""Bytes of an error that are read; the rest is not waited for."""
ERROR_SECONDS = 5.0
_READ = "judgewright.body"

ACCEPTED = {"Accept-Encoding": "gzip"}
"""What `BodyReader` unpacks, as a request header."""


class BodyReader:
    """Reads the body of every answer of one HTTP client; belongs to one event loop.

    Args:
        url: Of the endpoint, for messages.
        errors: What reading a body may raise.
        error_seconds: How long the text of an error may take once its status is there.
    """

    def __init__(
        self,
        url: str,
        *,
        errors: tuple[type[Exception], ...] | None = None,
        error_seconds: float = ERROR_SECONDS,
    ) -> None:
        self._url = url
        self._errors = sdk_errors() if errors is None else errors
        self._error_seconds = error_seconds

    async def read(self, response: Any) -> None:  # Any: of either HTTP package the SDK may stand on
        """Read an answer's body and close it: the hook of the SDK's client. `body_of` hands out
        what was read.
        """
        try:
            response.extensions[_READ] = await self.body(
                response.status_code, response.headers, response.stream
            )
        finally:
            await response.aclose()

    async def body(
        self, status: int, headers: Mapping[str, str], chunks: AsyncIterable[bytes]
    ) -> bytes | ModelError:
        """Read a body from its chunks, and say what is wrong with that of a good answer."""
        chunks = aiter(chunks)  # it may be read on in another loop
        if 200 <= status < 300:
            return await self._reply(status, headers, chunks)
        return await self._error(headers, chunks)

    async def _reply(
        self, status: int, headers: Mapping[str, str], chunks: AsyncIterable[bytes]
    ) -> bytes | ModelError:
        try:
            body = _Body(headers, MAX_BODY)
            async for chunk in chunks:
                body.add(chunk)
                if body.full:
                    message = f"the reply of {self._url} is over {MAX_BODY:,} bytes"
                    return ModelError(message, status=status)
        except zlib.error as error:
            return ModelError(
                f"the reply of {self._url} cannot be unpacked: {error}", retryable=True
            )
        return bytes(body.content)

    async def _error(self, headers: Mapping[str, str], chunks: AsyncIterable[bytes]) -> bytes:
        """Return the beginning of an error's body: the status is known, so whatever ends the body
        early is no fault.
        """
        content = bytearray()
        try:
            body = _Body(headers, MAX_ERROR)
            content = body.content
            async with asyncio.timeout(self._error_seconds):
                async for chunk in chunks:
                    body.add(chunk)
                    if body.full:
                        break
        except (TimeoutError, zlib.error, *self._errors):
            # What came is enough for a message, and waiting for more would hold a slot.
            pass
        return bytes(content)


def body_of(
    response: Any,
) -> bytes | ModelError:  # Any: of either HTTP package the SDK may stand on
    """Return the body that `BodyReader.read` read, or why a reply has none."""
    return response.extensions[_READ]


class _Body:
    """What has come of a body, unpacked a bounded piece at a time.

    Args:
        headers: Of the answer, case-insensitive.
        limit: Bytes it may have, packed or unpacked.

    Raises:
        zlib.error: The body is packed in a way that was not asked for.
    """

    def __init__(self, headers: Mapping[str, str], limit: int) -> None:
        packing = headers.get("content-encoding", "").strip().lower()
        if packing not in {"", "identity", "gzip", "x-gzip"}:
            raise zlib.error("its content-encoding was not asked for")
        self._gzip = (
            zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if packing.endswith("gzip") else None
        )
        self._received = 0
        self.limit = limit
        self.content = bytearray()

    @property
    def full(self) -> bool:
        """Whether more has come than the limit; `content` holds one byte more than it at most."""
        return max(self._received, len(self.content)) > self.limit

    def add(self, chunk: bytes) -> None:
        """Take a chunk as it came over the wire; not to be called once the body is full.

        Raises:
            zlib.error: It is no gzip.
        """
        self._received += len(chunk)
        room = self.limit + 1 - len(self.content)
        if self._gzip is None:
            self.content += chunk[:room]
        # What follows the end of the gzip stream is counted and not looked at.
        elif not self._gzip.eof:
            self.content += self._gzip.decompress(chunk, room)


def sdk_errors() -> tuple[type[Exception], ...]:
    """Return what reading a body may raise: the errors of aiohttp and of the HTTP package under the
    SDK.
    """
    import aiohttp

    return _http_package().HTTPError, aiohttp.ClientError


def _http_package() -> Any:  # Any: known at run time only
    from openai import DEFAULT_CONNECTION_LIMITS

    return sys.modules[type(DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0]]
