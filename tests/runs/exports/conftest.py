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
    Verification,
    verify_export,
    write_export,
)

ENVIRONMENTS = Path(__file__).resolve().parents[3] / ".verify"
"""One environment for each tool; `make verify-exports` installs them."""

Verify = Callable[[str, Path], Verification]


def export_context(prompt: JudgePrompt, **provenance: object) -> ExportContext:
    """A judge with its own rule, gated on the simulated model unless said otherwise."""
    origin = {
        "run": "r1",
        "gated_on": "simulated",
        "simulated": True,
        "outcome": "accepted",
        "reason": "it rose",
    }
    return ExportContext(prompt=prompt, rule=prompt.rule, provenance=origin | provenance)


def interpreter(target: str) -> str:
    """The Python, or node, that has a tool; skips aloud where it is not installed."""
    if not TARGETS[target].requires:
        return sys.executable if TARGETS[target].runtime == "python" else "node"
    folder = ENVIRONMENTS / target
    names = (
        ("bin/python",)
        if TARGETS[target].runtime == "python"
        else ("node_modules/.bin/node", "node_modules/node/bin/node")
    )
    found = next((folder / name for name in names if (folder / name).exists()), None)
    if found is None:
        pytest.skip(f"{TARGETS[target].tool} is not installed: make verify-exports")
    return str(found)


@pytest.fixture
def context() -> Callable[..., ExportContext]:
    """See `export_context`."""
    return export_context


@pytest.fixture
def program() -> Callable[[str], str]:
    """See `interpreter`."""
    return interpreter


@pytest.fixture
def verify() -> Verify:
    """Verify an export that lies in a folder, in its tool's environment."""
    return lambda target, path: verify_export(path, TARGETS, interpreter=interpreter(target))


@pytest.fixture
def exported(tmp_path: Path, verify: Verify) -> Callable[[str, ExportContext], Verification]:
    """Write a judge for a tool and verify it there."""

    def export(target: str, given: ExportContext) -> Verification:
        interpreter(target)  # skip before anything is written
        write_export(given, TARGETS[target], tmp_path / target)
        return verify(target, tmp_path / target)

    return export


@pytest.fixture
def mistaken(tmp_path: Path) -> Callable[[str, ExportContext, Callable[[str], str]], Verification]:
    """Verify an export as it would be if our own writer made a mistake: what the tool alone can
    notice.
    """

    def export(target: str, given: ExportContext, edit: Callable[[str], str]) -> Verification:
        program, right = interpreter(target), TARGETS[target]

        def write(handed: ExportContext) -> ExportedFiles:
            exported_files = right.write(handed)
            files = {name: edit(text) for name, text in exported_files.files.items()}
            assert files != dict(exported_files.files)
            return replace(exported_files, files=files)

        wrong = replace(right, write=write)
        write_export(given, wrong, tmp_path / "mistaken")
        return verify_export(tmp_path / "mistaken", {target: wrong}, interpreter=program)

    return export
