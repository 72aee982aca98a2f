"""Read `tools.yaml`: where the tools are that a judge is handed to, and the registries it is pushed
to.

The file is the user's own, beside `models.yaml`: it names programs that are run, so no workspace
has one.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import yaml

from ...judges import InputError, read_small

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
    if path is None or not path.exists():
        return {}
    try:
        content = read_small(path, limit=_MAX_FILE).decode()
        writable = path.stat().st_mode & stat.S_IWOTH
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text") from None
    if writable:
        raise InputError(
            f"{path} names programs to run, and every user may write to it",
            hint=f"chmod o-w {path}",
        )
    try:
        composed = yaml.compose(content, Loader=yaml.BaseLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        root = cast("yaml.Node | None", composed)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise InputError(
            f"{path}{f', line {mark.line + 1}' if mark else ''}: not YAML", hint=EXAMPLE
        ) from None
    entries: dict[str, ToolEntry] = {}
    for name, line, node in _pairs(root, path, 1):
        if name in entries:
            raise InputError(f"{path}, line {line}: {name} stands twice")
        entries[name] = _read_entry(name, node, path, line)
    return entries


def _read_entry(name: str, node: yaml.Node, path: Path, line: int) -> ToolEntry:
    values: dict[str, str] = {}
    for field, at, content in _pairs(node, path, line):
        about = f"{path}, line {at}, {name}.{field}"
        if field not in FIELDS or field in values:
            reason = "stands twice" if field in values else f"is none of {', '.join(FIELDS)}"
            raise InputError(f"{about}: {field} {reason}", hint=EXAMPLE)
        if (
            not isinstance(content, yaml.ScalarNode)
            or not content.value.strip()
            or not content.value.isprintable()
        ):
            raise InputError(f"{about}: a line of text is expected", hint=EXAMPLE)
        values[field] = content.value.strip()
    program = values.get("with")
    # A job runs in a folder of its own, and a relative path would lie in somebody's workspace.
    if program is not None and not os.path.isabs(program):
        raise InputError(
            f"{path}, line {line}, {name}.with: {program!r} is a relative path",
            hint="write all of it",
        )
    return ToolEntry(program=program, registry=values.get("push"))


def _pairs(node: yaml.Node | None, path: Path, line: int) -> list[tuple[str, int, yaml.Node]]:
    """Return names, their lines and values of a mapping."""
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{path}, line {line}: names with values are expected", hint=EXAMPLE)
    pairs: list[tuple[str, int, yaml.Node]] = []
    for name, value in node.value:
        at = name.start_mark.line + 1
        if not isinstance(name, yaml.ScalarNode):
            raise InputError(
                f"{path}, line {at}: a list or a mapping instead of a name", hint=EXAMPLE
            )
        pairs.append((name.value, at, value))
    return pairs


def hide_password(address: str) -> str:
    """Return an address with whatever may be secret in it as stars: what stands before an @, and a
    query's values.
    """
    address = re.sub(r"//[^/]*@", "//***@", address)
    return re.sub(r"=[^&#]*", "=***", address) if urlsplit(address).query else address
