"""What people call a run: a name that stands for its id, and tags to find it by."""

from __future__ import annotations

from collections.abc import Iterable

from ...judges import InputError
from .database import Database
from .journal import LATEST, RunRecord, get_run
from .writer import Connection

MOST_CHARACTERS = 64
_SIGNS = "_-.+"
"""What a name may have beside letters and digits of any language."""
_OF_IDS = frozenset("0123456789abcdef-")


def mark_run(
    database: Database, run_id: str, *, name: str | None = None, tags: Iterable[str] | None = None
) -> RunRecord:
    """Give a run a name or tags, in place of those that it has.

    Args:
        name: Its name; empty takes it away, None leaves it.
        tags: All its tags; None leaves them.

    Returns:
        The run as it is now.

    Raises:
        InputError: It is no name or tag, another run has the name, or there is no such run.
        WorkspaceError: The database cannot be written, as another process is at it.
    """
    run = get_run(database, run_id)
    name = run.name if name is None else name and check_run_name(name)
    kept = run.tags if tags is None else tuple(sorted({_check_word(tag, "tag") for tag in tags}))
    holder = database.read("SELECT run_id FROM run_name WHERE name = ?", (name,))
    if holder and holder[0][0] != run.run_id:
        raise InputError(
            f"run {holder[0][0]} is called {name!r} already",
            hint=f"give that one another name first: judgewright runs name {holder[0][0]} NAME",
        )

    def write(connection: Connection) -> None:
        connection.execute(_MARK, (run.run_id, name or None, " ".join(kept)))

    database.submit(write).result()
    database.release()
    return get_run(database, run.run_id)


def check_run_name(name: str) -> str:
    """Return a name that a run may have.

    Raises:
        InputError: It has other signs, or could be taken for something else.
    """
    if name == LATEST or not set(name) - _OF_IDS:
        raise InputError(
            f"{name!r} could be taken for a run's id, or for the latest one",
            hint="such as stricter-numbers",
        )
    return _check_word(name, "name of a run")


def _check_word(word: str, what: str) -> str:
    fits = all(letter.isalnum() or letter in _SIGNS for letter in word) and word[:1] != "-"
    if not fits or not 0 < len(word) <= MOST_CHARACTERS:
        raise InputError(
            f"{word!r} is no {what}: up to {MOST_CHARACTERS} letters, digits and {_SIGNS}, no space"
        )
    return word


_MARK = """
INSERT INTO run_name (run_id, name, tags) VALUES (?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET name = excluded.name, tags = excluded.tags
"""
