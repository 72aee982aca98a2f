"""A database of the tests' server, for the tests of what every kind of store promises."""

from collections.abc import Callable, Sequence
from pathlib import Path

from judgewright.plugins.postgres.address import PostgresAddress
from judgewright.plugins.postgres.database import PostgresDatabase
from judgewright.runs.store import MIGRATIONS, Database, Migration
from judgewright.runs.store.database import Holder

from ...runs.store.stores import Store
from .server import PostgresServer


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
        name = server.ready = f"ready{len(MIGRATIONS)}"
        server.say(f"CREATE DATABASE {name}")
        PostgresDatabase(server.address(name), folder).close()
    return server.ready
