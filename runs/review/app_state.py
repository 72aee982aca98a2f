"""What every page works with: the workspace to read, its jobs, and the flips already made out."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response

from ...judges import InputError, IntArray
from ...judges.files import ColumnReading, DataReport
from ..actions.check_data import CheckOptions, RunPrice, price_of, tokens_model
from ..actions.reach import Reach
from ..actions.run_summary import RunSummary, read_run
from ..actions.work_jobs import start_worker
from ..config.environment import Environment
from ..config.place import Place
from ..exports import ExportContext
from ..labels.queue import without_row_ids
from ..labels.session import LabelSession
from ..reports.run_table import RunLine
from ..store.calls import CallStore, CallSummary
from ..store.jobs import Job, JobQueue
from ..store.journal import RunRecord, get_run
from ..store.workspace import Workspace
from .data_files import FirstRows
from .file_data import names_of_check, report_of
from .kept import Kept
from .matrix import Column, Matrix, RowFilter
from .model_cards import ModelCards
from .row_data import (
    TITLES,
    Kind,
    RowQuery,
    bytes_to_read,
    find_row_pages,
    make_apart,
    make_row_pages,
)
from .row_pages import Json, RowPages
from .works import Works, WorkWanted

if TYPE_CHECKING:
    from jinja2 import Environment as Templates


THREADS = 2
"""Threads that read: few and lasting, because each holds a connection to the database for as long
as it lives.
"""
BYTES_HERE = 5_000_000
"""The size of data files up to which the server itself works out what is shown of their rows."""
_STATES = "SELECT run_id, state, updated, name, tags FROM run LEFT JOIN run_name USING (run_id)"
KEPT_LINES = 5_000
"""Lines of the table of runs."""
KEPT_EXPORTS = 8
"""Versions of judges that were looked at to be handed over."""
KEPT_FILES = 60
"""Data files whose first rows were read."""
KEPT_SESSIONS = 4
"""Annotators at queues, each with the queue's rows."""


def is_large(path: Path) -> bool:
    """Whether a data file is read by a process of its own."""
    try:
        return path.stat().st_size > BYTES_HERE
    except OSError:
        return False


class AppState:
    """The server's hold on one workspace. Reading takes no lock, and nothing is written here but
    jobs.
    """

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
        self._templates = templates
        self.lines = Kept[RunLine](KEPT_LINES)
        self._records = Kept[RunRecord](KEPT_LINES)
        self._calls = Kept[CallSummary](KEPT_LINES)
        self.reaches = Kept[Reach | None](KEPT_LINES)
        """What the gates of runs could show, which takes a while to reckon."""
        self.works = Works({**environment.process_variables, **place.secrets})
        """What processes of their own are working out."""
        self.sessions = Kept[LabelSession](KEPT_SESSIONS)
        self.exports = Kept[ExportContext](KEPT_EXPORTS)
        self.offers = Kept[list[Json]](KEPT_EXPORTS)
        self.matrices = Kept[Matrix](KEPT_SESSIONS)
        self.chosen_rows = Kept[IntArray](KEPT_EXPORTS)
        """Which rows of a matrix were asked for."""
        self.columns = Kept[FirstRows](KEPT_FILES)
        """The first rows of data files whose columns were looked at."""
        self.readings: dict[tuple[object, ...], ColumnReading] = {}
        """What was read in the header of a data file, for a judge, by a model, by
        `StartForm.header_key`.
        """
        self.trials = ModelCards()
        """What came back from models that were tried out."""
        self.labelling = Lock()
        """Held from reading which row is next to keeping its label."""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._workers_lock = Lock()
        self._rows_lock = Lock()

    def render(self, template: str, **shown: Any) -> str:  # Any: whatever the template names
        """Fill a template."""
        return self._templates.get_template(template).render(open_jobs=self.open_jobs, **shown)

    def page(self, template: str, **shown: Any) -> Response:  # Any: as above
        """Answer with a template that is filled."""
        return HTMLResponse(self.render(template, **shown))

    def open_jobs(self) -> int:
        """Count the jobs that wait or are at work."""
        return sum(job.state in ("queued", "running") for job in self.jobs.list())

    @property
    def origin_flags(self) -> list[str]:
        """The addresses that whoever started the server allows, as a command takes them."""
        return [
            word for url in sorted(self.environment.commanded) for word in ("--allow-origin", url)
        ]

    def queue(self, title: str, arguments: Sequence[str], *, about: str = "") -> Job:
        """Put a command of this workspace into the queue, and see to it that somebody works it."""
        words = list(arguments)
        end = (
            words.index("--") if "--" in words else len(words)
        )  # what stands behind it is no option
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
        return read_run(self.workspace, run_id, self._count_calls)

    def _count_calls(self, run: RunRecord) -> CallSummary:
        """Count a run's calls; those of one that has ended once, since that takes a while where
        they are many.
        """
        calls = CallStore(self.workspace.database, run.run_id)
        if run.state == "running":
            return calls.summary()
        return self._calls.get((run.run_id, run.state, run.updated), calls.summary)

    def record(self, run_id: str) -> RunRecord:
        """Return what the workspace knows of a run, without its events; of a queue without the ids
        of its rows.

        Raises:
            InputError: There is no such run.
        """
        if not self.workspace.exists:
            raise InputError(f"there is no run {run_id!r}: nothing was run here yet")
        row = self.workspace.database.read(f"{_STATES} WHERE run_id = ?", (run_id,))
        return self._record(*row[0]) if row else self._record(run_id, "", "", None, None)

    def records(self) -> list[RunRecord]:
        """Return every run in the order they were created, each as `record` does."""
        if not self.workspace.exists:
            return []
        return [
            self._record(*row) for row in self.workspace.database.read(f"{_STATES} ORDER BY seq")
        ]

    def _record(
        self, run_id: str, state: str, updated: str, name: str | None, tags: str | None
    ) -> RunRecord:
        if state == "running":  # a process that is killed leaves this behind
            return without_row_ids(get_run(self.workspace.database, run_id))
        # Some configurations are long: they are read once, and not for every page.
        return self._records.get(
            (run_id, state, updated, name, tags),
            lambda: without_row_ids(get_run(self.workspace.database, run_id)),
        )

    def looks(self, run: RunSummary) -> Json | None:
        """Count the looks at a run's holdout: those so far, how many are left for prompts tried
        against the one it began with, and at which alpha the next would be. None where it has no
        holdout yet, or too many rows while it is at work.

        Raises:
            WorkWanted: It takes too long here.
        """
        if run.split is None:
            return None
        try:
            return self.rows("looks", run.run_id).head
        except WorkWanted:
            if run.record.state == "running":
                return None
            raise

    def rows(self, kind: Kind, *names: str, environment: Environment | None = None) -> RowPages:
        """Return what is shown of rows, of which a page reads what it needs; worked out now where
        it was not before.

        Args:
            kind: See `RowQuery`.
            names: As `RowQuery` has them.
            environment: Of the command that a plan is for.

        Raises:
            InputError: There are no such rows, or they have changed.
            WorkWanted: It takes too long here.
        """
        query = RowQuery(kind, names, environment)
        # A second visitor waits for the first one's work rather than doing it again.
        with self._rows_lock:
            pages = find_row_pages(self.workspace, query, self.record)
            if pages is not None:
                return pages
            if error := self.works.take_error(query):
                raise error
            if bytes_to_read(self.workspace, query) > BYTES_HERE:
                # Keys do not leave this process but in the variables of the other one.
                bare = RowQuery(kind, names)
                arguments = (self.place, bare, sorted(self.environment.commanded))
                raise WorkWanted(query, make_apart, arguments, TITLES[kind])
            make_row_pages(self.workspace, query)
            pages = find_row_pages(self.workspace, query, self.record)
        if pages is None:
            raise InputError("the rows changed while they were read", hint="look again")
        return pages

    def table(self, columns: Sequence[Column]) -> Matrix:
        """Return the rows of some judges, joined."""
        identity = tuple((column.side.name, column.pages.identity) for column in columns)
        return self.matrices.get(identity, lambda: Matrix(columns))

    def choose(self, table: Matrix, wanted: RowFilter) -> IntArray:
        """Return the positions of the rows of a table that are asked for."""
        return self.chosen_rows.get((table.identity, wanted), lambda: table.choose(wanted))

    def check(
        self, path: Path, options: CheckOptions, environment: Environment
    ) -> tuple[DataReport, RunPrice | None]:
        """Check a data file, and compute what a run over it may cost.

        Raises:
            InputError: It cannot be read, or has no such columns.
            WorkWanted: It takes too long here.
        """
        model = tokens_model(options.model, environment)
        names = names_of_check(self.workspace, path, options, model)
        report = report_of(self.rows("check", *names).head)
        return report, price_of(report, options, environment)
