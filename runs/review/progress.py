"""How far a run in progress has come: what it is at, what it has spent, and whether somebody still
works on it.
"""

from __future__ import annotations

from typing import Any

from ...optimize.events import SearchStarted, StepTaken
from ..actions.run_summary import RunSummary
from ..reports.run_figures import budget_left
from ..reports.sentences import step_name
from ..store.calls import CallStore
from .app_state import AppState


def progress_of(state: AppState, run: RunSummary) -> dict[str, Any]:
    """Return what the card of a run in progress shows, or of one that stopped before its end."""
    if run.record.state == "done":
        return {}
    jobs = [job for job in state.jobs.list() if job.run_id == run.run_id]
    if run.record.state == "running":
        working = [job for job in jobs if job.state == "running"]
        job = working[-1] if working else None
        return {"stage": stage(run), "left": budget_left(run), "job": job}
    why = jobs[-1].message if jobs and not jobs[-1].open else ""
    if not why and run.calls.failed:
        why = CallStore(state.workspace.database, run.run_id).last_failure()
    return {"why_stopped": why}


def stage(run: RunSummary) -> str:
    """Name what a run in progress is at, after the last event it wrote."""
    kind = run.events[-1].kind if run.events else ""
    if kind in (SearchStarted.kind, StepTaken.kind):
        last = run.steps[-1] if run.steps else None
        return f"writing prompts; the last was {step_name(last)}" if last else "writing prompts"
    return _NEXT.get(kind, "at work")


_NEXT = {
    "": "starting",
    "started": "splitting the rows",
    "split": "measuring the judge as it is",
    "benchmark": "searching for the slice",
    "slice": "writing the loss",
    "chance": "the gate is judging the holdout",
    "loss": "writing prompts",
    "survivor": "the gate is judging the holdout",
    "decision": "measuring everything again",
    "threshold": "searching for the slice",
}
