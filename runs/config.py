"""What the caller says: the environment, model names, budgets. The only file that reads the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..judges import Client, Endpoint, InputError, Model, Prices, Simulated
from ..judges.models import Budget, CallRecord

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_OTHER_SCHEME = re.compile(r"@[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET = re.compile(r"//[^/]*@")
_PLACES = (
    "PATH HOME USER LANG TZ TMPDIR TMP TEMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PYTHONHOME PYTHONUTF8 "
    "VIRTUAL_ENV NODE_PATH SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA"
)
_WHERE = frozenset(_PLACES.split())
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment variables Judgewright reads; the keys never leave this object but for a request."""

    base_url: str = DEFAULT_BASE_URL
    """OPENAI_BASE_URL"""
    openai_key: str | None = None
    """OPENAI_API_KEY, sent to `base_url` and to loopback addresses only."""
    own_key: str | None = None
    """JUDGEWRIGHT_API_KEY, sent to an endpoint named with `NAME@URL`."""
    workspace: Path | None = None
    """JUDGEWRIGHT_WORKSPACE"""
    prices: Path | None = None
    """JUDGEWRIGHT_PRICES, a file of dollars per million tokens that wins over the bundled prices."""

    def __repr__(self) -> str:
        return f"Environment(base_url={self.base_url!r}, workspace={self.workspace!r})"


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Read the environment once."""
    found = os.environ if variables is None else variables
    folder, prices = found.get("JUDGEWRIGHT_WORKSPACE"), found.get("JUDGEWRIGHT_PRICES")
    return Environment(
        base_url=found.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL,
        openai_key=found.get("OPENAI_API_KEY") or None,
        own_key=found.get("JUDGEWRIGHT_API_KEY") or None,
        workspace=Path(folder) if folder else None,
        prices=Path(prices) if prices else None,
    )


def tool_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a program of somebody else's needs of the environment to run: where things are, and no key."""
    found = os.environ if variables is None else variables
    return {name: value for name, value in found.items() if name.upper() in _WHERE or name.upper().startswith("LC_")}


def open_model(spec: str, environment: Environment, *, concurrency: int) -> Model:
    """Return the model a name stands for.

    Args:
        spec: `simulated`, a model name at OPENAI_BASE_URL, or `NAME@https://host/v1`.
        environment: Where base URL and keys come from.
        concurrency: Connections to allow.

    Raises:
        InputError: The name is empty, or the URL is none.
    """
    if spec == "simulated":
        return Simulated()
    name, base_url = split_model(spec, environment)
    return Endpoint(
        name=name, base_url=base_url, api_key=_key_for(spec, base_url, environment), max_connections=concurrency
    )


def split_model(spec: str, environment: Environment) -> tuple[str, str]:
    """Return the model's name and its base URL.

    Raises:
        InputError: The name is empty, or the URL is none or carries a password.
    """
    name, at, url = spec.partition("@http")
    base_url = f"http{url}".rstrip("/") if at else environment.base_url
    refusal = InputError(f"model {_SECRET.sub('//***@', spec)!r} is not simulated, NAME, or NAME@https://host/v1")
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # an unclosed bracket, or a port that is no number
        raise refusal from None
    if not name or not usable or (not at and _OTHER_SCHEME.search(spec)):
        raise refusal
    if parts.username or parts.password:
        raise InputError(
            "the endpoint's URL carries a user name or password", hint="put the key into JUDGEWRIGHT_API_KEY"
        )
    return name, base_url


def _key_for(spec: str, base_url: str, environment: Environment) -> str | None:
    """A key goes only where its owner meant it to go."""
    mine, theirs = urlsplit(base_url), urlsplit(environment.base_url)
    if "@http" in spec and environment.own_key:
        return environment.own_key
    same = (mine.scheme, mine.hostname, mine.port) == (theirs.scheme, theirs.hostname, theirs.port)
    return environment.openai_key if same or mine.hostname in _LOOPBACK else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a run may spend; None is no limit."""

    money: float | None = None
    """US dollars."""
    tokens: int | None = None


def parse_budget(text: str | None) -> Allowance:
    """Read `5.00` (dollars) or `200000tokens`.

    Raises:
        InputError: It is neither.
    """
    if text is None:
        return Allowance()
    if found := re.fullmatch(r"(\d[\d_]*)\s*tokens?", text.strip()):
        return Allowance(tokens=int(found.group(1)))
    if found := re.fullmatch(r"\$?(\d+(?:\.\d+)?)", text.strip()):
        return Allowance(money=float(found.group(1)))
    raise InputError(f"budget {text!r} is neither dollars such as 5.00 nor tokens such as 200000tokens")


def open_client(
    spec: str,
    environment: Environment,
    *,
    record: CallRecord | None = None,
    budget: Budget | None = None,
    concurrency: int = 64,
) -> Client:
    """Return a client for a model name, with prices and the caller's limits."""
    model = open_model(spec, environment, concurrency=concurrency)
    return Client(model, record=record, budget=budget, prices=Prices(environment.prices), concurrency=concurrency)
