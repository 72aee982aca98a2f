"""A database of notes, and programs that write it: what the tests of every store use."""

import subprocess
import sys
from collections.abc import Callable

from judgewright.runs.store import Database, Migration
from judgewright.runs.store.writer import Connection

from .stores import OPENING

NOTES = (
    Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"),
)
NEWER = (
    *NOTES,
    Migration(
        "stars",
        "ALTER TABLE note ADD COLUMN stars INTEGER NOT NULL DEFAULT 0; CREATE TABLE b (x INTEGER)",
    ),
)
PRELUDE = f"""{OPENING}
from collections import deque
from judgewright.judges.errors import WorkspaceError
from judgewright.runs.store import Migration
NOTES = (Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"),)
def add(i):
    return lambda c: c.execute("INSERT INTO note (id, text) VALUES (?, ?)", (i, f"note {{i}} " + "x" * 400))
"""  # noqa: E501


def add(number: int, text: str | None = None) -> Callable[[Connection], int]:
    """Return a write of one note."""

    def work(connection: Connection) -> int:
        connection.execute(
            "INSERT INTO note (id, text) VALUES (?, ?)", (number, text or f"note {number}")
        )
        return number

    return work


def ids(database: Database) -> list[int]:
    """Return every note's number."""
    return [row[0] for row in database.read("SELECT id FROM note ORDER BY id")]


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program that can be spoken to; it begins with `PRELUDE`."""
    command = [sys.executable, "-c", PRELUDE + script, *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def end(process: subprocess.Popen[str]) -> None:
    """Kill a program we started and close its pipes."""
    process.kill()
    process.communicate()
