"""How far a run in progress has come: what it is at, what it has spent, and whether somebody still
works on it.
"""

from __future__ import annotations

from typing import Any

from ...judges import InputError
from ...optimize.events import SearchStarted, StepTaken
from ..actions.run_summary import RunSummary
from ..config.environment import parse_budget
from ..reports.numbers import count, price
from ..reports.sentences import step_name
from .app_state import AppState


def progress_of(state: AppState, run: RunSummary) -> dict[str, Any]:
    """Return what the card of a run in progress shows; nothing of one that has ended."""
    if run.record.state != "running":
        return {}
    jobs = [job for job in state.jobs.list() if job.run_id == run.run_id and job.state == "running"]
    return {
        "stage": stage(run),
        "left": budget_left(run),
        "job": jobs[-1] if jobs else None,
    }


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


def budget_left(run: RunSummary) -> str:
    """Say what is left of the run's budget; empty where it has none, or where a price is
    unknown.
    """
    try:
        allowance = parse_budget(run.record.config.get("budget"))
    except InputError:
        return ""
    if allowance.money is not None and run.calls.known_cost is not None:
        return (
            f"{price(max(allowance.money - run.calls.known_cost, 0.0))} of {price(allowance.money)}"
            " left"
        )
    if allowance.tokens is not None:
        return (
            f"{count(max(allowance.tokens - run.calls.tokens, 0))} of {count(allowance.tokens)}"
            " tokens left"
        )
    return ""
