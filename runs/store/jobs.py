"""Jobs: commands that wait their turn in a workspace, and what became of them.

They stand in a file of the workspace's folder: whoever works holds the database's own lock for
hours. Each is written in one short transaction, so that two pages, a terminal and a worker can
write at once. A workspace may come from somebody else: a job is worked only if it bears the mark of
a key that this user's own folder holds, over its command, its state and its run.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

from ...judges import InputError, WorkspaceError
from ..config.place import Place
from .lock import WriterLock
from .schema import now
from .workspace import FOLDER

JobState = Literal["queued", "running", "paused", "stopped", "done", "failed"]
Wish = Literal["", "pause", "stop"]
ENDED = ("stopped", "done", "failed")
_HELD: dict[Wish, JobState] = {"pause": "paused", "stop": "stopped"}
MAX_STARTS = 4
"""A job whose worker was killed so often is not started again by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command that waits, is at work, or has ended."""

    seq: int
    job_id: str
    title: str
    about: str
    """The run that it is about; empty where it is about none."""
    arguments: tuple[str, ...]
    """What is typed after `judgewright`."""
    mark: str
    state: JobState
    wish: Wish
    """What a person wants of it while it works."""
    starts: int
    pid: int | None
    """The worker's process, of the last start."""
    created: str
    started: str | None
    """When it was started last."""
    ended: str | None
    exit_code: int | None
    run_id: str | None
    """The run that it made or went on with."""
    message: str
    """How it ended, in a sentence."""

    @property
    def open(self) -> bool:
        """Whether it has not ended: it waits, works or is paused."""
        return self.state not in ENDED

    @property
    def only_measures(self) -> bool:
        """Whether it takes a run as far as its loss, so that there is nothing to accept."""
        return self.arguments[0] == "optimize" and "--steps=0" in self.arguments

    @property
    def good(self) -> bool:
        """Whether it led to what was asked for."""
        return self.state == "done" and (self.exit_code == 0 or self.only_measures)


_ID = re.compile(r"[0-9a-f]{8}")
_NAMES = tuple(field.name for field in fields(Job))
_COLUMNS = ", ".join(_NAMES)


class JobQueue:
    """The jobs of one workspace.

    Args:
        place: Of the workspace; nothing is made in its folder before the first job.
        key_file: A file of this user alone, outside of any workspace; made with the first job. None
            where the user has no folder for it: then no job can be added.
    """

    def __init__(self, place: Path | Place, key_file: Path | None) -> None:
        place = Place.of(place)
        self.place = replace(place, root=place.root.resolve())
        self.root = self.place.root
        self.folder = self.root / FOLDER / "jobs"
        self._file = self.folder.with_name("jobs.db")
        self._key_file = key_file

    def list(self) -> tuple[Job, ...]:
        """Return every job, in the order in which they were added; what no queue writes so is
        passed over.
        """
        if not self._file.is_file():
            return ()
        with self._writing() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM job ORDER BY seq")  # noqa: S608
            return tuple(job for row in rows if (job := _job(row)))

    def get(self, job_id: str) -> Job:
        """Return one job, by its id or the beginning of it.

        Raises:
            InputError: There is no such job, or there are several.
        """
        fitting = [job for job in self.list() if job_id and job.job_id.startswith(job_id)]
        if len(fitting) != 1:
            count = f"{len(fitting)} jobs begin with" if fitting else "there is no job"
            raise InputError(f"{count} {job_id!r}", hint="`judgewright runs list` shows them")
        return fitting[0]

    def add(self, title: str, arguments: Sequence[str], *, about: str = "") -> Job:
        """Put a command at the end of the queue; the same command that has not ended is not put
        there again.

        Raises:
            InputError: The user has no folder for the key.
            WorkspaceError: The queue cannot be written.
        """
        content, job_id = json.dumps(list(arguments)), secrets.token_hex(4)
        mark = self._mark((job_id, title, about, content, "queued", None), self._key(make=True))
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._writing() as connection:
            same = connection.execute(
                "SELECT job_id FROM job WHERE arguments = ? AND state IN ('queued', 'running',"
                " 'paused')",
                (content,),
            ).fetchone()
            if same is None:
                connection.execute(_ADD, (job_id, title, about, content, mark, now()))
        return self.get(same[0] if same else job_id)

    def is_ours(self, job: Job) -> bool:
        """Whether this user put the job here and it stands as this user left it; the workspace may
        come from others.
        """
        key = self._key(make=False)
        return key is not None and hmac.compare_digest(job.mark, self._mark(_signed(job), key))

    def waiting(self) -> bool:
        """Whether a job is to be worked: one that is queued, or one whose worker was killed."""
        return any(self._ours("queued", "running"))

    def _ours(self, *states: JobState) -> Iterator[Job]:
        return (job for job in self.list() if job.state in states and self.is_ours(job))

    def wish(self, job_id: str, wish: Wish) -> Job:
        """Pause or stop a job; one at work ends as by Ctrl-C, with what it has done kept.

        Raises:
            InputError: There is no such job, or it has ended.
        """
        job = self.get(job_id)
        if job.state in ("queued", "paused"):
            self._change(job, state=_HELD[wish], ended=now() if wish == "stop" else None)
        with self._writing() as connection:  # its worker may have taken it meanwhile
            connection.execute(
                "UPDATE job SET wish = ? WHERE job_id = ? AND state = 'running'", (wish, job.job_id)
            )
        if not job.open:
            raise InputError(f"job {job.job_id} has ended: {job.message or job.state}")
        return self.get(job.job_id)

    def resume(self, job_id: str) -> Job:
        """Put a job that was paused, stopped or failed at the end of the queue again; it is this
        user's from then on.

        Raises:
            InputError: There is no such job, or it waits, works or is done.
        """
        job = self.get(job_id)
        self._key(make=True)
        waits = job.state in ("paused", "stopped", "failed") or (
            job.state == "queued" and not self.is_ours(job)
        )
        if not waits or not self._change(
            job,
            sign=True,
            seq=max(one.seq for one in self.list()) + 1,
            state="queued",
            wish="",
            starts=0,
            ended=None,
            exit_code=None,
            message="",
        ):
            raise InputError(f"job {job.job_id} is {job.state}; there is nothing to resume")
        return self.get(job.job_id)

    def lock(self) -> WriterLock:
        """Return the lock that the one worker of the workspace holds."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._lock()

    def at_work(self) -> bool:
        """Whether a worker is alive."""
        return self._lock().holder() is not None

    def _lock(self) -> WriterLock:
        return WriterLock(self.folder.with_name("jobs.lock"))

    def cut_off(self) -> tuple[Job, ...]:
        """Return, for the worker that holds the lock, the jobs that were at work when an earlier
        worker was killed.
        """
        return tuple(self._ours("running"))

    def put_back(self, job: Job) -> None:
        """Queue a job again that was cut off, unless a person wanted it to end or it was cut off
        too often.
        """
        if not job.wish and job.starts < MAX_STARTS:
            self._change(self.get(job.job_id), state="queued")
            return
        state: JobState = _HELD[job.wish] if job.wish else "failed"
        times = "" if job.wish else f" {job.starts} times"
        message = f"its worker was killed{times}"
        self.end(job.job_id, state=state, exit_code=None, run_id=job.run_id, message=message)

    def take(self) -> Job | None:
        """Start the next job, for the worker that holds the lock; None where nothing waits."""
        for job in self._ours("queued"):
            starts = job.starts + 1
            # It may have been paused meanwhile.
            if self._change(job, state="running", pid=os.getpid(), started=now(), starts=starts):
                return self.get(job.job_id)
        return None

    def found_run(self, job_id: str, run_id: str) -> None:
        """Take note of the run that a job works on."""
        self._change(self.get(job_id), run_id=run_id)

    def end(
        self,
        job_id: str,
        *,
        state: JobState,
        exit_code: int | None,
        run_id: str | None,
        message: str,
    ) -> None:
        """Write down how a job at work ended."""
        ended = None if state == "paused" else now()
        self._change(
            self.get(job_id),
            state=state,
            run_id=run_id,
            wish="",
            exit_code=exit_code,
            message=message,
            ended=ended,
        )

    def _change(
        self, job: Job, *, sign: bool = False, **values: Any
    ) -> bool:  # Any: as the columns have it
        """Write another state of a job, unless somebody else has changed it since it was read.

        Args:
            sign: Whether it is this user's from now on; one that already is stays so.
            values: By column.
        """
        key = self._key(make=False)
        if sign or self.is_ours(job):
            values["mark"] = self._mark(_signed(replace(job, **values)), key)
        sets = ", ".join(f"{name} = ?" for name in values)
        sql = f"UPDATE job SET {sets} WHERE job_id = ? AND mark = ? AND state = ?"  # noqa: S608 - our own names
        with self._writing() as connection:
            changed = connection.execute(sql, (*values.values(), job.job_id, job.mark, job.state))
            return changed.rowcount == 1

    def output(self, job: Job) -> Path:
        """Return the file of what a job printed."""
        return self.folder / f"{job.job_id}.out"

    def complaints(self, job: Job) -> Path:
        """Return the file of what a job printed on stderr."""
        return self.folder / f"{job.job_id}.err"

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """Open the file for one transaction."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
            with contextlib.closing(sqlite3.connect(self._file, timeout=30)) as connection:
                connection.isolation_level = None
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_TABLE)
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise WorkspaceError(
                f"the jobs in {self._file} cannot be read or written: {error}"
            ) from error

    def _mark(self, signed: tuple[str | None, ...], key: bytes | None) -> str:
        if key is None:
            raise InputError(
                "jobs need a file for their key",
                hint="set HOME, or JUDGEWRIGHT_MODELS to a whole path",
            )
        about = json.dumps([str(self.root), *signed]).encode()
        return hmac.new(key, about, hashlib.sha256).hexdigest()

    def _key(self, *, make: bool) -> bytes | None:
        if self._key_file is None:
            return None
        try:
            if make:
                self._key_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                draft = self._key_file.with_name(f"{self._key_file.name}.{secrets.token_hex(4)}")
                draft.touch(0o600)
                draft.write_bytes(secrets.token_hex(32).encode())
                # A link is made only where there is none: whoever comes first makes the key, and it
                # is never half.
                with contextlib.suppress(FileExistsError):
                    os.link(draft, self._key_file)
                draft.unlink()
            return self._key_file.read_bytes() or None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WorkspaceError(
                f"the key of jobs, {self._key_file}, cannot be used: {error.strerror}"
            ) from error


_TABLE = """
CREATE TABLE IF NOT EXISTS job (
    seq INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    about TEXT NOT NULL,
    arguments TEXT NOT NULL,
    mark TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'stopped', 'done', 'failed')),
    wish TEXT NOT NULL CHECK (wish IN ('', 'pause', 'stop')),
    starts INTEGER NOT NULL,
    pid INTEGER,
    created TEXT NOT NULL,
    started TEXT,
    ended TEXT,
    exit_code INTEGER,
    run_id TEXT,
    message TEXT NOT NULL
)
"""  # noqa: E501
_ADD = """
INSERT INTO job (seq, job_id, title, about, arguments, mark, state, wish, starts, created, message)
VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM job), ?, ?, ?, ?, ?, 'queued', '', 0, ?, '')
"""


def _signed(job: Job) -> tuple[str | None, ...]:
    """Return what a job's mark stands for: what it does, and where it stands."""
    return job.job_id, job.title, job.about, json.dumps(list(job.arguments)), job.state, job.run_id


def _job(row: tuple[object, ...]) -> Job | None:
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))  # Any: as the columns have it
    try:
        words: object = json.loads(values["arguments"])
    except ValueError:
        return None
    words = cast("list[object]", words) if isinstance(words, list) else []
    # The id names files.
    if (
        not words
        or not all(isinstance(word, str) for word in words)
        or not _ID.fullmatch(str(values["job_id"]))
    ):
        return None
    values["arguments"] = tuple(words)
    return Job(**values)
