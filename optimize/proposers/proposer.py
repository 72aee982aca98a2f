"""The seam to whatever writes a better prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from ...judges import JudgePrompt
from ..brief import Brief
from .prompt_parts import Part
from .workbench import Workbench

View = Literal["errors", "all"]
"""What a proposer is shown of the training rows: a batch whose errors it reads, or all of them."""


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
    failed: bool = False
    """Whether that is because the optimizer model did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBound:
    """How many calls one proposal may make, at most."""

    optimizer: int = 0
    judge: int = 0
    either: int = 0
    """Calls of both kinds together, whichever they are."""
    again: int = 0
    """Optimizer calls among these that only follow an unusable reply."""
    exchanges: int | None = 0
    """Batches or files of optimizer requests that follow one another; None where each request may
    take one.
    """


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

    def bound(self, *, training_rows: int) -> StepBound | None:
        """Return how many calls a proposal may make; None where nobody has counted them."""
        ...

    def propose(
        self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int
    ) -> Proposal | NoProposal:
        """Return a new prompt, or say why there is none.

        Args:
            prompt: The current prompt.
            brief: What the optimizer model is told: goal, errors, earlier candidates.
            bench: The optimizer model, the training rows, and a way to try a prompt on them.
            step: The step's number; it makes equal requests of different steps different.

        Raises:
            ModelError, BudgetSpent, Interrupted, LossError, Unanswered: From `bench`, untouched.
        """
        ...


def view_of(proposer: Proposer) -> View:
    """Return what a proposer is shown; the errors of a batch where it does not say."""
    return getattr(proposer, "view", "errors")


def bound_of(proposer: Proposer, training_rows: int) -> StepBound | None:
    """Return how many calls a proposal may make; None for a plug-in's that does not say."""
    bound = getattr(proposer, "bound", None)
    return None if bound is None else bound(training_rows=training_rows)


def asks_optimizer(proposer: Proposer) -> bool:
    """Say whether a model writes the new prompt, so that two writings differ."""
    bound = bound_of(proposer, 1)
    return bound is None or bound.optimizer + bound.either > 0


def goes_on(proposer: Proposer) -> bool:
    """Say whether a second step may write another prompt; a bank of cases, as a person's edit, is
    what it is.
    """
    return proposer.name not in ("cases", "human")


def learns(proposer: Proposer) -> bool:
    """Say whether the new prompt depends on labels; a person's edit does not."""
    return proposer.name != "human"
