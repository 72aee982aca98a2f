"""A run in parts, as the page, the HTML file and the Markdown show it: what stands in each is made
here once.

What a row, a model or a person wrote is text in them and nothing else: escaped in HTML, and in
Markdown either in a code span or with every sign that GitHub reads as markup, a mention or a link
written as a character reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ...judges.metrics import CHOICE_METRICS
from ...optimize import BY_GATE
from ...optimize.word_diff import diff_prompts
from ..actions.first_figure import first_figure
from ..actions.flips import BothSides, Flips, flips_of
from ..actions.run_summary import RunSummary
from ..store.run_command import command_of
from ..terminal import visible
from .charts import run_charts
from .first_sentence import first_sentences
from .numbers import BRIEF
from .rendering import open_templates, page_style
from .run_figures import budget_left, figures_of

MOST_FLIPS = 20
"""Of each direction in the file; the count is of all."""
IN_ORDER = ("facts", "benchmark", "slice", "loss", "steps", "gate", "threshold", "closing", "flips")
"""As the run comes to them; a template `run_NAME.html` shows each."""
AFTER_THE_VERDICT = (
    *("gate", "flips", "closing", "threshold", "slice", "loss", "steps", "benchmark", "facts"),
)
"""What a person who decides asks for first."""
MEASURED = ("slice", "loss", "threshold", "closing", "benchmark", "facts")
"""What a run has that only measured: nothing was searched for, and nothing was put to the gate."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of what a run did."""

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
    by_gate = run.decision is None or run.decision.outcome in BY_GATE
    slice_name = run.slice.name if run.slice else ""
    has_closing = run.closing is not None or run.benchmark is not None
    has_flips = bool(run.best and run.best.version)
    gate = "The gate, on the holdout" if by_gate else "How it ended"
    parts = (
        Part("facts", "Data, model, calls", run.started is not None),
        Part("benchmark", "The judge as it was", run.benchmark is not None),
        Part("slice", "The slice", run.slice is not None, slice_name),
        Part("loss", "The loss", run.loss is not None),
        Part("steps", "Steps", run.search_start is not None, f"{len(run.steps)}"),
        Part("gate", gate, run.decision is not None),
        Part("threshold", "The threshold", run.threshold is not None),
        Part("closing", closing, has_closing),
        Part("flips", "Rows that changed sides", has_flips, "on open rows"),
    )
    return {part.name: part for part in parts}


def first_screen(run: RunSummary) -> dict[str, Any]:
    """Return what the figures that stand first name, whatever the run has come to."""
    measured = run.benchmark
    return {
        "figures": figures_of(run),
        "found": first_sentences(first_figure(measured).to_json())[:2] if measured else (),
        "left": budget_left(run),
    }


def values_of(run: RunSummary) -> dict[str, Any]:
    """Return what the templates of the parts name, but for the flips and what grows with steps."""
    among_labels = run.benchmark is not None and "precision" not in run.benchmark["metrics"]
    return {
        "run": run,
        "parts": parts_of(run),
        **first_screen(run),
        "brief": CHOICE_METRICS if among_labels else BRIEF,
        "pictures": run_charts(run, yes_or_no=not among_labels),
    }


def render_html(run: RunSummary, rows: BothSides) -> str:
    """Return the page: style and pictures inside, no script, nothing fetched; the same run gives
    the same page.
    """
    flips = flips_of(rows)
    wrong, right = (
        tuple(flip for flip in flips.rows if flip.direction == which)
        for which in ("became wrong", "became right")
    )
    parts = parts_of(run)
    page = open_templates().get_template("run_alone.html")
    body = page.render(
        _told_everywhere(run, flips),
        **values_of(run),
        order=[name for name in AFTER_THE_VERDICT if parts[name].there],
        style=page_style(),
        simulated=run.simulated,
        rows=flips,
        flips=[*wrong[:MOST_FLIPS], *right[:MOST_FLIPS]],
        steps=_AllOf(run.steps),
        looks=None,
    )
    return f"{body}\n"


def render_markdown(run: RunSummary, rows: BothSides) -> str:
    """Return the Markdown: decision, diff, figures with their intervals, how to run it again."""
    unified = visible(run.before.diff(run.after)) if run.after else ""
    page = open_templates(markup=False).get_template("run.md.j2")
    values = _told_everywhere(run, flips_of(rows))
    return f"{page.render(values, run=run, unified=unified)}\n"


@dataclass(frozen=True, slots=True)
class _AllOf:
    """All items of a list as one page."""

    items: Sequence[Any]
    pages: int = 1


def _told_everywhere(run: RunSummary, flips: Flips) -> Mapping[str, object]:
    """Return what both files say beside the parts."""
    return {
        "made_by": f"Judgewright {version('judgewright')}",
        "command": command_of(run.config),
        "decision": run.decided,
        "diffs": diff_prompts(run.before, run.after) if run.after else (),
        "counted": flips,
    }
