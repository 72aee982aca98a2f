"""The workspace database: durable, shared by readers, written by one, and hard to break."""

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from judgewright.judges import InputError, WorkspaceError
from judgewright.runs.store import MIGRATIONS, Database, Migration

NOTES = (Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"),)


def add(number: int, text: str | None = None):
    """Return a write of one note."""

    def work(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO note (id, text) VALUES (?, ?)", (number, text or f"note {number}"))
        return number

    return work


def ids(database: Database) -> list[int]:
    """Return every note's number."""
    return [row[0] for row in database.read("SELECT id FROM note ORDER BY id")]


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program that can be spoken to."""
    command = [sys.executable, "-c", PRELUDE + script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a program we started and close its pipes."""
    process.kill()
    process.communicate()


PRELUDE = """
import sys
from collections import deque
from pathlib import Path
from judgewright.judges.errors import WorkspaceError
from judgewright.runs.store.database import Database
from judgewright.runs.store.schema import Migration
NOTES = (Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"),)
path = Path(sys.argv[1])
def add(i):
    return lambda c: c.execute("INSERT INTO note (id, text) VALUES (?, ?)", (i, f"note {i} " + "x" * 400))
"""


class TestWriting:
    def test_a_settled_write_is_seen_by_every_reader(self, tmp_path: Path) -> None:
        """The future's result is the write's, and another connection reads the row."""
        with Database(tmp_path / "w" / "j.db", migrations=NOTES) as database:
            assert database.submit(add(7)).result() == 7
            with sqlite3.connect(database.path) as other:
                assert other.execute("SELECT id, text FROM note").fetchall() == [(7, "note 7")]
            other.close()

    def test_what_queues_up_is_committed_together(self, tmp_path: Path) -> None:
        """A thousand writes behind a slow one take two commits of five hundred."""
        commits: list[str] = []
        go = threading.Event()

        def block(connection: sqlite3.Connection) -> None:
            connection.set_trace_callback(lambda sql: commits.append(sql) if sql.startswith("COMMIT") else None)
            go.wait()

        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            first = database.submit(block)
            futures = [database.submit(add(i)) for i in range(1000)]
            go.set()
            assert [future.result() for future in futures] == list(range(1000))
            first.result()
        # The blocking write may have taken a few of the others along.
        assert len(commits) in (2, 3)

    def test_a_failing_write_fails_alone(self, tmp_path: Path) -> None:
        """Its neighbours in the same commit are kept, what it did before failing is undone."""
        go = threading.Event()

        def half(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO note (id, text) VALUES (50, 'half')")
            raise InputError("no")

        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            blocker = database.submit(lambda connection: go.wait() and None)
            futures: list[Future[int] | Future[None]] = [
                database.submit(add(1)),
                database.submit(add(2, "note 1")),
                database.submit(half),
                database.submit(add(3)),
            ]
            go.set()
            blocker.result()
            assert futures[0].result() == 1
            with pytest.raises(WorkspaceError, match="UNIQUE"):
                futures[1].result()
            with pytest.raises(InputError, match="no"):
                futures[2].result()
            assert futures[3].result() == 3
            assert ids(database) == [1, 3]

    def test_a_write_whose_waiter_is_cancelled_happens_all_the_same(self, tmp_path: Path) -> None:
        """Ctrl-C while a paid reply is on its way to the disk loses nothing."""
        go = threading.Event()

        async def impatient(database: Database) -> None:
            blocker = database.submit(lambda connection: go.wait() and None)
            waiting = asyncio.wrap_future(database.submit(add(1)))
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            go.set()
            await asyncio.wrap_future(blocker)

        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            asyncio.run(impatient(database))
        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            assert ids(database) == [1]

    def test_close_commits_what_is_queued(self, tmp_path: Path) -> None:
        """Nothing handed in before is dropped, and nothing can be handed in after."""
        database = Database(tmp_path / "j.db", migrations=NOTES)
        futures = [database.submit(add(i)) for i in range(700)]
        database.close()
        database.close()
        assert all(future.done() for future in futures)
        with pytest.raises(WorkspaceError, match="closed"):
            database.submit(add(1000))
        with pytest.raises(WorkspaceError, match="closed"):
            database.read("SELECT 1")
        with Database(tmp_path / "j.db", migrations=NOTES) as again:
            assert len(ids(again)) == 700

    def test_a_program_that_forgets_to_close_keeps_what_it_queued(self, tmp_path: Path) -> None:
        """The interpreter's end commits the queue and does not hang."""
        script = "d = Database(path, migrations=NOTES)\nfor i in range(300): d.submit(add(i))"
        process = python(script, str(tmp_path / "j.db"))
        assert process.communicate(timeout=600)[0] == ""
        assert process.returncode == 0
        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            assert len(ids(database)) == 300

    @pytest.mark.parametrize(
        ("work", "message"),
        [
            (lambda connection: connection.execute("INSERT INTO note (id) VALUES (?)", (2**63,)), "OverflowError"),
            (lambda connection: {}["a bug"], "KeyError: 'a bug'"),
            (lambda connection: connection.execute("no sql"), "syntax error"),
        ],
        ids=["overflow", "a bug", "sql"],
    )
    def test_whatever_a_write_raises_its_neighbours_are_kept(self, tmp_path: Path, work, message: str) -> None:
        """They may be replies that were paid for; the error comes in our words, with its cause."""
        go = threading.Event()
        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            database.submit(lambda connection: go.wait() and None)
            before, failing, after = database.submit(add(1)), database.submit(work), database.submit(add(2))
            go.set()
            with pytest.raises(WorkspaceError, match=message):
                failing.result(timeout=600)
            assert (before.result(timeout=600), after.result(timeout=600)) == (1, 2)
            assert database.submit(add(3)).result(timeout=600) == 3
            assert ids(database) == [1, 2, 3]

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    def test_a_writer_that_breaks_off_leaves_nobody_waiting(self, tmp_path: Path) -> None:
        """Every write queued before, while and after the thread dies is committed, or fails at once."""

        def die(connection: sqlite3.Connection) -> None:
            raise SystemExit

        def submit_many(database: Database, outcomes: list[str]) -> None:
            for number in range(500):
                try:
                    database.submit(add(number)).result(timeout=600)
                    outcomes.append("committed")
                except WorkspaceError as error:
                    outcomes.append(str(error))

        for round_ in range(10):
            outcomes: list[str] = []
            database = Database(tmp_path / f"{round_}.db", migrations=NOTES)
            threads = [threading.Thread(target=submit_many, args=(database, outcomes)) for _ in range(4)]
            for thread in threads:
                thread.start()
            with pytest.raises(WorkspaceError, match="broke off"):
                database.submit(die).result(timeout=600)
            for thread in threads:
                thread.join()
            with pytest.raises(WorkspaceError, match="broke off"):
                database.submit(add(1))
            database.close()
            assert len(outcomes) == 2000

    def test_a_callback_may_use_the_database_while_it_is_released(self, tmp_path: Path) -> None:
        """It reads and writes although `release` waits for the writer; what it wrote is kept."""
        script = """
import threading
d = Database(path, migrations=NOTES)
go = threading.Event()
first = d.submit(lambda c: (go.wait(), add(1)(c)))
def more(_):
    print(d.read("SELECT id FROM note"), flush=True)
    d.submit(add(2))
first.add_done_callback(more)
releasing = threading.Thread(target=d.release)
releasing.start()
def waits_for_the_writer():
    frame = sys._current_frames().get(releasing.ident)
    while frame is not None and frame.f_code.co_name != "stop":
        frame = frame.f_back
    return frame is not None
while not waits_for_the_writer():
    pass
go.set()
releasing.join()
with Database(path, migrations=NOTES) as other:
    other.submit(add(3)).result()
    print(other.read("SELECT id FROM note"))
"""
        process = python(script, str(tmp_path / "j.db"))
        try:
            assert process.communicate(timeout=600)[0].splitlines() == ["[(1,)]", "[(1,), (2,), (3,)]"]
        finally:
            end(process)

    def test_many_threads_read_while_one_writes(self, tmp_path: Path) -> None:
        """Every reader sees a prefix of the commits and never an error."""
        seen: list[bool] = []

        def look(database: Database) -> None:
            for _ in range(20):
                found = ids(database)
                seen.append(found == list(range(len(found))))

        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            threads = [threading.Thread(target=look, args=(database,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for future in [database.submit(add(i)) for i in range(2000)]:
                future.result()
            for thread in threads:
                thread.join()
        assert seen == [True] * 80

    def test_a_reader_cannot_write(self, tmp_path: Path) -> None:
        """`read` is for SELECT alone."""
        with Database(tmp_path / "j.db", migrations=NOTES) as database, pytest.raises(WorkspaceError):
            database.read("INSERT INTO note (id, text) VALUES (1, 'x')")


class TestDurability:
    def test_the_file_is_set_up_as_promised(self, tmp_path: Path) -> None:
        """Write-ahead log, full synchronisation, foreign keys, and a folder for its owner alone."""
        with Database(tmp_path / "w" / "j.db", migrations=NOTES) as database:
            pragmas = ("journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint", "busy_timeout")
            writer = database.submit(lambda c: [c.execute(f"PRAGMA {p}").fetchone()[0] for p in pragmas]).result()
            assert writer == ["wal", 2, 1, 10000, 10000]
            if os.name == "posix":
                assert (tmp_path / "w").stat().st_mode & 0o777 == 0o700
                side = [database.path.with_name(f"j.db{suffix}") for suffix in ("", "-wal", "-shm")]
                assert {file.stat().st_mode & 0o777 for file in side} == {0o600}

    @pytest.mark.skipif(os.name != "posix", reason="the writer is a fork, which spares it fifteen imports")
    def test_a_killed_writer_loses_no_acknowledged_row(self, tmp_path: Path) -> None:
        """Fifteen SIGKILLs at random moments: every row said to be kept is there, and the file is whole."""
        script = """
import os
for line in sys.stdin:
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        print("gone", flush=True)
        continue
    print(os.getpid(), flush=True)
    queued = deque()
    d = Database(path, migrations=NOTES)
    for i in range(int(line), int(line) + 1_000_000):
        queued.append((i, d.submit(add(i))))
        if len(queued) == 40:
            number, future = queued.popleft()
            future.result()
            os.write(1, b"%d\\n" % number)  # in one piece, so that no kill leaves half a line
"""
        dice = random.Random(20)
        path, acknowledged = tmp_path / "j.db", set[int]()
        parent = python(script, str(path))
        assert parent.stdin is not None
        assert parent.stdout is not None
        try:
            for round_ in range(15):
                parent.stdin.write(f"{round_ * 1_000_000}\n")
                parent.stdin.flush()
                writer = int(parent.stdout.readline())
                for _ in range(dice.randint(1, 600)):
                    acknowledged.add(int(parent.stdout.readline()))
                os.kill(writer, signal.SIGKILL)
                acknowledged.update(int(line) for line in iter(parent.stdout.readline, "gone\n"))
                with Database(path, migrations=NOTES) as database:
                    assert acknowledged <= set(ids(database))
        finally:
            end(parent)
        with sqlite3.connect(path) as check:
            assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        check.close()

    @pytest.mark.skipif(os.name != "posix", reason="file size limits are a POSIX matter")
    def test_a_full_disk_is_said_and_loses_nothing_committed(self, tmp_path: Path) -> None:
        """Past the limit writes fail as WorkspaceError; with space again they go on; committed rows stay."""
        script = """
import resource
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
with Database(path, migrations=NOTES) as d:
    kept = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    for i in range(10_000):
        try:
            d.submit(add(i)).result()
            kept.append(i)
        except WorkspaceError as error:
            print(error)
            break
    print(d.read("SELECT count(*) FROM note")[0][0] == len(kept))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    d.submit(add(10_000)).result()
    print(len(kept))
"""
        process = python(script, str(tmp_path / "j.db"))
        said, readable, kept = process.communicate(timeout=600)[0].splitlines()
        assert process.returncode == 0
        assert "j.db could not be" in said
        assert readable == "True"
        assert int(kept) > 10
        with Database(tmp_path / "j.db", migrations=NOTES) as database:
            assert ids(database) == [*range(int(kept)), 10_000]

    def test_a_log_cut_or_flipped_anywhere_opens_to_whole_commits(self, tmp_path: Path) -> None:
        """Whatever a torn write leaves of the log, the rows are those of the first k commits."""
        with Database(tmp_path / "a" / "j.db", migrations=NOTES) as database:
            for i in range(60):
                database.submit(add(i)).result()
            log = (tmp_path / "a" / "j.db-wal").read_bytes()
            main = (tmp_path / "a" / "j.db").read_bytes()
        dice = random.Random(4)
        counts = set[int]()
        for i in range(40):
            at = dice.randrange(len(log))
            folder = tmp_path / f"cut{i}"
            folder.mkdir()
            (folder / "j.db").write_bytes(main)
            torn = log[:at] if i % 2 else log[:at] + bytes([log[at] ^ (1 << dice.randrange(8))]) + log[at + 1 :]
            (folder / "j.db-wal").write_bytes(torn)
            with Database(folder / "j.db", migrations=NOTES) as database:
                found = ids(database)
                assert found == list(range(len(found)))
                assert database.submit(add(1000)).result() == 1000
            counts.add(len(found))
            shutil.rmtree(folder)
        assert len(counts) > 10

    def damaged(self, path: Path, where: slice) -> bytes:
        """Make a database and overwrite a part of its file; return the content."""
        with Database(path, migrations=NOTES) as database:
            for future in [database.submit(add(i, "x" * 200 + str(i))) for i in range(500)]:
                future.result()
        content = bytearray(path.read_bytes())
        content[where] = bytes(where.stop - where.start)
        path.write_bytes(content)
        return bytes(content)

    @pytest.mark.parametrize("kind", ["page", "header"])
    def test_a_damaged_file_is_moved_aside_and_not_destroyed(self, tmp_path: Path, kind: str) -> None:
        """The message says where it went; the next opening begins anew. Pages are read after an unclean end."""
        path = tmp_path / "j.db"
        content = self.damaged(path, slice(0, 100) if kind == "header" else slice(4096, 8192))
        if kind == "page":
            path.with_name("j.db-wal").write_bytes(b"left by a process that was killed")
        with pytest.raises(WorkspaceError, match="damaged") as caught:
            Database(path, migrations=NOTES)
        (aside,) = (found for found in tmp_path.glob("j.db.damaged-*") if not found.name.endswith(("-wal", "-shm")))
        assert aside.name in str(caught.value)
        assert aside.read_bytes() == content
        with Database(path, migrations=NOTES) as database:
            assert ids(database) == []

    def test_after_a_clean_end_opening_reads_the_beginning_only(self, tmp_path: Path) -> None:
        """A million calls open as quickly as a thousand; `doctor` reads the rest."""
        path = tmp_path / "j.db"
        self.damaged(path, slice(4096, 8192))
        with Database(path, migrations=NOTES) as database, pytest.raises(WorkspaceError, match="damaged"):
            database.read("PRAGMA integrity_check")


class TestOneWriter:
    HOLD = """
with Database(path, migrations=NOTES) as d:
    d.submit(add(1)).result()
    print("ready", flush=True)
    sys.stdin.readline()
"""

    def test_a_second_process_may_read_and_not_write(self, tmp_path: Path) -> None:
        """It is told which process writes; once that is killed, it may write itself."""
        path = tmp_path / "j.db"
        holder = python(self.HOLD, str(path))
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            with Database(path, migrations=NOTES) as database:
                assert ids(database) == [1]
                with pytest.raises(WorkspaceError, match=f"process {holder.pid} "):
                    database.submit(add(2))
                end(holder)
                assert database.submit(add(2)).result() == 2
                assert ids(database) == [1, 2]
        finally:
            end(holder)

    def test_two_handles_in_one_process_are_two_writers_too(self, tmp_path: Path) -> None:
        """The second is refused until the first releases or closes."""
        path = tmp_path / "j.db"
        with Database(path, migrations=NOTES) as one, Database(path, migrations=NOTES) as two:
            one.submit(add(1)).result()
            with pytest.raises(WorkspaceError, match=f"process {os.getpid()} "):
                two.submit(add(2))
            one.release()
            assert two.submit(add(2)).result() == 2
            two.release()
            assert one.submit(add(3)).result() == 3
            assert ids(two) == [1, 2, 3]

    def test_a_damaged_file_is_left_alone_while_somebody_writes(self, tmp_path: Path) -> None:
        """Moving it away under a writer would split the workspace in two."""
        path = tmp_path / "j.db"
        with Database(path, migrations=NOTES) as database:
            database.submit(add(1)).result()
            database.release()
        path.write_bytes(b"this is no database, whatever it was before" * 100)
        holder = python(
            "from judgewright.runs.store.lock import WriterLock\nWriterLock(path.parent / 'workspace.lock').acquire()\n"
            "print('ready', flush=True)\nsys.stdin.readline()",
            str(path),
        )
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            with pytest.raises(WorkspaceError, match=f"process {holder.pid} "):
                Database(path, migrations=NOTES)
            assert path.exists()
        finally:
            end(holder)


class TestUpgrades:
    NEWER = (
        *NOTES,
        Migration("stars", "ALTER TABLE note ADD COLUMN stars INTEGER NOT NULL DEFAULT 0; CREATE TABLE b (x)"),
    )

    def test_an_older_file_is_backed_up_and_upgraded(self, tmp_path: Path) -> None:
        """Its rows stay, the new column is there, and the backup is the old file in the old format."""
        path = tmp_path / "j.db"
        with Database(path, migrations=NOTES) as database:
            database.submit(add(1)).result()
        with Database(path, migrations=self.NEWER) as database:
            assert database.read("SELECT id, stars FROM note") == [(1, 0)]
            assert database.read("PRAGMA user_version") == [(2,)]
        (backup,) = tmp_path.glob("j.db.v1-*.backup")
        with sqlite3.connect(backup) as old:
            assert old.execute("PRAGMA user_version").fetchone() == (1,)
            assert old.execute("SELECT * FROM note").fetchall() == [(1, "note 1")]
            assert old.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        old.close()
        assert not list(tmp_path.glob("*.part"))

    def test_the_upgrade_of_a_large_file_says_how_far_it_is(self, tmp_path: Path) -> None:
        """A copy of gigabytes takes a minute; one of a few megabytes is no matter for words."""
        said: list[str] = []
        for name, size in (("small.db", 1_000), ("large.db", 20_000_000)):
            with Database(tmp_path / name, migrations=NOTES) as database:
                database.submit(add(1, "x" * size)).result()
            Database(tmp_path / name, migrations=self.NEWER, on_upgrade=said.append).close()
        assert all("of the old file copied to large.db.v1-" in line for line in said)
        assert len(said) > 1
        assert said[-1].startswith("100%")

    def test_a_copy_that_could_not_be_made_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """A full disk is not filled further by every try."""
        path = tmp_path / "j.db"
        with Database(path, migrations=NOTES) as database:
            database.submit(add(1, "x" * 200_000)).result()
        limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        opening = (
            "from pathlib import Path; from judgewright.runs.store.database import Database;"
            "from judgewright.runs.store.schema import Migration;"
            f"Database(Path({str(path)!r}), migrations=[Migration('a', ''), Migration('b', '')])"
        )
        done = subprocess.run(
            [sys.executable, "-c", limited + opening], capture_output=True, text=True, check=False, timeout=60
        )
        assert "WorkspaceError" in done.stderr
        assert not list(tmp_path.glob("*.part"))

    def test_a_failing_upgrade_leaves_the_file_as_it_was(self, tmp_path: Path) -> None:
        """All of the upgrades or none."""
        path = tmp_path / "j.db"
        with Database(path, migrations=NOTES) as database:
            database.submit(add(1)).result()
        with pytest.raises(WorkspaceError, match="no_such"):
            Database(path, migrations=(*self.NEWER, Migration("bad", "DROP TABLE no_such")))
        with Database(path, migrations=NOTES) as database:
            assert database.read("SELECT * FROM note") == [(1, "note 1")]

    def test_a_newer_file_is_refused_and_untouched(self, tmp_path: Path) -> None:
        """An old program must not guess at a format it does not know."""
        path = tmp_path / "j.db"
        Database(path, migrations=self.NEWER).close()
        before = path.read_bytes()
        with pytest.raises(WorkspaceError, match="format 2; this Judgewright reads up to 1"):
            Database(path, migrations=NOTES)
        assert path.read_bytes() == before

    def test_another_programs_database_is_refused(self, tmp_path: Path) -> None:
        """Tables without our format number are not ours."""
        with sqlite3.connect(tmp_path / "j.db") as other:
            other.execute("CREATE TABLE theirs (x)")
        other.close()
        with pytest.raises(WorkspaceError, match="another program"):
            Database(tmp_path / "j.db")

    def test_two_processes_may_make_a_workspace_at_once(self, tmp_path: Path) -> None:
        """Both end up with the same, whole file."""
        script = (
            "print('up', flush=True); sys.stdin.readline(); print(Database(path).read('PRAGMA user_version')[0][0])"
        )
        processes = [python(script, str(tmp_path / "new" / "j.db")) for _ in range(3)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate(timeout=600)[0] for process in processes] == [f"{len(MIGRATIONS)}\n"] * 3

    def test_a_folder_that_cannot_be_made_is_said(self, tmp_path: Path) -> None:
        """The message names the file."""
        (tmp_path / "taken").write_text("a file")
        with pytest.raises(WorkspaceError, match=r"taken/j\.db|taken\\j\.db"):
            Database(tmp_path / "taken" / "j.db")
