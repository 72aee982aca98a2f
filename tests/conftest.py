"""What holds for every test."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from .plugins.postgres.server import PostgresServer

# How long an example takes says how busy the machine is, not whether the code is right. Tests that
# name health checks of their own replace this list; none of theirs has been slow to draw.
settings.register_profile(
    "judgewright", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("judgewright")

FIGURES = os.environ.get("JUDGEWRIGHT_FAULTS")
"""The file that `make faults` collects the figures of faults in; tests then repeat a fault more
often.
"""


@pytest.fixture(scope="session", autouse=True)
def folder_of_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run each worker in a folder of its own: the workspace of the folder that one stands in has
    one writer, and two workers would wait for each other.
    """
    before, folder = Path.cwd(), tmp_path_factory.mktemp("folder")
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say what a test of a fault counted, for docs/reliability.md; kept only where `make faults`
    runs it.
    """

    def keep(figures: str) -> None:
        if FIGURES is not None:
            line = {
                "test": request.node.originalname,
                "case": request.node.name,
                "measured": figures,
            }
            with Path(FIGURES).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    return keep


@pytest.fixture
def nightly() -> bool:
    """Whether a fault is to be repeated as often as `make faults` does."""
    return FIGURES is not None and "JUDGEWRIGHT_FEW" not in os.environ


@pytest.fixture(scope="session")
def postgres() -> "Iterator[PostgresServer]":
    """A PostgreSQL for the whole session; a test makes a database of its own with
    `postgres.new()`.
    """
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    pytest.importorskip("judgewright.plugins.postgres", reason="the plug-in postgres is not there")
    from .plugins.postgres.server import PostgresServer, find_programs

    programs = find_programs()
    if programs is None:
        pytest.skip("Debian's package postgresql is not installed")
    server = PostgresServer(programs)
    yield server
    server.remove()
