"""What a run found, and what people decided about it."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..judges import (
    Client,
    InputError,
    Judged,
    JudgePrompt,
    JudgewrightError,
    Recorded,
    judge,
    load_prompt,
    split_dataset,
)
from ..optimize import open_rows
from .calls import CallStore
from .journal import RunJournal, list_runs
from .run import RunConfig, optimization
from .workspace import Workspace


def baseline(workspace: Workspace, run_id: str) -> Judged:
    """Return a run's benchmark rows with their verdicts, read from the record; asks no model.

    Raises:
        ModelError: The run stopped before its benchmark was complete.
    """
    info = optimization(workspace, run_id)
    config = RunConfig.from_json(info.config)
    started = next(
        (e.payload for e in RunJournal(workspace.database, info.run_id).events() if e.kind == "started"), None
    )
    if started is None:
        raise InputError(f"run {info.run_id!r} has not begun; resume it first")
    model = Recorded(name=started["model"], endpoint=started["endpoints"][0], simulated=started["simulated"])
    settings = config.settings()
    rows = open_rows(split_dataset(config.dataset(), shares=settings.shares))
    with Client(model, record=CallStore(workspace.database, info.run_id)) as client:
        return judge(config.judge, rows, client, settings=settings.judge, rule=settings.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a finished walk found: the prompts before and after, and the gate's decision as JSON."""

    before: JudgePrompt
    after: JudgePrompt | None
    decision: Mapping[str, Any]  # Any: JSON
    verdicts: tuple[Mapping[str, Any], ...]
    """What people decided since, oldest first."""


def finding(workspace: Workspace, run_id: str) -> Finding:
    """Return what a run found.

    Raises:
        InputError: The run has no decision yet.
    """
    info = optimization(workspace, run_id)
    events = RunJournal(workspace.database, info.run_id).events()
    by_kind = {event.kind: event.payload for event in events}
    if "decision" not in by_kind:
        raise InputError(f"run {info.run_id!r} has no decision yet", hint=f"judgewright runs resume {info.run_id}")
    text = by_kind["survivor"]["prompt"]
    return Finding(
        before=RunConfig.from_json(info.config).judge,
        after=load_prompt(text, origin="the journal") if text else None,
        decision=by_kind["decision"],
        verdicts=tuple(event.payload for event in events if event.kind == "decided"),
    )


def settle(workspace: Workspace, run_id: str, *, adopt: bool, who: str | None, comment: str) -> JudgePrompt | None:
    """Write a person's decision into the run; adopting puts the prompt on the shelf as the current version.

    Returns:
        The adopted prompt; None when it was turned down.

    Raises:
        InputError: There is no prompt to adopt, or the gate did not accept it.
    """
    info = optimization(workspace, run_id)
    found = finding(workspace, run_id)
    if adopt and (found.after is None or not found.decision["accepted"]):
        raise NotAccepted(f"the gate did not accept this prompt: {found.decision['reason']}")
    journal = RunJournal(workspace.database, info.run_id)
    if not any(event.kind == "everything" for event in journal.events()):
        raise InputError(f"run {info.run_id!r} has not finished", hint=f"judgewright runs resume {info.run_id}")
    if found.verdicts:
        last = found.verdicts[-1]
        raise InputError(f"run {info.run_id!r} was already {last['verb']} by {last['who']}")
    payload = {"verb": "accepted" if adopt else "rejected", "who": who or getpass.getuser(), "comment": comment}
    journal.append("decided", payload | {"version": found.after.version if found.after else None})
    if not adopt or found.after is None:
        return None
    config = RunConfig.from_json(info.config)
    note = f"run {info.run_id}, gated on {config.model}: {found.decision['reason']}"
    adopted = replace(found.after, parent=found.before.version, note=note)
    if found.before.version not in {p.version for p in workspace.shelf.versions(found.before.name)}:
        workspace.shelf.keep(found.before, current=False)
    workspace.shelf.keep(adopted)
    if (kept := workspace.shelf.kept_rule(found.before)) and config.rule == kept.rule.to_json():
        # The gate decided under this rule; its calibration is the parent's.
        workspace.shelf.keep_rule(adopted, replace(kept, judge=f"{adopted.name}@{adopted.version}"))
    return adopted


class NotAccepted(JudgewrightError):
    """A check said no: the gate has not accepted this prompt (exit code 1)."""


def provenance(workspace: Workspace, prompt: JudgePrompt) -> dict[str, object]:
    """Say which run found a version, on which model it was gated, and whether that was simulated."""
    runs = list_runs(workspace.database) if workspace.exists else ()
    for info in runs:
        if info.kind != "optimize":
            continue
        events = {e.kind: e.payload for e in RunJournal(workspace.database, info.run_id).events()}
        if events.get("survivor", {}).get("version") == prompt.version and "decision" in events:
            started, decision = events["started"], events["decision"]
            return {
                "run": info.run_id,
                "gated_on": started["model"],
                "simulated": bool(decision.get("simulated")),
                "outcome": decision["outcome"],
                "reason": decision["reason"],
            }
    return {"run": None, "gated_on": None, "simulated": None, "outcome": "never gated"}
