"""What adapters share: files of a folder, a text file that is opened, columns that are mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import DataError
from ..files.column_names import near_names
from ..files.rows_in_memory import FORMATS


def require_mapped(path: Path, columns: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a file that lacks a column which `--map` names.

    Raises:
        DataError: It does.
    """
    for ours, column in columns.items():
        if column in names:
            continue
        near = near_names(column, names)
        hint = f"did you mean --map {ours}={near[0]}?" if near else f"map {ours!r} to one of them"
        listed = ", ".join(map(repr, names[:30]))
        message = f"{path}: the column {column!r} is missing; the columns are {listed}"
        raise DataError(message, hint=hint)


def table_files(path: Path) -> list[Path]:
    """Return the file, or the table files of a folder in the order of their names.

    Raises:
        DataError: The folder has none.
    """
    if not path.is_dir():
        return [path]
    files = [
        file
        for file in sorted(path.iterdir())
        if file.name.lower().removesuffix(".gz").endswith(FORMATS)
    ]
    if not files:
        hint = f"such as {', '.join(FORMATS)}"
        raise DataError(f"{path}: the folder has no file in a format that is read", hint=hint)
    return files


def as_number(value: float) -> int | float:
    """Return a whole number as an integer, so that labels read 1 and not 1.0."""
    return int(value) if float(value).is_integer() else value
