"""Paths that a command writes to: that it can is known before anything is read, asked or paid
for.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

_Given = str | os.PathLike[str]


class OutFile(click.Path):
    """A file to be written.

    Args:
        makes_folder: Whether the command makes the folder of the file where it is missing.
        may_be_folder: Whether the command writes into a folder too.
    """

    def __init__(self, *, makes_folder: bool = False, may_be_folder: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=may_be_folder)
        self._makes_folder = makes_folder

    def convert(
        self, value: _Given, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Refuse a path that cannot be written."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        refusal = _refuse_file(path, makes_folder=self._makes_folder)
        if refusal:
            self.fail(refusal, param, ctx)
        return path


class OutFolder(click.Path):
    """A folder to write into, made where it is missing."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(
        self, value: _Given, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Refuse a folder that cannot be made or written to."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        refusal = _refuse_folder(_nearest(path))
        if refusal:
            self.fail(f"{str(path)!r} cannot be made: {refusal}", param, ctx)
        return path


class NumberedOutFile(click.ParamType):
    """`FILE`, or `N=FILE`: the file that something, or the one with that number, is written to."""

    name = "[N=]FILE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a file that cannot be written; the text stays as it is."""
        number, between, file = value.partition("=")
        refusal = _refuse_file(Path(file if between and number.isdecimal() else value))
        if refusal:
            self.fail(refusal, param, ctx)
        return value


def _refuse_file(path: Path, *, makes_folder: bool = False) -> str:
    """Say why a file cannot be written; empty if it can."""
    folder = path if path.is_dir() else path.parent
    if makes_folder:
        folder = _nearest(folder)
    refusal = _refuse_folder(folder)
    return f"{str(path)!r} cannot be written: {refusal}" if refusal else ""


def _refuse_folder(folder: Path) -> str:
    if not folder.exists():
        return f"there is no folder {str(folder)!r}; make it first"
    if not folder.is_dir():
        return f"{str(folder)!r} is no folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {str(folder)!r} may not be written to"
    return ""


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    return next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
