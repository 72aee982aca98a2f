"""Read the files of a release: found in a folder, nesting preserved, and errors with file and
line.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import DataError
from ..files.column_names import near_names
from ..files.problems import shorten
from ..files.records import Cell, Record, file_errors, open_bytes
from ..files.rows_in_memory import FORMATS


def require_columns(path: Path, needed: Sequence[str], first: Record) -> None:
    """Refuse a file whose first record lacks a column of a release: it is another file.

    Raises:
        DataError: It does.
    """
    absent = [name for name in needed if name not in first.fields]
    if absent:
        listed = ", ".join(shorten(name) for name in list(first.fields)[:20])
        raise DataError(
            f"{path}: not a file of this release: the column {absent[0]!r} is missing; the columns"
            f" are {listed}",
            hint=(
                "the file as its makers publish it is needed; any other table is read as it is:"
                " --column INPUT=COLUMN --label COLUMN"
            ),
        )


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file, also as `.gz`; whatever fails while it is read is a DataError."""
    with file_errors(path):
        try:
            with io.TextIOWrapper(open_bytes(path), "utf-8-sig") as file:
                yield file
        except UnicodeDecodeError as error:
            bad = f"byte 0x{error.object[error.start]:02x}"
            raise DataError(f"{path}: {bad} is not UTF-8; save the file as UTF-8") from None


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


def group_of(prefix: str, text: str) -> str:
    """Return a group's name that is equal for texts that differ in spaces and case only."""
    # Releases repeat a question with other spaces or capitals; it must not stand on both sides of a
    # split.
    folded = " ".join(text.split()).casefold()
    return f"{prefix}_{hashlib.blake2b(folded.encode(), digest_size=6).hexdigest()}"


def as_text(value: Cell) -> str:
    """Return a cell as text; a missing one is empty."""
    return "" if value is None else str(value)


def folded_text(value: Cell) -> str:
    """Return a cell as text in lower case, without white space at its ends."""
    return as_text(value).strip().casefold()


def as_number(value: float) -> int | float:
    """Return a whole number as an integer, so that labels read 1 and not 1.0."""
    return int(value) if float(value).is_integer() else value
