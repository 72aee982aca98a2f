"""Where requests go: a checked base URL, and its origin (scheme, host, port), to which an API key
is bound.

Which key belongs to which origin is decided in `runs.config.api_keys`.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import InputError

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]+")
"""Printable ASCII but for space, quotes and what no URL has; some readers of URLs drop or turn the
others.
"""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """Scheme, host and port, as RFC 6454 has it; two URLs of one origin are one server to whoever
    owns the key.
    """

    scheme: str
    host: str
    """In lower case; an IPv6 address without its brackets."""
    port: int

    @classmethod
    def of(cls, base_url: str) -> Origin:
        """Return the origin of a URL.

        Raises:
            InputError: It is no http(s) URL that can be told from another at a glance; see
                `checked_url`.
        """
        parts = urlsplit(checked_url(base_url))
        return cls(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme])

    @property
    def loopback(self) -> bool:
        """Whether it is this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        origin = f"{self.scheme}://{host}"
        if self.port != _PORTS[self.scheme]:
            origin += f":{self.port}"
        return origin


def checked_url(base_url: str) -> str:
    """Return a base URL without its last slash.

    What two programs could read in two ways is refused: a key must not go to another host than the
    one compared.

    Raises:
        InputError: It is no http(s) URL, carries a user, a password, a query or a fragment, or has
            a character that some reader of URLs drops or takes for another.
    """
    subject = f"the URL {base_url!r}"
    # Not quoted where it may hold a secret.
    if "@" in base_url or "?" in base_url:
        subject = "the URL"
    hint = "write it as https://host/v1"
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in _PORTS and parts.hostname and parts.port != 0
    except ValueError:  # an unclosed bracket, or a port that is no number
        raise InputError(f"{subject} is not an http(s) URL", hint=hint) from None
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "the URL carries a user name or password",
            hint="put the key into an environment variable",
        )
    if not usable:
        raise InputError(f"{subject} is not an http(s) URL", hint=hint)
    if parts.query or parts.fragment or base_url.endswith(("?", "#")):
        raise InputError("the URL carries a query or a fragment; it is kept in records", hint=hint)
    if not _HOST.fullmatch(parts.hostname or "") or not _PLAIN.fullmatch(base_url):
        hint = (
            "write a host outside ASCII as xn--..., and such a character in a path as %20 and the"
            " like"
        )
        raise InputError(f"{subject} has a character that does not belong there", hint=hint)
    return base_url.rstrip("/")
