"""Read the user's own `models.yaml`: the addresses that may be called, and the variable that holds each one's key.

The file is in the user's configuration folder and never in a workspace, which may come from somebody else. It holds no
keys, only the names of the environment variables that do.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from ...judges import InputError
from ...judges.models import Origin, checked_url

FILE = "models.yaml"
FIELDS = ("base_url", "key_variable")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_HOLDS_KEY = re.compile(r"key|token|secret|password|auth", re.I)
_MAX_FILE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UserModel:
    """One entry of the file."""

    name: str
    base_url: str
    key_variable: str | None
    """The environment variable that holds the key; None for a server without a key."""
    location: str
    """File and line, for messages."""

    @property
    def origin(self) -> Origin:
        """Where the key may go."""
        return Origin.of(self.base_url)


def user_models_path(variables: Mapping[str, str]) -> Path | None:
    """Return where this user's `models.yaml` is or would be; None for a user without a home folder.

    Raises:
        InputError: JUDGEWRIGHT_MODELS is not an absolute path.
    """
    if named := variables.get("JUDGEWRIGHT_MODELS"):
        # A relative path would read the file of the current folder, which may be somebody else's workspace.
        if not Path(named).is_absolute():
            raise InputError(f"JUDGEWRIGHT_MODELS is {named!r}, a relative path", hint="write the whole path")
        return Path(named)
    folder = variables.get("XDG_CONFIG_HOME", "")
    if Path(folder).is_absolute():  # the XDG specification ignores relative ones
        return Path(folder, "judgewright", FILE)
    home = variables.get("HOME", "")
    return Path(home, ".config", "judgewright", FILE) if Path(home).is_absolute() else None


def read_user_models(path: Path | None) -> tuple[UserModel, ...]:
    """Read the entries of the file; a missing file has none.

    Raises:
        InputError: It cannot be read, others may write to it, or an entry is wrong; the message has file, line, field.
    """
    if path is None:
        return ()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MAX_FILE + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if mode & stat.S_IWOTH:
        raise InputError(f"{path} says where keys go, and every user may write to it", hint=f"chmod o-w {path}")
    if len(content) > _MAX_FILE:
        raise InputError(f"{path} has more than {_MAX_FILE:,} bytes")
    return _read(content, path)


def example_entry(base_url: str, *, key: bool = True) -> str:
    """Return the line of `models.yaml` that names an address, with a name for the key's variable.

    Args:
        base_url: A URL that `checked_url` accepts.
        key: Whether the address needs a key.
    """
    address = str(Origin.of(base_url)).partition("//")[2]
    name = re.sub(r"[^a-z0-9.]+", "-", address).strip("-.")
    variable = f"{re.sub(r'[^A-Z0-9]+', '_', name.upper())}_KEY"
    if variable[0].isdigit():
        variable = f"HOST_{variable}"
    fields = f"base_url: {json.dumps(base_url)}" + (f", key_variable: {variable}" if key else "")
    return f"{name}: {{{fields}}}"


def _read(content: bytes, path: Path) -> tuple[UserModel, ...]:
    try:
        root = yaml.compose(content.decode(), Loader=yaml.BaseLoader)
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not UTF-8 YAML: {type(error).__name__}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line}: not YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None
    if root is None:
        return ()
    entries = tuple(_entry(name, value, path) for name, value in _pairs(root, path, "the file"))
    _require_one_key(entries)
    return entries


def _entry(name: yaml.ScalarNode, value: yaml.Node, path: Path) -> UserModel:
    location = _location(path, name)
    if not _NAME.fullmatch(name.value):
        raise InputError(f"{location}: the name {name.value!r:.80} has other characters than letters, digits and ._/-")
    fields: dict[str, str] = {}
    for field, content in _pairs(value, path, name.value):
        if field.value not in FIELDS:
            raise InputError(f"{_location(path, field)}, {name.value}: {_unknown(field.value)}", hint=_example_hint())
        fields[field.value] = _checked(field, content, path, name.value)
    if "base_url" not in fields:
        raise InputError(f"{location}, {name.value}: base_url is missing", hint=_example_hint())
    return UserModel(
        name=name.value, base_url=fields["base_url"], key_variable=fields.get("key_variable"), location=location
    )


def _checked(field: yaml.ScalarNode, content: yaml.Node, path: Path, name: str) -> str:
    about = f"{_location(path, field)}, {name}.{field.value}"
    if not isinstance(content, yaml.ScalarNode) or not content.value:
        raise InputError(f"{about}: a text is expected", hint=_example_hint())
    if field.value == "base_url":
        try:
            return checked_url(content.value)
        except InputError as error:
            raise InputError(f"{about}: {error}", hint=error.hint) from None
    if not _VARIABLE.fullmatch(content.value):
        # Not quoted: it may be a key.
        raise InputError(
            f"{about}: this is not the name of an environment variable (capitals, digits and _)",
            hint="write the variable's name here, and put the key into that variable: keys do not go into this file",
        )
    return content.value


def _pairs(node: yaml.Node, path: Path, what: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """Return the names of a mapping with their values.

    Raises:
        InputError: It is not a mapping, or a name is not a text or is repeated.
    """
    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{_location(path, node)}: {what} is not a list of names with values", hint=_example_hint())
    seen: set[str] = set()
    for name, _ in node.value:
        if not isinstance(name, yaml.ScalarNode):
            raise InputError(f"{_location(path, name)}: a list or a mapping instead of a name")
        if name.value in seen:
            raise InputError(f"{_location(path, name)}: {name.value!r:.80} stands twice in {what}")
        seen.add(name.value)
    return node.value


def _require_one_key(entries: tuple[UserModel, ...]) -> None:
    """Refuse two keys for one origin: which of them to send would be a guess."""
    first: dict[Origin, UserModel] = {}
    for entry in entries:
        before = first.setdefault(entry.origin, entry)
        if before.key_variable != entry.key_variable:
            raise InputError(
                f"{entry.location}, {entry.name}.key_variable: {entry.origin} has another key in {before.location}",
                hint="an origin has one key: give both entries the same key_variable",
            )


def _unknown(field: str) -> str:
    if _HOLDS_KEY.search(field):
        return f"there is no field {field!r:.80}: keys do not go here; key_variable names the variable it is in"
    near = difflib.get_close_matches(field, FIELDS, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"there is no field {field!r:.80}, the fields are {' and '.join(FIELDS)}{meant}"


def _example_hint() -> str:
    return f"an entry is a line such as  {example_entry('https://api.acme.example/v1')}"


def _location(path: Path, node: yaml.Node) -> str:
    return f"{path}, line {node.start_mark.line + 1}"
