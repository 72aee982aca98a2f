"""Two runs side by side in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from .numbers import interval, number, signed
from .printing import say_template

if TYPE_CHECKING:
    from ..actions.compare_runs import Comparison

HEAD = ("metric", "first", "this", "difference", "95 % interval", "at the same recall")


def say_comparison(comparison: Comparison) -> None:
    """Print how one judge's figures differ from another's on the rows that both judged."""
    lines: list[tuple[str, ...]] = []
    for change, equal in zip(comparison.changes, comparison.equal_gains, strict=True):
        same = "n/a"
        if equal.change:
            spread_at = interval(asdict(equal.change), change=True, missing="no interval")
            same = f"{signed(equal.change.difference)} ({spread_at})"
        spread = interval(asdict(change), change=True, missing="no interval")
        values = (number(change.before), number(change.after), signed(change.difference))
        lines.append((change.metric, *values, spread, same))
    reasons = dict.fromkeys(equal.reason for equal in comparison.equal_gains if equal.reason)
    at_rate = any(equal.held != "recall" for equal in comparison.equal_gains)
    say_template(
        "comparison", found=comparison, head=HEAD, lines=lines, reasons=reasons, at_rate=at_rate
    )
