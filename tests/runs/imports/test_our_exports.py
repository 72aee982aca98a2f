"""Exports read back: import after export is the same version, and an edited one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgewright.judges import DecisionRule, InputError, JudgePrompt, Registry
from judgewright.runs.exports import TARGETS, ExportContext, Refused, write_export
from judgewright.runs.imports import read_back


def export(
    prompt: JudgePrompt, target: str, folder: Path, rule: DecisionRule | None = None
) -> Path:
    """Write a judge for a target; the test ends where the target cannot carry it."""
    provenance = {"gated_on": "simulated"}
    context = ExportContext(prompt=prompt, rule=rule or prompt.rule, provenance=provenance)
    try:
        write_export(context, TARGETS[target], folder)
    except Refused as why:
        pytest.skip(f"{target} refuses {prompt.name}: {why}")
    return folder


@pytest.mark.parametrize("name", ["groundedness", "routing"])
@pytest.mark.parametrize("target", sorted(TARGETS))
def test_import_after_export_is_the_same_version(target: str, name: str, tmp_path: Path) -> None:
    """For every target, and so again after a second export."""
    prompt = Registry().get(name)
    first = read_back(export(prompt, target, tmp_path / "first")).prompt
    assert first == prompt
    assert read_back(export(first, target, tmp_path / "second")).prompt == prompt


def test_an_edited_export_is_refused_with_what_to_type(tmp_path: Path) -> None:
    """Its words are a prompt of the user's own then, and nothing of a module is run."""
    folder = export(Registry().get("groundedness"), "python", tmp_path)
    file = folder / "judgewright_judge.py"
    witness = tmp_path / "ran"
    words = file.read_text(encoding="utf-8")
    file.write_text(f"open({str(witness)!r}, 'w').close()\n{words}", encoding="utf-8")
    with pytest.raises(InputError, match="was edited since") as refused:
        read_back(folder)
    assert f"judges add {file} --model" in str(refused.value.hint)
    assert not witness.exists()


def test_a_rule_that_is_not_the_prompts_own_is_said(tmp_path: Path) -> None:
    """It stands in the manifest and does not come along."""
    prompt, rule = Registry().get("groundedness"), DecisionRule(threshold=3.0)
    back = read_back(export(prompt, "jinja", tmp_path, rule))
    assert back.prompt == prompt
    assert rule.version in " ".join(back.notes)
