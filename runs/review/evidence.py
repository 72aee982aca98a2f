"""What a run's verdict rests on, part by part: all of it while one looks on, and on demand once
there is a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...judges.metrics import CHOICE_METRICS
from ...optimize import BY_GATE
from ..actions.run_summary import RunSummary
from ..reports import charts
from ..reports.numbers import BRIEF
from ..reports.search_report import archive_table
from .app_state import AppState
from .paged import Paged

STEPS_PER_PAGE = 10
IN_ORDER = ("facts", "benchmark", "slice", "loss", "steps", "gate", "threshold", "closing", "flips")
"""As the run comes to them; a template `run_NAME.html` shows each."""
AFTER_THE_VERDICT = (
    "gate",
    "flips",
    "closing",
    "threshold",
    "slice",
    "loss",
    "steps",
    "benchmark",
    "facts",
)
"""What a person who decides asks for first."""
MEASURED = ("slice", "loss", "threshold", "closing", "benchmark", "facts")
"""What a run has that only measured: nothing was searched for, and nothing was put to the gate."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the evidence."""

    name: str
    title: str
    there: bool
    """Whether the run has come to it."""
    fact: str = ""
    """What stands beside the title, where the part is folded."""


def parts_of(run: RunSummary) -> dict[str, Part]:
    """Return every part by name, in the order in which a run comes to them."""
    two_sides = run.closing is not None and len(run.closing.sides) == 2
    closing = "Before and after" if two_sides else "The open rows as they are"
    slice_name = run.slice.name if run.slice else ""
    has_closing = run.closing is not None or run.benchmark is not None
    has_flips = bool(run.best and run.best.version)
    parts = (
        Part("facts", "Data, model, calls", run.started is not None),
        Part("benchmark", "The judge as it was", run.benchmark is not None),
        Part("slice", "The slice", run.slice is not None, slice_name),
        Part("loss", "The loss", run.loss is not None),
        Part("steps", "Steps", run.search_start is not None, f"{len(run.steps)}"),
        Part("gate", _gate_title(run), run.decision is not None),
        Part("threshold", "The threshold", run.threshold is not None),
        Part("closing", closing, has_closing),
        Part("flips", "Rows that changed sides", has_flips, "on validation rows"),
    )
    return {part.name: part for part in parts}


def _gate_title(run: RunSummary) -> str:
    by_gate = run.decision is None or run.decision.outcome in BY_GATE
    return "The gate, on the holdout" if by_gate else "How it ended"


def shown_in_parts(state: AppState, run: RunSummary, *, page: str = "") -> dict[str, Any]:
    """Return what the templates of the parts name, but for the flips.

    Args:
        page: The page of the steps that is asked for; unless given the first one, and the last of a
            run under way.
    """
    among_labels = run.benchmark is not None and "precision" not in run.benchmark["metrics"]
    newest = len(run.steps) if run.record.state == "running" else 1
    steps = Paged(run.steps, page or str(newest), STEPS_PER_PAGE)
    return {
        "run": run,
        "parts": parts_of(run),
        "sides": run.closing.sides if run.closing else {},
        "brief": CHOICE_METRICS if among_labels else BRIEF,
        "pictures": charts.run_charts(run, yes_or_no=not among_labels),
        "steps": steps,
        "archive": archive_table(run.best.archive if run.best else None),
        "looks": state.looks(run),
    }
