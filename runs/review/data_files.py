"""The data files of a workspace that a page offers, and nothing outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...judges import InputError
from ...judges.files import Cell
from ..actions.verdict_pairs import DATA_ENDINGS

MOST_FILES = 200
MOST_LOOKED_AT = 5_000
DEPTH = 3
"""Folders below the workspace's that are looked into."""
_PASSED_OVER = frozenset({"prompts", "node_modules", "__pycache__", "venv"})

FirstRows = tuple[Mapping[str, Cell], ...]
"""The first rows of a data file."""


def find_data_files(root: Path) -> list[str]:
    """Return the paths of data files below a folder, relative to it, nearest and then newest
    first.
    """
    files: list[tuple[int, float, str]] = []
    folders, looked = [(root.resolve(), 0)], 0
    while folders and looked < MOST_LOOKED_AT:
        folder, depth = folders.pop(0)
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for entry in entries:
            looked += 1
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir() and depth < DEPTH and entry.name not in _PASSED_OVER:
                folders.append((entry, depth + 1))
            elif entry.name.lower().endswith(DATA_ENDINGS) and entry.is_file():
                name = entry.relative_to(root.resolve()).as_posix()
                files.append((depth, -entry.stat().st_mtime, name))
    return [name for _, _, name in sorted(files)[:MOST_FILES]]


def resolve_data_file(root: Path, name: str) -> Path:
    """Return the file that a form names.

    Raises:
        InputError: It is none of those below the folder.
    """
    if "\0" in name:  # the system takes it for the end of a name, and resolving it fails
        name = ""
    path = (root / name).resolve()
    inside = path.is_relative_to(root.resolve()) and not any(
        part.startswith(".") for part in Path(name).parts
    )
    if not name or not inside or not name.lower().endswith(DATA_ENDINGS) or not path.is_file():
        raise InputError(
            f"there is no data file {name!r} in {root}", hint="put it into the workspace's folder"
        )
    return path
