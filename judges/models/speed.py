"""How fast a model writes, and how long a reply its time limit allows: what cannot be reached is
not asked for.
"""

from __future__ import annotations

from dataclasses import replace

from .model import Completion, Request

_USUAL = 512
"""Tokens that are asked for whatever the speed, until a try was late: short replies mostly wait,
and say little.
"""
_SHORTEST = 32
"""Tokens of a reply from which on its time is mostly that of writing."""
_SHARE = 0.8
"""Part of the time limit in which a reply should be whole."""
_WIDER = 1.5
"""So many times the room make it worth asking again for a reply that was cut."""


class Speed:
    """Of one model.

    Args:
        seconds: Its time limit for one try.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.per_second: float | None = None
        """Tokens, in one reply; None before the first of some length."""
        self._least = _USUAL

    @property
    def room(self) -> int:
        """The most tokens that are asked for."""
        return max(self._least, int(_SHARE * self.seconds * (self.per_second or 0.0)))

    def learn(self, reply: Completion, seconds: float) -> None:
        """Hear how long a reply took."""
        if seconds > 0 and reply.tokens_out >= _SHORTEST:
            now = reply.tokens_out / seconds
            before = now if self.per_second is None else self.per_second
            # A reply may have waited for others at the server; the fastest ones did not.
            self.per_second = max(now, 0.9 * before + 0.1 * now)

    def late(self) -> None:
        """Hear that a try found no answer within the time limit."""
        self._least = max(_SHORTEST, self._least // 4)
        if self.per_second is not None:
            self.per_second /= 2

    def fitted(self, request: Request) -> Request:
        """Return a request with a limit of tokens that the time limit allows."""
        limit = request.token_limit
        if (
            limit is None
            or limit <= self.room
            or (self.per_second is None and request.purpose == "judge")
        ):
            return request  # what a judge may write was settled with its rows in mind
        return replace(request, max_tokens=self.room)

    def may_widen(self, tokens: int) -> bool:
        """Return whether a reply that was cut after so many tokens may have much more room."""
        return self.room >= _WIDER * tokens

    def note(self, model: str) -> str:
        """Say why replies were cut before their limit."""
        return (
            f"{model} writes about {self.per_second or 0:.2g} tokens a second, so that replies were"
            f" cut at {self.room:,} tokens, what its timeout of {self.seconds:g} s allows;"
            " `timeout` in models.yaml allows more"
        )
