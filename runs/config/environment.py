"""Read the environment, model names and budgets. No other file reads environment variables."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...judges.errors import InputError
from ...judges.models import (
    ModelSettings,
    Origin,
    Prices,
    checked_url,
    remembered,
)
from .api_keys import (
    OPENAI,
    OPENAI_KEY,
    OPENAI_URL,
    OWN_KEY,
    OWN_URL,
    PROVIDERS,
    Binding,
    Keyring,
    provider_bindings,
)
from .model_kinds import kind_of
from .models_file import (
    FILE,
    ModelEntry,
    merge_entries,
    read_user_models,
    read_workspace_models,
    user_models_path,
)
from .place import ServerAddress, read_place
from .tools_file import FILE as TOOLS_FILE
from .transports import choose_transport

if TYPE_CHECKING:
    from ...judges import Client, Model
    from ...judges.cases import Encode
    from ...judges.models import Budget, CallRecord, Completion, Engine, Exchange, Progress, Request

SIMULATED = "simulated"
"""The name of the embedded model, which has no address."""
_CONNECTIONS = 100
"""Open at most, where nobody says how many calls may be in flight."""
_ROW_SECONDS = 600.0
"""The longest one request may take with its retries, unless two tries may take longer."""
_OTHER_SCHEME = re.compile(r"@[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET = re.compile(r"//[^/]*@")
_PATHS_AND_LOCALE = (
    "PATH HOME USER LANG TZ TMPDIR TMP TEMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PYTHONHOME"
    " PYTHONUTF8 VIRTUAL_ENV NODE_PATH SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE"
    " APPDATA LOCALAPPDATA"
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
    """JUDGEWRIGHT_API_KEY, sent to `own_url`; without one, to the one address that a command names
    as `NAME@URL`.
    """
    models: Path | None = None
    """The user's own `models.yaml`, which binds further keys to further addresses."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Every variable, as `models.yaml` may name any of them."""
    commanded: frozenset[str] = frozenset()
    """Base URLs that the user names in this command; none of them comes from a workspace."""
    commanded_providers: frozenset[str] = frozenset()
    """Addresses of the providers that this command names as `KIND/PROVIDER/MODEL`."""
    commanded_models: frozenset[str] = frozenset()
    """The models that this command names."""
    shared: Path | None = None
    """The `models.yaml` of the workspace: settings of named models, but no address and no key."""
    run_settings: Mapping[str, Mapping[str, Any]] | None = None  # Any: JSON
    """By model: what a run that is resumed keeps of its models' settings, instead of what the files
    say now.
    """
    workspace: Path | ServerAddress | None = None
    """JUDGEWRIGHT_WORKSPACE"""
    watch: Callable[[str, Progress], None] | None = None
    """Told of what is asked and awaited, where nothing else shows it."""

    @property
    def jobs_key(self) -> Path | None:
        """The file of the key that marks this user's jobs; None for a user without a home
        folder.
        """
        models = self.models or user_models_path(os.environ)
        return models and models.with_name("jobs.key")

    @property
    def tools(self) -> Path | None:
        """The user's `tools.yaml`, which says where the tools of exports are; None for a user
        without a home folder.
        """
        models = self.models or user_models_path(os.environ)
        return models and models.with_name(TOOLS_FILE)

    @property
    def process_variables(self) -> Mapping[str, str]:
        """The variables for another process of ours, which asks the same models with the same
        keys.
        """
        return self.variables or os.environ

    def __repr__(self) -> str:
        return f"Environment(base_url={self.base_url!r}, workspace={self.workspace!r})"

    def naming(self, *specs: str | None, origins: Sequence[str] = ()) -> Environment:
        """Return the environment of a command in which the user names these models and origins.

        Args:
            specs: As for `open_model`; None for an option that is not set.
            origins: URLs; only their origin counts.

        Raises:
            InputError: A model's name is not valid, or JUDGEWRIGHT_API_KEY could belong to two
                origins.
        """
        urls = {checked_url(origin) for origin in origins}
        providers: set[str] = set()
        for spec in specs:
            if spec is not None and "@http" in spec:
                urls.add(self.model(spec).base_url)
            elif spec is not None and kind_of(spec):
                providers.add(self.model(spec).base_url)
        named = replace(
            self,
            commanded=self.commanded | urls,
            commanded_providers=self.commanded_providers | providers,
            commanded_models=self.commanded_models | {spec for spec in specs if spec},
        )
        named.keyring().require_one_owner()
        return named

    def in_workspace(self, root: Path) -> Environment:
        """Return the environment of a command in a workspace, whose `models.yaml` may set what is
        not secret.
        """
        shared = root / FILE
        # Somebody may keep the workspace in the configuration folder.
        if (
            self.models is not None
            and self.models.exists()
            and shared.exists()
            and shared.samefile(self.models)
        ):
            return self
        return replace(self, shared=shared)

    def for_run(self, settings: Mapping[str, Mapping[str, Any]] | None) -> Environment:  # Any: JSON
        """Return the environment of a run that goes on with the settings it started with.

        Args:
            settings: By model, as `ModelSettings.answering` returned them; None for a run from
                before there were any.
        """
        return replace(self, run_settings=settings or {})

    def model(self, spec: str) -> NamedModel:
        """Return what a model's name stands for.

        Args:
            spec: A name of `models.yaml`, a model's name at OPENAI_BASE_URL, or
                `NAME@https://host/v1`.

        Raises:
            InputError: The name is empty, the URL is not valid or contains a password, a
                `models.yaml` cannot be used, or only the workspace's file has the name and there is
                no OPENAI_BASE_URL to ask.
        """
        name, at, url = spec.partition("@http")
        if not name or (not at and _OTHER_SCHEME.search(spec)):
            raise InputError(
                f"model {_SECRET.sub('//***@', spec)!r} is not simulated, NAME, or"
                " NAME@https://host/v1"
            )
        try:
            base_url = checked_url(f"http{url}" if at else self.base_url)
        except InputError as error:
            about = f"model {name!r}" if at else OPENAI_URL
            raise InputError(f"{about}: {error}", hint=error.hint) from None
        if at:
            return NamedModel(name=spec, model=name, base_url=base_url)
        own = _entry_of(name, read_user_models(self.models))
        shared = _entry_of(name, read_workspace_models(self.shared))
        entry = merge_entries(own, shared)
        settings = ModelSettings() if entry is None else entry.settings
        if self.run_settings is not None:
            settings = settings.answering_as(self.run_settings.get(name, {}))
        if entry is None:
            return NamedModel(
                name=name, model=name, base_url=_provider_url(name) or base_url, settings=settings
            )
        theirs = own is None or not own.values.keys() & {"base_url", "model"}
        if theirs and entry.model != name and kind_of(entry.model):
            # It stands for the provider's address, and only the user says where requests go.
            raise InputError(
                f"{entry.sources['model']}, {name}.model: a file in a workspace does not say where"
                f" requests go, and {entry.model} would",
                hint=f"say it in your own models.yaml: model: {entry.model}",
            )
        elsewhere = entry.base_url or _provider_url(entry.model)
        if (
            own is None
            and elsewhere is None
            and self.openai_key is None
            and self.base_url == OPENAI
        ):
            raise InputError(
                f"{entry.location}: only the workspace names {name!r}, so nobody says where it is"
                " asked",
                hint=(
                    f"bind it in your own file: judgewright models add {name} --base-url"
                    " https://... --key-variable ...; or set OPENAI_BASE_URL, OPENAI_API_KEY"
                ),
            )
        return NamedModel(
            name=name,
            model=entry.model,
            base_url=elsewhere or base_url,
            settings=settings,
            path=entry.path,
            sources=entry.sources,
        )

    def keyring(self) -> Keyring:
        """Return the keys and the origins they belong to, after reading the user's `models.yaml`.

        Raises:
            InputError: The file cannot be used, or JUDGEWRIGHT_BASE_URL is not a URL.
        """
        bindings: list[Binding] = []
        listed: set[str] = set()
        for entry in read_user_models(self.models):
            if entry.base_url is None:
                provider = entry.model.partition("/")[2].partition("/")[0]
                if kind_of(entry.model) and provider in PROVIDERS:
                    listed.add(PROVIDERS[provider][0])
                continue
            key = self.variables.get(entry.key_variable or "") or None
            origin, variable = Origin.of(entry.base_url), entry.key_variable
            bindings.append(
                Binding(
                    origin=origin, variable=variable, key=key, source=entry.location, final=True
                )
            )
        if self.own_url is not None:
            bindings.append(_bound_by(OWN_URL, self.own_url, OWN_KEY, self.own_key))
        bindings.append(_bound_by(OPENAI_URL, self.base_url, OPENAI_KEY, self.openai_key))
        return Keyring(
            bindings=tuple(bindings),
            commanded=self.commanded,
            spare=self.own_key if self.own_url is None else None,
            path=self.models,
            providers=provider_bindings(self.variables),
            commanded_providers=self.commanded_providers,
            listed_providers=frozenset(listed),
        )

    def settings(self, spec: str) -> ModelSettings:
        """Return the settings of a model; the embedded one has none."""
        return ModelSettings() if spec == SIMULATED else self.model(spec).settings

    def require_named(self, *specs: str | None, who: str) -> None:
        """Check that this user, and not only a workspace, names the addresses of models.

        Raises:
            InputError: Only the workspace names an address; nothing was sent.
        """
        ring = self.keyring()
        for spec in specs:
            if spec is not None and spec != SIMULATED:
                ring.require_named(self.model(spec).base_url, who=who)

    def require_own(self, name: str, *, who: str) -> None:
        """Check that this command or the user's own `models.yaml` names a model.

        Raises:
            InputError: Neither does; nothing was sent.
        """
        if name == SIMULATED or name in self.commanded_models:
            return
        if _entry_of(name, read_user_models(self.models)) is None:
            raise InputError(
                f"{who} asks {name!r}, which neither this command nor your models.yaml names;"
                " nothing was sent",
                hint=f"if you want it asked: judgewright models add {name} --base-url URL",
            )

    def require_keys(self, *specs: str | None) -> None:
        """Check that the keys of models are there, before anything is paid for.

        Raises:
            InputError: One is missing; the message names its variable.
        """
        for spec in specs:
            if spec is not None and spec != SIMULATED and (problem := self.missing_key(spec)):
                raise InputError(f"the model {spec!r} needs a key", hint=problem)

    def missing_key(self, spec: str) -> str:
        """Say what to do where the key that a model needs is not there; empty where nothing is
        known to be missing.
        """
        named, ring = self.model(spec), self.keyring()
        origin = Origin.of(named.base_url)
        binding = ring.binding(origin)
        missing = (binding is None or binding.key is None) and _requires_key(origin, binding)
        return ring.what_to_do(named.base_url) if missing else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """What the name of a model stands for."""

    name: str
    """As it is written after `--model`."""
    model: str
    """At the endpoint."""
    base_url: str
    settings: ModelSettings = field(default_factory=ModelSettings)
    path: str | None = None
    """What stands behind the base URL, where it is not the usual path."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Of each field that is set: file and line."""


def _entry_of(name: str, entries: tuple[ModelEntry, ...]) -> ModelEntry | None:
    return next((entry for entry in entries if entry.name == name), None)


def _provider_url(model: str) -> str | None:
    """Return where a model of a plug-in's kind is asked unless the user says otherwise; None for
    any other model.

    Raises:
        InputError: The kind does not ask this provider, or it has an address for each region or
            project.
    """
    kind = kind_of(model)
    if kind is None:
        return None
    provider = kind.provider_of(model)
    if provider not in PROVIDERS:
        raise InputError(
            f"model {model!r}: {provider} has another address for each region or project",
            hint=(
                f"name it in your models.yaml: my-model: {{model: {model}, base_url: https://...,"
                " key_variable: ...}"
            ),
        )
    return PROVIDERS[provider][0]


def _bound_by(variable: str, base_url: str, key_variable: str, key: str | None) -> Binding:
    try:
        origin = Origin.of(base_url)
    except InputError as error:
        raise InputError(f"{variable}: {error}", hint=error.hint) from None
    return Binding(origin=origin, variable=key_variable, key=key, source=variable)


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Read the environment once."""
    values = dict(os.environ if variables is None else variables)
    folder = values.get("JUDGEWRIGHT_WORKSPACE")
    # A variable that is set to nothing counts as not set.
    return Environment(
        base_url=values.get(OPENAI_URL) or OPENAI,
        openai_key=values.get(OPENAI_KEY) or None,
        own_url=values.get(OWN_URL) or None,
        own_key=values.get(OWN_KEY) or None,
        models=user_models_path(values),
        variables=MappingProxyType(values),
        workspace=read_place(folder) if folder else None,
    )


def has_browser(variables: Mapping[str, str] | None = None, platform: str = sys.platform) -> bool:
    """Whether a browser can be opened where the user sits: there is a screen, and it is not that of
    another machine.
    """
    values = os.environ if variables is None else variables
    if platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in values
    return any(values.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def tool_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that another tool's program needs to run: paths and locale, but no
    keys.
    """
    values = os.environ if variables is None else variables
    return {
        name: value
        for name, value in values.items()
        if name.upper() in _PASSED_ON or name.upper().startswith("LC_")
    }


def open_model(
    spec: str,
    environment: Environment,
    *,
    concurrency: int | None = None,
    settings: ModelSettings | None = None,
    embeddings: bool = False,
) -> Model:
    """Return the model of that name, with the key that belongs to its address.

    Args:
        spec: `simulated`, or as for `Environment.model`.
        environment: Where names, base URL and keys come from.
        concurrency: Connections to allow; as many as the model's settings say calls in flight,
            unless given.
        settings: Of the model, where they come from elsewhere.
        embeddings: Whether it is asked for vectors of texts.

    Raises:
        InputError: See `Environment.model`.
    """
    if spec == SIMULATED and not embeddings:
        from ...judges import Simulated

        return Simulated()
    named = environment.model(spec)
    if settings is not None:
        named = replace(named, settings=settings)
    address = _address(spec, named, environment)
    address |= {
        "name": named.model,
        "max_connections": concurrency or named.settings.concurrency or _CONNECTIONS,
    }
    kind = kind_of(named.model)
    if kind is not None and not embeddings:
        if named.settings.api is not None:
            raise InputError(
                f"{spec}: {named.model} is asked as a chat model, not by api: {named.settings.api}",
                hint="take api out, or give base_url and the model's name there, without litellm/",
            )
        return kind(extra_body=tuple(named.settings.extra_body), **address)
    custom_headers = _takes_custom_headers(named, environment)
    chosen = choose_transport(named.base_url, environment.variables, custom_headers=custom_headers)
    address |= {
        "custom_headers": custom_headers,
        "transport": named.settings.transport or chosen,
    }
    if embeddings:
        from ...judges.models.embeddings import EmbeddingsEndpoint

        return EmbeddingsEndpoint(**address)
    if named.settings.api is not None:
        from ...judges.models.decision_endpoint import DecisionEndpoint

        return DecisionEndpoint(api=named.settings.api, path=named.path, **address)
    from ...judges import Endpoint

    return Endpoint(**address)


def open_batch_exchange(
    spec: str, environment: Environment, folder: Path, *, wait: bool
) -> Exchange:
    """Return what asks a model through the batch queue of its endpoint.

    Args:
        spec: As for `open_model`.
        environment: Where names, base URL and keys come from.
        folder: Where the request files of all endpoints are kept.
        wait: Whether to wait for batches.

    Raises:
        InputError: See `Environment.model`.
    """
    import hashlib

    from ...judges.models import BatchQueue, Exchange
    from ...judges.models.batch_queue import PRICE_SHARE

    named = environment.model(spec)
    if kind_of(named.model) is not None:
        raise InputError(
            f"{named.model} is asked in its provider's own format, which has no batch queue here",
            hint="leave out --via batch",
        )
    queue = BatchQueue(
        custom_headers=_takes_custom_headers(named, environment),
        wait=wait,
        **_address(spec, named, environment),
    )
    # A folder for each address: files of one are never handed to another.
    own = hashlib.blake2b(named.base_url.encode(), digest_size=8).hexdigest()
    return Exchange(folder / own, courier=queue, price_share=PRICE_SHARE)


def _address(
    spec: str, named: NamedModel, environment: Environment
) -> dict[str, Any]:  # Any: keyword arguments
    """Return how a model's address is asked, as live calls and batches take it: with its own key,
    and no other.
    """
    ring = environment.keyring()
    binding = ring.binding(Origin.of(named.base_url))
    return {
        "base_url": named.base_url,
        "api_key": binding.key if binding else None,
        "timeout": named.settings.timeout,
        "headers": named.settings.headers,
        "key_hint": ring.what_to_do(named.base_url),
        "needs_key": bool(environment.missing_key(spec)),
    }


def _takes_custom_headers(named: NamedModel, environment: Environment) -> bool:
    """Whether OPENAI_CUSTOM_HEADERS, which the SDK reads by itself, is meant for a model's
    address.
    """
    return Origin.of(named.base_url) == Origin.of(environment.base_url)


def _requires_key(origin: Origin, binding: Binding | None) -> bool:
    """Whether an address is known to refuse requests without a key, so that none need be sent."""
    if origin in {Origin.of(OPENAI), *(Origin.of(base_url) for base_url, _ in PROVIDERS.values())}:
        return True
    return binding is not None and binding.final and binding.variable is not None


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
    raise InputError(
        f"budget {text!r} is neither dollars such as 5.00 nor tokens such as 200000tokens"
    )


def open_client(
    spec: str,
    environment: Environment,
    *,
    record: CallRecord | None = None,
    budget: Budget | None = None,
    exchange: Exchange | None = None,
    engine: Engine | None = None,
    encoder: Callable[[str], Encode] | None = None,
    opener: Callable[[str], Client] | None = None,
    embeddings: bool = False,
    concurrency: int | None = None,
    max_unreadable: int = 10,
    earlier: Callable[[Model], Iterable[tuple[Request, Completion]]] | None = None,
) -> Client:
    """Return a client for a model name, with its settings, prices, a record of calls and limits.

    Args:
        spec: `simulated`, or as for `Environment.model`.
        environment: Where names, base URL, keys and prices come from.
        encoder: See `Client`.
        opener: See `Client`.
        embeddings: Whether it is an embeddings model.
        concurrency: Calls in flight at most; what the model's settings say unless given.
        max_unreadable: How many of a judge's first twenty replies may be unreadable.
        earlier: Given the model, returns its newest calls; what they were sent without is not tried
            again.

    Raises:
        InputError: The name is not valid, or only a workspace names its address, not this user.
    """
    from ...judges import Client

    environment.require_named(spec, who=f"the model {spec!r}")
    settings = environment.settings(spec)
    model = open_model(spec, environment, concurrency=concurrency, embeddings=embeddings)
    return Client(
        model,
        settings=settings,
        record=record,
        budget=budget,
        prices=Prices(settings.price),
        exchange=exchange,
        engine=engine,
        encoder=encoder,
        opener=opener,
        watch=environment.watch,
        concurrency=concurrency,
        max_unreadable=max_unreadable,
        row_seconds=max(_ROW_SECONDS, 2 * settings.timeout),
        omitted=() if earlier is None or settings.response_format else remembered(earlier(model)),
    )
