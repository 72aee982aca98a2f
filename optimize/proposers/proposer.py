"""The seam to whatever writes a better prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...judges import Completion, JudgePrompt, Request
from ..critique import Critique

Ask = Callable[[Request], Completion]
"""Asks the optimizer model one thing, through the client: record, budget and retries included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An earlier text of the criteria, the validation loss it reached, and what was made of it."""

    criteria: str
    loss: float
    result: str
    """`kept`, or why it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A new prompt, and the words that led to it."""

    prompt: JudgePrompt
    gradient: str
    """The textual gradient: what the optimizer model said is wrong with the criteria."""
    tries: int = 1
    """How many replies it took to get a usable text."""


@dataclass(frozen=True, slots=True)
class NoProposal:
    """The proposer came back empty-handed, and why; the run goes on with the next step."""

    reason: str


class Proposer(Protocol):
    """Proposes one new prompt from a critique of the current one."""

    @property
    def name(self) -> str:
        """What `--proposer` calls it."""
        ...

    def propose(
        self, prompt: JudgePrompt, critique: Critique, *, past: Sequence[Attempt], ask: Ask, step: int
    ) -> Proposal | NoProposal:
        """Return a new prompt, or say why there is none.

        Args:
            prompt: The current prompt.
            critique: What it got wrong on a minibatch of training rows.
            past: Earlier texts with their validation losses, oldest first.
            ask: The optimizer model.
            step: The step's number; it makes equal requests of different steps different.

        Raises:
            ModelError, BudgetSpent, Interrupted: From `ask`, untouched.
        """
        ...
