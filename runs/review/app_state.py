"""What every page works with: the workspace to read, the job a decision starts, and the flips already made out."""

from __future__ import annotations

from collections import OrderedDict
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
from ..config.environment import Environment
from ..reports.charts import reliability
from ..store.journal import RunRecord, get_run
from ..store.ledger import HoldoutLedger
from ..store.workspace import Workspace
from .jobs import JobRunner
from .kept import Kept

if TYPE_CHECKING:
    from jinja2 import Environment as Templates

KEPT_FLIPS = 4
"""Runs whose flips are kept in memory, those looked at last."""
KEPT_LINES = 5_000
"""Lines of the table of runs."""
KEPT_SLICES = 16
"""Columns by whose values a judge was measured."""
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
    """The server's hold on one workspace. Reading takes no lock; only `jobs` write, with a handle of its own."""

    def __init__(self, root: Path, environment: Environment, templates: Templates) -> None:
        self.root = root
        self.environment = environment
        self.workspace = Workspace(root)
        self.jobs = JobRunner()
        self._templates = templates
        self.lines = Kept[RunLine](KEPT_LINES)
        self.bench_rows = Kept[BenchRows](KEPT_FLIPS)
        self.slices = Kept[dict[str, Benchmark]](KEPT_SLICES)
        self.comparisons = Kept[Comparison](KEPT_FLIPS)
        self.sessions = Kept[tuple[LabelSession, tuple[str, ...]]](KEPT_SESSIONS)
        self.labelling = Lock()
        """Held from reading which row is next to keeping its label."""
        self._rows: OrderedDict[str, Rows] = OrderedDict()
        self._rows_lock = Lock()

    def render(self, template: str, **shown: Any) -> str:  # Any: whatever the template names
        """Fill a template."""
        return self._templates.get_template(template).render(job=self.jobs.job, busy=self.jobs.busy, **shown)

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
