"""What a write is given: a connection of either kind of store, with a question mark for each value
of a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class Cursor(Protocol):
    """What a statement found or changed."""

    @property
    def rowcount(self) -> int:
        """How many rows a statement changed."""
        ...

    def fetchone(self) -> Any:  # Any: SQL values
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:  # Any: SQL values
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:  # Any: SQL values
        """Go through the rows that are left."""
        ...


class Connection(Protocol):
    """What a write is given."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor:  # Any: SQL values
        """Run one statement, with a question mark for each parameter."""
        ...
