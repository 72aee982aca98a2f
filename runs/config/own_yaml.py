"""Read YAML files of names with values strictly, with the line of each for messages."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import cast

import yaml

from ...judges.errors import InputError


def read_own_file(path: Path | None, *, limit: int, about: str) -> bytes:
    """Return the content of a file that only its user may write to; a missing one is empty.

    Args:
        limit: Bytes that it may have.
        about: What it decides, for the message about one that others may write to.

    Raises:
        InputError: It cannot be read, is too large, or every user may write to it.
    """
    if path is None:
        return b""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(limit + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if mode & stat.S_IWOTH:
        raise InputError(
            f"{path} {about}, and every user may write to it", hint=f"chmod o-w {path}"
        )
    if len(content) > limit:
        raise InputError(f"{path} has more than {limit:,} bytes")
    return content


def compose(content: bytes, file: str) -> yaml.Node | None:
    """Return the root of a file; None for an empty one.

    Raises:
        InputError: It is no YAML; the message has the line.
    """
    try:
        composed = yaml.compose(content.decode(), Loader=yaml.BaseLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file} is not UTF-8 YAML: {type(error).__name__}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "unreadable"
        raise InputError(f"{file}{line}: not YAML: {problem}") from None
    return cast("yaml.Node | None", composed)


def location_of(node: yaml.Node, file: str) -> str:
    """Return file and line of a node."""
    return f"{file}, line {node.start_mark.line + 1}"


def pairs_of(
    node: yaml.Node, file: str, *, what: str, hint: str
) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """Return the names of a mapping with their values.

    Raises:
        InputError: It is not a mapping, or a name is not a text or is repeated.
    """
    if not isinstance(node, yaml.MappingNode):
        raise InputError(
            f"{location_of(node, file)}: {what} is not a list of names with values", hint=hint
        )
    seen: set[str] = set()
    for name, _ in node.value:
        if not isinstance(name, yaml.ScalarNode):
            raise InputError(
                f"{location_of(name, file)}: a list or a mapping instead of a name", hint=hint
            )
        if name.value in seen:
            raise InputError(
                f"{location_of(name, file)}: {name.value!r:.80} stands twice in {what}"
            )
        seen.add(name.value)
    return node.value
