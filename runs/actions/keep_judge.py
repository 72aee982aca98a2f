"""Keep a judge that came from outside, and move what its name means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...judges import InputError, JudgePrompt
from ..store.banks import keep_banks
from ..store.workspace import Workspace
from .verification import verification


def keep_judge(workspace: Workspace, prompt: JudgePrompt, out: Path | None) -> tuple[str, str]:
    """Keep the judge; return where it stands, and what commands call it.

    A judge of that name keeps its current version: what comes from outside never changes what a
    name means.
    """
    if out is not None:
        prompt.write(out)
        return str(out), str(out)
    keep_banks(workspace, prompt)
    registry = workspace.registry
    taken = prompt.name in registry.names()
    path = str(registry.keep(prompt, current=not taken))
    return path, f"{prompt.name}@{prompt.version}" if taken else prompt.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A name that now means another version."""

    name: str
    version: str
    before: str
    """The version that it meant."""
    note: str
    """On which models the version was accepted."""


def make_current(workspace: Workspace, spec: str, *, expected: str | None = None) -> Moved:
    """Make a version what its judge's name means; the version that it meant stays registered.

    Args:
        spec: `name@version`.
        expected: The version that the name is thought to mean; another one is a decision that
            somebody made meanwhile.

    Raises:
        PromptError: There is no such version.
        InputError: The name has another meaning by now than the one expected.
    """
    prompt = workspace.registry.get(spec)
    before = workspace.registry.get(prompt.name).version
    if expected is not None and before != expected:
        raise InputError(
            f"{prompt.name} means {before} by now, and not {expected or 'none'}: somebody else"
            " decided meanwhile",
            hint="look at the judge's page again, then decide",
        )
    keep_banks(workspace, prompt)
    workspace.registry.keep(prompt)
    note = verification(workspace, prompt)["note"]
    return Moved(name=prompt.name, version=prompt.version, before=before, note=note)
