"""The JSON of a request, sorted by name, in three parts: requests about rows differ in their last message only."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from .model import REQUEST_SCHEMA, Request


class RequestJson(NamedTuple):
    """The three parts; together they are `{**more, **request.body()}`."""

    head: bytes
    text: bytes
    """The last message's text, as a JSON string."""
    tail: bytes


class RequestWriter:
    """Writes requests as JSON; what one shares with the one before it is not written again.

    Args:
        more: Further fields of each.
    """

    def __init__(self, more: Mapping[str, Any]) -> None:  # Any: JSON
        self._more = more
        self._last: Request | None = None
        self._head = self._tail = b""

    def write(self, request: Request) -> RequestJson:
        """Return the JSON of a request with at least one message."""
        if self._last is None or not _same_frame(request, self._last):
            mark = secrets.token_hex(16)
            last = replace(request.messages[-1], content=mark)
            framed = replace(request, messages=(*request.messages[:-1], last))
            raw = orjson.dumps({**self._more, **framed.body()}, option=orjson.OPT_SORT_KEYS)
            self._head, _, self._tail = raw.partition(f'"{mark}"'.encode())
            self._last = request
        return RequestJson(self._head, orjson.dumps(request.messages[-1].content), self._tail)


def _same_frame(one: Request, other: Request) -> bool:
    """Whether two requests differ in the text of their last message at most, as JSON: there 0 and 0.0 are not equal."""
    return (
        one.response_format is other.response_format
        and (one.extra_body is other.extra_body or not (one.extra_body or other.extra_body))
        and one.temperature is other.temperature
        and one.token_limit is other.token_limit
        and one.top_logprobs is other.top_logprobs
        and one.repeat is other.repeat
        and one.messages[-1].role == other.messages[-1].role
        and one.messages[:-1] == other.messages[:-1]
    )


class Keys:
    """The keys of requests to one model, as `Request.key` returns them, in a third of its time."""

    def __init__(self, *, endpoint: str, model: str) -> None:
        self._writer = RequestWriter({"schema": REQUEST_SCHEMA, "endpoint": endpoint, "model": model})
        self._endpoint = endpoint
        self._model = model
        self._head = b""
        self._hash = hashlib.blake2b(digest_size=32)

    def key(self, request: Request) -> bytes:
        """Return the key of a request."""
        if not request.messages:
            return request.key(endpoint=self._endpoint, model=self._model)
        head, text, tail = self._writer.write(request)
        if head is not self._head:
            self._head, self._hash = head, hashlib.blake2b(head, digest_size=32)
        key = self._hash.copy()
        key.update(text)
        key.update(tail)
        return key.digest()
