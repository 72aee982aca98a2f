"""Gather what an export says of a judge, write it, verify it in its tool, and store it in the
tool's registry.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...judges import DecisionRule, InputError, JudgePrompt, JudgeSettings
from ...judges.asked_question import verdict_scale
from ...judges.models.question import DecisionApi
from ..config.command_options import RoleOptions, RowOptions
from ..config.environment import Environment
from ..config.tools_file import EXAMPLE, ToolEntry, hide_password, read_tools
from ..exports import (
    TARGETS,
    Export,
    ExportContext,
    Target,
    Verification,
    push_export,
    request_settings,
    stem,
    verify_export,
    write_export,
)
from ..store.banks import banks_of
from ..store.bench_config import read_rows
from ..store.journal import get_run
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .decide import HUNKS
from .verification import provenance, verification

CONFIGURED = ""
"""In place of a registry's address: the one of the user's `tools.yaml`."""
MOST_ROWS = 100
"""Of a person's own rows."""


def read_inputs(prompt: JudgePrompt, data: Path, roles: RoleOptions) -> list[Mapping[str, str]]:
    """Return the inputs of the first rows of a data file.

    Raises:
        InputError: The file cannot be read, or lacks an input.
    """
    options = RowOptions(**vars(roles), limit=MOST_ROWS)
    rows = read_rows(prompt, data, options, require_labels=False)
    return [row.inputs for row in rows.rows]


def export_context(
    workspace: Workspace, prompt: JudgePrompt, *, api: DecisionApi | None = None
) -> ExportContext:
    """Return what an export of a judge is written from.

    Args:
        workspace: Has its runs and its kept rules.
        api: The interface of the decision model that is to be asked; None for chat models.

    Raises:
        InputError: The judge's kept cut is of another interface.
    """
    origin = {**provenance(workspace, prompt), "verification": verification(workspace, prompt)}
    kept_rule = workspace.registry.kept_rule(prompt, decides=api is not None)
    if api is not None and kept_rule is not None and kept_rule.api != api:
        raise InputError(
            f"the cut that is kept for {prompt.name}@{prompt.version} was chosen on"
            f" {kept_rule.model} ({kept_rule.api}), not on {api}",
            hint=f"--api {kept_rule.api}, or choose a cut on the other: judgewright calibrate",
        )
    origin["rule_fitted_on"] = kept_rule.fitted_on if kept_rule else None
    rule, request = prompt.rule, None
    if api is not None:
        rule = DecisionRule(threshold=verdict_scale(prompt.scale).threshold)
    if api is None or prompt.cascade is not None:
        request = _request_of(workspace, origin["run"], prompt)
    rule = kept_rule.rule if kept_rule else rule
    return ExportContext(prompt=prompt, rule=rule, provenance=origin, api=api, asked=request)


def _request_of(
    workspace: Workspace, run_id: object, prompt: JudgePrompt
) -> dict[str, Any] | None:  # Any: JSON
    """Return what a run that gated a judge sent beside model and messages, of a cascade what it
    sent the slow model; None where no run did.
    """
    if not isinstance(run_id, str):
        return None
    record = get_run(workspace.database, run_id)
    if record.kind == HUNKS:
        record = get_run(workspace.database, record.config["question"]["of"])
    config = RunConfig.from_json(record.config, banks_of(workspace))
    settings = JudgeSettings(max_tokens=config.max_tokens)
    model = config.model if prompt.cascade is None else prompt.cascade.model
    return request_settings(prompt, settings, config.settings_of(model))


def tool_entry(environment: Environment, target: Target) -> ToolEntry:
    """Return what the user's `tools.yaml` says of a target's tool; nothing where it does not name
    it.

    Raises:
        InputError: The file cannot be used, or names a tool that there is not.
    """
    entries = read_tools(environment.tools)
    if unknown := sorted(entries.keys() - TARGETS.keys()):
        raise InputError(
            f"{environment.tools}: {unknown[0]!r} is no export target", hint=", ".join(TARGETS)
        )
    return entries.get(target.name, ToolEntry())


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """What was done with an export."""

    manifest: Mapping[str, Any]  # Any: JSON
    verified: Verification | None
    pushed: Mapping[str, str] | None
    """Where to, and what it is called there; None where nothing was pushed."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `export --json` prints of it."""
        pushed = {"pushed": dict(self.pushed)} if self.pushed else {}
        body: dict[str, Any] = {"manifest": {**self.manifest, **pushed}}
        if self.verified is not None:
            body["verified"] = {"passed": self.verified.passed, **asdict(self.verified)}
        return body


def hand_over(
    context: ExportContext,
    target: Target,
    out: Path | None,
    *,
    environment: Environment,
    force: bool = False,
    verify: bool = False,
    push: str | None = None,
    interpreter: str | None = None,
) -> HandOver:
    """Write an export, and where asked load it in its tool and push it; what is not verified then
    is not pushed.

    Args:
        out: Where to; a folder that is removed again unless given.
        environment: Whose `tools.yaml` says where tools and registries are.
        force: Whether to overwrite what is there.
        verify: Whether to load it in the tool.
        push: The registry that it is stored in, or `CONFIGURED`; None to store it nowhere.
        interpreter: The Python, or node, that has the tool; that of `tools.yaml`, or our own,
            unless given.

    Raises:
        Refused: The tool cannot carry the judge.
        InputError: The tool has no registry, or none is named; or the export cannot be written or
            loaded.
        ModelError: The registry refused, or could not be reached.
    """
    entry = tool_entry(environment, target)
    program = interpreter or entry.program
    registry = entry.registry if push == CONFIGURED else push
    if push is not None and (target.push is None or not registry):
        raise InputError(
            f"no registry is named for {target.name}", hint=f"in {environment.tools}: {EXAMPLE}"
        )
    if push is not None and context.api is not None:
        raise InputError("a registry keeps prompts of chat models, and no questions")
    if verify and target.check is None:
        raise InputError(f"there is no tool to load an export for {target.name!r} in")
    with tempfile.TemporaryDirectory() as scratch:
        written = write_export(context, target, out or Path(scratch) / "export", force=force)
        folder = written.folder if out is None or out.is_dir() else out
        verified = verify_export(folder, TARGETS, interpreter=program) if verify else None
        if not registry or push is None or (verified is not None and not verified.passed):
            return HandOver(manifest=written.body, verified=verified, pushed=None)
        return HandOver(
            manifest=written.body,
            verified=verified,
            pushed=_push(written, context, target, registry, program),
        )


def _push(
    export: Export, context: ExportContext, target: Target, registry: str, interpreter: str | None
) -> dict[str, str]:
    name = push_export(
        export.folder, stem(context.prompt), target, registry, interpreter=interpreter
    )
    return {"to": hide_password(registry), "as": name}
