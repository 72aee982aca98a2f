"""What every store of a workspace promises: durable, shared by readers, nothing lost beside what
fails.
"""

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Callable

import pytest

from judgewright.judges import WorkspaceError
from judgewright.runs.store import Database, Migration
from judgewright.runs.store.database import Holder
from judgewright.runs.store.writer import Connection

from .notes import NEWER, NOTES, add, end, ids, python
from .stores import SqliteStore, Store


class TestWriting:
    def test_a_settled_write_is_seen_by_every_reader(self, store: Store) -> None:
        """The future's result is the write's, and another connection reads the row."""
        with store.open(migrations=NOTES) as database:
            assert database.submit(add(7)).result() == 7
            with store.open(migrations=NOTES) as other:
                assert other.read("SELECT id, text FROM note") == [(7, "note 7")]

    def test_a_write_whose_waiter_is_cancelled_happens_all_the_same(self, store: Store) -> None:
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

        with store.open(migrations=NOTES) as database:
            asyncio.run(impatient(database))
        with store.open(migrations=NOTES) as database:
            assert ids(database) == [1]

    def test_close_commits_what_is_queued(self, store: Store) -> None:
        """Nothing handed in before is dropped, and nothing can be handed in after."""
        database = store.open(migrations=NOTES)
        futures = [database.submit(add(i)) for i in range(700)]
        database.close()
        database.close()
        assert all(future.done() for future in futures)
        with pytest.raises(WorkspaceError, match="closed"):
            database.submit(add(1000))
        with pytest.raises(WorkspaceError, match="closed"):
            database.read("SELECT 1")
        with store.open(migrations=NOTES) as again:
            assert len(ids(again)) == 700

    def test_a_program_that_forgets_to_close_keeps_what_it_queued(self, store: Store) -> None:
        """The interpreter's end commits the queue and does not hang."""
        script = "d = opened(NOTES)\nfor i in range(300): d.submit(add(i))"
        store.open(migrations=NOTES).close()
        process = python(script, *store.words)
        assert process.communicate(timeout=600)[0] == ""
        assert process.returncode == 0
        with store.open(migrations=NOTES) as database:
            assert len(ids(database)) == 300

    @pytest.mark.parametrize(
        ("work", "message"),
        [
            (
                lambda connection: connection.execute("INSERT INTO note (id) VALUES (?)", (2**63,)),
                "OverflowError|out of range",
            ),
            (lambda connection: {}["a bug"], "KeyError: 'a bug'"),
            (lambda connection: connection.execute("no sql"), "syntax error"),
        ],
        ids=["overflow", "a bug", "sql"],
    )
    def test_whatever_a_write_raises_its_neighbours_are_kept(
        self, store: Store, work, message: str
    ) -> None:
        """They may be replies that were paid for; the error comes in our words, with its cause."""
        go = threading.Event()
        with store.open(migrations=NOTES) as database:
            database.submit(lambda connection: go.wait() and None)
            before, failing, after = (
                database.submit(add(1)),
                database.submit(work),
                database.submit(add(2)),
            )
            go.set()
            with pytest.raises(WorkspaceError, match=message):
                failing.result(timeout=600)
            assert (before.result(timeout=600), after.result(timeout=600)) == (1, 2)
            assert database.submit(add(3)).result(timeout=600) == 3
            assert ids(database) == [1, 2, 3]

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    def test_a_writer_that_breaks_off_leaves_nobody_waiting(self, store: Store) -> None:
        """Every write queued before, while and after the thread dies is committed, or fails at
        once.
        """

        def die(connection: Connection) -> None:
            raise SystemExit

        def submit_many(database: Database, outcomes: list[str]) -> None:
            for number in range(500):
                try:
                    database.submit(add(number)).result(timeout=600)
                    outcomes.append("committed")
                except WorkspaceError as error:
                    outcomes.append(str(error))

        for _ in range(10):
            outcomes: list[str] = []
            database = store.open(migrations=NOTES)
            threads = [
                threading.Thread(target=submit_many, args=(database, outcomes)) for _ in range(4)
            ]
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
            with store.open(migrations=NOTES) as again:
                again.submit(
                    lambda connection: connection.execute("DELETE FROM note") and None
                ).result()

    def test_a_callback_may_use_the_database_while_it_is_released(self, store: Store) -> None:
        """It reads and writes although `release` waits for the writer; what it wrote is kept."""
        script = """
import threading
d = opened(NOTES)
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
with opened(NOTES) as other:
    other.submit(add(3)).result()
    print(other.read("SELECT id FROM note"))
"""
        store.open(migrations=NOTES).close()
        process = python(script, *store.words)
        try:
            assert process.communicate(timeout=600)[0].splitlines() == [
                "[(1,)]",
                "[(1,), (2,), (3,)]",
            ]
        finally:
            end(process)

    def test_a_reader_cannot_write(self, store: Store) -> None:
        """`read` is for SELECT alone."""
        with store.open(migrations=NOTES) as database, pytest.raises(WorkspaceError):
            database.read("INSERT INTO note (id, text) VALUES (1, 'x')")


class TestDurability:
    @pytest.mark.skipif(
        os.name != "posix", reason="the writer is a fork, which spares it fifteen imports"
    )
    def test_a_killed_writer_loses_no_acknowledged_row(
        self, store: Store, nightly: bool, measured: Callable[[str], None]
    ) -> None:
        """SIGKILLs at random moments: every row said to be kept is there, and all of it can be
        read.
        """
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
    d = opened(NOTES)
    for i in range(int(line), int(line) + 1_000_000):
        queued.append((i, d.submit(add(i))))
        if len(queued) == 40:
            number, future = queued.popleft()
            future.result()
            os.write(1, b"%d\\n" % number)  # in one piece, so that no kill leaves half a line
"""
        dice = random.Random(20)
        store.open(migrations=NOTES).close()
        acknowledged = set[int]()
        parent = python(script, *store.words)
        assert parent.stdin is not None
        assert parent.stdout is not None
        try:
            few, many, place = (
                (15, 500, "a file") if isinstance(store, SqliteStore) else (5, 50, "a server")
            )
            kills = many if nightly else few
            for round_ in range(kills):
                parent.stdin.write(f"{round_ * 1_000_000}\n")
                parent.stdin.flush()
                writer = int(parent.stdout.readline())
                for _ in range(dice.randint(1, 600)):
                    acknowledged.add(int(parent.stdout.readline()))
                os.kill(writer, signal.SIGKILL)
                acknowledged.update(int(line) for line in iter(parent.stdout.readline, "gone\n"))
                kept = "SELECT id FROM note WHERE id >= ?"  # the others are looked for at the end
                with store.open(migrations=NOTES) as database:
                    found = {number for (number,) in database.read(kept, (round_ * 1_000_000,))}
                assert {number for number in acknowledged if number >= round_ * 1_000_000} <= found
        finally:
            end(parent)
        with store.open(migrations=NOTES) as database:
            lost, faults = len(acknowledged - set(ids(database))), database.find_faults()[1]
        measured(
            f"{kills} kills with {place}: {lost} of {len(acknowledged):,} acknowledged writes lost"
        )
        assert (lost, faults) == (0, [])


class TestUpgrades:
    def test_a_failing_upgrade_leaves_it_as_it_was(self, store: Store) -> None:
        """All of the upgrades or none."""
        with store.open(migrations=NOTES) as database:
            database.submit(add(1)).result()
        with pytest.raises(WorkspaceError, match="no_such"):
            store.open(migrations=(*NEWER, Migration("bad", "DROP TABLE no_such")))
        with store.open(migrations=NOTES) as database:
            assert database.read("SELECT * FROM note") == [(1, "note 1")]

    def test_an_older_one_is_upgraded(self, store: Store) -> None:
        """Its rows stay, and the new column is there."""
        with store.open(migrations=NOTES) as database:
            database.submit(add(1)).result()
        with store.open(migrations=NEWER) as database:
            assert database.read("SELECT id, stars FROM note") == [(1, 0)]

    def test_a_newer_one_is_refused_and_untouched(self, store: Store) -> None:
        """An old program must not guess at a format it does not know."""
        with store.open(migrations=NEWER) as database:
            database.submit(add(1)).result()
        with pytest.raises(WorkspaceError, match="format 2; this Judgewright reads up to 1"):
            store.open(migrations=NOTES)
        with store.open(migrations=NEWER) as database:
            assert database.read("SELECT id, stars FROM note") == [(1, 0)]

    def test_two_processes_may_make_a_workspace_at_once(self, empty: Store) -> None:
        """All end up with the same, whole database."""
        script = "print('up', flush=True); sys.stdin.readline(); print(len(list_runs(opened())))"
        script = f"from judgewright.runs.store import list_runs\n{script}"
        processes = [python(script, *empty.words) for _ in range(3)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate(timeout=600)[0] for process in processes] == ["0\n"] * 3


class TestClaims:
    """Who works on a run is alone with it; where one process writes at a time, with everything."""

    HOLD = """
d = opened(NOTES)
d.claim("run 1")
print("ready", flush=True)
sys.stdin.readline()
"""

    def test_what_another_process_works_on_is_not_begun(self, store: Store) -> None:
        """The message names the process; once that is killed, the claim is free."""
        store.open(migrations=NOTES).close()
        holder = python(self.HOLD, *store.words)
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            with store.open(migrations=NOTES) as database:
                assert ids(database) == []
                with pytest.raises(WorkspaceError, match=f"process {holder.pid} "):
                    database.claim("run 1")
                end(holder)
                until = time.monotonic() + 60
                while not claimed(database, "run 1") and time.monotonic() < until:
                    time.sleep(0.02)
                database.claim("run 1")
                database.submit(add(1)).result()
        finally:
            end(holder)

    def test_a_claim_is_kept_until_it_is_released(self, store: Store) -> None:
        """Claiming again is nothing new, two handles of one process are two, and a release is for
        everybody.
        """
        with store.open(migrations=NOTES) as one, store.open(migrations=NOTES) as two:
            one.claim("run 1")
            one.claim("run 1")
            assert not claimed(two, "run 1")
            one.release()
            two.claim("run 1")
            assert not claimed(one, "run 1")

    def test_who_may_wait_is_told_for_whom(self, store: Store) -> None:
        """Once, and then it has the claim."""
        told: list[Holder] = []
        with store.open(migrations=NOTES) as one:
            one.claim("run 1")

            def free(holder: Holder) -> None:
                told.append(holder)
                one.release()

            with store.open(migrations=NOTES, on_busy=free) as two:
                two.claim("run 1")
        assert [holder.pid for holder in told] == [os.getpid()]


def claimed(database: Database, what: str) -> bool:
    """Try to claim something."""
    try:
        database.claim(what)
    except WorkspaceError:
        return False
    return True
