"""What a run found, and what people decided about it."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import (
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgewrightError,
    WorkspaceError,
    load_prompt,
)
from ...optimize import open_rows, read_objective
from ...optimize.hunks import PromptDiff, split_hunks
from ..store.journal import RunJournal
from ..store.recorded_rows import recorded_verdicts, sealed_split
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .gate_decision import HUNKS, Terms, decisions_about
from .optimize import optimization

GIT_SECONDS = 2.0
"""How long git may take to say who somebody is."""


def baseline(workspace: Workspace, run_id: str) -> JudgedDataset:
    """Return a run's benchmark rows with their verdicts, read from the record; asks no model.

    Raises:
        InputError: The run has not split its rows yet, or they would not be split as they were then.
        ModelError: The run stopped before its benchmark was complete.
    """
    info = optimization(workspace, run_id)
    config = RunConfig.from_json(info.config)
    events = {e.kind: e.payload for e in RunJournal(workspace.database, info.run_id).events()}
    if "split" not in events:
        raise InputError(f"run {info.run_id!r} has not begun; resume it first")
    rows = open_rows(sealed_split(config, events["split"]))
    (judged,) = recorded_verdicts(workspace, info, started=events["started"], prompts=[config.judge], rows=rows)
    return judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a walk found: the prompts before and after, and the gate's decision as JSON."""

    run_id: str
    config: RunConfig
    before: JudgePrompt
    after: JudgePrompt | None
    slice: str
    """The predicate of the slice that was optimized; empty for all rows."""
    decision: Mapping[str, Any]  # Any: JSON
    measured: Mapping[str, Any] | None  # Any: JSON
    """What each hunk does on validation rows; None where that was not measured."""
    finished: bool
    verdicts: tuple[Mapping[str, Any], ...]
    """What people decided since, oldest first."""

    @property
    def terms(self) -> Terms:
        """What the run's gate was asked."""
        config = self.config
        return Terms(
            objective=read_objective(config.objective, target=config.target, guards=config.guards),
            slice=self.slice,
            exclude=config.exclude,
            allow_opened=config.allow_opened,
        )

    def split(self) -> PromptDiff | None:
        """Split the diff into hunks, numbered as the run numbered them; None where there is no new prompt.

        Raises:
            WorkspaceError: The hunks are not those that the run measured.
        """
        if self.after is None:
            return None
        diff = split_hunks(self.before, self.after, most=self.config.hunks or None)
        if self.measured is not None:
            told = [(h["number"], h["part"], tuple(h["old"]), tuple(h["new"])) for h in self.measured["hunks"]]
            if told != [(h.number, h.part, h.old, h.new) for h in diff.hunks]:
                raise WorkspaceError(
                    f"the diff of run {self.run_id} falls into other hunks than the run measured",
                    hint="the program has changed since: start a new run",
                )
        return diff

    def require_open(self) -> None:
        """Make sure that the walk is over and that nobody has decided about it.

        Raises:
            InputError: It is not, or somebody has.
        """
        if not self.finished:
            raise InputError(f"run {self.run_id!r} has not finished", hint=f"judgewright runs resume {self.run_id}")
        if self.verdicts:
            last = self.verdicts[-1]
            raise InputError(f"run {self.run_id!r} was already {last['verb']} by {last['who']}")


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
    text, config = by_kind["survivor"]["prompt"], RunConfig.from_json(info.config)
    named = by_kind.get("slice", {}).get("name", "all rows")
    return Finding(
        run_id=info.run_id,
        config=config,
        before=config.judge,
        after=load_prompt(text, origin="the journal") if text else None,
        slice="" if named == "all rows" else named,
        decision=by_kind["decision"],
        measured=by_kind.get("hunks"),
        finished="everything" in by_kind,
        verdicts=tuple(event.payload for event in events if event.kind == "decided"),
    )


def settle(workspace: Workspace, run_id: str, *, adopt: bool, who: str | None, comment: str) -> JudgePrompt | None:
    """Write a person's decision into the run; adopting puts the prompt on the shelf as the current version.

    Args:
        workspace: Where the run is.
        run_id: A finished run.
        adopt: Whether the prompt is adopted or turned down.
        who: Who decides; see `identity` for who it is unless given.
        comment: Why.

    Returns:
        The adopted prompt; None when it was turned down.

    Raises:
        InputError: The run has not finished, or somebody has decided about it.
        NotAccepted: There is no prompt to adopt, or the gate did not accept it.
    """
    found = finding(workspace, run_id)
    if adopt and (found.after is None or not found.decision["accepted"]):
        raise NotAccepted(f"the gate did not accept this prompt: {found.decision['reason']}")
    workspace.database.claim()
    found = finding(workspace, run_id)  # again: while this waited for its turn, somebody may have decided
    found.require_open()
    if adopt and found.after is not None:
        note = f"run {found.run_id}, gated on {found.config.model}: {found.decision['reason']}"
        return promote_prompt(workspace, found, replace(found.after, note=note), who=who, comment=comment)
    _write_decided(workspace, found, "rejected", found.after, who=who, comment=comment)
    return None


def promote_prompt(
    workspace: Workspace,
    found: Finding,
    prompt: JudgePrompt,
    *,
    who: str | None,
    comment: str,
    about: Mapping[str, Any] | None = None,  # Any: JSON
) -> JudgePrompt:
    """Make a prompt that the gate accepted the current version of its judge, and write into the run who did so.

    Args:
        workspace: Where run and shelf are.
        found: What the run found.
        prompt: Its new prompt, or one composed of its hunks.
        who: Who decides; see `identity` for who it is unless given.
        comment: Why.
        about: What else is to be said of the decision.
    """
    registry, before = workspace.registry, found.before
    adopted = replace(prompt, parent=before.version)
    if before.version not in {p.version for p in registry.versions(before.name)}:
        registry.keep(before, current=False)
    registry.keep(adopted)
    if (kept := registry.kept_rule(before)) and found.config.rule == kept.rule.to_json():
        # The gate decided under this rule; its calibration is the parent's.
        registry.keep_rule(adopted, replace(kept, judge=f"{adopted.name}@{adopted.version}"))
    # The event comes last: cut off before it, the same command can be given again and ends the same.
    _write_decided(workspace, found, "accepted", adopted, who=who, comment=comment, about=about)
    return adopted


def _write_decided(
    workspace: Workspace,
    found: Finding,
    verb: str,
    prompt: JudgePrompt | None,
    *,
    who: str | None,
    comment: str,
    about: Mapping[str, Any] | None = None,  # Any: JSON
) -> None:
    said = {"verb": verb, "who": who or identity(workspace.root), "comment": comment, **(about or {})}
    text = {"version": prompt.version, "prompt": prompt.to_yaml()} if prompt else {"version": None, "prompt": None}
    RunJournal(workspace.database, found.run_id).append("decided", said | text)


def identity(folder: Path) -> str:
    """Say who the person at the keyboard is: what git calls them in this folder, else their user name."""
    name, email = (_ask_git(folder, key) for key in ("user.name", "user.email"))
    return f"{name} <{email}>" if name and email else name or email or getpass.getuser()


def _ask_git(folder: Path, key: str) -> str:
    """Return a value of git's configuration; empty where git is not there, has none, or does not answer."""
    command = ["git", "config", "--get", key]
    try:
        done = subprocess.run(  # noqa: S603  # nothing in it comes from outside
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=GIT_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


class NotAccepted(JudgewrightError):
    """A check said no: the gate has not accepted this prompt (exit code 1)."""


def provenance(workspace: Workspace, prompt: JudgePrompt) -> dict[str, object]:
    """Say which run found a version, on which model it was gated, and whether that was simulated.

    Of several runs it is the first that the gate accepted, or else the first; a version that was composed of hunks
    was found by the run that gated them.
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
