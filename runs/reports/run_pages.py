"""A finished run as one page of HTML, and as Markdown for a pull request; both tell the same,
decision first.

What a row, a model or a person wrote is text in them and nothing else: escaped in the page, and in
Markdown either in a code span or with every sign that GitHub reads as markup, a mention or a link
written as a character reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from ...judges.metrics.reliability_bins import bins_of_verdicts
from ...optimize.events import Json, Remeasured
from ...optimize.word_diff import diff_prompts
from ..actions.flips import Flips, Validation, flips_of
from ..actions.run_summary import RunSummary
from ..store.run_command import command_of
from ..terminal import visible
from .charts import reliability, run_charts
from .gate_sentences import change_cells, describe_evidence, describe_unanswered, gate_changes
from .numbers import NONE, count, interval, number, ordered_metrics, signed
from .rendering import open_templates
from .search_report import archive_table, missed_targets

MOST_FLIPS = 20
"""Of each direction in the page; the count is of all."""
ROW_CHARACTERS = 4_000
"""Of one text of a row in the page."""
GLANCE = 200
"""Characters of it that show before it is opened."""


def render_html(run: RunSummary, rows: Validation) -> str:
    """Return the page: style and pictures inside, no script, nothing fetched; the same run gives
    the same page.
    """
    yes_or_no = rows.before.scale.kind != "choice"  # which has no two sides
    pictures = run_charts(run, yes_or_no=yes_or_no)
    if yes_or_no:
        after = bins_of_verdicts(rows.after) if rows.after else ()
        pictures["reliability"] = reliability(bins_of_verdicts(rows.before), after)
    flips = flips_of(rows)
    page = open_templates().get_template("run.html.j2")
    body = page.render(
        _values(run, flips),
        charts=pictures,
        flips=[flips.only(direction=which) for which in ("became wrong", "became right")],
        most_flips=MOST_FLIPS,
        row_characters=ROW_CHARACTERS,
        glance=GLANCE,
    )
    return f"{body}\n"


def render_markdown(run: RunSummary, rows: Validation) -> str:
    """Return the Markdown: decision, diff, figures with their intervals, how to run it again."""
    unified = run.before.diff(run.after) if run.after else ""
    page = open_templates(markup=False).get_template("run.md.j2")
    return f"{page.render(_values(run, flips_of(rows)), unified=visible(unified))}\n"


def _values(run: RunSummary, flips: Flips) -> dict[str, object]:
    """Return what both pages are made of."""
    evidence, moved, sentences = run.decided.evidence, [], []
    if evidence is not None:
        sentences = describe_evidence(evidence) + describe_unanswered(evidence)
        moved = [change_cells(*change) for change in gate_changes(evidence)]
    return {
        "archive": archive_table(run.best.archive if run.best else None),
        "made_by": f"Judgewright {version('judgewright')}",
        "run": run,
        "command": command_of(run.config),
        "before": run.before,
        "after": run.after,
        "decision": run.decided,
        "evidence": evidence,
        "missed": missed_targets(run.slice.slices) if run.slice else [],
        "moved": moved if evidence and evidence.target else [],
        "guarded": sentences,
        "reviews": [(review, run.review_times[i]) for i, review in enumerate(run.reviews)],
        "diffs": diff_prompts(run.before, run.after) if run.after else (),
        "effect": _effect,
        "tables": _tables(run.closing) if run.closing else [],
        "counted": flips,
    }


def _tables(closing: Remeasured) -> list[tuple[str, list[list[str]]]]:
    """Return the closing figures: the final rows and all rows after an accept, else the open
    rows.
    """
    sides = list(closing.sides.values())
    tables: list[tuple[str, list[list[str]]]] = []
    finals = [side.final for side in sides if side.final is not None]
    if finals:
        tables.append(
            ("The figure to report: the final rows, opened after the decision", _measured(finals))
        )
    title = "The open rows alone (training and validation); the holdout's figures are the gate's"
    if closing.includes_sealed_rows:
        title = "All rows, tuned ones included"
    tables.append((title, _measured([side.pooled for side in sides])))
    return tables


def _measured(sides: Sequence[Json]) -> list[list[str]]:
    """Return a line for each metric: before and after, each with its interval, and n.

    The poorest label of a choice may be another one on either side, which has no figure of it then.
    """
    lines: list[list[str]] = []
    for metric in ordered_metrics({name for side in sides for name in side["metrics"]}):
        cells, estimates = [metric], [side["metrics"].get(metric) for side in sides]
        for estimate in estimates:
            if estimate is None:
                cells += [NONE, NONE]
                continue
            value = number(estimate["value"])
            if estimate["value"] is None:
                value = f"{NONE} ({estimate.get('reason') or 'not known'})"
            cells += [value, interval(estimate, missing="no interval")]
        cells += ["", ""] if len(sides) == 1 else []
        lines.append([*cells, count(next(one["n"] for one in estimates if one))])
    return lines


def _effect(estimate: Json) -> str:
    """Write what a hunk does to the metric: the value with its interval."""
    return f"{signed(estimate['value'])} ({interval(estimate, change=True, missing='no interval')})"
