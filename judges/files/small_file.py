"""Files that a person writes (prompts, slices, prices), read whole, so never endless and never
without a limit; and those that ship with the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ..errors import InputError

MAX_BYTES = 4_000_000
"""Far more than any prompt has."""


def read_small(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return a file's content.

    Raises:
        InputError: It is a folder, a pipe or a device, which may never end, or has more than
            `limit` bytes.
        OSError: It cannot be read.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{str(path)!r} is no regular file", hint="name a file")
    with path.open("rb") as file:
        # One byte more than allowed tells a file that is too long without reading it to its end.
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"{str(path)!r} has more than {limit:,} bytes; such a file is not read")
    return content


def read_small_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """Return a file's text, without a byte order mark and with `\\n` for every end of a line.

    Raises:
        InputError: As for `read_small`.
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    text = read_small(path, limit=limit).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_our_yaml(path: Path) -> Any:  # Any: YAML
    """Return what a YAML file of the package says, read in C where PyYAML has that: ten times as
    fast.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506  # both are safe
