"""Decided cases out of labelled training rows: the prompt stays, and before each row stand the most
like it that people have graded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...judges import CaseBank, Cases, Dataset, JudgePrompt
from ..brief import Brief
from .prompt_parts import Part
from .proposer import NoProposal, Proposal, StepBound
from .workbench import Workbench

MOST_TOKENS = 8_000
"""Tokens of all cases before a row; more would crowd out the row that is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCases:
    """Shows the judge labelled training rows as decided cases; it asks nothing of any model."""

    name: str = field(default="cases", init=False)
    parts: tuple[Part, ...] = field(default=("cases",), init=False)
    count: int = 4
    """Cases before each row."""
    by: str = "near"
    """How they are chosen; see `Cases.by`."""
    only_slice: bool = False
    """Whether the bank is made of the slice's rows alone."""

    def bound(self, *, training_rows: int) -> StepBound:
        """See `Proposer.bound`."""
        return StepBound()

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        new = self.attach(prompt, brief, bench)
        if new.cases is None:
            return NoProposal("no training row with a label can be shown as a case")
        if new.version == prompt.version:
            return NoProposal("the judge shows these cases already")
        size = f"{len(new.cases.bank):,} labelled {'rows of the slice' * self.only_slice or 'rows'}"
        note = f"cases step {step}: {self.count} of {size}, {self.by}"
        return Proposal(prompt=replace(new, parent=prompt.version, note=note), gradient=note)

    def attach(self, prompt: JudgePrompt, brief: Brief, bench: Workbench) -> JudgePrompt:
        """Return the prompt with the training rows as its bank; as it is where there are none.

        Args:
            prompt: The prompt, with its texts as they are to be tried.
            brief: What the optimizer model is told; it has the column of reasons.
            bench: The training rows.
        """
        dataset = bench.train.judged.dataset if self.only_slice else bench.dataset
        return self.made_of(prompt, dataset, brief.explanation)

    def made_of(self, prompt: JudgePrompt, dataset: Dataset, reason: str | None) -> JudgePrompt:
        """Return the prompt with the labelled rows of a dataset as its bank."""
        bank = CaseBank.of(dataset.rows, dataset.labels, prompt.inputs, reason=reason)
        if not len(bank):
            return prompt
        cases = Cases(bank=bank, count=self.count, by=self.by, max_tokens=MOST_TOKENS)
        return replace(prompt, cases=cases)
