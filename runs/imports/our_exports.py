"""Read an export of ours back: the judge stands in its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...judges import DecisionRule, InputError, JudgePrompt
from ..exports.manifest import changed_files, read_export


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """A judge read from an export."""

    prompt: JudgePrompt
    target: str
    rule: DecisionRule
    """The rule that was exported; it may be another than the prompt's own."""

    @property
    def notes(self) -> list[str]:
        """What does not come with the judge, in whole sentences."""
        if self.rule == self.prompt.rule:
            return []
        return [
            f"Its decision rule {self.rule.version} is not the prompt's own and stands in the"
            " manifest."
        ]


def read_back(path: Path) -> ReadBack:
    """Read an export of ours: a folder with manifest.json, or a file with one beside it.

    Raises:
        InputError: It is no export, or a file of it was edited since.
    """
    export = read_export(path)
    if changed := changed_files(export):
        raise InputError(
            f"{', '.join(changed)} was edited since it was exported, so it is no longer the judge"
            " in the manifest",
            hint=(
                f"as a prompt of your own: judgewright judges add {export.folder / changed[0]}"
                " --model NAME"
            ),
        )
    rule = DecisionRule.from_json(export.body["rule"])
    return ReadBack(prompt=export.judge, target=export.body["target"], rule=rule)
