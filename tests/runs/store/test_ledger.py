"""The ledger in a file: the promises of every ledger, and that tampering shows."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, InputError, Row, WorkspaceError
from judgewright.optimize.holdout import RowFingerprints
from judgewright.optimize.holdout.ledger import GateOutcome, alpha_of_look
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.runs.store import Database, HoldoutLedger
from judgewright.runs.store.writer import Connection

from ...look_requests import look_at
from ...optimize.in_memory import MemoryLedger
from .stores import OPENING, SqliteStore, Store


def fill(ledger: HoldoutLedger) -> None:
    """Enter four looks on two holdouts: seven entries."""
    for holdout, after, outcome in (
        ("h", "1", "refused"),
        ("h", "2", "accepted"),
        ("k", "1", "undecided"),
    ):
        look = ledger.begin(look_at(holdout, "run", "0", after))
        ledger.conclude(look, outcome=outcome, reason="because")
    ledger.begin(look_at("h", "run", "2", "3"))


def anew(database: Database, *, max_looks: int = 20) -> HoldoutLedger:
    """Return a ledger whose entries are gone."""

    def clear(connection: Connection) -> None:
        for table in ("ledger", "ledger_head", "known_rows", "row_prints"):
            connection.execute(f"DELETE FROM {table}")

    database.submit(clear).result()
    database.head_file.unlink(missing_ok=True)
    return HoldoutLedger(database, max_looks=max_looks)


Step = tuple[str, str, int, GateOutcome | None]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["h", "k"]),
        st.sampled_from(["run 1", "run 2"]),
        st.integers(0, 6),
        st.sampled_from(["accepted", "refused", "undecided", None]),
    ),
    max_size=12,
)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_it_decides_as_the_ledger_in_memory_does(database: Database, steps: list[Step]) -> None:
    """Whatever is begun and concluded, both give the same looks, the same refusals and the same
    records.
    """
    memory, kept = MemoryLedger(max_looks=3), anew(database, max_looks=3)
    for holdout, run_id, after, outcome in steps:
        results: list[object] = []
        for ledger in (memory, kept):
            try:
                look = ledger.begin(look_at(holdout, run_id, "0", str(after)))
                results.append(look)
                if outcome is not None:
                    ledger.conclude(look, outcome=outcome, reason="because")
            except (InputError, WorkspaceError) as error:
                results.append(str(error))
        assert results[: len(results) // 2] == results[len(results) // 2 :]
    assert [kept.history().looks(h) for h in "hk"] == [memory.history().looks(h) for h in "hk"]
    kept.verify()


def test_looks_survive_the_process(store: Store) -> None:
    """Another opening goes on counting, and the same run resumes its look."""
    with store.open() as database:
        fill(HoldoutLedger(database))
    with store.open() as database:
        ledger = HoldoutLedger(database)
        assert ledger.verify() == 7
        resumed = ledger.begin(look_at("h", "run", "2", "3"))
        assert (resumed.number, resumed.alpha) == (1, alpha_of_look(1))
        assert ledger.begin(look_at("h", "run", "2", "4")).number == 2
        assert [(r.look.after, r.outcome) for r in ledger.history().looks("h")] == [
            ("1", "refused"),
            ("2", "accepted"),
            ("3", None),
            ("4", None),
        ]


def test_a_spent_holdout_asks_for_fresh_labels(database: Database) -> None:
    """Twenty looks are the default; the refusal enters nothing."""
    ledger = HoldoutLedger(database)
    for i in range(20):
        ledger.begin(look_at("h", f"run {i}", "a", "b"))
    with pytest.raises(InputError, match="fresh labels"):
        ledger.begin(look_at("h", "run 20", "a", "b"))
    assert ledger.verify() == 20


def test_a_look_is_on_disk_before_begin_returns(store: Store) -> None:
    """A process killed right after `begin` has spent its look."""
    script = f"""{OPENING}
from judgewright.optimize.holdout.ledger import LookRequest
from judgewright.runs.store import HoldoutLedger
HoldoutLedger(opened()).begin(
    LookRequest(holdout='h', run_id='killed', before='a', after='b'))
print('begun', flush=True); sys.stdin.readline()
"""
    store.open().close()
    command = [sys.executable, "-c", script, *store.words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with store.open() as database:
        ledger = HoldoutLedger(database)
        assert ledger.begin(look_at("h", "other", "a", "b")).number == 2
        assert ledger.begin(look_at("h", "killed", "a", "b")).number == 1


def known(first: int, last: int) -> RowFingerprints:
    """The keys of some rows."""
    rows = (
        Row(id=str(i), inputs={"text": f"This is the text of row {i}."}) for i in range(first, last)
    )
    return RowFingerprints.of(Dataset.of(rows, labels=BINARY))


PARTS = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(
    lambda ends: known(min(ends), max(ends))
)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_it_remembers_rows_as_the_ledger_in_memory_does(
    database: Database, data: st.DataObject
) -> None:
    """Whatever runs open and seal, both refuse and count alike."""
    memory, kept = MemoryLedger(), anew(database)
    for i in range(data.draw(st.integers(1, 5))):
        opened, sealed, allow = (
            data.draw(PARTS),
            {f"h{i}": data.draw(PARTS)},
            data.draw(st.booleans()),
        )
        found: list[object] = []
        for ledger in (memory, kept):
            try:
                ledger.remember(
                    SeenRows(run_id=f"run {i}", open=opened, sealed=sealed), allow_opened=allow
                )
                found.append(ledger.history().memory(f"run {i}"))
            except InputError as error:
                found.append(str(error))
            found.append(ledger.begin(look_at(f"h{i}", f"run {i}", "a", str(i))))
        assert found[:2] == found[2:]
    kept.verify()


def test_rows_are_remembered_by_another_opening_and_stored_once(store: Store) -> None:
    """The keys of the same rows stand once; a later process refuses what an earlier one opened."""
    with store.open() as database:
        ledger = HoldoutLedger(database)
        for run in ("one", "two"):
            ledger.remember(SeenRows(run_id=run, open=known(0, 50), sealed={"h": known(50, 80)}))
        assert database.read("SELECT count(*) FROM known_rows") == [(2,)]
    with store.open() as database, pytest.raises(InputError, match="10 of the 20 sealed rows"):
        HoldoutLedger(database).remember(SeenRows(run_id="three", sealed={"k": known(40, 60)}))
    with store.open() as database:
        assert HoldoutLedger(database).verify() == 2


def test_no_text_of_a_row_is_kept(store: Store) -> None:
    """Rows are remembered by hashes alone."""
    with store.open() as database:
        HoldoutLedger(database).remember(
            SeenRows(run_id="one", open=known(0, 5), sealed={"h": known(5, 9)})
        )
        version = database.read("SELECT entry_json FROM ledger")[0][0][:40].encode()
    assert store.holds(version)
    assert not store.holds(b"text of row")


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE known_rows SET body = x''",
        "DELETE FROM known_rows",
        "UPDATE ledger SET entry_json = replace(entry_json, 'one', 'two') WHERE seq = 1",
        "DELETE FROM ledger WHERE seq = 1",
    ],
)
def test_forgetting_rows_shows(store: Store, tampering: str) -> None:
    """Keys emptied or deleted, or the entry that names them edited: no further look is given."""
    with store.open() as database:
        ledger = HoldoutLedger(database)
        ledger.remember(SeenRows(run_id="one", open=known(0, 5), sealed={"h": known(5, 9)}))
        ledger.begin(look_at("h", "one", "a", "b"))
    store.edit(tampering)
    with store.open() as database:
        ledger = HoldoutLedger(database)
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.verify()
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.begin(look_at("h", "two", "a", "c"))


LAST = "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger);"
TAMPERINGS = {
    "a reason edited": (
        "UPDATE ledger SET entry_json = replace(entry_json, 'because', 'anyway') WHERE seq = 4"
    ),
    "an outcome edited": (
        "UPDATE ledger SET entry_json = replace(entry_json, 'refused', 'accepted')"
    ),
    "a holdout renamed": "UPDATE ledger SET holdout = 'z' WHERE seq = 1",
    "the first deleted": "DELETE FROM ledger WHERE seq = 1",
    "one in the middle deleted": "DELETE FROM ledger WHERE seq = 3",
    "the last deleted": LAST,
    "the last deleted and the head set back": (
        LAST + "UPDATE ledger_head SET entries = 6, hash = (SELECT hash FROM ledger WHERE seq = 6)"
    ),
    "everything deleted": "DELETE FROM ledger; DELETE FROM ledger_head",
    "two exchanged": (
        "UPDATE ledger SET seq = -1 WHERE seq = 2; UPDATE ledger SET seq = 2 WHERE seq = 3;"
        "UPDATE ledger SET seq = 3 WHERE seq = -1"
    ),
}


@pytest.mark.parametrize("tampering", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_tampering_shows(store: Store, tampering: str) -> None:
    """Verification fails, and no further look is given."""
    with store.open() as database:
        fill(HoldoutLedger(database))
    store.edit(tampering)
    with store.open() as database:
        ledger = HoldoutLedger(database)
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.verify()
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.begin(look_at("h", "run", "2", "5"))


@pytest.mark.parametrize("content", ["", "6 00", "nonsense", "-1 {end}", "8 {end}"])
def test_an_edited_head_file_shows(tmp_path: Path, content: str) -> None:
    """The file beside a database file belongs to it."""
    store = SqliteStore(tmp_path)
    with store.open() as database:
        fill(HoldoutLedger(database))
        head = database.head_file
        head.write_text(content.format(end=head.read_text().split()[1]))
        with pytest.raises(WorkspaceError, match="tampered"):
            HoldoutLedger(database).verify()


def test_a_crash_between_commit_and_head_file_is_mended(store: Store) -> None:
    """The file may be one entry behind; the next call brings it up to date."""
    with store.open() as database:
        head = database.head_file
        ledger = HoldoutLedger(database)
        for after in "bcd":
            before = head.read_bytes() if head.exists() else None
            look = ledger.begin(look_at("h", "run", "a", after))
            written = head.read_bytes()
            if before is None:
                head.unlink()
            else:
                head.write_bytes(before)
            assert ledger.begin(look_at("h", "run", "a", after)) == look
            assert head.read_bytes() == written
        assert ledger.verify() == 3


def test_a_head_file_that_any_number_of_entries_are_behind_is_no_tampering(store: Store) -> None:
    """As a command leaves it that was killed between its commit and the file; the next entry brings
    it up to date.
    """
    with store.open() as database:
        ledger, heads = HoldoutLedger(database), [b""]
        for after in "bcde":
            ledger.begin(look_at("h", "run", "a", after))
            heads.append(database.head_file.read_bytes())
        for head in heads:
            if head:
                database.head_file.write_bytes(head)
            else:
                database.head_file.unlink()
            assert ledger.verify() == 4
            ledger.begin(look_at("h", "run", "a", "b"))
            assert database.head_file.read_bytes() == heads[-1]


def test_a_workspace_begun_anew_does_not_forget_its_looks(tmp_path: Path) -> None:
    """Deleting the database alone does not restore what was spent."""
    store = SqliteStore(tmp_path)
    with store.open() as database:
        fill(HoldoutLedger(database))
    store.path.unlink()
    with store.open() as database, pytest.raises(WorkspaceError, match="tampered"):
        HoldoutLedger(database).begin(look_at("h", "run", "a", "b"))


def put_back(tmp_path: Path, *, names: tuple[str, ...]) -> int:
    """Take a look, put some files back as they were before it, and return the number of the next
    one.
    """
    store = SqliteStore(tmp_path)
    with store.open() as database:
        fill(HoldoutLedger(database))
    kept = {name: (store.path.parent / name).read_bytes() for name in names}
    with store.open() as database:
        HoldoutLedger(database).begin(look_at("h", "later", "0", "4"))
    for path in store.path.parent.glob("judgewright.db-*"):
        path.unlink()
    for name, body in kept.items():
        (store.path.parent / name).write_bytes(body)
    with store.open() as database:
        return HoldoutLedger(database).begin(look_at("h", "last", "0", "5")).number


def test_an_older_database_that_is_put_back_shows(tmp_path: Path) -> None:
    """The file beside it is of a longer ledger."""
    with pytest.raises(WorkspaceError, match="tampered"):
        put_back(tmp_path, names=("judgewright.db",))


def test_a_whole_backup_forgets_its_looks(tmp_path: Path) -> None:
    """docs/concepts/ways-round-the-ledger.md says so: nothing else knows of them."""
    assert (
        put_back(tmp_path, names=())
        == put_back(tmp_path / "other", names=("judgewright.db", "ledger.head")) + 1
    )
