"""The seam to whatever writes a better prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ...judges import JudgePrompt
from ..critique import Critique
from .workbench import Workbench

Part = Literal["criteria", "system", "examples", "reply"]
PARTS: tuple[Part, ...] = ("criteria", "system", "examples", "reply")
"""The parts of a prompt that may be rewritten; template and scale never are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An earlier candidate, the validation loss it reached, and what was made of it."""

    prompt: JudgePrompt
    loss: float
    to_beat: float
    """The validation loss of the prompt it was to replace."""
    result: str
    """`kept`, or why it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A new prompt, and the words that led to it."""

    prompt: JudgePrompt
    """Its note says how it was made."""
    gradient: str
    """What was found wrong with the prompt, or what was tried, in words."""
    tries: int = 1
    """How many replies it took to get a usable text."""


@dataclass(frozen=True, slots=True)
class NoProposal:
    """The proposer came back empty-handed, and why; the run goes on with the next step."""

    reason: str


class Proposer(Protocol):
    """Proposes one new prompt from what the current one got wrong."""

    @property
    def name(self) -> str:
        """What `--proposer` calls it."""
        ...

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts it may change; a candidate that differs in another is refused."""
        ...

    def propose(
        self, prompt: JudgePrompt, critique: Critique, bench: Workbench, *, past: Sequence[Attempt], step: int
    ) -> Proposal | NoProposal:
        """Return a new prompt, or say why there is none.

        Args:
            prompt: The current prompt.
            critique: What it got wrong on a minibatch of training rows.
            bench: The optimizer model, the training rows, and a way to try a prompt on them.
            past: Earlier candidates with their validation losses, oldest first.
            step: The step's number; it makes equal requests of different steps different.

        Raises:
            ModelError, BudgetSpent, Interrupted, LossError, Unanswered: From `bench`, untouched.
        """
        ...
