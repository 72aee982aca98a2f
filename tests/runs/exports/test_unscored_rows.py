"""A row without a verdict in a tool's own run over many rows: left out, or counted as 0 and
declared; never unsaid.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judgewright.judges import Registry
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    ExportedFiles,
    verify_export,
    write_export,
)

from .conftest import edited

COUNTED = {"dspy": "`dspy.Evaluate` counts", "promptfoo": "`0 errors`"}
"""Tools whose averages count such a row as 0, and the words that say so."""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["dspy", "promptfoo", "mlflow", "braintrust", "deepeval"])
def test_a_tool_averages_as_its_manifest_says(
    target: str, context, exported, program, tmp_path: Path
) -> None:
    """Told otherwise, the manifest is found to be wrong."""
    given: ExportContext = context(Registry().get("groundedness"))
    found = exported(target, given)
    assert found.problems == ()
    assert not target.startswith(tuple(COUNTED)) or any(
        COUNTED[target] in said for said in found.differences
    )

    def change(exported: ExportedFiles) -> ExportedFiles:
        counted = exported.unscored == "counted as 0"
        return replace(exported, unscored="left out" if counted else "counted as 0")

    wrong = edited(TARGETS[target], change)
    write_export(given, wrong, tmp_path / "wrong")
    (problem,) = verify_export(
        tmp_path / "wrong", {target: wrong}, interpreter=program(target)
    ).problems
    mean = "1" if target in COUNTED else "1.5"
    if target in ("braintrust", "deepeval", "promptfoo"):
        mean = "0.333333" if target in COUNTED else "0.5"
    assert f"averages {mean} where one of three rows has no verdict" in problem


@pytest.mark.slow
def test_one_cut_reply_does_not_end_an_evaluation_of_deepeval(context, mistaken) -> None:
    """A metric that raises ends `evaluate` for every other row too: that is found."""

    def edit(text: str) -> str:
        return text.replace(
            "            return None\n        self.score", "            raise\n        self.score"
        )

    said = " ".join(mistaken("deepeval", context(Registry().get("groundedness")), edit).problems)
    assert "gives no average where one of three rows has no verdict" in said
