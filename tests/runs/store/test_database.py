"""The workspace database in a file: written by one, upgraded after a copy was made, and hard to
break.
"""

import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from judgewright.judges import WorkspaceError
from judgewright.runs.store import SqliteDatabase
from judgewright.runs.store.writer import Connection

from .notes import NEWER, NOTES, add, end, ids, python


class TestWriting:
    def test_what_queues_up_is_committed_together(self, tmp_path: Path) -> None:
        """A thousand writes behind a slow one take two commits of five hundred."""
        commits: list[str] = []
        go = threading.Event()

        def block(connection: Connection) -> None:
            assert isinstance(connection, sqlite3.Connection)
            connection.set_trace_callback(
                lambda sql: commits.append(sql) if sql.startswith("COMMIT") else None
            )
            go.wait()

        with SqliteDatabase(tmp_path / "j.db", migrations=NOTES) as database:
            first = database.submit(block)
            futures = [database.submit(add(i)) for i in range(1000)]
            go.set()
            assert [future.result() for future in futures] == list(range(1000))
            first.result()
        # The blocking write may have taken a few of the others along.
        assert len(commits) in (2, 3)


class TestDurability:
    def test_the_file_is_set_up_as_promised(self, tmp_path: Path) -> None:
        """Write-ahead log, full synchronisation, foreign keys, and a folder for its owner alone."""
        with SqliteDatabase(tmp_path / "w" / "j.db", migrations=NOTES) as database:
            pragmas = (
                "journal_mode",
                "synchronous",
                "foreign_keys",
                "wal_autocheckpoint",
                "busy_timeout",
            )
            writer = database.submit(
                lambda c: [c.execute(f"PRAGMA {p}").fetchone()[0] for p in pragmas]
            ).result()
            assert writer == ["wal", 2, 1, 10000, 10000]
            if os.name == "posix":
                assert (tmp_path / "w").stat().st_mode & 0o777 == 0o700
                side = [database.path.with_name(f"j.db{suffix}") for suffix in ("", "-wal", "-shm")]
                assert {file.stat().st_mode & 0o777 for file in side} == {0o600}

    @pytest.mark.skipif(os.name != "posix", reason="file size limits are a POSIX matter")
    def test_a_full_disk_is_said_and_loses_nothing_committed(self, tmp_path: Path) -> None:
        """Past the limit writes fail as WorkspaceError; with space again they go on; committed rows
        stay.
        """
        script = """
import resource
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
with opened(NOTES) as d:
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
        with SqliteDatabase(tmp_path / "j.db", migrations=NOTES) as database:
            assert ids(database) == [*range(int(kept)), 10_000]

    def test_a_log_cut_or_flipped_anywhere_opens_to_whole_commits(
        self, tmp_path: Path, nightly: bool, measured: Callable[[str], None]
    ) -> None:
        """Whatever a torn write leaves of the log, the rows are those of the first k commits."""
        with SqliteDatabase(tmp_path / "a" / "j.db", migrations=NOTES) as database:
            for i in range(60):
                database.submit(add(i)).result()
            log = (tmp_path / "a" / "j.db-wal").read_bytes()
            main = (tmp_path / "a" / "j.db").read_bytes()
        dice = random.Random(4)
        counts = set[int]()
        logs = 400 if nightly else 40
        for i in range(logs):
            at = dice.randrange(len(log))
            folder = tmp_path / f"cut{i}"
            folder.mkdir()
            (folder / "j.db").write_bytes(main)
            torn = (
                log[:at]
                if i % 2
                else log[:at] + bytes([log[at] ^ (1 << dice.randrange(8))]) + log[at + 1 :]
            )
            (folder / "j.db-wal").write_bytes(torn)
            with SqliteDatabase(folder / "j.db", migrations=NOTES) as database:
                found = ids(database)
                assert found == list(range(len(found)))
                assert database.submit(add(1000)).result() == 1000
            counts.add(len(found))
            shutil.rmtree(folder)
        measured(
            f"{logs} logs cut or flipped at random: {logs} opened to whole commits, {len(counts)}"
            " different ends"
        )
        assert len(counts) > 10

    def damaged(self, path: Path, where: slice) -> bytes:
        """Make a database and overwrite a part of its file; return the content."""
        with SqliteDatabase(path, migrations=NOTES) as database:
            for future in [database.submit(add(i, "x" * 200 + str(i))) for i in range(500)]:
                future.result()
        content = bytearray(path.read_bytes())
        content[where] = bytes(where.stop - where.start)
        path.write_bytes(content)
        return bytes(content)

    @pytest.mark.parametrize("kind", ["page", "header"])
    def test_a_damaged_file_is_moved_aside_and_not_destroyed(
        self, tmp_path: Path, kind: str
    ) -> None:
        """The message says where it went; the next opening begins anew. Pages are read after an
        unclean end.
        """
        path = tmp_path / "j.db"
        content = self.damaged(path, slice(0, 100) if kind == "header" else slice(4096, 8192))
        if kind == "page":
            path.with_name("j.db-wal").write_bytes(b"left by a process that was killed")
        with pytest.raises(WorkspaceError, match="damaged") as caught:
            SqliteDatabase(path, migrations=NOTES)
        (aside,) = (
            found
            for found in tmp_path.glob("j.db.damaged-*")
            if not found.name.endswith(("-wal", "-shm"))
        )
        assert aside.name in str(caught.value)
        assert aside.read_bytes() == content
        with SqliteDatabase(path, migrations=NOTES) as database:
            assert ids(database) == []

    def test_after_a_clean_end_opening_reads_the_beginning_only(self, tmp_path: Path) -> None:
        """A million calls open as quickly as a thousand; `doctor` reads the rest."""
        path = tmp_path / "j.db"
        self.damaged(path, slice(4096, 8192))
        with (
            SqliteDatabase(path, migrations=NOTES) as database,
            pytest.raises(WorkspaceError, match="damaged"),
        ):
            database.read("PRAGMA integrity_check")


class TestOneWriter:
    HOLD = """
with opened(NOTES) as d:
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
            with SqliteDatabase(path, migrations=NOTES) as database:
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
        with (
            SqliteDatabase(path, migrations=NOTES) as one,
            SqliteDatabase(path, migrations=NOTES) as two,
        ):
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
        with SqliteDatabase(path, migrations=NOTES) as database:
            database.submit(add(1)).result()
            database.release()
        path.write_bytes(b"this is no database, whatever it was before" * 100)
        holder = python(
            "from judgewright.runs.store.lock import WriterLock\n"
            "WriterLock(Path(sys.argv[1]).parent / 'workspace.lock').acquire()\n"
            "print('ready', flush=True)\nsys.stdin.readline()",
            str(path),
        )
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            with pytest.raises(WorkspaceError, match=f"process {holder.pid} "):
                SqliteDatabase(path, migrations=NOTES)
            assert path.exists()
        finally:
            end(holder)


class TestUpgrades:
    def test_an_older_file_is_backed_up_and_upgraded(self, tmp_path: Path) -> None:
        """Its rows stay, the new column is there, and the backup is the old file in the old
        format.
        """
        path = tmp_path / "j.db"
        with SqliteDatabase(path, migrations=NOTES) as database:
            database.submit(add(1)).result()
        with SqliteDatabase(path, migrations=NEWER) as database:
            assert database.read("SELECT id, stars FROM note") == [(1, 0)]
            assert database.read("PRAGMA user_version") == [(2,)]
        (backup,) = tmp_path.glob("j.db.v1-*.backup")
        with sqlite3.connect(backup) as old:
            assert old.execute("PRAGMA user_version").fetchone() == (1,)
            assert old.execute("SELECT * FROM note").fetchall() == [(1, "note 1")]
            assert old.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        old.close()
        assert not list(tmp_path.glob(".*"))
