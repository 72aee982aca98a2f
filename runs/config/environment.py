"""Read the environment, model names and budgets. No other file reads environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...judges.errors import InputError
from ...judges.models.base_url import Origin, checked_url
from .api_keys import OPENAI, OPENAI_KEY, OPENAI_URL, OWN_KEY, OWN_URL, Binding, Keyring
from .models_file import read_user_models, user_models_path

if TYPE_CHECKING:
    from ...judges import Client, Model
    from ...judges.models import Budget, CallRecord

SIMULATED = "simulated"
"""The name of the embedded model, which has no address."""
_OTHER_SCHEME = re.compile(r"@[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET = re.compile(r"//[^/]*@")
_PATHS_AND_LOCALE = (
    "PATH HOME USER LANG TZ TMPDIR TMP TEMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PYTHONHOME PYTHONUTF8 "
    "VIRTUAL_ENV NODE_PATH SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA"
)
_PASSED_ON = frozenset(_PATHS_AND_LOCALE.split())
"""Variables that other tools' programs are given; none of them holds a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment variables Judgewright reads; keys leave this object only in a request."""

    base_url: str = OPENAI
    """OPENAI_BASE_URL"""
    openai_key: str | None = None
    """OPENAI_API_KEY, sent to `base_url` only."""
    own_url: str | None = None
    """JUDGEWRIGHT_BASE_URL"""
    own_key: str | None = None
    """JUDGEWRIGHT_API_KEY, sent to `own_url`; without one, to the one address that a command names as `NAME@URL`."""
    models: Path | None = None
    """The user's own `models.yaml`, which binds further keys to further addresses."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Every variable, as `models.yaml` may name any of them."""
    commanded: frozenset[str] = frozenset()
    """Base URLs that the user names in this command; none of them comes from a workspace."""
    workspace: Path | None = None
    """JUDGEWRIGHT_WORKSPACE"""
    prices: Path | None = None
    """JUDGEWRIGHT_PRICES, a file of dollars per million tokens that overrides the bundled prices."""

    def __repr__(self) -> str:
        return f"Environment(base_url={self.base_url!r}, workspace={self.workspace!r})"

    def naming(self, *specs: str | None, origins: Sequence[str] = ()) -> Environment:
        """Return the environment of a command in which the user names these models and origins.

        Args:
            specs: As for `open_model`; None for an option that is not set.
            origins: URLs; only their origin counts.

        Raises:
            InputError: A model's name is not valid, or JUDGEWRIGHT_API_KEY could belong to two origins.
        """
        urls = {split_model(spec, self)[1] for spec in specs if spec is not None and "@http" in spec}
        urls |= {checked_url(origin) for origin in origins}
        named = replace(self, commanded=self.commanded | urls)
        named.keyring().require_one_owner()
        return named

    def keyring(self) -> Keyring:
        """Return the keys and the origins they belong to, after reading the user's `models.yaml`.

        Raises:
            InputError: The file cannot be used, or JUDGEWRIGHT_BASE_URL is not a URL.
        """
        bindings = [
            Binding(
                origin=entry.origin,
                variable=entry.key_variable,
                key=self.variables.get(entry.key_variable or "") or None,
                source=entry.location,
                final=True,
            )
            for entry in read_user_models(self.models)
        ]
        if self.own_url is not None:
            bindings.append(_bound_by(OWN_URL, self.own_url, OWN_KEY, self.own_key))
        bindings.append(_bound_by(OPENAI_URL, self.base_url, OPENAI_KEY, self.openai_key))
        return Keyring(
            bindings=tuple(bindings),
            commanded=self.commanded,
            spare=self.own_key if self.own_url is None else None,
            path=self.models,
        )

    def require_named(self, *specs: str | None, who: str) -> None:
        """Check that this user, and not only a workspace, names the addresses of models.

        Raises:
            InputError: Only the workspace names an address; nothing was sent.
        """
        ring = self.keyring()
        for spec in specs:
            if spec is not None and spec != SIMULATED:
                ring.require_named(split_model(spec, self)[1], who=who)


def _bound_by(variable: str, base_url: str, key_variable: str, key: str | None) -> Binding:
    try:
        origin = Origin.of(base_url)
    except InputError as error:
        raise InputError(f"{variable}: {error}", hint=error.hint) from None
    return Binding(origin=origin, variable=key_variable, key=key, source=variable)


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Read the environment once."""
    values = dict(os.environ if variables is None else variables)
    folder, prices = values.get("JUDGEWRIGHT_WORKSPACE"), values.get("JUDGEWRIGHT_PRICES")
    # A variable that is set to nothing counts as not set.
    return Environment(
        base_url=values.get(OPENAI_URL) or OPENAI,
        openai_key=values.get(OPENAI_KEY) or None,
        own_url=values.get(OWN_URL) or None,
        own_key=values.get(OWN_KEY) or None,
        models=user_models_path(values),
        variables=MappingProxyType(values),
        workspace=Path(folder) if folder else None,
        prices=Path(prices) if prices else None,
    )


def tool_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that another tool's program needs to run: paths and locale, but no keys."""
    values = os.environ if variables is None else variables
    return {
        name: value for name, value in values.items() if name.upper() in _PASSED_ON or name.upper().startswith("LC_")
    }


def open_model(spec: str, environment: Environment, *, concurrency: int) -> Model:
    """Return the model of that name, with the key that belongs to its address.

    Args:
        spec: `simulated`, a model name at OPENAI_BASE_URL, or `NAME@https://host/v1`.
        environment: Where base URL and keys come from.
        concurrency: Connections to allow.

    Raises:
        InputError: The name is empty, or the URL is not valid.
    """
    from ...judges import Endpoint, Simulated

    if spec == SIMULATED:
        return Simulated()
    name, base_url = split_model(spec, environment)
    origin, ring = Origin.of(base_url), environment.keyring()
    binding = ring.binding(origin)
    key = binding.key if binding else None
    return Endpoint(
        name=name,
        base_url=base_url,
        api_key=key,
        max_connections=concurrency,
        key_hint=ring.what_to_do(base_url),
        needs_key=key is None and _requires_key(origin, binding),
        custom_headers=origin == Origin.of(environment.base_url),
    )


def _requires_key(origin: Origin, binding: Binding | None) -> bool:
    """Whether an address is known to refuse requests without a key, so that none need be sent."""
    if origin == Origin.of(OPENAI):
        return True
    return binding is not None and binding.final and binding.variable is not None


def split_model(spec: str, environment: Environment) -> tuple[str, str]:
    """Return the model's name and its base URL.

    Raises:
        InputError: The name is empty, or the URL is not valid or contains a password.
    """
    name, at, url = spec.partition("@http")
    if not name or (not at and _OTHER_SCHEME.search(spec)):
        raise InputError(f"model {_SECRET.sub('//***@', spec)!r} is not simulated, NAME, or NAME@https://host/v1")
    try:
        return name, checked_url(f"http{url}" if at else environment.base_url)
    except InputError as error:
        about = f"model {name!r}" if at else OPENAI_URL
        raise InputError(f"{about}: {error}", hint=error.hint) from None


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
    if match := re.fullmatch(r"(\d[\d_]*)\s*tokens?", text.strip()):
        return Allowance(tokens=int(match.group(1)))
    if match := re.fullmatch(r"\$?(\d+(?:\.\d+)?)", text.strip()):
        return Allowance(money=float(match.group(1)))
    raise InputError(f"budget {text!r} is neither dollars such as 5.00 nor tokens such as 200000tokens")


def open_client(
    spec: str,
    environment: Environment,
    *,
    record: CallRecord | None = None,
    budget: Budget | None = None,
    concurrency: int = 64,
) -> Client:
    """Return a client for a model name, with prices, a record of calls and limits.

    Raises:
        InputError: The name is not valid, or only a workspace names its address, not this user.
    """
    from ...judges import Client, Prices

    environment.require_named(spec, who=f"the model {spec!r}")
    model = open_model(spec, environment, concurrency=concurrency)
    return Client(model, record=record, budget=budget, prices=Prices(environment.prices), concurrency=concurrency)
