"""The stores that every promise of a database is tested on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.runs.store import Database

from .stores import SqliteStore, Store


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A place for a database of each kind."""
    if request.param == "sqlite":
        return SqliteStore(tmp_path)
    server = request.getfixturevalue("postgres")
    from ...plugins.postgres.store import PostgresStore

    return PostgresStore(server, tmp_path)


@pytest.fixture
def empty(store: Store) -> Store:
    """A place that nobody has opened."""
    store.make()
    return store


@pytest.fixture
def database(store: Store) -> Iterator[Database]:
    """A database that is open, and empty."""
    with store.open() as opened:
        yield opened
