"""Gather what an export says of a judge: its prompt, its rule, and where it was gated."""

from __future__ import annotations

from ...judges import JudgePrompt
from ..exports import ExportContext
from ..store.workspace import Workspace
from .gate_decision import provenance, verification


def export_context(workspace: Workspace, prompt: JudgePrompt) -> ExportContext:
    """Return what an export of a judge is written from."""
    origin = {**provenance(workspace, prompt), "verification": verification(workspace, prompt)}
    kept = workspace.registry.kept_rule(prompt)
    return ExportContext(prompt=prompt, rule=kept.rule if kept else prompt.rule, provenance=origin)
