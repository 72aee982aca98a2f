"""Plug-ins: what they bring, and which there are.

A plug-in is ours, a folder of `plugins/`, or another package's: that names its `Plugin` in the
entry-point group `judgewright.plugins`. Everything it brings is named as `module:attribute` and
imported when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Literal

from ..judges.errors import InputError

GROUP = "judgewright.plugins"
OURS = (
    "rag",
    "students",
    "annotation",
    "tools",
    "litellm",
    "postgres",
    "dask",
    "agents",
)
"""The folders of `plugins/` that hold one, in the order of the first screen."""
Kind = Literal[
    "commands",
    "proposers",
    "targets",
    "stores",
    "engines",
    "data_sources",
    "prompt_readers",
    "model_kinds",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """What a plug-in brings; every value is `module:attribute`."""

    name: str
    summary: str
    """One line for the first screen."""
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    """Click commands, by the word that calls them."""
    proposers: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the name that `--proposer` takes: functions of a `RunConfig` that return a `Proposer`."""
    targets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Export targets, each a `Target`, by the name that `export --to` takes."""
    stores: Mapping[str, str] = field(default_factory=dict[str, str])
    """By scheme, such as `postgresql`: functions of an address that return a `ServerAddress`."""
    engines: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the name that `--engine` takes: `EngineKind`s."""
    data_sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the name that `data import` takes: `Source`s."""
    prompt_readers: Mapping[str, str] = field(default_factory=dict[str, str])
    """By what they read, such as `source files`: `PromptReader`s of `judges add FILE`."""
    model_kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    """By KIND of `KIND/PROVIDER/MODEL`, as `--model` takes it: `ModelKind`s."""


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return every plug-in there is: ours, then those of other packages by name.

    Raises:
        InputError: One cannot be loaded, or two bring the same name.
    """
    there = (*_ours(), *_installed())
    for kind in fields(Plugin)[2:]:
        owners: dict[str, str] = {}
        for plugin in there:
            for name in getattr(plugin, kind.name):
                if name in owners:
                    raise InputError(
                        f"the plug-ins {owners[name]} and {plugin.name} both bring {name!r} "
                        f"({kind.name})",
                        hint="uninstall one of the two",
                    )
                owners[name] = plugin.name
    return there


def brought(kind: Kind) -> dict[str, str]:
    """Return the names that all plug-ins bring of a kind, with the `module:attribute` of each."""
    return {name: path for plugin in plugins() for name, path in getattr(plugin, kind).items()}


def load(path: str) -> Any:  # Any: what the kind says
    """Import what `module:attribute` names."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def _ours() -> Iterator[Plugin]:
    package = f"{__package__.rpartition('.')[0]}.plugins" if __package__ else "plugins"
    for name in OURS:
        try:
            there = find_spec(f"{package}.{name}.plugin")
        except ModuleNotFoundError:
            continue
        if there is not None:
            yield import_module(f"{package}.{name}.plugin").PLUGIN


def _installed() -> Iterator[Plugin]:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            plugin = entry.load()
        except Exception as error:
            raise InputError(
                f"the plug-in {entry.name} ({entry.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}",
                hint="mend or uninstall its package",
            ) from error
        if not isinstance(plugin, Plugin):
            raise InputError(
                f"the plug-in {entry.name} ({entry.value}) is a {type(plugin).__name__}, "
                "not a judgewright.runs.plugins.Plugin"
            )
        yield plugin
