"""A person's own edit: it enters by the same door and is judged by the same gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...judges import JudgePrompt
from ..critique import Critique
from .proposer import PARTS, Attempt, NoProposal, Part, Proposal
from .workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanEdit:
    """Proposes the prompt a person wrote, once; it asks nothing of any model."""

    name: str = field(default="human", init=False)
    parts: tuple[Part, ...] = field(default=PARTS, init=False)
    edit: JudgePrompt

    def propose(
        self, prompt: JudgePrompt, critique: Critique, bench: Workbench, *, past: Sequence[Attempt], step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        if step > 1:
            return NoProposal("the edit has been proposed")
        note = self.edit.note or "a person's edit"
        return Proposal(
            prompt=replace(self.edit, name=prompt.name, parent=prompt.version, note=note), gradient="a person's edit"
        )
