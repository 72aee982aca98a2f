"""A fitted decision rule as tables for a terminal: threshold, metrics and reliability curve before
and after.
"""

from __future__ import annotations

from ...judges import Estimate
from ...judges.metrics.reliability_bins import Bin
from ..actions.calibrate import CalibrationRun
from ..terminal import inline, say, say_table, simulated_mark
from .numbers import number, span
from .terminal_report import say_undefined


def say_calibration(result: CalibrationRun, *, title: str) -> None:
    """Print a fitted rule: the threshold, the metrics and the reliability curve before and
    after.
    """
    found, kept = result.calibrated, result.kept
    say(f"\n{inline(title)}{simulated_mark(kept.simulated)}")
    say(f"  fitted on {kept.rows:,} rows in {found.before.groups:,} groups")
    say(f"  threshold: {kept.asked_at:g} -> {found.rule.threshold:g}, for the best {found.metric}")
    say(f"  confidence: {kept.confidence}, calibration: {found.method}")
    lines = [
        (name, *_cells(before), *_cells(after)) for name, (before, after) in found.shown().items()
    ]
    say_table(("metric", "before", "95 % interval", "n", "after", "95 % interval", "n"), lines)
    shown = found.shown().items()
    say_undefined(
        (name, side.to_json()) for name, sides in shown for side in sides if side is not None
    )
    say(
        f"  after: cross-fitted in {found.folds} folds of groups; no row is decided by a rule its"
        " group helped to fit"
    )
    if found.change is not None:
        c = found.change
        interval = (
            "no interval" if c.low is None else f"95 % interval {c.low:+.3f} .. {c.high:+.3f}"
        )
        say(
            f"  {c.metric} moves by {c.difference:+.3f} ({interval}, n = {c.n:,} in {c.groups:,}"
            " groups)"
        )
        if c.difference < 0:
            say(
                f"  note: {c.metric} fell on groups the rule had not seen; the old threshold may be"
                " the better one"
            )
    before, after = result.reliability
    if before:
        say(
            "\n  reliability: how often people say yes where the judge gives this probability"
            " of yes"
        )
        head = (
            "probability",
            "n before",
            "mean",
            "people",
            "95 % interval",
            "n after",
            "mean",
            "people",
        )
        lines = []
        for old, new in zip(before, after, strict=True):
            if old.share.n or new.share.n:
                lines.append(
                    (f"{old.low:.1f} .. {old.high:.1f}", *_bin_cells(old), *_bin_cells(new))
                )
        say_table((*head, "95 % interval"), lines)
    for note in found.notes:
        say(f"  note: {inline(note)}")
    say(
        f"\nrule {found.rule.version} written to {result.path}; it decides for this judge until you"
        " delete it"
    )


def _cells(estimate: Estimate | None) -> tuple[str, str, str]:
    if estimate is None:
        return "n/a", "", ""
    return number(estimate.value), span(estimate), f"{estimate.n:,}"


def _bin_cells(one: Bin) -> tuple[str, ...]:
    value, interval, n = _cells(one.share)
    return (n, number(one.probability), value, interval) if one.share.n else ("0", "", "", "")
