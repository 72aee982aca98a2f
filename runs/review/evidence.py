"""What a run's verdict rests on, part by part: all of it while one looks on, and on demand once
there is a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...judges.metrics import CHOICE_METRICS
from ...optimize import BY_GATE
from ...optimize.events import ProposalRecord, StepTaken
from ...optimize.word_diff import Piece, diff_words
from ..actions.run_summary import RunSummary
from ..reports import charts
from ..reports.search_report import archive_table, describe_origin
from .app_state import AppState
from .paged import Paged

BRIEF = ("precision", "recall", "f1", "kappa")
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    parts = (
        Part(name="facts", title="Data, model, calls", there=run.started is not None),
        Part(name="benchmark", title="The judge as it was", there=run.benchmark is not None),
        Part(
            name="slice",
            title="The slice",
            there=run.slice is not None,
            fact=run.slice.name if run.slice else "",
        ),
        Part(name="loss", title="The loss", there=run.loss is not None),
        Part(
            name="steps",
            title="Steps",
            there=run.search_start is not None,
            fact=f"{len(run.steps)}",
        ),
        Part(name="gate", title=_gate_title(run), there=run.decision is not None),
        Part(name="threshold", title="The threshold", there=run.threshold is not None),
        Part(
            name="closing",
            title="Before and after" if two_sides else "The open rows as they are",
            there=run.closing is not None or run.benchmark is not None,
        ),
        Part(
            name="flips",
            title="Rows that changed sides",
            there=bool(run.best and run.best.version),
            fact="on validation rows",
        ),
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
    steps = Paged(_steps(run), page or str(newest), STEPS_PER_PAGE)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalView:
    """A proposal of a step, with what it changed in the criteria that the run began with."""

    record: ProposalRecord
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, record: ProposalRecord, start: str) -> ProposalView:
        """Compare a proposal with the first prompt's criteria."""
        return cls(
            record=record,
            pieces=() if record.criteria is None else diff_words(start, record.criteria),
        )

    @property
    def origin(self) -> str:
        """In which role it was asked for, and what it did on training rows."""
        return describe_origin(self.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step with its proposals."""

    event: StepTaken
    proposal: ProposalView
    others: tuple[ProposalView, ...]
    """The proposals beside the one that came farthest, which stands for the step."""


def _steps(run: RunSummary) -> list[StepView]:
    start = run.before.criteria
    return [
        StepView(
            event=step,
            proposal=ProposalView.of(step.proposal, start),
            others=tuple(ProposalView.of(other, start) for other in step.others or ()),
        )
        for step in run.steps
    ]
