"""Read `tools.yaml`: where the tools are that a judge is handed to, and the registries it is pushed
to.

The file is the user's own, beside `models.yaml`: it names programs that are run, so no workspace
has one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from ...judges import InputError
from .own_yaml import compose, location_of, pairs_of, read_own_file

FILE = "tools.yaml"
FIELDS = ("with", "push")
EXAMPLE = "mlflow: {with: /home/ada/.venvs/mlflow/bin/python, push: http://localhost:5000}"
_MAX_FILE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """What a user says of one tool."""

    program: str | None = None
    """The Python, or node, that has the tool."""
    registry: str | None = None
    """Its registry, as the tool names it; it may hold a password."""


def read_tools(path: Path | None) -> dict[str, ToolEntry]:
    """Read the user's tools by the name that `--to` has; a missing file has none.

    Raises:
        InputError: It cannot be read, others may write to it, or an entry is wrong; the message has
            file, line, field.
    """
    content = read_own_file(path, limit=_MAX_FILE, about="names programs to run")
    root = compose(content, str(path))
    if root is None:
        return {}
    pairs = pairs_of(root, str(path), what="the file", hint=EXAMPLE)
    return {name.value: _read_entry(name, node, str(path)) for name, node in pairs}


def _read_entry(name: yaml.ScalarNode, node: yaml.Node, file: str) -> ToolEntry:
    values: dict[str, str] = {}
    for field, content in pairs_of(node, file, what=name.value, hint=EXAMPLE):
        about = f"{location_of(field, file)}, {name.value}.{field.value}"
        if field.value not in FIELDS:
            raise InputError(f"{about}: {field.value} is none of {', '.join(FIELDS)}", hint=EXAMPLE)
        text = content.value.strip() if isinstance(content, yaml.ScalarNode) else ""
        if not text or not text.isprintable():
            raise InputError(f"{about}: a line of text is expected", hint=EXAMPLE)
        values[field.value] = text
    program = values.get("with")
    # A job runs in a folder of its own, and a relative path would lie in somebody's workspace.
    if program is not None and not Path(program).is_absolute():
        raise InputError(
            f"{location_of(name, file)}, {name.value}.with: {program!r} is a relative path",
            hint="write all of it",
        )
    return ToolEntry(program=program, registry=values.get("push"))


def hide_password(address: str) -> str:
    """Return an address with whatever may be secret in it as stars: what stands before an @, and a
    query's values.
    """
    address = re.sub(r"//[^/]*@", "//***@", address)
    return re.sub(r"=[^&#]*", "=***", address) if urlsplit(address).query else address
