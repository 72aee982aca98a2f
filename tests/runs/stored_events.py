"""Whole payloads of every kind of event, for tests that care about one or two of their fields."""

from __future__ import annotations

from typing import Any

from judgewright.optimize.events import RunEvent, read_event
from judgewright.runs.actions import RunSummary
from judgewright.runs.store import CallSummary
from judgewright.runs.store.journal import RunRecord

from ..optimize.in_memory import MemoryJournal

OBJECTIVE = {
    "text": "precision",
    "read_as": "Raise precision",
    "target": "precision",
    "guards": [],
    "notes": [],
}
TABLE: dict[str, Any] = {"n": 0, "metrics": {}, "confusion": {}}
PLAIN: dict[str, dict[str, Any]] = {
    "started": {
        "judge": "groundedness@a",
        "rule": "r",
        "data": "rows.jsonl",
        "data_hash": "d",
        "rows": 10,
        "notes": [],
        "model": "simulated",
        "optimizer_model": "simulated",
        "screen_model": None,
        "endpoints": ["simulated:1"],
        "simulated": True,
        "proposer": "textgrad",
        "parts": ["criteria"],
        "candidates": 1,
        "unguided": False,
        "objective": OBJECTIVE,
    },
    "split": {
        "rows": {},
        "merged": 0,
        "seals": {"holdout": "another", "final": "cut"},
        "notes": [],
    },
    "benchmark": TABLE,
    "slice": {"name": "all rows", "why": "asked for", "found": []},
    "loss": {
        "expression": "fp",
        "declares": {},
        "reason": "so",
        "written_by": "person",
        "version": "l",
        "refusals": [],
        "cost_table": [],
    },
    "validation": {"version": "a", "loss": 0.4},
    "step": {"step": 1, "rows": [], "batch_loss": 0.3, "result": "refused"},
    "survivor": {"version": None, "prompt": None},
    "decision": {"accepted": False, "outcome": "refused", "reason": "so"},
    "threshold": {"reason": "so"},
    "everything": {
        "by": None,
        "final_opened": 0,
        "includes_tuned_rows": True,
        "before": {"pooled": TABLE, "by": {}},
    },
    "gated": {
        "before": "judge@a",
        "after": "judge@b",
        "data": "holdout.jsonl",
        "rows": 10,
        "groups": 10,
        "notes": [],
        "objective": OBJECTIVE,
        "slice": "",
        "exclude": [],
        "allow_opened": False,
        "model": "simulated",
        "simulated": True,
        "decision": {"accepted": False, "outcome": "refused", "reason": "so"},
    },
}
EVIDENCE: dict[str, Any] = {
    "target": None,
    "guards": [],
    "slice_change": None,
    "alpha": 0.05,
    "look": 1,
    "n": 10,
    "coverage_before": 1.0,
    "coverage_after": 1.0,
    "worst_case": None,
    "rows_needed": None,
    "simulated": True,
    "veto": None,
    "groups_needed": None,
    "target_worst": None,
    "unanswered": 0,
    "asked_again": [],
}
"""What a decision has beside its outcome, where there was a candidate."""


def stored(kind: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The payload of an event with these fields."""
    return {**PLAIN.get(kind, {}), **changes}


def event(kind: str, changes: dict[str, Any]) -> RunEvent:
    """An event with these fields."""
    read = read_event(kind, stored(kind, changes))
    assert read is not None
    return read


def run_of(*pairs: tuple[str, dict[str, Any]], calls: CallSummary | None = None) -> RunSummary:
    """A run that wrote these events."""
    journal = MemoryJournal()
    for kind, changes in pairs:
        journal.record(kind, stored(kind, changes))
    at = "2026-11-22T08:00:00.000000+00:00"
    record = RunRecord(
        run_id="r",
        kind="optimize",
        state="done",
        config={},
        created=at,
        updated=at,
        pid=1,
        host="here",
    )
    return RunSummary(record=record, events=journal.events(), calls=calls or CallSummary())
