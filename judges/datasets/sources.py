"""Every source that can be imported, and opening one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import DataError, InputError
from .ragtruth import RAGTRUTH
from .recipe import load_recipes
from .source import Flat, ReadOptions, Source

SOURCES: Mapping[str, Source] = {source.name: source for source in (*load_recipes(), RAGTRUTH)}
_FETCHED = {
    "hub": "hf download {name} --repo-type dataset --local-dir FOLDER, then name its tables",
    "ir": "write them first: ir_datasets export {name} qrels (then queries, docs)",
}
"""What to type where a path names what can be fetched, such as `hub:NAME`."""


@dataclass(slots=True)
class Opened:
    """A source at a path: rows to be read once, and notes that are complete when they have been."""

    source: Source
    rows: Iterator[Flat]
    notes: list[str]


def open_source(
    name: str,
    path: Path,
    options: ReadOptions | None = None,
    *,
    sources: Mapping[str, Source] = SOURCES,
) -> Opened:
    """Open a file or folder as its makers publish it, with one of the sources by name.

    Raises:
        InputError: There is no such source, or it has no such level.
        DataError: There is nothing at the path. Reading the rows raises it for what is wrong
            inside.
    """
    source = sources.get(name)
    if source is None:
        hint = "any other table is read as it is: --column INPUT=COLUMN --label COLUMN"
        raise InputError(f"there is no source {name!r}; known: {', '.join(sources)}", hint=hint)
    options = options or ReadOptions()
    if options.level and options.level not in source.levels:
        levels = ", ".join(source.levels) or "no levels"
        raise InputError(f"the source {name!r} has no level {options.level!r}; it has {levels}")
    if not path.exists():
        scheme, _, published = str(path).partition(":")
        hint = _FETCHED.get(scheme, "").format(name=published)
        raise DataError(f"{path}: there is no such file or folder", hint=hint or None)
    if source.levels and not options.level:
        options = replace(options, level=source.levels[0])
    # Filled while the rows are read: what was left out is known at the end only.
    notes: list[str] = []
    return Opened(source, source.read(path, options, notes), notes)
