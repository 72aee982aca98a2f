"""The address that requests go to, with all that belongs to it: one key, headers, a time limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field

from ..errors import ModelError, UnreachedError
from .base_url import checked_url
from .transport import CHAT, Answer, Secret

UNREACHED = "is the server started, and is the address right?"
"""What to look at where nothing answers, unless more is known."""


@dataclass(slots=True, kw_only=True)
class Address:
    """How an endpoint, LiteLLM or a batch queue is asked.

    Raises:
        InputError: The base URL is not one, carries credentials, or the key cannot stand in a
            header.
    """

    base_url: str
    """Up to where `/chat/completions` begins, such as `https://api.openai.com/v1`."""
    api_key: InitVar[str | None]
    """None for a server that asks for none. The environment is not read for one."""
    timeout: float = 120.0
    """Seconds for one whole try."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further headers, as `ModelSettings` checks them."""
    max_connections: int = 100
    """How many connections may be open at once."""
    key_hint: str = ""
    """What to do where the endpoint asks for a key, or refuses the one it got."""
    needs_key: bool = False
    """Whether to send nothing, because the key that belongs to the address is missing."""
    custom_headers: bool = False
    """Whether OPENAI_CUSTOM_HEADERS, which the SDK reads by itself, is meant for this address."""
    path: str = CHAT
    """What stands behind the base URL."""
    secret: Secret = field(init=False)
    """The key."""

    def __post_init__(self, api_key: str | None) -> None:
        self.base_url = checked_url(self.base_url)
        self.secret = Secret(api_key)

    def require_key(self, who: str = "") -> None:
        """Return if anything may be sent.

        Raises:
            UnreachedError: The key is missing.
        """
        if self.needs_key:
            message = f"{who}{self.base_url} needs a key"
            raise UnreachedError(message, fatal=True, hint=self.key_hint)

    def answer(
        self, status: int, content: bytes | ModelError, headers: Mapping[str, str]
    ) -> Answer | ModelError:
        """Return what was answered without the key, or why its body cannot be read."""
        if isinstance(content, ModelError):
            return content
        if status >= 300:  # those of a reply are shown nowhere
            headers = self.secret.scrub_headers(headers)
        return Answer(status, self.secret.scrub_bytes(content), headers)

    def connection_fault(
        self,
        reason: str,
        *,
        untrusted: bool = False,
        unreached: bool = False,
        hint: str | None = None,
    ) -> ModelError:
        """Return the error of a connection that failed, for a reason without the key.

        Args:
            reason: Why.
            untrusted: The certificate is not trusted.
            unreached: Nothing was sent.
            hint: What to do where nothing was sent, instead of the usual.
        """
        if untrusted:
            message = f"the certificate of {self.base_url} is not trusted: {reason}"
            return UnreachedError(message, fatal=True)
        if unreached:
            message = f"{self.base_url} cannot be reached: {reason}"
            return UnreachedError(message, retryable=True, hint=hint or UNREACHED)
        return ModelError(f"the connection to {self.base_url} broke: {reason}", retryable=True)
