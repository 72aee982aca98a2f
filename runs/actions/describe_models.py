"""The models that have names: what each stands for, where it says so, and whether its key is
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...judges import InputError
from ...judges.models import ModelSettings, Origin
from ..config.environment import Environment, NamedModel
from ..config.models_file import read_user_models, read_workspace_models


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDescription:
    """A named model, as it may be shown: it holds no key."""

    name: str
    named: NamedModel | None
    """None for a name that only a workspace has, and that has no address."""
    key_variable: str | None = None
    """The environment variable that holds the key; None where no key is sent."""
    key_set: bool = False
    problem: str = ""
    """Why the model cannot be asked now."""

    def settings(self) -> dict[str, Any]:  # Any: JSON
        """Return the settings that are set."""
        if self.named is None:
            return {}
        usual, settings = ModelSettings(), self.named.settings
        values: dict[str, Any] = {}
        for field in fields(settings):
            value = getattr(settings, field.name)
            if value != getattr(usual, field.name):
                values[field.name] = asdict(value) if field.name == "price" else value
        return values

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `models list NAME --json` prints."""
        named = self.named
        return {
            "name": self.name,
            "model": named.model if named else None,
            "base_url": named.base_url if named else None,
            "key_variable": self.key_variable,
            "key_set": self.key_set,
            "settings": self.settings(),
            "sources": dict(named.sources) if named else {},
            "problem": self.problem,
        }


def describe_models(environment: Environment) -> tuple[ModelDescription, ...]:
    """Describe the models of the user's file and of the workspace's, in that order.

    Raises:
        InputError: One of the files cannot be used.
    """
    entries = (*read_user_models(environment.models), *read_workspace_models(environment.shared))
    return tuple(
        describe_model(name, environment) for name in dict.fromkeys(entry.name for entry in entries)
    )


def describe_model(name: str, environment: Environment) -> ModelDescription:
    """Describe what a name stands for, as a command would take it.

    Raises:
        InputError: One of the files cannot be used, or the name is none.
    """
    try:
        named = environment.model(name)
    except InputError as error:
        shared = {entry.name for entry in read_workspace_models(environment.shared)}
        if name not in shared:
            raise
        return ModelDescription(name=name, named=None, problem=f"{error}; {error.hint}")
    binding = environment.keyring().binding(Origin.of(named.base_url))
    return ModelDescription(
        name=name,
        named=named,
        key_variable=binding.variable if binding else None,
        key_set=bool(binding and binding.key),
        problem=environment.missing_key(name),
    )


def source_of(description: ModelDescription, field: str) -> str:
    """Say where a field of a model comes from."""
    sources: Mapping[str, str] = description.named.sources if description.named else {}
    if field in sources:
        return sources[field]
    return {"base_url": "OPENAI_BASE_URL, or OpenAI's own", "model": "the name itself"}.get(
        field, "by default"
    )
