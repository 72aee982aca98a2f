"""Writing a whole file so that a crash leaves the old one or the new one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_beside(path: Path, text: str) -> None:
    """Write a whole file under another name beside the path, flush it to disk, and rename it to the
    path.

    A crash leaves the old file or the new one, never a part. It does not keep two writers from
    overwriting each other.
    """
    # A new file under a name that nobody can know, so that a link put there beforehand is not
    # followed.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with temporary.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        # Or a crash after the rename may leave an empty file under the right name.
        os.fsync(file.fileno())
    temporary.replace(path)
