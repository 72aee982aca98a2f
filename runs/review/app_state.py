"""What every page works with: the workspace to read, its jobs, and the flips already made out."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from ...judges import InputError, JudgewrightError
from ...judges.files import DataReport
from ...optimize.events import RowsSplit
from ...optimize.holdout.ledger import MAX_LOOKS, LookRecord
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ..actions.check_data import CheckOptions, RunPrice, check_file
from ..actions.label import LabelSession
from ..actions.row_pages import RowQuery, find_row_pages, make_row_pages, rows_to_read
from ..actions.run_summary import RunSummary, read_run
from ..actions.run_table import RunLine
from ..actions.work_jobs import start_worker
from ..config.environment import Environment
from ..config.place import Place
from ..exports import ExportContext
from ..store.jobs import Job, JobQueue
from ..store.journal import RunRecord, get_run
from ..store.ledger import HoldoutLedger
from ..store.row_pages import RowPages
from ..store.workspace import Workspace
from .kept import Kept
from .offers import Offer
from .prepare import asked_check, asked_rows, work_apart

if TYPE_CHECKING:
    from jinja2 import Environment as Templates


THREADS = 2
"""Threads that read: few and lasting, because each holds a connection to the database for as long as it lives."""
READ_HERE = 5_000
"""Rows up to which the server itself works out what is shown of them."""
BYTES_HERE = 5_000_000
"""The same of a file whose rows were not counted yet."""
KEPT_LOOKS = 30
"""Runs whose looks are kept in memory, those looked at last."""
KEPT_LINES = 5_000
"""Lines of the table of runs."""
KEPT_EXPORTS = 8
"""Versions of judges that were looked at to be handed over."""
KEPT_SESSIONS = 4
"""Annotators at queues, each with the queue's rows."""


class WorkWanted(Exception):
    """There are too many rows for the server itself; a process of its own does the work, and then the page is made."""

    def __init__(self, key: Hashable, what: str, asked: Mapping[str, Any]) -> None:
        super().__init__(key)
        self.key = key
        self.what = what
        self.asked = asked
        """As JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """The looks at a run's holdout, and what the next one would be."""

    records: tuple[LookRecord, ...]
    left: int
    """Looks that are left for prompts tried against the one this run began with."""
    next_alpha: float
    """What the next of them would be tested at."""


class AppState:
    """The server's hold on one workspace. Reading takes no lock, and nothing is written here but jobs."""

    def __init__(self, place: Place, environment: Environment, templates: Templates) -> None:
        self.place = place
        self.root = place.root
        self.environment = environment
        self.workspace = Workspace(place)
        self.jobs = JobQueue(place, environment.jobs_key)
        self.pool = ThreadPoolExecutor(THREADS, "judgewright-review")
        """Where pages are made."""
        self.closing = False
        """Whether the server is about to stop, so that streams of events end."""
        self.checks: dict[tuple[object, ...], tuple[DataReport, RunPrice | None]] = {}
        """Data files that were checked lately."""
        self._templates = templates
        self.lines = Kept[RunLine](KEPT_LINES)
        self.kept_looks = Kept[Looks | None](KEPT_LOOKS)
        self.preparing: dict[Hashable, asyncio.Task[None]] = {}
        """What processes of their own are working out."""
        self._made: dict[Hashable, Mapping[str, Any] | JudgewrightError] = {}
        """What they have worked out, until a page takes it, or the error that they ended with."""
        self.sessions = Kept[tuple[LabelSession, tuple[str, ...]]](KEPT_SESSIONS)
        self.exports = Kept[ExportContext](KEPT_EXPORTS)
        self.offers = Kept[tuple[Offer, ...]](KEPT_EXPORTS)
        self.columns = Kept[tuple[str, ...]](KEPT_EXPORTS)
        """The columns of data files that were looked at."""
        self.labelling = Lock()
        """Held from reading which row is next to keeping its label."""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._workers_lock = Lock()
        self._rows_lock = Lock()

    def render(self, template: str, **shown: Any) -> str:  # Any: whatever the template names
        """Fill a template."""
        return self._templates.get_template(template).render(open_jobs=self.open_jobs, **shown)

    def open_jobs(self) -> int:
        """Count the jobs that wait or are at work."""
        return sum(job.state in ("queued", "running") for job in self.jobs.list())

    @property
    def origin_flags(self) -> list[str]:
        """The addresses that whoever started the server allows, as a command takes them."""
        return [word for url in sorted(self.environment.commanded) for word in ("--allow-origin", url)]

    def queue(self, title: str, arguments: Sequence[str], *, about: str = "") -> Job:
        """Put a command of this workspace into the queue, and see to it that somebody works it."""
        words = list(arguments)
        end = words.index("--") if "--" in words else len(words)  # what stands behind it is no option
        words[end:end] = ["--workspace", str(self.jobs.place), "--json"]
        job = self.jobs.add(title, words, about=about)
        self.keep_working()
        return job

    def keep_working(self) -> None:
        """Start a worker where jobs wait and none is alive."""
        with self._workers_lock:
            self._workers = [worker for worker in self._workers if worker.poll() is None]
            if not self._workers and self.jobs.waiting() and not self.jobs.at_work():
                self._workers.append(start_worker(self.jobs, self.environment.process_variables))

    def read(self, run_id: str) -> RunSummary:
        """Read a run as the workspace has it at this moment.

        Raises:
            InputError: There is no such run.
            WorkspaceError: Its journal was edited, or cannot be read.
        """
        return read_run(self.workspace, run_id)

    def record(self, run_id: str) -> RunRecord:
        """Return what the workspace knows of a run, without its events.

        Raises:
            InputError: There is no such run.
        """
        if not self.workspace.exists:
            raise InputError(f"there is no run {run_id!r}: nothing was run here yet")
        return get_run(self.workspace.database, run_id)

    def looks(self, run: RunSummary) -> Looks | None:
        """Count the looks at a run's holdout, those at other holdouts with its rows and measured prompts among them.

        None where the run has no holdout yet.
        """
        split = run.split
        if split is None:
            return None
        key = (run.run_id, run.before.version, self.seal_stamp())
        return self.kept_looks.get(key, lambda: self._count_looks(run, split))

    def _count_looks(self, run: RunSummary, split: RowsSplit) -> Looks:
        holdout, ledger = split.seals["holdout"], HoldoutLedger(self.workspace.database)
        request = LookRequest(holdout=holdout, run_id="", before=run.before.version, after="", purpose="gate", line="")
        look = requested_look(ledger.history(), request)
        left = max(0, MAX_LOOKS - look.number + 1)
        return Looks(records=ledger.looks(holdout), left=left, next_alpha=look.alpha)

    def rows(self, kind: Literal["flips", "wrong", "slices", "compare"], *names: str) -> RowPages:
        """Return what is shown of rows, of which a page reads what it needs; worked out now where it was not before.

        Raises:
            InputError: There are no such rows, or they have changed.
            WorkWanted: It takes too long here; `prepare` does it.
        """
        query = RowQuery(kind, names)
        with self._rows_lock:  # a second visitor waits for the first one's work rather than doing it again
            found = find_row_pages(self.workspace, query)
            if found is None:
                if rows_to_read(self.workspace, query) > READ_HERE:
                    raise WorkWanted(query, "rows", asked_rows(self.place, query))
                make_row_pages(self.workspace, query)
                found = find_row_pages(self.workspace, query)
        if found is None:
            raise InputError("the rows changed while they were read", hint="look again")
        return found

    def check(self, path: Path, options: CheckOptions, environment: Environment) -> tuple[DataReport, RunPrice | None]:
        """Check a data file.

        Raises:
            InputError: It cannot be read, or has no such columns.
            WorkWanted: It takes too long here; `prepare` does it, and then it is here.
        """
        stat = path.stat()
        if stat.st_size <= BYTES_HERE:
            return check_file(path, options, registry=self.workspace.registry, environment=environment)
        asked = asked_check(self.place, path, options)
        key = (json.dumps(asked), stat.st_mtime_ns, stat.st_size)
        if key not in self._made:
            raise WorkWanted(key, "check", asked)
        made = self._made.pop(key)
        if isinstance(made, JudgewrightError):
            raise made
        return TypeAdapter(DataReport).validate_python(made["report"]), TypeAdapter(RunPrice | None).validate_python(
            made["price"]
        )

    async def prepare(self, wanted: WorkWanted) -> None:
        """Have work done by a process of its own; visitors who want the same wait for the same one."""
        task = self.preparing.get(wanted.key)
        if task is None:
            task = asyncio.create_task(self._prepare(wanted))
            self.preparing[wanted.key] = task
            task.add_done_callback(lambda _: self.preparing.pop(wanted.key, None))
        await asyncio.shield(task)

    @property
    def _variables(self) -> Mapping[str, str]:
        return {**self.environment.process_variables, **self.place.secrets}

    async def _prepare(self, wanted: WorkWanted) -> None:
        try:
            made = await work_apart(wanted.what, wanted.asked, self._variables)
        except JudgewrightError as error:
            if wanted.what == "rows":
                raise
            made = error
        if wanted.what != "rows":  # which it keeps itself
            self._made[wanted.key] = made

    def seal_stamp(self) -> int:
        """Return what changes when rows are sealed, opened or looked at."""
        return self.workspace.database.read("SELECT count(*) FROM ledger")[0][0] if self.workspace.exists else 0

    def writing(self) -> Workspace:
        """Open the workspace to write a decision; its lock is given back when it is closed."""
        return Workspace(self.place)
