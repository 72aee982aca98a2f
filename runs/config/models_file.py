"""Read `models.yaml`: the models that have names, where they are asked, and their settings.

There are two such files. The user's own is in the configuration folder: it alone says where
requests go and which environment variable holds a key. The other is in a workspace, for git and
colleagues: it may say everything else. Neither holds a key.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import orjson
import yaml

from ...judges import InputError, read_small
from ...judges.models import OMIT, ModelSettings, Origin, checked_url
from .own_yaml import compose, location_of, pairs_of, read_own_file

FILE = "models.yaml"
ADDRESS = ("base_url", "path", "key_variable")
"""Fields that only the user's own file may have."""
SETTINGS = tuple(field.name for field in fields(ModelSettings))
FIELDS = (*ADDRESS, "model", *SETTINGS)
_VARIABLE = r"[A-Z_][A-Z0-9_]{0,99}"
_PATH = r"/[A-Za-z0-9/@._~-]{0,200}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}"
_HOLDS_KEY = r"(?i)key|token|secret|password|auth"
_LEADS_AWAY = r"(?i)host|url|uri|target|forward|proxy|upstream|endpoint|api[-_]?base|litellm_params"
"""Names by which gateways are told where a request, and its key, go on to."""
_NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?"
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_UNCLEAR = {"yes", "no", "on", "off", "y", "n"}
_MOST_VALUES = 300
"""In one field; an alias may repeat values without end."""
_MAX_FILE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One entry of a file, or two entries of one name that were merged."""

    name: str
    values: Mapping[str, Any]  # Any: each field has its own type
    """The fields that are set, checked."""
    sources: Mapping[str, str]
    """File and line of each."""
    location: str
    """File and line of the name."""

    @property
    def base_url(self) -> str | None:
        """Where the model is asked; None for the user's OPENAI_BASE_URL."""
        return self.values.get("base_url")

    @property
    def path(self) -> str | None:
        """What stands behind the address of a decision model; None for its interface's usual."""
        return self.values.get("path")

    @property
    def key_variable(self) -> str | None:
        """The environment variable that holds the key; None for a server without a key."""
        return self.values.get("key_variable")

    @property
    def model(self) -> str:
        """The model's name at the endpoint."""
        return self.values.get("model", self.name)

    @property
    def settings(self) -> ModelSettings:
        """The settings; what is not set has its default."""
        return ModelSettings(
            **{name: value for name, value in self.values.items() if name in SETTINGS}
        )


def merge_entries(own: ModelEntry | None, shared: ModelEntry | None) -> ModelEntry | None:
    """Return one entry out of the user's and the workspace's: field by field the user's wins."""
    if own is None or shared is None:
        return own or shared
    return ModelEntry(
        name=own.name,
        values={**shared.values, **own.values},
        sources={**shared.sources, **own.sources},
        location=own.location,
    )


def user_models_path(variables: Mapping[str, str]) -> Path | None:
    """Return where this user's `models.yaml` is or would be; None for a user without a home folder.

    Raises:
        InputError: JUDGEWRIGHT_MODELS is not an absolute path.
    """
    if named := variables.get("JUDGEWRIGHT_MODELS"):
        # A relative path would read the file of the current folder, which may be somebody else's
        # workspace.
        if not Path(named).is_absolute():
            raise InputError(
                f"JUDGEWRIGHT_MODELS is {named!r}, a relative path", hint="write the whole path"
            )
        return Path(named)
    folder = variables.get("XDG_CONFIG_HOME", "")
    if Path(folder).is_absolute():  # the XDG specification ignores relative ones
        return Path(folder, "judgewright", FILE)
    home = variables.get("HOME", "")
    return Path(home, ".config", "judgewright", FILE) if Path(home).is_absolute() else None


def read_user_models(path: Path | None) -> tuple[ModelEntry, ...]:
    """Read the entries of the user's own file; a missing file has none.

    Raises:
        InputError: It cannot be read, others may write to it, or an entry is wrong; the message has
            file, line, field.
    """
    content = read_own_file(path, limit=_MAX_FILE, about="says where keys go")
    return read_entries(content, str(path))


def read_workspace_models(path: Path | None) -> tuple[ModelEntry, ...]:
    """Read the entries of a workspace's file, none of which says where requests go; a missing file
    has none.

    Raises:
        InputError: It cannot be read, or an entry is wrong; the message has file, line, field.
    """
    if path is None or not path.exists():
        return ()
    try:
        content = read_small(path, limit=_MAX_FILE)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return _Reader(str(path), own=False).entries(content)


def read_entries(content: bytes, file: str) -> tuple[ModelEntry, ...]:
    """Read the entries of a user's file.

    Raises:
        InputError: An entry is wrong; the message has file, line, field.
    """
    return _Reader(file, own=True).entries(content)


def example_entry(base_url: str, *, key: bool = True, variable: str | None = None) -> str:
    """Return the line of `models.yaml` that names an address, with a name for the key's variable.

    Args:
        base_url: A URL that `checked_url` accepts.
        key: Whether the address needs a key.
        variable: The variable that it is usually in; one named after the address unless given.
    """
    address = str(Origin.of(base_url)).partition("//")[2]
    name = re.sub(r"[^a-z0-9.]+", "-", address).strip("-.")
    if variable is None:
        variable = f"{re.sub(r'[^A-Z0-9]+', '_', name.upper())}_KEY"
        if variable[0].isdigit():
            variable = f"HOST_{variable}"
    fields = f"base_url: {json.dumps(base_url)}" + (f", key_variable: {variable}" if key else "")
    return f"{name}: {{{fields}}}"


@dataclass(slots=True)
class _Reader:
    """Reads one file, strictly."""

    file: str
    own: bool
    """Whether it is the user's file, which may say where requests go."""
    values: int = 0
    """Read so far in the field."""

    def entries(self, content: bytes) -> tuple[ModelEntry, ...]:
        root = compose(content, self.file)
        if root is None:
            return ()
        entries = tuple(self._entry(name, value) for name, value in self._pairs(root, "the file"))
        _require_one_key(entries)
        return entries

    def _entry(self, name: yaml.ScalarNode, node: yaml.Node) -> ModelEntry:
        location = self._location(name)
        if not re.fullmatch(_NAME, name.value):
            raise InputError(
                f"{location}: the name {name.value!r:.80} has other characters than letters, digits"
                " and ._/-"
            )
        if name.value == "simulated":
            raise InputError(
                f"{location}: simulated is the embedded model", hint="give the entry another name"
            )
        values: dict[str, Any] = {}  # Any: each field has its own type
        sources: dict[str, str] = {}
        for field, content in self._pairs(node, name.value):
            source = self._location(field)
            about = f"{source}, {name.value}"
            if field.value not in FIELDS:
                raise InputError(f"{about}: {_unknown(field.value)}", hint=_example_hint())
            if field.value in ADDRESS and not self.own:
                raise InputError(
                    f"{about}.{field.value}: a file in a workspace does not say where requests go,"
                    " nor with which key",
                    hint=(
                        "take the line out, and have everybody bind the name in a models.yaml of"
                        " their own: judgewright models add"
                    ),
                )
            values[field.value] = self._value(field.value, content, about)
            sources[field.value] = source
        if "key_variable" in values and "base_url" not in values:
            raise InputError(f"{location}, {name.value}: base_url is missing", hint=_example_hint())
        return ModelEntry(name=name.value, values=values, sources=sources, location=location)

    def _value(
        self, field: str, node: yaml.Node, entry: str
    ) -> Any:  # Any: each field has its own type
        about = f"{entry}.{field}"
        self.values = 0
        if field in ("extra_body", "headers"):
            # One by one, so that a message has the line.
            merged: dict[str, Any] = {}
            for name, content in self._pairs(node, field):
                where = f"{self._location(name)}, {entry.rpartition(', ')[2]}"
                if not self.own and re.search(_LEADS_AWAY, name.value):
                    raise InputError(
                        f"{where}.{field}.{name.value}: a gateway may take this for an address, and"
                        " a file in a workspace does not say where requests go",
                        hint="whoever wants it sets it in a models.yaml of their own",
                    )
                if field == "headers":
                    value = self._text(content, f"{where}.headers.{name.value}")
                else:
                    value = self._json(content, f"{where}.extra_body.{name.value}")
                merged |= _setting(field, {name.value: value}, where)
            return merged
        if field in SETTINGS:
            return _setting(field, self._json(node, about), entry)
        text = self._text(node, about)
        if field == "base_url":
            try:
                return checked_url(text)
            except InputError as error:
                raise InputError(f"{about}: {error}", hint=error.hint) from None
        if field == "path" and not re.fullmatch(_PATH, text):
            raise InputError(f"{about}: {text!r:.80} is no path such as /decisions")
        if field == "key_variable" and not re.fullmatch(_VARIABLE, text):
            # Not quoted: it may be a key.
            raise InputError(
                f"{about}: this is not the name of an environment variable (capitals, digits"
                " and _)",
                hint=(
                    "write the variable's name here, and put the key into that variable: keys do"
                    " not go into this file"
                ),
            )
        return text

    def _text(self, node: yaml.Node, about: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise InputError(f"{about}: a text is expected", hint=_example_hint())
        return node.value

    def _json(self, node: yaml.Node, about: str) -> Any:  # Any: JSON
        """Return the JSON value that a node means, as YAML 1.2 has it; `yes` and the like are
        refused.
        """
        self.values += 1
        if self.values > _MOST_VALUES:
            raise InputError(f"{about}: more than {_MOST_VALUES} values")
        if isinstance(node, yaml.MappingNode):
            return {name.value: self._json(value, about) for name, value in self._pairs(node, "it")}
        if isinstance(node, yaml.SequenceNode):
            return [self._json(value, about) for value in node.value]
        assert isinstance(node, yaml.ScalarNode)
        if node.style is not None:  # in quotes
            return node.value
        if node.value.lower() in _WORDS:
            return _WORDS[node.value.lower()]
        if re.fullmatch(_NUMBER, node.value):
            return json.loads(node.value)
        if node.value.lower() in _UNCLEAR:
            raise InputError(
                f"{about}: {node.value} is unclear", hint="write true or false, or put it in quotes"
            )
        return node.value

    def _pairs(self, node: yaml.Node, what: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        return pairs_of(node, self.file, what=what, hint=_example_hint())

    def _location(self, node: yaml.Node) -> str:
        return location_of(node, self.file)


def _setting(field: str, value: Any, entry: str) -> Any:  # Any: each field has its own type
    """Return one setting as `ModelSettings` holds it.

    Raises:
        InputError: It cannot be used; the message names the entry and the field.
    """
    from pydantic import (
        TypeAdapter,
        ValidationError,
    )  # most files have no settings, and it takes long to import

    try:
        settings = TypeAdapter(ModelSettings).validate_json(
            orjson.dumps({field: value}), strict=True
        )
    except InputError as error:
        raise InputError(f"{entry}.{error}", hint=error.hint) from None
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"]) if field == "price" else field
        hint = f"write a number, or {OMIT}" if field == "temperature" else None
        raise InputError(f"{entry}.{path}: {first['msg']}", hint=hint) from None
    except (orjson.JSONEncodeError, TypeError):
        raise InputError(f"{entry}.{field}: this cannot be sent as JSON") from None
    return getattr(settings, field)


def _require_one_key(entries: tuple[ModelEntry, ...]) -> None:
    """Refuse two keys for one origin: which of them to send would be a guess."""
    first: dict[Origin, ModelEntry] = {}
    for entry in entries:
        if entry.base_url is None:
            continue
        origin = Origin.of(entry.base_url)
        before = first.setdefault(origin, entry)
        if before.key_variable != entry.key_variable:
            raise InputError(
                f"{entry.location}, {entry.name}.key_variable: {origin} has another key in"
                f" {before.location}",
                hint="an origin has one key: give both entries the same key_variable",
            )


def _unknown(field: str) -> str:
    if re.search(_HOLDS_KEY, field) and not difflib.get_close_matches(
        field, FIELDS, n=1, cutoff=0.8
    ):
        return (
            f"there is no field {field!r:.80}: keys do not go here; key_variable names the variable"
            " it is in"
        )
    near = difflib.get_close_matches(field, FIELDS, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"there is no field {field!r:.80}, the fields are {', '.join(FIELDS)}{meant}"


def _example_hint() -> str:
    return f"an entry is a line such as  {example_entry('https://api.acme.example/v1')}"
