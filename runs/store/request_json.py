"""The JSON of a request, sorted by name: what the requests of a judge share is written and stored
once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import orjson

from ...judges.models import Request


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """The JSON of a request around the text of its last message."""

    request: Request
    head: bytes
    tail: bytes

    @classmethod
    def of(cls, request: Request, **more: str | int) -> RequestFrame:
        """Return the frame of a request that has a message; `more` are further fields of the
        JSON.
        """
        mark = secrets.token_hex(16)
        last = replace(request.messages[-1], content=mark)
        framed = replace(request, messages=(*request.messages[:-1], last))
        raw = orjson.dumps({**more, **framed.body()}, option=orjson.OPT_SORT_KEYS)
        head, _, tail = raw.partition(f'"{mark}"'.encode())
        return cls(request, head, tail)

    def fits(self, other: Request) -> bool:
        """Whether another request differs in the text of its last message at most.

        Numbers are compared by identity: 0 and 0.0 are equal, but not as JSON. A frame made without
        need costs some microseconds.
        """
        one = self.request
        return (
            one.response_format is other.response_format
            and (one.extra_body is other.extra_body or not (one.extra_body or other.extra_body))
            and one.temperature is other.temperature
            and one.token_limit is other.token_limit
            and one.top_logprobs is other.top_logprobs
            and one.repeat is other.repeat
            and len(one.messages) == len(other.messages)
            and one.messages[-1].role == other.messages[-1].role
            and one.messages[:-1] == other.messages[:-1]
        )
