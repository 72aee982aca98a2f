"""The two kinds of store, as the tests of what both promise open them."""

import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from judgewright.runs.config.postgres_address import PostgresAddress
from judgewright.runs.store import MIGRATIONS, Database, Migration, SqliteDatabase
from judgewright.runs.store.database import Holder

from ..postgres_server import PostgresServer

OPENING = """
import sys
from pathlib import Path
from judgewright.runs.config.postgres_address import parse_postgres
from judgewright.runs.store import MIGRATIONS, SqliteDatabase

def opened(migrations=MIGRATIONS):
    if len(sys.argv) == 2:
        return SqliteDatabase(Path(sys.argv[1]), migrations=migrations)
    from judgewright.runs.store import PostgresDatabase
    return PostgresDatabase(parse_postgres(sys.argv[1]), Path(sys.argv[2]), migrations=migrations)
"""
"""The beginning of a script that opens the store of its arguments."""


class Store(ABC):
    """A place for a database, which can be opened any number of times."""

    words: tuple[str, ...]
    """The arguments of a script that begins with `OPENING`, once it was opened here."""

    @abstractmethod
    def open(
        self,
        *,
        migrations: Sequence[Migration] = MIGRATIONS,
        on_busy: Callable[[Holder], None] | None = None,
    ) -> Database:
        """Open it, as another process would."""

    @abstractmethod
    def edit(self, script: str) -> None:
        """Change it behind our back."""

    @abstractmethod
    def flip(self, text: bytes) -> None:
        """Change one bit of a text that stands in a reply, or of a reply's hash."""

    @abstractmethod
    def holds(self, text: bytes) -> bool:
        """Whether a text stands anywhere in what it keeps."""


class SqliteStore(Store):
    """A file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "w" / "judgewright.db"
        self.words = (str(self.path),)

    def open(
        self,
        *,
        migrations: Sequence[Migration] = MIGRATIONS,
        on_busy: Callable[[Holder], None] | None = None,
    ) -> Database:
        return SqliteDatabase(self.path, migrations=migrations, on_busy=on_busy)

    def edit(self, script: str) -> None:
        with contextlib.closing(sqlite3.connect(self.path)) as other:
            before = "\n".join(other.iterdump())
            other.executescript(script)
            assert "\n".join(other.iterdump()) != before, "the tampering has changed nothing"

    def flip(self, text: bytes) -> None:
        content = self.path.read_bytes()
        at = content.index(text) + len(text) // 2
        self.path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])

    def holds(self, text: bytes) -> bool:
        return any(text in file.read_bytes() for file in self.path.parent.iterdir())


class PostgresStore(Store):
    """A database of the tests' server, made from a template that has the tables."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server, self.folder = server, folder / "w"
        self._name = ""
        self.words = ()

    def open(
        self,
        *,
        migrations: Sequence[Migration] = MIGRATIONS,
        on_busy: Callable[[Holder], None] | None = None,
    ) -> Database:
        if not self._name:
            whole = tuple(migrations) == MIGRATIONS
            self.make(like=_ready(self.server, self.folder) if whole else "empty")
        from judgewright.runs.store import PostgresDatabase  # needs psycopg

        return PostgresDatabase(self.address, self.folder, migrations=migrations, on_busy=on_busy)

    def make(self, *, like: str = "empty") -> None:
        """Make the database."""
        self._name = self.server.new(like=like)
        self.words = (self.server.url(self._name), str(self.folder))

    @property
    def address(self) -> PostgresAddress:
        """Where it is."""
        return self.server.address(self._name)

    def edit(self, script: str) -> None:
        said = self.server.say(script.replace("x''", "''"), database=self._name)
        assert any(line.split()[-1] != "0" for line in said.splitlines()), (
            "the tampering has changed nothing"
        )

    def flip(self, text: bytes) -> None:
        at = len(text) // 2
        changed = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
        for column in ("response_json", "body_hash"):
            place = f"position('\\x{text.hex()}'::bytea in {column})"
            self.server.say(
                f"UPDATE call SET {column} = overlay({column} placing '\\x{changed.hex()}'::bytea"
                f" from {place}) WHERE {place} > 0",
                database=self._name,
            )

    def holds(self, text: bytes) -> bool:
        kept = self.server.dump(self._name)
        return text.decode() in kept or text.hex() in kept


def _ready(server: PostgresServer, folder: Path) -> str:
    """Return a database with our tables, made once for each server."""
    if server.ready is None:
        from judgewright.runs.store import PostgresDatabase  # needs psycopg

        name = server.ready = f"ready{len(MIGRATIONS)}"
        server.say(f"CREATE DATABASE {name}")
        PostgresDatabase(server.address(name), folder).close()
    return server.ready
