"""A finished run as one page of HTML, and as Markdown for a pull request; both tell the same,
decision first.

What a row, a model or a person wrote is text in them and nothing else: escaped in the page, and in
Markdown either in a code span or with every sign that GitHub reads as markup, a mention or a link
written as a character reference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from ...judges.metrics.reliability_bins import bins_of_verdicts
from ...optimize import BY_GATE
from ...optimize.events import Json, Remeasured
from ...optimize.word_diff import diff_prompts
from ...slices.search_result import CALIBRATION
from ..actions.flips import Flip, Flips, Validation, flips_of
from ..actions.run_summary import RunSummary
from ..store.run_command import command_of
from ..terminal import inline, visible
from . import charts
from .gate_sentences import (
    P_MEANS,
    change_cells,
    describe_chance,
    describe_evidence,
    describe_final,
    describe_unanswered,
    gate_changes,
)
from .numbers import NONE, count, interval, moment, number, percent, price, signed
from .search_report import archive_table, describe_origin
from .terminal_report import missed_targets, ordered_metrics, slice_heading

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_FLIPS = 20
"""Of each direction in the page; the count is of all."""
ROW_CHARACTERS = 4_000
"""Of one text of a row in the page."""
GLANCE = 200
"""Characters of it that show before it is opened."""
_MARKDOWN = re.compile(r"[\\`*_\[\]<#|~@!&$]|(?<=:)//|(?<=www)\.", re.IGNORECASE)


def render_html(run: RunSummary, rows: Validation) -> str:
    """Return the page: style and pictures inside, no script, nothing fetched; the same run gives
    the same page.
    """
    from markupsafe import Markup

    sides = [side.pooled for side in run.closing.sides.values()] if run.closing else []
    tables = sides or ([run.benchmark] if run.benchmark else [])
    after = bins_of_verdicts(rows.after) if rows.after else ()
    charts_by_name = {"trajectory": charts.trajectory(run)}
    if rows.before.scale.kind != "choice":  # which has no two sides
        charts_by_name["confusion"] = charts.confusion(*tables)
        charts_by_name["reliability"] = charts.reliability(bins_of_verdicts(rows.before), after)
    if run.slice is not None and run.slice.slices:
        charts_by_name["slices"] = charts.slices_chart(run.slice.slices)
    pictures = {name: Markup(svg) for name, svg in charts_by_name.items()}  # noqa: S704  # an XML writer escaped its text
    flips = flips_of(rows)
    shown: list[tuple[int, Sequence[Flip]]] = []
    for direction in ("became wrong", "became right"):
        chosen = flips.only(direction=direction)
        shown.append((len(chosen), chosen[:MOST_FLIPS]))
    page = _environment(autoescape=True).get_template("run.html.j2")
    return page.render(
        _values(run, flips),
        charts=pictures,
        flips=shown,
        row_characters=ROW_CHARACTERS,
        glance=GLANCE,
    )


def render_markdown(run: RunSummary, rows: Validation) -> str:
    """Return the Markdown: decision, diff, figures with their intervals, how to run it again."""
    environment = _environment(autoescape=False)
    environment.filters |= {"md": _escape_markdown, "code": _code, "fence": _fence}
    unified = run.before.diff(run.after) if run.after else ""
    values = _values(run, flips_of(rows))
    return environment.get_template("run.md.j2").render(values, unified=visible(unified))


def _environment(*, autoescape: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def show(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=autoescape,  # noqa: S701  # Markdown has escapes of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=show,
    )


def _values(run: RunSummary, flips: Flips) -> dict[str, object]:
    """Return what both pages are made of."""
    evidence = run.decided.evidence
    sentences: list[str] = []
    if evidence is not None:
        sentences = describe_evidence(evidence) + describe_unanswered(evidence)
    return {
        "archive": archive_table(run.best.archive if run.best else None),
        "origin": describe_origin,
        "made_by": f"Judgewright {version('judgewright')}",
        "run": run,
        "command": command_of(run.config),
        "name": run.before.name,
        "before": run.before,
        "after": run.after,
        "decision": run.decided,
        "evidence": evidence,
        "slice_heading": slice_heading(run.slice) if run.slice else "",
        "missed": missed_targets(run.slice.slices) if run.slice else [],
        "calibration": CALIBRATION,
        "moved": (
            [change_cells(*change) for change in gate_changes(evidence)]
            if evidence and evidence.target
            else []
        ),
        "guarded": sentences,
        "chance": describe_chance(run.chances),
        "p_means": P_MEANS,
        "by_gate": BY_GATE,
        "reviews": [(review, run.review_times[i]) for i, review in enumerate(run.reviews)],
        "diffs": diff_prompts(run.before, run.after) if run.after else (),
        "effect": _effect,
        "tables": _tables(run.closing) if run.closing else [],
        "final_changes": describe_final(run.closing),
        "counted": flips,
        "number": number,
        "percent": percent,
        "interval": interval,
        "price": price,
        "moment": moment,
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
        cells, known = [metric], [side["metrics"].get(metric) for side in sides]
        for estimate in known:
            cells += (
                [_value(estimate), interval(estimate, missing="no interval")]
                if estimate
                else [NONE, NONE]
            )
        cells += ["", ""] if len(sides) == 1 else []
        lines.append([*cells, count(next(estimate["n"] for estimate in known if estimate))])
    return lines


def _value(estimate: Json) -> str:
    """Write a figure, or why there is none."""
    if estimate["value"] is None:
        return f"{NONE} ({estimate.get('reason') or 'not known'})"
    return number(estimate["value"])


def _effect(estimate: Json) -> str:
    """Write what a hunk does to the metric: the value with its interval."""
    return f"{signed(estimate['value'])} ({interval(estimate, change=True, missing='no interval')})"


def _escape_markdown(text: str) -> str:
    """Write a text on one line so that Markdown shows it as it is: no markup, no mention, no
    link.
    """
    return _MARKDOWN.sub(
        lambda match: "".join(f"&#{ord(sign)};" for sign in match.group()), inline(text)
    )


def _code(text: str) -> str:
    """Write a short text as a code span, also in a table."""
    return "`" + inline(text).replace("`", "'").replace("|", "\\|") + "`"


def _fence(text: str, language: str) -> str:
    """Write a text as a code block, behind a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"
