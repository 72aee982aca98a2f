"""A store as the tests of what every kind promises open it; tests/plugins/postgres has a server."""

import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from judgewright.runs.store import MIGRATIONS, Database, Migration, SqliteDatabase
from judgewright.runs.store.database import Holder

OPENING = """
import sys
from pathlib import Path
from judgewright.runs.store import MIGRATIONS, SqliteDatabase

def opened(migrations=MIGRATIONS):
    if len(sys.argv) == 2:
        return SqliteDatabase(Path(sys.argv[1]), migrations=migrations)
    from judgewright.plugins.postgres.address import parse_postgres
    from judgewright.plugins.postgres.database import PostgresDatabase
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
    def make(self) -> None:
        """Make the place, where it has to be made before it is opened."""

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

    def make(self) -> None:
        """A file is made by who opens it."""

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
