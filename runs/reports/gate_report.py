"""The gate's answer for people: what was asked, the decision, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..actions.bench import describe_spending
from ..actions.gate_decision import Gated
from ..terminal import inline, say, say_table
from .gate_sentences import P_MEANS, describe_guard, describe_unanswered
from .numbers import number, p_cell

Payload = Mapping[str, Any]  # Any: JSON
HEAD = ("", "metric", "before", "after", "change", "95 % interval", "p", "n", "groups", "changed")


def say_gated(gated: Gated) -> None:
    """Print an answer of the gate."""
    found = gated.found
    decision = found["decision"]
    simulated = "  [SIMULATED: says nothing about real models]" if found["simulated"] else ""
    by = f" with {inline(found['model'])}" if found["model"] else ""
    say(f"{inline(found['before'])} -> {inline(found['after'])} on {inline(found['data'])}{by}{simulated}")
    say(f"  {found['rows']:,} rows in {found['groups']:,} groups; read as: {inline(found['objective']['read_as'])}")
    for note in (*found["notes"], *found["objective"]["notes"]):
        say(f"  note: {inline(note)}")
    for note in describe_spending(gated.stats) if gated.stats else ():
        say(f"  note: {note}")
    if gated.repeated:
        say(f"  note: the same question was answered in run {gated.run_id}; this is that answer, and no look is spent")
    say(f"\n{decision['outcome'].upper()}: {inline(decision['reason'])}")
    _say_evidence(decision, found)
    say(f"run {gated.run_id}")


def _say_evidence(decision: Payload, found: Payload) -> None:
    target, inside = decision["target"], decision["slice_change"]
    lines = [_line("target", target, target["p"])] if target else []
    lines += [_line(f"guard, {g['state']}", g["change"], g.get("p")) for g in decision["guards"] if g["change"]]
    lines += [_line("slice", inside, inside["p"])] if inside else []
    if lines:
        say_table(HEAD, lines, left=2)
        say(f"  {P_MEANS}")
    if found["slice"]:
        say(f"  slice: {inline(found['slice'])}")
    for guard in decision["guards"]:
        say(f"  {inline(describe_guard(guard))}")
    answered = f"rows answered: {decision['coverage_before']:.1%} before, {decision['coverage_after']:.1%} after"
    if decision["worst_case"] and min(decision["coverage_before"], decision["coverage_after"]) < 1:
        low, high = decision["worst_case"]
        answered += f"; the rest could make the change {low:+.3f} or {high:+.3f}"
    say(f"  {answered}")
    for line in describe_unanswered(decision):
        say(f"  {line}")
    say(f"  look {decision['look']} at this holdout: alpha {decision['alpha']:.4f}")


def _line(role: str, change: Payload, p: float | None) -> tuple[str, ...]:
    interval = "n/a" if change["low"] is None else f"{change['low']:+.3f} .. {change['high']:+.3f}"
    return (
        role,
        change["metric"],
        number(change["before"]),
        number(change["after"]),
        f"{change['difference']:+.3f}",
        interval,
        p_cell(p),
        f"{change['n']:,}",
        f"{change['groups']:,}",
        f"{change['changed_groups']:,}",
    )
