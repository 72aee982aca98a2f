"""How a body reaches an endpoint and its answer comes back: the seam below `Endpoint`, and what may
never leave it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..errors import InputError, ModelError

TransportName = Literal["openai", "plain"]
"""`openai`: the SDK, with the proxies, certificates and headers that it takes from the environment.
`plain`: aiohttp alone, a fifth of the CPU, which reads nothing from the environment."""

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
_NO_KEY = "none"
_SHORTEST_SECRET = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint answered, whatever its status; the key is in none of it."""

    status: int
    content: bytes
    headers: Mapping[str, str]
    """Case-insensitive, or with lower-case names."""


class Transport(Protocol):
    """Makes one HTTP request at a time to one endpoint; belongs to one event loop from its first
    use to `close`.
    """

    async def post(self, body: Mapping[str, Any]) -> Answer | ModelError:  # Any: JSON
        """Send one body. A fault of the connection is returned and not raised, so that it has no
        context.

        Raises:
            TimeoutError: Never by itself; the caller's time limit passes through.
        """
        ...

    async def close(self) -> None:
        """Release connections; it may be used again."""
        ...


class Secret:
    """A key that does not print, and that takes itself out of what does."""

    __slots__ = ("_forms", "_key")

    def __init__(self, key: str | None) -> None:
        self._key = (key or "").strip()
        if not (self._key.isascii() and self._key.isprintable()) or " " in self._key:
            raise InputError(
                "the API key has characters that cannot stand in a header",
                hint="check the variable it is in",
            )
        self._forms: tuple[str, ...] = ()
        # A shorter text may occur by chance, and replacing it would spoil a reply.
        if len(self._key) >= _SHORTEST_SECRET:
            plain = base64.b64encode(self._key.encode()).decode().rstrip("=")
            self._forms = (
                self._key,
                plain,
                plain.translate(str.maketrans("+/", "-_")),
                self._key[-8:],
            )

    def __repr__(self) -> str:
        return "[key]"

    @property
    def known(self) -> bool:
        """Whether there is a key."""
        return bool(self._key)

    def reveal(self) -> str:
        """Return the key, or a word that stands for none where a key must be sent."""
        return self._key or _NO_KEY

    def scrub(self, text: str) -> str:
        """Return a text without the key."""
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text

    def scrub_bytes(self, raw: bytes) -> bytes:
        """Return bytes without the key."""
        for form in self._forms:
            raw = raw.replace(form.encode(), b"[key]")
        return raw

    def scrub_chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a stream of bytes without the key, also where one chunk ends in the midst of it."""
        held = max((len(form) for form in self._forms), default=1) - 1
        rest = b""
        for chunk in chunks:
            rest = self.scrub_bytes(rest + chunk)
            cut = max(0, len(rest) - held)
            yield rest[:cut]
            rest = rest[cut:]
        yield rest

    def scrub_headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Return headers, with lower-case names, without the key."""
        return {name.lower(): self.scrub(value) for name, value in headers.items()}
