"""A finished run as one page of HTML, and as Markdown for a pull request; both tell the same, decision first.

What a row, a model or a person wrote is text in them and nothing else: escaped in the page, and in Markdown either in a
code span or with every sign that GitHub reads as markup, a mention or a link written as a character reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ...judges.metrics.reliability_bins import bins_of_verdicts
from ...optimize.word_diff import diff_prompts
from ...slices.search_result import CALIBRATION
from ..actions.flips import Flip
from ..terminal import inline, visible
from . import charts
from .gate_sentences import P_MEANS, describe_final, describe_guard, describe_unanswered
from .numbers import number, p_cell
from .terminal_report import METRIC_ORDER, holds_sealed_rows, missed_targets, slice_heading

if TYPE_CHECKING:
    from jinja2 import Environment

    from .run_export import Exported

Payload = Mapping[str, Any]  # Any: JSON out of the journal

MOST_FLIPS = 20
"""Of each direction in the page; the count is of all."""
ROW_CHARACTERS = 4_000
"""Of one text of a row in the page."""
GLANCE = 200
"""Characters of it that show before it is opened."""
_MARKDOWN = re.compile(r"[\\`*_\[\]<#|~@!&$]|(?<=:)//|(?<=www)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A metric on the holdout, before and after, as the gate saw it."""

    role: str
    metric: str
    before: str
    after: str
    change: str
    interval: str
    p: str
    n: str
    groups: str
    state: str
    """For a guard, what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A metric on a set of rows, before and after, each with its interval."""

    metric: str
    before: str
    before_interval: str
    after: str
    after_interval: str
    n: str


def render_html(told: Exported) -> str:
    """Return the page: style and pictures inside, no script, nothing fetched; the same run gives the same page."""
    from markupsafe import Markup

    last, rows = told.last, told.rows
    sides = [last["everything"][name]["pooled"] for name in ("before", "after") if name in last.get("everything", {})]
    drawn = {
        "trajectory": charts.trajectory(told.events),
        "confusion": charts.confusion(*(sides or [last["benchmark"]])),
        "reliability": charts.reliability(
            bins_of_verdicts(rows.before), bins_of_verdicts(rows.after) if rows.after else ()
        ),
    }
    if found := last["slice"]["found"]:
        drawn["slices"] = charts.slices_chart(found)
    pictures = {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704  # an XML writer escaped its text
    flips = [_first(told.flips.only(direction=d)) for d in ("became wrong", "became right")]
    environment = _environment(autoescape=True)
    page = environment.get_template("run.html.j2")
    return page.render(_told(told), charts=pictures, flips=flips, row_characters=ROW_CHARACTERS, glance=GLANCE)


def render_markdown(told: Exported) -> str:
    """Return the Markdown: decision, diff, figures with their intervals, how to run it again."""
    environment = _environment(autoescape=False)
    environment.filters |= {"md": _escape_markdown, "code": _code, "fence": _fence}
    before, after = told.found.before, told.found.after
    unified = before.diff(after) if after else ""
    return environment.get_template("run.md.j2").render(_told(told), unified=visible(unified))


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


def _told(told: Exported) -> dict[str, object]:
    """Return what both pages are made of."""
    last, found = told.last, told.found
    decision = found.decision
    cost = told.calls.known_cost
    return {
        "made_by": f"Judgewright {version('judgewright')}",
        "run": told.run,
        "calls": told.calls,
        "cost": "price unknown" if cost is None else f"${cost:.4f}",
        "command": told.command,
        "name": found.before.name,
        "before": found.before,
        "after": found.after,
        "started": last["started"],
        "split": last["split"],
        "slice": last["slice"],
        "slice_heading": slice_heading(last["slice"]),
        "missed": missed_targets(last["slice"]["found"]),
        "calibration": CALIBRATION,
        "loss": last["loss"],
        "decision": decision,
        "moved": _moved(decision),
        "guarded": [describe_guard(guard) for guard in decision.get("guards", ())] + describe_unanswered(decision),
        "p_means": P_MEANS,
        "decided": told.decided,
        "diffs": diff_prompts(found.before, found.after) if found.after else (),
        "hunks": last.get("hunks"),
        "effect": _effect,
        "steps": [event.payload for event in told.events if event.kind == "step"],
        "first": last["validation"],
        "tables": _tables(last.get("everything", {})),
        "everything": last.get("everything", {}),
        "final_changes": describe_final(last.get("everything", {})),
        "all_rows": holds_sealed_rows(last.get("everything", {})),
        "counted": told.flips,
        "number": number,
    }


def _moved(decision: Payload) -> list[Moved]:
    if not decision.get("target"):
        return []
    target, inside = decision["target"], decision["slice_change"]
    found = [("target", target, target["p"], "")]
    found += [("guard", g["change"], g.get("p"), g["state"]) for g in decision["guards"] if g["change"]]
    found += [("slice", inside, inside["p"], "")] if inside else []
    return [
        Moved(
            role=role,
            metric=c["metric"],
            before=number(c["before"]),
            after=number(c["after"]),
            change=f"{c['difference']:+.3f}",
            interval=_interval(c, "+.3f"),
            p=p_cell(p),
            n=f"{c['n']:,}",
            groups=f"{c['groups']:,}",
            state=state,
        )
        for role, c, p, state in found
    ]


def _tables(everything: Payload) -> list[tuple[str, list[Measured]]]:
    """Return the closing figures: the final rows and all rows after an accept, else the open rows."""
    final = "The figure to report: the final rows, opened after the decision"
    open_rows = "The open rows alone (training and validation); the holdout's figures are the gate's"
    pooled = "All rows, tuned ones included" if holds_sealed_rows(everything) else open_rows
    named = (("final", final), ("pooled", pooled))
    sides = [everything[side] for side in ("before", "after") if side in everything]
    return [(title, _measured([side[key] for side in sides])) for key, title in named if sides and key in sides[0]]


def _measured(sides: Sequence[Payload]) -> list[Measured]:
    names = sides[0]["metrics"]
    ordered = [*(m for m in METRIC_ORDER if m in names), *sorted(set(names) - {*METRIC_ORDER})]
    return [_line(metric, [side["metrics"][metric] for side in sides]) for metric in ordered]


def _line(metric: str, sides: Sequence[Payload]) -> Measured:
    before, after = sides[0], sides[-1] if len(sides) > 1 else None
    return Measured(
        metric=metric,
        before=_value(before),
        before_interval=_interval(before, ".3f"),
        after=_value(after) if after else "",
        after_interval=_interval(after, ".3f") if after else "",
        n=f"{before['n']:,}",
    )


def _value(found: Payload) -> str:
    """Write a figure, or why there is none."""
    return number(found["value"]) if found["value"] is not None else f"n/a ({found.get('reason') or 'not known'})"


def _effect(found: Payload) -> str:
    """Say what a hunk does to the metric: the value with its interval."""
    value = "n/a" if found["value"] is None else f"{found['value']:+.3f}"
    return f"{value} ({_interval(found, '+.3f')})"


def _interval(found: Payload, digits: str) -> str:
    if found["low"] is None or found["high"] is None:
        return "no interval"
    return f"{found['low']:{digits}} to {found['high']:{digits}}"


def _first(flips: Sequence[Flip]) -> tuple[int, Sequence[Flip]]:
    """Return how many flips there are, and those that the page shows."""
    return len(flips), flips[:MOST_FLIPS]


def _escape_markdown(text: str) -> str:
    """Write a text on one line so that Markdown shows it as it is: no markup, no mention, no link."""
    return _MARKDOWN.sub(lambda match: "".join(f"&#{ord(sign)};" for sign in match.group()), inline(text))


def _code(text: str) -> str:
    """Write a short text as a code span, also in a table."""
    return "`" + inline(text).replace("`", "'").replace("|", "\\|") + "`"


def _fence(text: str, language: str) -> str:
    """Write a text as a code block, behind a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"
