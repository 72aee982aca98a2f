"""What the tests of exports share: an export context, and verification in the tool's own
environment.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import JudgePrompt
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    ExportedFiles,
    Target,
    Verification,
    verify_export,
    write_export,
)

ENVIRONMENTS = Path(__file__).resolve().parents[3] / ".verify"
"""One environment for each tool; `make verify-exports` installs them."""
HISTORY = {
    "run": "r1",
    "gated_on": "simulated",
    "simulated": True,
    "outcome": "accepted",
    "reason": "it rose",
}


def export_context(prompt: JudgePrompt, **provenance: object) -> ExportContext:
    """A judge with its own rule, gated on the simulated model unless said otherwise."""
    return ExportContext(prompt=prompt, rule=prompt.rule, provenance=HISTORY | provenance)


def interpreter(target: str) -> str:
    """The Python, or node, that has a tool; skips aloud where it is not installed."""
    python = TARGETS[target].runtime == "python"
    if not TARGETS[target].requires:
        return sys.executable if python else "node"
    names = ("bin/python",) if python else ("node_modules/.bin/node", "node_modules/node/bin/node")
    for name in names:
        if (ENVIRONMENTS / target / name).exists():
            return str(ENVIRONMENTS / target / name)
    pytest.skip(f"{TARGETS[target].tool} is not installed: make verify-exports")


def edited(target: Target, change: Callable[[ExportedFiles], ExportedFiles]) -> Target:
    """A target whose files our own writer would have changed."""
    return replace(target, write=lambda context: change(target.write(context)))


@pytest.fixture
def context() -> Callable[..., ExportContext]:
    """See `export_context`."""
    return export_context


@pytest.fixture
def program() -> Callable[[str], str]:
    """See `interpreter`."""
    return interpreter


@pytest.fixture
def verify() -> Callable[[str, Path], Verification]:
    """Verify an export that lies in a folder, in its tool's environment."""
    return lambda target, path: verify_export(path, TARGETS, interpreter=interpreter(target))


@pytest.fixture
def exported(tmp_path: Path, verify) -> Callable[[str, ExportContext], Verification]:
    """Write a judge for a tool and verify it there."""

    def export(target: str, judge: ExportContext) -> Verification:
        interpreter(target)  # skip before anything is written
        write_export(judge, TARGETS[target], tmp_path / target)
        return verify(target, tmp_path / target)

    return export


@pytest.fixture
def mistaken(tmp_path: Path) -> Callable[[str, ExportContext, Callable[[str], str]], Verification]:
    """Verify an export as it would be if our own writer made a mistake: what the tool alone can
    notice.
    """

    def export(target: str, judge: ExportContext, edit: Callable[[str], str]) -> Verification:
        program = interpreter(target)

        def change(exported: ExportedFiles) -> ExportedFiles:
            files = {name: edit(text) for name, text in exported.files.items()}
            assert files != dict(exported.files)
            return replace(exported, files=files)

        wrong = edited(TARGETS[target], change)
        write_export(judge, wrong, tmp_path / "mistaken")
        return verify_export(tmp_path / "mistaken", {target: wrong}, interpreter=program)

    return export
