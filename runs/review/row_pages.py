"""Rows to be read on a page, worked out once: a file of its own in the workspace, of which a page
reads what it shows.

What is in it can be worked out again at any time; so a file that is of another state of the
workspace, or damaged, is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from ...judges import WorkspaceError
from ...judges.files.write_beside import draft_beside

Json = Mapping[str, Any]  # Any: JSON
MOST_FILES = 60
"""Files that are kept, those written last."""
_SCHEMA = (
    "CREATE TABLE head (stamp TEXT NOT NULL, body TEXT NOT NULL)",
    (
        "CREATE TABLE item (seq INTEGER PRIMARY KEY, row_id TEXT NOT NULL, direction TEXT NOT NULL,"
        " error TEXT NOT NULL, inside INTEGER NOT NULL, cuts TEXT NOT NULL, body TEXT NOT NULL)"
    ),
    "CREATE INDEX item_by_kind ON item (direction, error, inside)",
    "CREATE INDEX item_by_row ON item (row_id)",
    "CREATE INDEX item_by_cut ON item (cuts, error)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowItem:
    """A row to be shown, and what lists of rows are narrowed by."""

    row_id: str
    body: Json
    direction: str = ""
    error: str = ""
    inside: bool = False
    cuts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its values of the columns that cut the rows into a few parts."""


def write_row_pages(path: Path, stamp: str, head: Json, items: Iterable[RowItem]) -> None:
    """Write a file in place of an earlier one.

    Raises:
        WorkspaceError: It cannot be written.
    """
    draft = draft_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with contextlib.closing(sqlite3.connect(draft)) as connection:
            connection.execute("PRAGMA journal_mode=OFF")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO head VALUES (?, ?)", (stamp, json.dumps(head)))
            connection.executemany(
                "INSERT INTO item VALUES (NULL, ?, ?, ?, ?, ?, ?)", map(_values, items)
            )
            connection.commit()
        os.replace(draft, path)
        kept = sorted(path.parent.glob("*.db"), key=lambda one: one.stat().st_mtime, reverse=True)
        for old in kept[MOST_FILES:]:
            old.unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as error:
        raise WorkspaceError(
            f"the rows to be shown cannot be written to {path}: {error}"
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def read_row_pages(path: Path, stamp: str) -> RowPages | None:
    """Return a file's rows; None where there is none, or it is of another state of the workspace,
    or damaged.
    """
    if not path.is_file():
        return None
    pages = RowPages(path)
    try:
        with pages.open() as connection:
            schema = tuple(
                row[0] for row in connection.execute("SELECT sql FROM sqlite_master ORDER BY rowid")
            )
            if schema != _SCHEMA:
                return None
            found = connection.execute("SELECT body FROM head WHERE stamp = ?", (stamp,)).fetchone()
        pages.head = json.loads(found[0]) if found else {}
        return pages if found else None
    except (sqlite3.Error, ValueError):
        return None


class RowPages:
    """The rows of a file, of which only those that are asked for are read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.head: Json = {}
        """What stands above the rows."""

    @contextlib.contextmanager
    def open(self) -> Generator[sqlite3.Connection]:
        """Open the file to read; it is never written again."""
        with contextlib.closing(
            sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro", uri=True)
        ) as connection:
            yield connection

    def has(self, row_id: str) -> bool:
        """Whether a row is among them."""
        return self.read(row_id) is not None

    def read(self, row_id: str) -> Json | None:
        """Return one row; None where it is not among them."""
        with self.open() as connection:
            found = connection.execute(
                "SELECT body FROM item WHERE row_id = ? LIMIT 1", (json.dumps(row_id),)
            )
            body = found.fetchone()
        return json.loads(body[0]) if body else None

    def count(self) -> int:
        """Return how many rows there are."""
        with self.open() as connection:
            return connection.execute("SELECT coalesce(max(seq), 0) FROM item").fetchone()[0]

    def ids(self) -> Iterator[str]:
        """Yield the ids of the rows in their order, of which only as many are read as are taken."""
        with self.open() as connection:
            for (row_id,) in connection.execute("SELECT row_id FROM item ORDER BY seq"):
                yield json.loads(row_id)

    def chosen(
        self,
        *,
        direction: str = "",
        error: str = "",
        inside: bool | None = None,
        cut: tuple[str, str] | None = None,
    ) -> ChosenRows:
        """Return the rows of a kind; what is empty or None is not asked about."""
        asked: dict[str, str | int] = {}
        if direction:
            asked["direction = ?"] = direction
        if error:
            asked["error = ?"] = error
        if inside is not None:
            asked["inside = ?"] = int(inside)
        if cut is not None:
            asked["instr(cuts, ?) > 0"] = _cut(*cut)
        return ChosenRows(self, asked)


class ChosenRows(Sequence[Json]):
    """Rows of a kind, counted and read by the database."""

    def __init__(self, pages: RowPages, asked: Mapping[str, str | int]) -> None:
        self._pages = pages
        self._where = f" WHERE {' AND '.join(asked)}" if asked else ""
        self._values = tuple(asked.values())

    def __len__(self) -> int:
        with self._pages.open() as connection:
            return connection.execute(
                f"SELECT count(*) FROM item{self._where}",  # noqa: S608
                self._values,
            ).fetchone()[0]

    @overload
    def __getitem__(self, key: int) -> Json: ...

    @overload
    def __getitem__(self, key: slice) -> list[Json]: ...

    def __getitem__(self, key: int | slice) -> Json | list[Json]:
        """Return a row, or the rows of a slice whose ends are not negative."""
        if isinstance(key, int):
            return self[key : key + 1][0]
        first = key.start or 0
        values = (*self._values, len(self) if key.stop is None else max(key.stop - first, 0), first)
        query = f"SELECT body FROM item{self._where} ORDER BY seq LIMIT ? OFFSET ?"  # noqa: S608  # our own words
        with self._pages.open() as connection:
            return [json.loads(body) for (body,) in connection.execute(query, values)]


def _values(item: RowItem) -> tuple[str | int, ...]:
    # JSON spells half of a surrogate pair, which the database would refuse.
    cuts = "".join(_cut(name, value) for name, value in item.cuts.items())
    row_id, body = json.dumps(item.row_id), json.dumps(item.body)
    return (row_id, item.direction, item.error, int(item.inside), cuts, body)


def _cut(column: str, value: str) -> str:
    return f"\n{json.dumps([column, value])}\n"
