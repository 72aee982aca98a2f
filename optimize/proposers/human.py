"""A person's own edit: it enters by the same door and is judged by the same gate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...judges import JudgePrompt
from ..brief import Brief
from .prompt_parts import PARTS, Part
from .proposer import NoProposal, Proposal, StepBound
from .workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanEdit:
    """Proposes the prompt a person wrote, once; it asks nothing of any model."""

    name: str = field(default="human", init=False)
    parts: tuple[Part, ...] = tuple(part for part in PARTS if part != "anchors")
    edit: JudgePrompt

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`."""
        return StepBound()

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        if step > 1:
            return NoProposal("the edit has been proposed")
        note = self.edit.note or "a person's edit"
        return Proposal(
            prompt=replace(self.edit, name=prompt.name, parent=prompt.version, note=note),
            gradient="a person's edit",
        )
