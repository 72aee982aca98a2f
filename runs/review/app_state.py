"""What every page works with: the workspace to read, its jobs, and the flips already made out."""

from __future__ import annotations

import subprocess
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...judges import Benchmark, InputError, OutputScale
from ...judges.metrics.reliability_bins import bins_of_verdicts
from ...optimize.holdout.ledger import MAX_LOOKS, LookRecord
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ..actions.bench_rows import BenchRows
from ..actions.compare_runs import Comparison
from ..actions.flips import Flips, flips_of, validation
from ..actions.label import LabelSession
from ..actions.run_summary import RunSummary, read_run
from ..actions.run_table import RunLine
from ..actions.work_jobs import start_worker
from ..config.environment import Environment
from ..exports import ExportContext
from ..reports.charts import reliability
from ..store.jobs import Job, JobQueue
from ..store.journal import RunRecord, get_run
from ..store.ledger import HoldoutLedger
from ..store.workspace import Workspace
from .kept import Kept
from .offers import Offer

if TYPE_CHECKING:
    from jinja2 import Environment as Templates

    from ...judges.files import DataReport
    from ..actions.check_data import RunPrice

THREADS = 2
"""Threads that read: few and lasting, because each holds a connection to the database for as long as it lives."""
KEPT_FLIPS = 4
"""Runs whose flips are kept in memory, those looked at last."""
KEPT_LINES = 5_000
"""Lines of the table of runs."""
KEPT_SLICES = 16
"""Columns by whose values a judge was measured."""
KEPT_EXPORTS = 8
"""Versions of judges that were looked at to be handed over."""
KEPT_SESSIONS = 4
"""Annotators at queues, each with the queue's rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a run did to its validation rows: the flips, and the reliability curve as SVG."""

    flips: Flips
    reliability: str | None
    """None where the verdicts carry no probability."""
    labels: OutputScale
    """The scale that people labelled on."""


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

    def __init__(self, root: Path, environment: Environment, templates: Templates) -> None:
        self.root = root
        self.environment = environment
        self.workspace = Workspace(root)
        self.jobs = JobQueue(root, environment.jobs_key)
        self.pool = ThreadPoolExecutor(THREADS, "judgewright-review")
        """Where pages are made."""
        self.closing = False
        """Whether the server is about to stop, so that streams of events end."""
        self.checks: dict[tuple[object, ...], tuple[DataReport, RunPrice | None]] = {}
        """Data files that were checked lately."""
        self._templates = templates
        self.lines = Kept[RunLine](KEPT_LINES)
        self.bench_rows = Kept[BenchRows](KEPT_FLIPS)
        self.slices = Kept[dict[str, Benchmark]](KEPT_SLICES)
        self.comparisons = Kept[Comparison](KEPT_FLIPS)
        self.sessions = Kept[tuple[LabelSession, tuple[str, ...]]](KEPT_SESSIONS)
        self.exports = Kept[ExportContext](KEPT_EXPORTS)
        self.offers = Kept[tuple[Offer, ...]](KEPT_EXPORTS)
        self.labelling = Lock()
        """Held from reading which row is next to keeping its label."""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._workers_lock = Lock()
        self._rows: OrderedDict[str, Rows] = OrderedDict()
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
        words[end:end] = ["--workspace", str(self.jobs.root), "--json"]
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
        if run.split is None:
            return None
        holdout, ledger = run.split.seals["holdout"], HoldoutLedger(self.workspace.database)
        request = LookRequest(holdout=holdout, run_id="", before=run.before.version, after="", purpose="gate", line="")
        look = requested_look(ledger.history(), request)
        left = max(0, MAX_LOOKS - look.number + 1)
        return Looks(records=ledger.looks(holdout), left=left, next_alpha=look.alpha)

    def rows(self, run_id: str) -> Rows:
        """Return a run's flips and reliability curve, from memory if the run was looked at lately.

        Raises:
            InputError: The run has chosen no prompt yet, or its data have changed.
        """
        # One at a time: a second visitor waits for the first one's work rather than doing it again.
        with self._rows_lock:
            if run_id not in self._rows:
                both = validation(self.workspace, self.read(run_id))
                before, after = bins_of_verdicts(both.before), bins_of_verdicts(both.after) if both.after else []
                drawn = reliability(before, after) if any(b.share.n for b in (*before, *after)) else None
                labels = both.before.dataset.labels
                self._rows[run_id] = Rows(flips=flips_of(both), reliability=drawn, labels=labels)
            self._rows.move_to_end(run_id)
            while len(self._rows) > KEPT_FLIPS:
                self._rows.popitem(last=False)
            return self._rows[run_id]

    def seal_stamp(self) -> int:
        """Return what changes when rows are sealed or opened: what is kept of rows is then made anew."""
        return self.workspace.database.read("SELECT count(*) FROM ledger")[0][0] if self.workspace.exists else 0

    def writing(self) -> Workspace:
        """Open the workspace to write a decision; its lock is given back when it is closed."""
        return Workspace(self.root)
