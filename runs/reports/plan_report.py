"""A plan in the terminal; what the gate could show, in sentences for terminal and page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...judges.reliability import CHURN
from ..actions.detectable_gain import ASSUMED_SKILL, MinimumDetectableEffect
from ..actions.labels_needed import OF_HOLDOUT
from .numbers import NONE
from .printing import say_template

if TYPE_CHECKING:
    from ..actions.plan import Plan

MOST_TIMES = 3
"""More labels for a guard are named up to so many times those there are."""


def say_plan(planned: Plan) -> None:
    """Print a plan: what is asked, what it costs, what it could show."""
    spans = {"calls": planned.calls, "tokens": planned.tokens, "dollars": planned.money}
    takes: list[list[str]] = []
    for name, span in spans.items():
        form = ",.4f" if name == "dollars" else ",.0f"
        ends = (span.likely, span.at_most)
        takes.append([name, *(NONE if end is None else format(end, form) for end in ends)])
    rows = sum(planned.sizes.values())
    say_template(
        "plan",
        planned=planned,
        rows=rows,
        sizes=", ".join(f"{part} {size:,}" for part, size in planned.sizes.items()),
        takes=takes,
        unclear=dict.fromkeys(span.reason for span in spans.values() if span.reason),
        lines=[(x.what, x.who, f"{x.likely:,.0f}", f"{x.calls:,}") for x in planned.lines],
        shows=detectable_in_words(planned.detectable, rows),
        more=more_labels(planned.detectable, rows),
    )


def detectable_in_words(effect: MinimumDetectableEffect, rows: int) -> list[str]:
    """Say what the gate could show with the holdout that there is; what it comes to is the first.

    Args:
        effect: The smallest gain, and what guards and floors want.
        rows: All rows of the data file.
    """
    if effect.size is None:
        sentences = [
            f"Which gain of {effect.metric} the gate could show is not known: {effect.reason}."
        ]
    else:
        sentences = [
            f"Four times in five the gate would notice that {effect.metric} rose by"
            f" {100 * effect.size:.1f} points or more; a smaller gain is likely to stay undecided."
        ]
    before = ""
    if effect.look > 1:
        spent = "; ".join(effect.spent) or f"{effect.look - 1} looks"
        before = (
            f"; spent on these rows before: {spent}, so that the test is stricter (look"
            f" {effect.look}, significance level {effect.alpha:.4f})"
        )
    sentences.append(
        f"It tests on {effect.rows:,} sealed rows in {effect.groups:,} groups{before}."
    )
    for need in effect.guards:
        if need.rows is None or need.rows_at_half is None:
            sentences.append(f"{need.metric.capitalize()} is not expected to move.")
            continue
        sentences.append(
            f"To be sure that {need.metric} falls by at most {100 * need.margin:g} points it needs"
            f" about {need.rows:,} sealed rows if {need.metric} does not fall at all:"
            f" {_enough(effect.rows, need.rows)}. If it falls by half of that it needs"
            f" {need.rows_at_half:,}: {_enough(effect.rows, need.rows_at_half)}."
        )
    for floor in effect.floors:
        if floor.rows is None:
            sentences.append(
                f"The judge is below {floor.floor:g} of {floor.metric} now, and must first rise"
                " above it."
            )
        else:
            sentences.append(
                f"To be sure that {floor.metric} is {floor.floor:g} or more it needs about"
                f" {floor.rows:,} sealed rows: {_enough(effect.rows, floor.rows)}."
            )
    sentences.append(f"About {more_labels(effect, rows):,} more labels {_more_show(effect, rows)}.")
    if effect.known:
        basis = f"This rests on what was measured ({effect.known})"
    else:
        basis = (
            f"Nothing is measured yet: this takes a judge that is right about {ASSUMED_SKILL:.0%}"
            " of the time"
        )
    sentences.append(
        f"{basis}, and new wordings that, beside any gain, swap verdicts back and forth:"
        f" {CHURN:.0%} of the errors mended and as many others made. The more they swap, the harder"
        " a gain is to see."
    )
    return sentences


def _enough(rows: int, needed: int) -> str:
    return "there are enough" if rows >= needed else "there are too few"


def more_labels(effect: MinimumDetectableEffect, rows: int) -> int:
    """Count the labels that would show more: as many as the guards want, else as many again."""
    return _for_guards(effect, rows) or rows


def _for_guards(effect: MinimumDetectableEffect, rows: int) -> int:
    """Count the labels that the guards want; 0 where they want none, or so many that a looser guard
    is nearer.
    """
    lacking = max((need.rows or 0 for need in effect.guards), default=0) - effect.rows
    more = math.ceil(lacking / OF_HOLDOUT)
    return more if 0 < more <= MOST_TIMES * rows else 0


def _more_show(effect: MinimumDetectableEffect, rows: int) -> str:
    if _for_guards(effect, rows):
        return "would let every guard hold where nothing is lost"
    if effect.size is None:
        return "would show smaller gains"
    # Twice the rows: the scatter shrinks by the root of two.
    return f"would bring it to about {100 * effect.size / math.sqrt(2):.1f} points"
