"""What the gate said of a version of a judge, on which models, and in which run it was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ...judges import JudgePrompt
from ...optimize.events import GateAnswered, GateDecided
from ..store.workspace import Workspace
from .decide import HUNKS, asked_version
from .run_summary import read_run, uncounted

_DECIDING = ("optimize", "gate", "recheck", "queue", HUNKS)
"""Kinds of runs in which the gate may have decided about a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedOn:
    """What the gate said of a version of a judge on one model."""

    model: str
    outcome: str
    simulated: bool
    run: str
    kind: str
    """`optimize`, `gate`, `recheck` or `hunks`."""
    reason: str


def decisions_about(workspace: Workspace, prompt: JudgePrompt) -> Iterator[GatedOn]:
    """Yield every decision of the gate about a version of a judge, oldest run first."""
    decided = (GateDecided.kind, GateAnswered.kind)
    for info in workspace.runs(*_DECIDING, events=decided):
        run = read_run(workspace, info.run_id, uncounted)
        if info.kind == "optimize":
            version = run.best.version if run.best else None
            model, decision = run.started.model if run.started else None, run.decision
        else:
            version = asked_version(info)
            model = run.answer.model if run.answer else None
            decision = run.answer.decision if run.answer else None
        if prompt.known_as(version) and model and decision:
            yield GatedOn(
                model=model,
                outcome=decision.outcome,
                simulated=decision.evidence.simulated if decision.evidence else run.simulated,
                run=info.run_id,
                kind=info.kind,
                reason=decision.reason,
            )


def gated_on(workspace: Workspace, prompt: JudgePrompt) -> tuple[GatedOn, ...]:
    """Return the last decision about a version of a judge for each model it was gated on, in the
    order of models.
    """
    last_decisions = {one.model: one for one in decisions_about(workspace, prompt)}
    return tuple(last_decisions[model] for model in sorted(last_decisions))


def verification(workspace: Workspace, prompt: JudgePrompt) -> dict[str, Any]:  # Any: JSON
    """Say on which models a version was accepted, and that it is unverified on any other.

    Returns:
        `gated_on` (each model's last decision), `verified_on` (models that accepted it) and `note`,
        a sentence for people.
    """
    decisions = gated_on(workspace, prompt)
    accepted = [one for one in decisions if one.outcome == "accepted"]
    name = f"{prompt.name}@{prompt.version}"
    if accepted:
        on = ", ".join(f"{one.model}{' [SIMULATED]' * one.simulated}" for one in accepted)
        note = (
            f"{name} was accepted on {on}; it is unverified on any other model"
            f" (judgewright gate {name} --again --model MODEL)"
        )
    elif decisions:
        models = ", ".join(one.model for one in decisions)
        note = f"{name} was gated on {models} and accepted on none"
    else:
        note = f"{name} was never gated: it is unverified on every model"
    if decisions and prompt.former:
        note += f"; at the gate its cases may have been turns of the chat ({prompt.former})"
    return {
        "gated_on": [asdict(one) for one in decisions],
        "verified_on": [one.model for one in accepted],
        "note": note,
    }


def not_adopted(workspace: Workspace, prompt: JudgePrompt) -> str:
    """Say how the last run that began with a version ended, where nobody adopted what it made;
    empty without such a run.
    """
    for info in reversed(workspace.runs("optimize")):
        run = read_run(workspace, info.run_id, uncounted)
        if run.decision is None or run.before.version != prompt.version:
            continue
        adopted = any(one.verb == "accepted" for one in run.reviews)
        ended = f"run {info.run_id} began with {prompt.name}@{prompt.version}, which is exported"
        return (
            "" if adopted else f"{ended}: it ended {run.decision.outcome}, and nothing is adopted"
        )
    return ""


def provenance(workspace: Workspace, prompt: JudgePrompt) -> dict[str, object]:
    """Say which run found a version, on which model it was gated, and whether that was simulated.

    Of several runs it is the first that the gate accepted, or else the first; a version that was
    composed of hunks was found by the run that gated them.
    """
    gated = [one for one in decisions_about(workspace, prompt) if one.kind in ("optimize", HUNKS)]
    one = min(gated, key=lambda one: one.outcome != "accepted", default=None)
    if one is None:
        return {"run": None, "gated_on": None, "simulated": None, "outcome": "never gated"}
    return {
        "run": one.run,
        "gated_on": one.model,
        "simulated": one.simulated,
        "outcome": one.outcome,
        "reason": one.reason,
    }
