"""What every page works with: the workspace to read, the work a decision starts, and the flips already made out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...judges.metrics.reliability_bins import bins_of_verdicts
from ..actions.flips import Flips, flips_of, validation
from ..actions.run_summary import RunSummary, read_run
from ..config.environment import Environment
from ..reports.charts import reliability
from ..store.workspace import Workspace
from .jobs import JobRunner

if TYPE_CHECKING:
    from jinja2 import Environment as Templates

KEPT_FLIPS = 4
"""Runs whose flips are kept in memory, those looked at last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a run did to its validation rows: the flips, and the reliability curve as SVG."""

    flips: Flips
    reliability: str | None
    """None where the verdicts carry no probability."""


class AppState:
    """The server's hold on one workspace. Reading takes no lock; only `work` writes, with a handle of its own."""

    def __init__(self, root: Path, environment: Environment, templates: Templates) -> None:
        self.root = root
        self.environment = environment
        self.place = Workspace(root)
        self.work = JobRunner()
        self._templates = templates
        self._rows: OrderedDict[str, Rows] = OrderedDict()
        self._rows_lock = Lock()

    def render(self, template: str, **shown: Any) -> str:  # Any: whatever the template names
        """Fill a template."""
        return self._templates.get_template(template).render(work=self.work.piece, busy=self.work.busy, **shown)

    def read(self, run_id: str) -> RunSummary:
        """Read a run as the workspace has it at this moment.

        Raises:
            InputError: There is no such run.
            WorkspaceError: Its journal was edited, or cannot be read.
        """
        return read_run(self.place, run_id)

    def rows(self, run_id: str) -> Rows:
        """Return a run's flips and reliability curve, from memory if the run was looked at lately.

        Raises:
            InputError: The run has chosen no prompt yet, or its data have changed.
        """
        # One at a time: a second visitor waits for the first one's work rather than doing it again.
        with self._rows_lock:
            if run_id not in self._rows:
                self._rows[run_id] = self._read_rows(run_id)
            self._rows.move_to_end(run_id)
            while len(self._rows) > KEPT_FLIPS:
                self._rows.popitem(last=False)
            return self._rows[run_id]

    def _read_rows(self, run_id: str) -> Rows:
        both = validation(self.place, run_id)
        before, after = bins_of_verdicts(both.before), bins_of_verdicts(both.after) if both.after else []
        drawn = reliability(before, after) if any(b.share.n for b in (*before, *after)) else None
        return Rows(flips=flips_of(both), reliability=drawn)

    @contextmanager
    def writing(self) -> Iterator[Workspace]:
        """Open the workspace to write a decision; its lock is given back at the end."""
        with Workspace(self.root) as place:
            yield place

    def close(self) -> None:
        """Let go of the workspace."""
        self.place.close()
