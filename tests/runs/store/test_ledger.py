"""The ledger in a file: the promises of every ledger, and that tampering shows."""

import hashlib
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, Dataset, InputError, Row, WorkspaceError
from judgewright.optimize.holdout import RowFingerprints
from judgewright.optimize.holdout.ledger import LookOutcome, alpha_of_look
from judgewright.runs.store import MIGRATIONS, Database, HoldoutLedger

from ...optimize.in_memory import MemoryLedger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the workspace of a test lies."""
    return tmp_path / "w" / "judgewright.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    """An open workspace database."""
    with Database(path) as opened:
        yield opened


def fill(ledger: HoldoutLedger) -> None:
    """Enter four looks on two holdouts: seven entries."""
    for holdout, after, outcome in (("h", "1", "refused"), ("h", "2", "accepted"), ("k", "1", "undecided")):
        look = ledger.begin(holdout, run_id="run", before="0", after=after)
        ledger.conclude(look, outcome=outcome, reason="because")
    ledger.begin("h", run_id="run", before="2", after="3")


Step = tuple[str, str, int, LookOutcome | None]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["h", "k"]),
        st.sampled_from(["run 1", "run 2"]),
        st.integers(0, 6),
        st.sampled_from(["accepted", "refused", "undecided", None]),
    ),
    max_size=12,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_it_decides_as_the_ledger_in_memory_does(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    """Whatever is begun and concluded, both give the same looks, the same refusals and the same records."""
    memory = MemoryLedger(max_looks=3)
    with Database(tmp_path_factory.mktemp("ledger") / "j.db") as database:
        kept = HoldoutLedger(database, max_looks=3)
        for holdout, run_id, after, outcome in steps:
            results: list[object] = []
            for ledger in (memory, kept):
                try:
                    look = ledger.begin(holdout, run_id=run_id, before="0", after=str(after))
                    results.append(look)
                    if outcome is not None:
                        ledger.conclude(look, outcome=outcome, reason="because")
                except (InputError, WorkspaceError) as error:
                    results.append(str(error))
            assert results[: len(results) // 2] == results[len(results) // 2 :]
        assert [kept.looks(h) for h in "hk"] == [memory.looks(h) for h in "hk"]
        kept.verify()


def test_looks_survive_the_process(path: Path) -> None:
    """Another opening goes on counting, and the same run resumes its look."""
    with Database(path) as database:
        fill(HoldoutLedger(database))
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        assert ledger.verify() == 7
        resumed = ledger.begin("h", run_id="run", before="2", after="3")
        assert (resumed.number, resumed.alpha) == (1, alpha_of_look(1))
        assert ledger.begin("h", run_id="run", before="2", after="4").number == 2
        assert [(r.look.after, r.outcome) for r in ledger.looks("h")] == [
            ("1", "refused"),
            ("2", "accepted"),
            ("3", None),
            ("4", None),
        ]


def test_a_spent_holdout_asks_for_fresh_labels(database: Database) -> None:
    """Twenty looks are the default; the refusal enters nothing."""
    ledger = HoldoutLedger(database)
    for i in range(20):
        ledger.begin("h", run_id=f"run {i}", before="a", after="b")
    with pytest.raises(InputError, match="fresh labels"):
        ledger.begin("h", run_id="run 20", before="a", after="b")
    assert ledger.verify() == 20


def test_a_look_is_on_disk_before_begin_returns(path: Path) -> None:
    """A process killed right after `begin` has spent its look."""
    script = (
        "import sys; from pathlib import Path\n"
        "from judgewright.runs.store.database import Database\n"
        "from judgewright.runs.store.ledger import HoldoutLedger\n"
        "d = Database(Path(sys.argv[1])); HoldoutLedger(d).begin('h', run_id='killed', before='a', after='b')\n"
        "print('begun', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", script, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        assert ledger.begin("h", run_id="other", before="a", after="b").number == 2
        assert ledger.begin("h", run_id="killed", before="a", after="b").number == 1


def known(first: int, last: int) -> RowFingerprints:
    """The keys of some rows."""
    rows = (Row(id=str(i), inputs={"text": f"This is the text of row {i}."}) for i in range(first, last))
    return RowFingerprints.of(Dataset.of(rows, labels=BINARY))


PARTS = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda ends: known(min(ends), max(ends)))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_it_remembers_rows_as_the_ledger_in_memory_does(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever runs open and seal, both refuse and count alike."""
    memory = MemoryLedger()
    with Database(tmp_path_factory.mktemp("ledger") / "j.db") as database:
        kept = HoldoutLedger(database)
        for i in range(data.draw(st.integers(1, 5))):
            opened, sealed, allow = data.draw(PARTS), {f"h{i}": data.draw(PARTS)}, data.draw(st.booleans())
            found: list[object] = []
            for ledger in (memory, kept):
                try:
                    found.append(ledger.remember(f"run {i}", open=opened, sealed=sealed, allow_opened=allow))
                except InputError as error:
                    found.append(str(error))
                found.append(ledger.begin(f"h{i}", run_id=f"run {i}", before="a", after=str(i)))
            assert found[:2] == found[2:]
        kept.verify()


def test_rows_are_remembered_by_another_opening_and_stored_once(path: Path) -> None:
    """The keys of the same rows stand once; a later process refuses what an earlier one opened."""
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        for run in ("one", "two"):
            ledger.remember(run, open=known(0, 50), sealed={"h": known(50, 80)})
        assert database.read("SELECT count(*) FROM known_rows") == [(2,)]
    with Database(path) as database, pytest.raises(InputError, match="10 of the 20 sealed rows"):
        HoldoutLedger(database).remember("three", open=RowFingerprints(), sealed={"k": known(40, 60)})
    with Database(path) as database:
        assert HoldoutLedger(database).verify() == 2


def test_no_text_of_a_row_reaches_the_file(path: Path) -> None:
    """Rows are remembered by hashes alone."""
    with Database(path) as database:
        HoldoutLedger(database).remember("one", open=known(0, 5), sealed={"h": known(5, 9)})
    assert b"text of row" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE known_rows SET body = x''",
        "DELETE FROM known_rows",
        "UPDATE ledger SET entry_json = replace(entry_json, 'one', 'two') WHERE seq = 1",
        "DELETE FROM ledger WHERE seq = 1",
    ],
)
def test_forgetting_rows_shows(path: Path, tampering: str) -> None:
    """Keys emptied or deleted, or the entry that names them edited: no further look is given."""
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        ledger.remember("one", open=known(0, 5), sealed={"h": known(5, 9)})
        ledger.begin("h", run_id="one", before="a", after="b")
    edit(path, tampering)
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.verify()
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.begin("h", run_id="two", before="a", after="c")


def test_looks_of_the_format_before_are_read(path: Path) -> None:
    """A workspace of an earlier Judgewright is upgraded; its looks, which lack the later fields, go on counting."""
    with Database(path, migrations=MIGRATIONS[:1]) as database:
        old = {
            "after": "b",
            "alpha": 0.03,
            "before": "a",
            "holdout": "h",
            "number": 1,
            "purpose": "gate",
            "run_id": "r",
        }
        content = json.dumps({**old, "entry": "begin", "created": "2026"}, sort_keys=True)
        start = hashlib.blake2b(b"judgewright ledger", digest_size=32).digest()
        link = hashlib.blake2b(start + json.dumps([1, "h", content]).encode(), digest_size=32).digest()

        def enter(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO ledger VALUES (1, 'h', ?, ?)", (content, link))
            connection.execute("INSERT INTO ledger_head VALUES (1, 1, ?)", (link,))

        database.submit(enter).result()
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        assert ledger.begin("h", run_id="r", before="a", after="b").number == 1
        assert ledger.begin("h", run_id="new", before="a", after="b").number == 2
        assert ledger.verify() == 2


def edit(path: Path, script: str) -> None:
    """Change the file behind the ledger's back."""
    with sqlite3.connect(path) as other:
        before = "\n".join(other.iterdump())
        other.executescript(script)
        assert "\n".join(other.iterdump()) != before, "the tampering has changed nothing"
    other.close()


LAST = "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger);"
TAMPERINGS = {
    "a reason edited": "UPDATE ledger SET entry_json = replace(entry_json, 'because', 'anyway') WHERE seq = 4",
    "an outcome edited": "UPDATE ledger SET entry_json = replace(entry_json, 'refused', 'accepted')",
    "a holdout renamed": "UPDATE ledger SET holdout = 'z' WHERE seq = 1",
    "the first deleted": "DELETE FROM ledger WHERE seq = 1",
    "one in the middle deleted": "DELETE FROM ledger WHERE seq = 3",
    "the last deleted": LAST,
    "the last deleted and the head set back": LAST
    + "UPDATE ledger_head SET entries = 6, hash = (SELECT hash FROM ledger WHERE seq = 6)",
    "everything deleted": "DELETE FROM ledger; DELETE FROM ledger_head",
    "two exchanged": "UPDATE ledger SET seq = -1 WHERE seq = 2; UPDATE ledger SET seq = 2 WHERE seq = 3;"
    "UPDATE ledger SET seq = 3 WHERE seq = -1",
}


@pytest.mark.parametrize("tampering", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_tampering_shows(path: Path, tampering: str) -> None:
    """Verification fails, and no further look is given."""
    with Database(path) as database:
        fill(HoldoutLedger(database))
    edit(path, tampering)
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.verify()
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.begin("h", run_id="run", before="2", after="5")


@pytest.mark.parametrize("content", [None, "", "6 00", "nonsense"])
def test_a_lost_or_edited_head_file_shows(path: Path, content: str | None) -> None:
    """The file beside the database belongs to it."""
    with Database(path) as database:
        fill(HoldoutLedger(database))
        head = path.with_name("ledger.head")
        if content is None:
            head.unlink()
        else:
            head.write_text(content)
        with pytest.raises(WorkspaceError, match="tampered"):
            HoldoutLedger(database).verify()


def test_a_crash_between_commit_and_head_file_is_mended(path: Path) -> None:
    """The file may be one entry behind; the next call brings it up to date."""
    head = path.with_name("ledger.head")
    with Database(path) as database:
        ledger = HoldoutLedger(database)
        for after in "bcd":
            before = head.read_bytes() if head.exists() else None
            look = ledger.begin("h", run_id="run", before="a", after=after)
            written = head.read_bytes()
            if before is None:
                head.unlink()
            else:
                head.write_bytes(before)
            assert ledger.begin("h", run_id="run", before="a", after=after) == look
            assert head.read_bytes() == written
        assert ledger.verify() == 3


def test_a_workspace_begun_anew_does_not_forget_its_looks(path: Path) -> None:
    """Deleting the database alone does not restore what was spent."""
    with Database(path) as database:
        fill(HoldoutLedger(database))
    path.unlink()
    with Database(path) as database, pytest.raises(WorkspaceError, match="tampered"):
        HoldoutLedger(database).begin("h", run_id="run", before="a", after="b")
