"""Jobs: one after another, never twice, surviving kills of worker and page, and none that somebody
else put there.
"""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.optimize import RUN_OUTCOMES
from judgewright.runs.actions.work_jobs import describe_end, start_worker
from judgewright.runs.cli import main
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Job, JobQueue, Workspace, list_runs

from .providers import Provider, serving

SECONDS = 300


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    """The queue of an empty workspace with rows."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=45)
    return JobQueue(tmp_path, Environment().jobs_key)


def words(queue: JobQueue, *more: str) -> list[str]:
    """A command in the queue's workspace."""
    return [*more, "--workspace", str(queue.root), "--json"]


def optimization(queue: JobQueue, *more: str, model: str = "simulated") -> list[str]:
    """A run of a few seconds."""
    rows = str(queue.root / "rows.jsonl")
    run = (
        "optimize",
        "groundedness",
        rows,
        "--objective=raise precision",
        f"--model={model}",
        "--steps=1",
    )
    return words(queue, *run, *more)


def written(queue: JobQueue, text: str = "raise precision") -> list[str]:
    """A command that is quick."""
    return words(queue, "loss", "write", "--model=simulated", text)


def wait(happened: Callable[[], object]) -> None:
    """Wait until something is so."""
    until = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)


def work(queue: JobQueue) -> "subprocess.Popen[bytes]":
    """Start a worker as the page does."""
    return start_worker(queue, os.environ)


def run_ids(queue: JobQueue, kind: str) -> list[str]:
    """The runs of a kind."""
    with Workspace(queue.root) as workspace:
        return [run.run_id for run in list_runs(workspace.database) if run.kind == kind]


def test_two_workers_and_a_terminal_work_each_job_once_and_in_order(queue: JobQueue) -> None:
    """Three processes at once: one works, the others leave; the same command twice is one job."""
    jobs = [
        queue.add(f"job {name}", written(queue, f"raise {name}"))
        for name in ("precision", "recall", "f1")
    ]
    assert queue.add("again", jobs[0].arguments).job_id == jobs[0].job_id
    workers = [work(queue) for _ in range(2)]
    terminal = subprocess.run(
        [sys.executable, "-P", "-m", "judgewright", "runs", "work", "--workspace", str(queue.root)],
        check=False, capture_output=True, timeout=SECONDS,
    )  # fmt: skip
    assert terminal.returncode == 0
    for worker in workers:
        worker.wait(SECONDS)
    ended = queue.list()
    assert [(job.state, job.starts, job.exit_code) for job in ended] == [("done", 1, 0)] * 3
    assert [job.started for job in ended] == sorted(job.started or "" for job in ended)
    assert len(run_ids(queue, "loss")) == 3
    assert all(job.run_id in run_ids(queue, "loss") for job in ended)


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_run_goes_on(queue: JobQueue) -> None:
    """One run, and one decision, whatever was killed on the way."""
    with serving(Provider(delay=2.0)) as provider:
        job = queue.add("optimize", optimization(queue, model=f"simulated@{provider.url}"))
        first = work(queue)
        wait(lambda: provider.seen)
        first.kill()
        first.wait()
        assert queue.get(job.job_id).state == "running"
        provider.delay = 0.0
        wait(lambda: not queue.at_work())
        assert queue.waiting()
        work(queue).wait(SECONDS)
    ended = queue.get(job.job_id)
    assert (ended.state, ended.starts) == ("done", 2)
    assert run_ids(queue, "optimize") == [ended.run_id]
    assert ended.message.removeprefix("the gate says ").startswith(RUN_OUTCOMES)


@pytest.mark.slow
def test_a_job_is_paused_and_resumed_and_the_next_one_does_not_wait_for_it(queue: JobQueue) -> None:
    """A pause ends the command as Ctrl-C does; resumed, it goes on with the same run."""
    with serving(Provider(delay=2.0)) as provider:
        job = queue.add("optimize", optimization(queue, model=f"simulated@{provider.url}"))
        later = queue.add("write", written(queue))
        worker = work(queue)
        wait(lambda: provider.seen)
        queue.wish(job.job_id, "pause")
        worker.wait(SECONDS)
        assert (queue.get(job.job_id).state, queue.get(later.job_id).state) == ("paused", "done")
        assert not queue.waiting()
        provider.delay = 0.0
        queue.resume(job.job_id)
        work(queue).wait(SECONDS)
    ended = queue.get(job.job_id)
    assert (ended.state, run_ids(queue, "optimize")) == ("done", [ended.run_id])


def test_a_waiting_job_is_held_stopped_and_queued_again(queue: JobQueue) -> None:
    """Nothing of it was done, and nobody has to be asked."""
    job = queue.add("write", written(queue))
    assert queue.wish(job.job_id, "pause").state == "paused"
    assert not queue.waiting()
    assert queue.resume(job.job_id).state == "queued"
    assert queue.wish(job.job_id, "stop").state == "stopped"
    with pytest.raises(InputError, match="has ended"):
        queue.wish(job.job_id, "stop")
    assert queue.resume(job.job_id).state == "queued"
    with pytest.raises(InputError, match="nothing to resume"):
        queue.resume(job.job_id)
    with pytest.raises(InputError, match="no job"):
        queue.get("zzz")


def forged(queue: JobQueue, arguments: str, mark: str) -> None:
    """Put a line into the file, as whoever made the workspace could."""
    with sqlite3.connect(queue.root / ".judgewright" / "jobs.db") as connection:
        connection.execute(
            "INSERT INTO job (job_id, title, about, arguments, mark, state, wish, starts, created,"
            " message) VALUES ('f0f0f0f0', 'harmless', '', ?, ?, 'queued', '', 0,"
            " '2026-01-01', '')",
            (arguments, mark),
        )


def test_a_job_that_came_with_the_workspace_is_not_worked(queue: JobQueue, tmp_path: Path) -> None:
    """Its mark is not this user's, nor is one that stood on another command or in another
    workspace.
    """
    ours = queue.add("write", written(queue))
    queue.wish(ours.job_id, "stop")
    for mark in ("", ours.mark):
        forged(queue, '["data", "import"]', mark)
        assert not queue.waiting()
        work(queue).wait(SECONDS)
        assert queue.get("f0f0f0f0").state == "queued"
        with sqlite3.connect(queue.root / ".judgewright" / "jobs.db") as connection:
            connection.execute("DELETE FROM job WHERE job_id = 'f0f0f0f0'")
    moved = tmp_path / "moved"
    moved.mkdir()
    (queue.root / ".judgewright").rename(moved / ".judgewright")
    elsewhere = JobQueue(moved, Environment().jobs_key)
    assert not elsewhere.is_ours(elsewhere.list()[0])
    elsewhere.resume(ours.job_id)  # a person says so
    assert elsewhere.waiting()


def test_the_key_is_this_users_alone_and_outside_of_the_workspace(queue: JobQueue) -> None:
    """Without a home folder there are no jobs."""
    queue.add("write", written(queue))
    key = Environment().jobs_key
    assert key is not None
    assert not key.is_relative_to(queue.root)
    assert key.stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="key"):
        JobQueue(queue.root, None).add("write", written(queue))


def test_a_module_in_the_workspace_is_not_run(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is started wherever the server was."""
    (queue.root / "json.py").write_text("raise SystemExit('owned')")
    (queue.root / "judgewright").mkdir()
    monkeypatch.chdir(queue.root)
    job = queue.add("write", written(queue))
    work(queue).wait(SECONDS)
    assert queue.get(job.job_id).state == "done"


def test_the_terminal_lists_pauses_resumes_and_works(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the page can do with a job, a terminal can; control characters of a title stay text."""
    job = queue.add("write\x1b[2J\u202e", written(queue))
    here = ("--workspace", str(queue.root))
    for command in (("stop", job.job_id), ("resume", job.job_id[:5]), ("list",)):
        main(["runs", *command, *here])
    told = capsys.readouterr().out
    assert "stopped" in told
    assert "\x1b" not in told
    assert "\\x1b[2J" in told
    subprocess.run(
        [*(sys.executable, "-P", "-m", "judgewright", "runs", "work"), *here],
        check=True, timeout=SECONDS,
    )  # fmt: skip
    assert queue.get(job.job_id).good


def test_how_a_job_ended_quotes_no_row() -> None:
    """The message of a defect may hold anything."""
    hint = "this is a defect in judgewright; please report it with the traceback on stderr"
    body = {
        "error": {
            "kind": "KeyError",
            "message": "the text of a sealed row",
            "hint": hint,
            "exit": 3,
        }
    }
    assert "sealed" not in describe_end(body, 3)
    assert "KeyError" in describe_end(body, 3)
    assert describe_end({}, None) == "it ended with code None"


def test_a_job_that_is_killed_again_and_again_is_given_up(queue: JobQueue) -> None:
    """A command that takes the machine's memory does not come back for ever."""
    job = queue.add("write", written(queue))
    taken: Job | None = None
    for _ in range(4):
        taken = queue.take()
        assert taken is not None
        assert [one.job_id for one in queue.cut_off()] == [job.job_id]
        queue.put_back(taken)
    assert queue.take() is None
    assert queue.get(job.job_id).state == "failed"
    assert "killed 4 times" in queue.get(job.job_id).message


def edit(queue: JobQueue, job: Job, **values: object) -> None:
    """Change a line in the file, as whoever can write to the workspace could."""
    with sqlite3.connect(queue.root / ".judgewright" / "jobs.db") as connection:
        for name, value in values.items():
            connection.execute(f"UPDATE job SET {name} = ? WHERE job_id = ?", (value, job.job_id))


@pytest.mark.slow
@pytest.mark.parametrize(
    "values", [{"state": "queued"}, {"state": "queued", "starts": 0}, {"state": "running"}]
)
def test_a_job_that_is_done_is_not_worked_again_where_somebody_edits_its_state(
    queue: JobQueue, values: dict[str, object]
) -> None:
    """The mark stands for its state too."""
    job = queue.add("write", written(queue))
    work(queue).wait(SECONDS)
    done = queue.get(job.job_id)
    assert (done.state, queue.is_ours(done)) == ("done", True)
    edit(queue, job, **values)
    assert not queue.is_ours(queue.get(job.job_id))
    assert not queue.waiting()
    assert (queue.take(), queue.cut_off()) == (None, ())


def test_a_job_with_another_run_is_not_ours(queue: JobQueue) -> None:
    """It would go on with a run that somebody else chose."""
    job = queue.add("optimize", optimization(queue, model="simulated"))
    queue.wish(job.job_id, "pause")
    edit(queue, job, run_id="20260101-000000-abcdef")
    assert not queue.is_ours(queue.get(job.job_id))


def test_a_strangers_job_is_shown_whole_before_it_is_resumed(
    queue: JobQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its title may say anything; without a terminal nobody is asked, and the command is in the
    error.
    """
    queue.wish(queue.add("write", written(queue)).job_id, "stop")
    forged(
        queue, '["export", "groundedness", "--out=/tmp/there", "--model=m@http://192.0.2.1/v1"]', ""
    )
    here = ("--workspace", str(queue.root))
    main(["runs", "list", *here])
    assert "queued, not yours" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["runs", "resume", "f0f0", *here])
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert "judgewright export groundedness --out=/tmp/there --model=m@http://192.0.2.1/v1" in told
    assert not queue.waiting()
    queue.wish("f0f0f0f0", "stop")
    assert not queue.is_ours(queue.get("f0f0f0f0")), "who stops it does not sign it"
    main(["runs", "resume", "f0f0", "--yes", *here])
    assert queue.waiting()
