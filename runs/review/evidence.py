"""The gate's evidence in sentences, and what its holdout can still tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...optimize.holdout.ledger import MAX_LOOKS, LookRecord, LookRequest, requested_look
from ..reports.gate_sentences import describe_guard, describe_unanswered
from ..reports.numbers import number
from ..store.ledger import HoldoutLedger
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .app_state import RunView
from .rendering import interval, p_value, signed

Payload = Mapping[str, Any]  # Any: JSON out of the journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """The looks at a run's holdout, and what the next one would be."""

    records: tuple[LookRecord, ...]
    left: int
    """Looks that are left for prompts tried against the one this run began with."""
    next_alpha: float
    """What the next of them would be tested at."""


def looks_at(place: Workspace, view: RunView) -> Looks:
    """Count the looks at a run's holdout, those at other holdouts with its rows and measured prompts among them."""
    holdout = view.last["split"]["seals"]["holdout"]
    ledger = HoldoutLedger(place.database)
    records = ledger.looks(holdout)
    before = RunConfig.from_json(view.info.config).judge.version
    request = LookRequest(holdout=holdout, run_id="", before=before, after="", purpose="gate", line="")
    look = requested_look(ledger.history(), request)
    return Looks(records=records, left=max(0, MAX_LOOKS - look.number + 1), next_alpha=look.alpha)


def gate_sentences(decision: Payload) -> list[str]:
    """Say what the gate saw, the change it decided on first."""
    said = []
    if target := decision.get("target"):
        said.append(f"{_change(target)}.")
    for guard in decision.get("guards", ()):
        said.append(f"{describe_guard(guard)}.")
    if inside := decision.get("slice_change"):
        said.append(f"On the slice that was optimized, {_change(inside)}.")
    if decision.get("veto"):
        said.append(f"Where {decision['veto']}, more verdicts went wrong than were mended: that is a veto.")
    if "coverage_before" in decision:
        said.append(
            f"{decision['coverage_before']:.1%} of the rows were answered before, "
            f"{decision['coverage_after']:.1%} after."
        )
        said += [f"{line[0].upper()}{line[1:]}." for line in describe_unanswered(decision)]
        said.append(f"It was look {decision['look']} at this holdout, tested at alpha = {decision['alpha']:.4f}.")
    return said


def _change(change: Payload) -> str:
    return (
        f"{change['metric']} went from {number(change['before'])} to {number(change['after'])}: "
        f"{signed(change['difference'])} (95 % interval {interval(change, change=True)}, p {p_value(change['p'])}) "
        f"on {change['n']:,} rows in {change['groups']:,} groups"
    )
