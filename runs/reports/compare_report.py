"""Two runs side by side in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ..terminal import inline, say, say_table
from .numbers import interval, number, signed

if TYPE_CHECKING:
    from ..actions.compare_runs import Comparison


def say_comparison(found: Comparison) -> None:
    """Print how one judge's figures differ from another's on the rows that both judged."""
    say(f"{inline(found.after)}\n  beside {inline(found.before)}")
    say(
        f"  on {found.n:,} labelled rows that both judged, in {found.groups:,} groups: "
        f"{found.flips.right:,} became right, {found.flips.wrong:,} became wrong"
    )
    lines: list[tuple[str, ...]] = []
    for change, equal in zip(found.changes, found.equal_gains, strict=True):
        same = "n/a"
        if equal.change:
            left = interval(asdict(equal.change), change=True, missing="no interval")
            same = f"{signed(equal.change.difference)} ({left})"
        span = interval(asdict(change), change=True, missing="no interval")
        values = (number(change.before), number(change.after), signed(change.difference))
        lines.append((change.metric, *values, span, same))
    head = ("metric", "first", "this", "difference", "95 % interval", "at the same recall")
    say_table(head, lines)
    if any(equal.held != "recall" for equal in found.equal_gains):
        say("  recall itself is held at the same false positive rate")
    for reason in dict.fromkeys(equal.reason for equal in found.equal_gains if equal.reason):
        say(f"  n/a: {inline(reason)}")
    for note in found.notes:
        say(f"  note: {inline(note)}")
    say("  Whether a judge may replace another is the gate's to say, on rows that nobody tuned on.")
