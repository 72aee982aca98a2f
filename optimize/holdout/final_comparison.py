"""What an accepted prompt changed on the final rows, which nobody tuned on and the gate did not use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...judges import Change, JudgedDataset, compare
from ..losses.objective import Objective


def final_changes(before: JudgedDataset, after: JudgedDataset, objective: Objective) -> dict[str, Any]:  # Any: JSON
    """Compare target and guards on the final rows, paired, with their intervals; nothing is decided by them.

    Args:
        before, after: Answers to the final rows.
        objective: Which metrics, and how far a guarded one might have fallen.
    """
    guards = [
        {"metric": guard.metric, "margin": guard.margin, "change": _to_json(compare(guard.metric, before, after))}
        for guard in objective.guards
    ]
    return {"target": _to_json(compare(objective.target, before, after)), "guards": guards}


def _to_json(change: Change | None) -> dict[str, Any] | None:  # Any: JSON
    return None if change is None else asdict(change)
