"""Keep a judge that came from outside: in the workspace, or as a file."""

from __future__ import annotations

from pathlib import Path

from ...judges import JudgePrompt, Registry
from ...judges.files.write_beside import write_beside


def keep_judge(registry: Registry, prompt: JudgePrompt, out: Path | None) -> tuple[str, str]:
    """Keep the judge; return where it stands, and what commands call it.

    A judge of that name keeps its current version: what comes from outside never changes what a
    name means.
    """
    if out is not None:
        write_beside(out, prompt.to_yaml())
        return str(out), str(out)
    taken = prompt.name in registry.names()
    path = str(registry.keep(prompt, current=not taken))
    return path, f"{prompt.name}@{prompt.version}" if taken else prompt.name
