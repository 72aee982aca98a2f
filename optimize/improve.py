"""The climb of a proposer: step by step to a better prompt, as validation sees it."""

from __future__ import annotations

from ..judges import JudgedDataset, JudgePrompt, Splits
from .context import Goal, RunSettings, Services
from .invariants import PhraseIndex
from .losses.loss import row_losses
from .search_state import Candidate, SearchState
from .step import Step


def improve(
    prompt: JudgePrompt,
    parts: Splits,
    baseline: JudgedDataset,
    goal: Goal,
    services: Services,
    settings: RunSettings,
) -> JudgePrompt | None:
    """Climb: in each step critique a minibatch of the slice, propose, check, race, validate, keep what is better.

    Args:
        prompt: Where the climb starts.
        parts: The split; the sealed parts give their sizes and nothing else.
        baseline: Verdicts of the prompt on the open rows, training rows first.
        aim: Objective, target slice and loss.
        tools: Clients, proposer, journal.
        settings: How many steps, and how.

    Returns:
        The best candidate on validation; None where none beat the prompt.
    """
    n_train = len(parts.train)
    train = baseline.only(range(n_train))
    first = Candidate.of(prompt, baseline.only(range(n_train, len(baseline.dataset))), goal)
    services.journal.record("validation", {"version": prompt.version, "loss": first.loss, **first.metrics})
    state = SearchState(
        first=first,
        current=first,
        train=train,
        phrases=PhraseIndex((*parts.train.rows, *parts.validation.rows)),
        answers={answer.row_id: answer for answer in train.answers},
    )
    state.weigh(train, row_losses(goal.loss, train, goal.target.members(train)))
    for number in range(1, settings.steps + 1):
        step = Step(number=number, state=state, parts=parts, goal=goal, services=services, settings=settings)
        services.journal.record("step", step.take())
    survivor = None if state.current is first else state.current.prompt
    named = (
        {"version": survivor.version, "prompt": survivor.to_yaml()} if survivor else {"version": None, "prompt": None}
    )
    services.journal.record("survivor", named)
    return survivor
