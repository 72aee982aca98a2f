"""A plan in the terminal; what the gate could show, in sentences for terminal and page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...judges.reliability import CHURN
from ..actions.decide import OF_HOLDOUT
from ..actions.pilot import ASSUMED_SKILL, MinimumDetectableEffect
from .numbers import NONE
from .printing import say_template

if TYPE_CHECKING:
    from ...optimize.holdout.floors import FloorNeed
    from ...optimize.holdout.power import GuardNeed
    from ..actions.plan import Plan


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
        shows=describe_detectable(planned.detectable, rows),
    )


def describe_detectable(effect: MinimumDetectableEffect, rows: int) -> list[str]:
    """Return a heading and, indented, what the gate could show with the holdout that there is.

    Args:
        effect: The smallest gain, and what guards and floors want.
        rows: All rows of the data file.
    """
    basis = (
        f"{effect.rows:,} holdout rows in {effect.groups:,} groups, look {effect.look}, alpha"
        f" {effect.alpha:.4f}"
    )
    lines = [f"The smallest gain of {effect.metric} that the gate shows with 80 % power ({basis})"]
    if effect.spent:
        lines.append(f"  spent on these rows before: {'; '.join(effect.spent)}")
    if effect.size is None:
        lines.append(f"  not known: {effect.reason}")
    else:
        high = (
            ""
            if effect.high is None
            else f"; {100 * effect.high:.1f} at the upper end of the churn's interval"
        )
        lines.append(f"  {100 * effect.size:.1f} points{high}")
        if effect.high is not None and effect.at_assumed is not None:
            assumed = f"if an edit churns as much as edits often do ({CHURN:.0%})"
            lines.append(f"  {100 * effect.at_assumed:.1f} points {assumed}")
    lines += [f"  {describe_need(need, effect.rows)}" for need in effect.guards]
    more, shown = _describe_more_labels(effect, rows)
    lines.append(
        f"  about {more:,} more labels {shown}:  judgewright label --rows FILE --next {more}"
    )
    lines += [f"  {describe_floor_need(floor, effect.rows)}" for floor in effect.floors]
    churn = effect.churn
    shown = "not known" if churn.value is None else f"{churn.value:.0%}"
    interval = (
        ""
        if churn.low is None or churn.high is None
        else f" (95 % {churn.low:.0%} .. {churn.high:.0%})"
    )
    return [*lines, f"  churn {shown}{interval}: {effect.basis}"]


def detectable_in_words(effect: MinimumDetectableEffect, rows: int) -> list[str]:
    """Return the same as sentences for people who know no option of the command; what it comes to
    is the first.
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
    before = f" They have been looked at {effect.look - 1} times, so the test is stricter now." * (
        effect.look > 1
    )
    sentences.append(
        f"It tests on {effect.rows:,} sealed rows in {effect.groups:,} groups.{before}"
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
    more, shown = _describe_more_labels(effect, rows)
    sentences.append(f"About {more:,} more labels {shown}.")
    if effect.high is None:
        known = (
            f"Nothing is measured yet: this takes a judge that is right about {ASSUMED_SKILL:.0%}"
            " of the time"
        )
    else:
        known = f"This rests on what was measured ({effect.basis})"
    share = "an unknown share" if effect.churn.value is None else f"{effect.churn.value:.0%}"
    sentences.append(
        f"{known}, and new wordings that, beside any gain, swap verdicts back and forth: {share} of"
        " the errors mended and as many others made. The more they swap, the harder a gain is to"
        " see."
    )
    return sentences


def _enough(rows: int, needed: int) -> str:
    return "there are enough" if rows >= needed else "there are too few"


def _describe_more_labels(effect: MinimumDetectableEffect, rows: int) -> tuple[int, str]:
    """Say how many more labels would show what: as many as the guards want, else as many again."""
    lacking = max((need.rows or 0 for need in effect.guards), default=0) - effect.rows
    if lacking > 0:
        more = math.ceil(lacking / OF_HOLDOUT)
        shown = "would let every guard hold where nothing is lost"
    elif effect.size is not None:
        # Twice the rows: the scatter shrinks by the root of two.
        more, shown = rows, f"would bring it to about {100 * effect.size / math.sqrt(2):.1f} points"
    else:
        more, shown = rows, "would show smaller gains"
    return more, shown


def describe_floor_need(need: FloorNeed, rows: int) -> str:
    """Say how many rows a floor wants, beside those there are."""
    named = f"floor {need.metric}={need.floor:g}"
    if need.rows is None:
        value = "not known" if need.value is None else f"{need.value:.3f}"
        return (
            f"{named}: the judge is at {value} now; the floor must be passed before rows can"
            " show it"
        )
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    return (
        f"{named} wants about {need.rows:,} holdout rows of a judge at {need.value:.3f}; {enough}"
        f" {rows:,}"
    )


def describe_need(need: GuardNeed, rows: int) -> str:
    """Say how many rows a guard wants, beside those there are."""
    named = f"guard {need.metric}:-{need.margin:g}"
    if need.rows is None or need.rows_at_half is None:
        return f"{named}: an edit with this churn does not move {need.metric}"
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    half = f"about {need.rows_at_half:,} where half of the margin is lost"
    return (
        f"{named} wants about {need.rows:,} holdout rows where nothing is lost, {half}; {enough}"
        f" {rows:,}"
    )
