"""What an adapter is: a file as another program writes it goes in, flat rows with a label come
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import DataError, InputError
from ..files.verdict_scale import GradeMap
from ..rows import Scalar

Flat = dict[str, Scalar]
"""One row as it stands in our JSONL: `id`, `label`, the inputs, and columns to slice by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a person may choose; each adapter reads what it knows."""

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """Our name to the tool's column, or to a question."""
    label_map: GradeMap = field(default_factory=dict[str, float | None])
    """Words of an answer, in lower case, and the grade each stands for."""


Read = Callable[[Path, ReadOptions, list[str]], Iterator[Flat]]
"""Yields rows of a path; what was assumed or left out is appended to the list while rows come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One format of labelled rows and how it is read."""

    name: str
    about: str
    """One line: the rows and their labels."""
    read: Read


@dataclass(slots=True)
class Opened:
    """The rows at a path, to be read once, and notes that are complete when they have been."""

    rows: Iterator[Flat]
    notes: list[str]


def open_source(
    name: str,
    path: Path,
    options: ReadOptions | None = None,
    *,
    sources: Mapping[str, Source],
) -> Opened:
    """Open a file or folder with one of the sources by name.

    Raises:
        InputError: There is no such source.
        DataError: There is nothing at the path. Reading the rows raises it for what is wrong
            inside.
    """
    require_source(name, sources)
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    # Filled while the rows are read: what was left out is known at the end only.
    notes: list[str] = []
    return Opened(sources[name].read(path, options or ReadOptions(), notes), notes)


def require_source(name: str, sources: Mapping[str, Source]) -> None:
    """Refuse a source that nobody brings.

    Raises:
        InputError: There is none of this name.
    """
    if name not in sources:
        hint = "any other table is read as it is: --column INPUT=COLUMN --label COLUMN"
        raise InputError(f"there is no source {name!r}; known: {', '.join(sources)}", hint=hint)
