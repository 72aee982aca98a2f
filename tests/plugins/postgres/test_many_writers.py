"""What holds where many processes and machines write one journal and one ledger."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from judgewright.judges import WorkspaceError
from judgewright.plugins.postgres.database import PostgresDatabase
from judgewright.runs.store import MIGRATIONS, HoldoutLedger, RunJournal, create_run

from ...look_requests import look_at
from ...runs.store.test_journal import walk
from ...runs.store.test_ledger import LAST, fill
from .server import PostgresServer
from .store import PostgresStore


def test_two_who_write_one_journal_at_once_leave_it_whole(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Where many may write, the second to write an event is refused, and the chain is the first
    one's.
    """
    store = PostgresStore(postgres, tmp_path)
    with store.open() as one, store.open() as two:
        run_id = create_run(one, "optimize", {})
        first, second = RunJournal(one, run_id), RunJournal(two, run_id)
        walk(first, 1.0)
        with pytest.raises(WorkspaceError, match=r"event_pkey"):
            walk(second, 2.0)
        assert RunJournal(two, run_id).events() == first.events()


@pytest.mark.parametrize("content", ["", "nonsense", "3 00", "9 00"])
def test_a_head_file_that_does_not_fit_a_servers_ledger_shows(
    postgres: PostgresServer, tmp_path: Path, content: str
) -> None:
    """Each machine remembers the end that it saw last: a ledger that was cut off or exchanged shows
    there.
    """
    store = PostgresStore(postgres, tmp_path)
    with store.open() as database:
        fill(HoldoutLedger(database))
        database.head_file.write_text(content)
        with pytest.raises(WorkspaceError, match="tampered"):
            HoldoutLedger(database).verify()


def test_a_machine_that_was_away_finds_the_looks_of_others(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Any number of entries behind is no tampering where others write, and an entry taken away
    is.
    """
    store = PostgresStore(postgres, tmp_path)
    with store.open() as database:
        look = HoldoutLedger(database).begin(look_at("h", "mine", "a", "b"))
        mine = database.head_file.read_bytes()
        fill(HoldoutLedger(database))
        database.head_file.write_bytes(mine)
        assert HoldoutLedger(database).begin(look_at("h", "mine", "a", "b")) == look
        assert database.head_file.read_bytes() != mine
    store.edit(
        LAST + "UPDATE ledger_head SET entries = 7, hash = (SELECT hash FROM ledger WHERE seq = 7)"
    )
    with store.open() as database, pytest.raises(WorkspaceError, match="tampered"):
        HoldoutLedger(database).verify()


def test_looks_that_are_begun_at_once_are_numbered_one_after_the_other(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Four that write on connections of their own: every look has its number, and the chain is
    whole.
    """
    store = PostgresStore(postgres, tmp_path)
    store.open().close()

    def look(who: int) -> list[int]:
        with store.open() as database:
            ledger = HoldoutLedger(database, max_looks=99)
            return [ledger.begin(look_at("h", f"{who}", "a", f"{i}")).number for i in range(8)]

    with ThreadPoolExecutor(4) as pool:
        numbers = [number for numbers in pool.map(look, range(4)) for number in numbers]
    assert sorted(numbers) == list(range(1, 33))
    with store.open() as database:
        assert HoldoutLedger(database).verify() == 32


def test_a_lent_server_is_not_upgraded(postgres: PostgresServer, tmp_path: Path) -> None:
    """The same of a database on a server."""
    address = postgres.address(postgres.new(like="empty"))
    PostgresDatabase(address, tmp_path, migrations=MIGRATIONS[:-1]).close()
    with pytest.raises(
        WorkspaceError, match=f"has format {len(MIGRATIONS) - 1}, and this worker's"
    ):
        PostgresDatabase(address, tmp_path, lent=True)
