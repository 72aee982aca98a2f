"""Which transport an endpoint gets where nobody names one: the plain one, unless something needs
the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from ...judges.models.transport import TransportName

_CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"
_READ_BY_THE_SDK = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OF_AN_ACCOUNT = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def choose_transport(
    base_url: str, variables: Mapping[str, str], *, custom_headers: bool
) -> TransportName:
    """Return `openai` where the environment says something that only the SDK acts on, else `plain`.

    To OpenAI itself the SDK sends organisation and project, where they are set. Proxies and further
    headers are its own matter everywhere, certificates where an address is `https`; `NO_PROXY` is
    left to it.

    Args:
        custom_headers: Whether OPENAI_CUSTOM_HEADERS is meant for this endpoint.
    """
    parts = urlsplit(base_url)
    if parts.hostname == "api.openai.com" and any(map(variables.get, _OF_AN_ACCOUNT)):
        return "openai"
    if custom_headers and variables.get(_CUSTOM_HEADERS):
        return "openai"
    lower = {name.lower() for name, value in variables.items() if value}
    read = _PROXIES if parts.scheme == "http" else (*_READ_BY_THE_SDK, *_PROXIES)
    needed = any(name.lower() in lower for name in read)
    return "openai" if needed else "plain"
