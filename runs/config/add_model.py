"""Add an entry to the user's own `models.yaml`; what stands there, comments too, stays as it is."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...judges import InputError
from ...judges.files.write_beside import write_beside
from .models_file import ModelEntry, read_entries, read_user_models


def entry_text(name: str, fields: Mapping[str, Any]) -> str:  # Any: JSON
    """Return an entry as the lines of a `models.yaml`."""
    if not fields:
        return f"{name}: {{}}\n"
    # JSON is YAML, and in quotes no word is taken for another.
    lines = [
        f"  {field}: {json.dumps(value, ensure_ascii=False)}\n" for field, value in fields.items()
    ]
    return f"{name}:\n{''.join(lines)}"


def add_entry(path: Path | None, name: str, fields: Mapping[str, Any]) -> ModelEntry:  # Any: JSON
    """Append an entry to the user's file, which is made if it is missing; return the entry as it is
    read.

    Args:
        path: The file; None for a user without a home folder.

    Raises:
        InputError: A field cannot be used, the name is taken, or the file cannot be read or
            appended to.
    """
    if path is None:
        raise InputError(
            "there is no home folder for a models.yaml", hint="name the file in JUDGEWRIGHT_MODELS"
        )
    text = entry_text(name, fields)
    (added,) = read_entries(text.encode(), "the new entry")
    for entry in read_user_models(path):
        if entry.name == name:
            raise InputError(
                f"{entry.location}: there is a model {name!r} already", hint="edit the file there"
            )
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    try:
        read_entries(f"{before}{text}".encode(), str(path))
    except InputError as error:
        raise InputError(
            f"nothing was added: {error}", hint=f"add it to {path} by hand:\n{text}"
        ) from None
    try:
        _write(path.resolve(), before + text)  # the file may be a link into a folder of such files
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    return added


def _write(path: Path, text: str) -> None:
    mode = 0o600
    if path.exists():
        mode = stat.S_IMODE(path.stat().st_mode)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_beside(path, text)
    path.chmod(mode)
