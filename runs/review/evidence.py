"""The gate's evidence in sentences, and what its holdout can still tell."""

from __future__ import annotations

from dataclasses import dataclass

from ...optimize.events import DecisionRecord, Json, RowsSplit
from ...optimize.holdout.ledger import MAX_LOOKS, LookRecord
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ..actions.run_summary import RunSummary
from ..reports.gate_sentences import describe_guard, describe_unanswered
from ..reports.numbers import count, interval, number, p_value, percent, signed
from ..store.ledger import HoldoutLedger
from ..store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """The looks at a run's holdout, and what the next one would be."""

    records: tuple[LookRecord, ...]
    left: int
    """Looks that are left for prompts tried against the one this run began with."""
    next_alpha: float
    """What the next of them would be tested at."""


def looks_at(place: Workspace, run: RunSummary, split: RowsSplit) -> Looks:
    """Count the looks at a run's holdout, those at other holdouts with its rows and measured prompts among them."""
    holdout = split.seals["holdout"]
    ledger = HoldoutLedger(place.database)
    records = ledger.looks(holdout)
    before = run.before.version
    request = LookRequest(holdout=holdout, run_id="", before=before, after="", purpose="gate", line="")
    look = requested_look(ledger.history(), request)
    return Looks(records=records, left=max(0, MAX_LOOKS - look.number + 1), next_alpha=look.alpha)


def gate_sentences(decision: DecisionRecord) -> list[str]:
    """Say what the gate saw, the change it decided on first."""
    evidence = decision.evidence
    if evidence is None:
        return []
    lines = []
    if evidence.target:
        lines.append(f"{_describe(evidence.target)}.")
    lines += [f"{describe_guard(guard)}." for guard in evidence.guards]
    if evidence.slice_change:
        lines.append(f"On the slice that was optimized, {_describe(evidence.slice_change)}.")
    if evidence.veto:
        lines.append(f"Where {evidence.veto}, more verdicts went wrong than were mended: that is a veto.")
    before, after = percent(evidence.coverage_before), percent(evidence.coverage_after)
    lines.append(f"{before} of the rows were answered before, {after} after.")
    lines += [f"{line[0].upper()}{line[1:]}." for line in describe_unanswered(evidence)]
    alpha = number(evidence.alpha, 4)
    lines.append(f"It was look {evidence.look} at this holdout, tested at alpha = {alpha}.")
    return lines


def _describe(change: Json) -> str:
    spread = interval(change, change=True)
    return (
        f"{change['metric']} went from {number(change['before'])} to {number(change['after'])}: "
        f"{signed(change['difference'])} (95 % interval {spread}, p {p_value(change['p'])}) "
        f"on {count(change['n'])} rows in {count(change['groups'])} groups"
    )
