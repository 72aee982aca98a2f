"""Rows to be read on a page, worked out once: a file of its own in the workspace, of which a page
reads what it shows.

What is in it can be worked out again at any time; so a file that is of another state of the
workspace, or damaged, is made anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...judges import WorkspaceError
from ...judges.files.write_beside import draft_beside

Json = Mapping[str, Any]  # Any: JSON
MOST_FILES = 60
"""Files that are kept, those written last."""
_SCHEMA = (
    "CREATE TABLE head (stamp TEXT NOT NULL, body TEXT NOT NULL)",
    "CREATE TABLE item (seq INTEGER PRIMARY KEY, row_id TEXT NOT NULL, brief TEXT NOT NULL,"
    " body TEXT NOT NULL)",
    "CREATE INDEX item_by_row ON item (row_id)",
    "CREATE TABLE packed (body BLOB NOT NULL)",
)
Arrays = Mapping[str, np.ndarray[Any, Any]]  # Any: of whatever shape and type
BRIEF = "brief"
"""The field of a row that a list of many rows reads alone."""
RowItem = tuple[str, Json]
"""The id of a row to be shown, and what is shown of it."""


def write_row_pages(
    path: Path, stamp: str, head: Json, items: Iterable[RowItem], arrays: Arrays | None = None
) -> None:
    """Write a file in place of an earlier one.

    Args:
        path: The file.
        stamp: The state of the workspace that it is of.
        head: What stands above the rows.
        items: The rows.
        arrays: A value a row, of all rows at once, for what is counted or chosen among them.

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
            # JSON spells half of a surrogate pair, which the database would refuse.
            lines = (
                (json.dumps(row_id), json.dumps(body.get(BRIEF)), json.dumps(body))
                for row_id, body in items
            )
            connection.executemany("INSERT INTO item VALUES (NULL, ?, ?, ?)", lines)
            packed = io.BytesIO()
            np.savez(packed, allow_pickle=False, **(arrays or {}))
            connection.execute("INSERT INTO packed VALUES (?)", (packed.getvalue(),))
            connection.commit()
        os.replace(draft, path)
        newest_first = sorted(
            path.parent.glob("*.db"), key=lambda one: one.stat().st_mtime, reverse=True
        )
        for old in newest_first[MOST_FILES:]:
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
    pages = RowPages(path, stamp)
    try:
        schema = tuple(row[0] for row in pages.select("SELECT sql FROM sqlite_master"))
        heads = pages.select("SELECT body FROM head WHERE stamp = ?", stamp)
        if schema != _SCHEMA or not heads:
            return None
        pages.head = json.loads(heads[0][0])
    except (sqlite3.Error, ValueError):
        return None
    return pages


class RowPages:
    """The rows of a file, of which only those that are asked for are read."""

    def __init__(self, path: Path, stamp: str) -> None:
        self._path = path
        self.identity = (str(path), stamp)
        """What another state of the rows does not have."""
        self.head: Json = {}
        """What stands above the rows."""

    def select(self, sql: str, *values: str | int) -> list[tuple[Any, ...]]:  # Any: SQL values
        """Return the lines of a query; the file is never written again."""
        with self._open() as connection:
            return connection.execute(sql, values).fetchall()

    def read(self, row_id: str) -> Json | None:
        """Return one row; None where it is not among them."""
        bodies = self.select("SELECT body FROM item WHERE row_id = ? LIMIT 1", json.dumps(row_id))
        return json.loads(bodies[0][0]) if bodies else None

    @cached_property
    def arrays(self) -> Arrays:
        """Return the values of all rows at once."""
        with np.load(io.BytesIO(self.select("SELECT body FROM packed")[0][0])) as packed:
            return {name: packed[name] for name in packed.files}

    def briefs(self, numbers: Sequence[int]) -> dict[int, Json]:
        """Return the brief fields of some rows, by their numbers from 1 on."""
        wanted = ",".join(map(str, map(int, numbers)))
        sql = f"SELECT seq, brief FROM item WHERE seq IN ({wanted})"  # noqa: S608 - numbers
        return {seq: json.loads(brief) for seq, brief in self.select(sql)}

    def at(self, number: int) -> Json:
        """Return the row of a number, from 1 on."""
        return json.loads(self.select("SELECT body FROM item WHERE seq = ?", number)[0][0])

    def numbers_with(self, words: str, within: Sequence[str]) -> list[int]:
        """Return the numbers of the rows that have some words in their id, or in any text of some
        fields; capitals and spaces make no difference.
        """
        sought, found = _plain(words), list[int]()
        # As JSON spells them, words of plain letters are looked up by the database, the rest here.
        likely = json.dumps(words.split(" ")[0])[1:-1].lower() if words.isascii() else ""
        sql = "SELECT seq, row_id, body FROM item WHERE instr(lower(row_id || body), ?)"
        with self._open() as connection:
            for seq, row_id, body in connection.execute(sql, (likely,)):
                fields = json.loads(body)
                texts = [value for name in within for value in fields[name].values()]
                if any(sought in _plain(str(text)) for text in (json.loads(row_id), *texts)):
                    found.append(seq)
        return found

    def count(self) -> int:
        """Return how many rows there are."""
        return self.select("SELECT coalesce(max(seq), 0) FROM item")[0][0]

    def ids(self) -> Iterator[str]:
        """Yield the ids of the rows in their order, of which only as many are read as are taken."""
        with self._open() as connection:
            for (row_id,) in connection.execute("SELECT row_id FROM item ORDER BY seq"):
                yield json.loads(row_id)

    def _open(self) -> contextlib.closing[sqlite3.Connection]:
        address = f"{self._path.resolve().as_uri()}?mode=ro"
        return contextlib.closing(sqlite3.connect(address, uri=True))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
