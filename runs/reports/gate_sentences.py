"""What a decision of the gate rests on, in sentences that the terminal, the page and both files share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .numbers import number, p_cell

Payload = Mapping[str, Any]  # Any: JSON out of the journal

P_MEANS = "p is against no gain; that of a guard against a loss of its margin"
"""What the p-values beside the gate's changes are about."""


def describe_guard(guard: Payload) -> str:
    """Say what a guard allows, the one-sided bound that was tested, and what became of it."""
    low, p = guard["low"], guard.get("p")
    if low is None:
        bound = "has no bound"
    else:
        shown = "" if p is None else f"; p against such a loss: {p_cell(p)}"
        bound = f"is at least {low:+.3f} (one-sided 95 % bound{shown})"
    if guard.get("worst_low") is not None:
        bound += f", or {guard['worst_low']:+.3f} with unanswered rows counted against it"
    state = {"held": "the guard holds", "broken": "the guard is broken"}.get(guard["state"], "that is undecided")
    return f"{guard['metric']} may not fall by {guard['margin']:.3f}; its change {bound}: {state}"


def describe_unanswered(decision: Payload) -> list[str]:
    """Say which rows were asked again, and what those that stayed unanswered on one side make of the target."""
    said = []
    if rounds := decision.get("asked_again"):
        times = "once" if len(rounds) == 1 else f"up to {len(rounds)} times"
        left = f"{rounds[-1]['left']:,} stayed unanswered on a side"
        said.append(f"{rounds[0]['rows']:,} unanswered rows were asked again {times}, on both sides; {left}")
    if decision.get("unanswered"):
        worst = decision["target_worst"]
        change = "the target is undefined"
        if worst is not None:
            change = f"{worst['metric']} changes by {worst['difference']:+.3f} (p {p_cell(worst['p'])})"
        rows = f"{decision['unanswered']:,} rows that one side alone answered"
        said.append(f"with {rows} counted against the new prompt {change}")
    return said


def describe_final(everything: Payload) -> list[str]:
    """Tell the paired changes on the final rows, and each guard that they passed; empty where none were opened."""
    final = everything.get("final_change")
    if final is None:
        return []
    said = [_describe_change(final["target"])] if final["target"] else []
    for guard in final["guards"]:
        change = guard["change"]
        if change is None:
            continue
        told = _describe_change(change)
        if change["difference"] <= -guard["margin"]:
            told += f". The guard is passed there: a loss under {guard['margin']:.3f} was allowed"
        said.append(told)
    return said


def _describe_change(change: Payload) -> str:
    interval = "no interval" if change["low"] is None else f"95 % {change['low']:+.3f} .. {change['high']:+.3f}"
    values = f"{number(change['before'])} -> {number(change['after'])}"
    return f"on the final rows {change['metric']} {values}, {change['difference']:+.3f} paired ({interval})"
