"""Writing a whole file so that a crash leaves the old one or the new one."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import threading
from pathlib import Path

_DRAFT = re.compile(r"\..+\.(?P<machine>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{12}\.tmp", re.DOTALL)
_swept: set[tuple[int, Path]] = set()
_guard = threading.Lock()


def write_beside(path: Path, text: str) -> None:
    """Write a whole file under another name beside the path, flush it to disk, and rename it to the
    path.

    A crash leaves the old file or the new one, never a part. It does not keep two writers from
    overwriting each other.
    """
    temporary = draft_beside(path)
    with temporary.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        # Or a crash after the rename may leave an empty file under the right name.
        os.fsync(file.fileno())
    temporary.replace(path)


def draft_beside(path: Path) -> Path:
    """Return a name beside the path for a file that will be renamed to it, and remove the drafts of
    processes that were killed while they wrote into this folder.

    Nobody can know the name before, so that a link put there beforehand is not followed.
    """
    _remove_abandoned(path.parent)
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}-{secrets.token_hex(6)}.tmp")


def _remove_abandoned(folder: Path) -> None:
    """Remove the drafts of dead processes of this machine, once per process and folder."""
    here = (os.getpid(), folder.absolute())
    with _guard:
        if here in _swept:
            return
        _swept.add(here)
    try:
        drafts = [Path(entry.path) for entry in os.scandir(folder) if entry.name.endswith(".tmp")]
        for draft in drafts:
            parts = _DRAFT.fullmatch(draft.name)
            if parts and parts["machine"] == _machine() and _is_dead(int(parts["pid"])):
                draft.unlink(missing_ok=True)
    except OSError:
        return  # what cannot be tidied does not forbid the write


def _machine() -> str:
    """Return what tells this machine from others that write to the same disk."""
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _is_dead(pid: int) -> bool:
    if os.name == "nt":  # where signal 0 is not a question
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False
