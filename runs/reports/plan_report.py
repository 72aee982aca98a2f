"""What a plan says the gate could show, in sentences for terminal and page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...judges.reliability import CHURN
from ..actions.gate_decision import OF_HOLDOUT
from ..actions.pilot import MinimumDetectableEffect

if TYPE_CHECKING:
    from ...optimize.holdout.floors import FloorNeed
    from ...optimize.holdout.power import GuardNeed


def describe_detectable(effect: MinimumDetectableEffect, rows: int, *, command: bool = True) -> list[str]:
    """Return a heading and, indented, what the gate could show with the holdout that there is.

    Args:
        effect: The smallest gain, and what guards and floors want.
        rows: All rows of the data file.
        command: Whether to name the command that draws rows to label.
    """
    basis = f"{effect.rows:,} holdout rows in {effect.groups:,} groups, look {effect.look}, alpha {effect.alpha:.4f}"
    lines = [f"The smallest gain of {effect.metric} that the gate shows with 80 % power ({basis})"]
    if effect.size is None:
        lines.append(f"  not known: {effect.reason}")
    else:
        high = "" if effect.high is None else f"; {100 * effect.high:.1f} at the upper end of the churn's interval"
        lines.append(f"  {100 * effect.size:.1f} points{high}")
        if effect.high is not None and effect.at_assumed is not None:
            assumed = f"if an edit churns as much as edits often do ({CHURN:.0%})"
            lines.append(f"  {100 * effect.at_assumed:.1f} points {assumed}")
    lines += [f"  {describe_need(need, effect.rows)}" for need in effect.guards]
    more, shown = _describe_more_labels(effect, rows)
    named = f":  judgewright label --rows FILE --next {more}" if command else ""
    lines.append(f"  about {more:,} more labels {shown}{named}")
    lines += [f"  {describe_floor_need(floor, effect.rows)}" for floor in effect.floors]
    churn = effect.churn
    shown = "not known" if churn.value is None else f"{churn.value:.0%}"
    interval = "" if churn.low is None or churn.high is None else f" (95 % {churn.low:.0%} .. {churn.high:.0%})"
    return [*lines, f"  churn {shown}{interval}: {effect.basis}"]


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
        return f"{named}: the judge is at {value} now; the floor must be passed before rows can show it"
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    return f"{named} wants about {need.rows:,} holdout rows of a judge at {need.value:.3f}; {enough} {rows:,}"


def describe_need(need: GuardNeed, rows: int) -> str:
    """Say how many rows a guard wants, beside those there are."""
    named = f"guard {need.metric}:-{need.margin:g}"
    if need.rows is None or need.rows_at_half is None:
        return f"{named}: an edit with this churn does not move {need.metric}"
    enough = "the holdout has" if rows >= need.rows else "too few: the holdout has"
    half = f"about {need.rows_at_half:,} where half of the margin is lost"
    return f"{named} wants about {need.rows:,} holdout rows where nothing is lost, {half}; {enough} {rows:,}"
