"""The climb of a proposer: step by step to a better prompt, as validation sees it."""

from __future__ import annotations

from ..judges import Judged, JudgePrompt, Splits
from .context import Aim, Tools, WalkSettings
from .invariants import PhraseIndex
from .losses.loss import row_losses
from .search_state import Candidate, Climb
from .step import Step


def improve(
    prompt: JudgePrompt,
    parts: Splits,
    baseline: Judged,
    aim: Aim,
    tools: Tools,
    settings: WalkSettings,
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
    first = Candidate.of(prompt, baseline.only(range(n_train, len(baseline.dataset))), aim)
    tools.journal.record("validation", {"version": prompt.version, "loss": first.loss, **first.metrics})
    climb = Climb(
        first=first,
        current=first,
        train=train,
        phrases=PhraseIndex((*parts.train.rows, *parts.validation.rows)),
        answers={answer.row_id: answer for answer in train.answers},
    )
    climb.weigh(train, row_losses(aim.loss, train, aim.target.members(train)))
    for number in range(1, settings.steps + 1):
        step = Step(number=number, climb=climb, parts=parts, aim=aim, tools=tools, settings=settings)
        tools.journal.record("step", step.take())
    survivor = None if climb.current is first else climb.current.prompt
    named = (
        {"version": survivor.version, "prompt": survivor.to_yaml()} if survivor else {"version": None, "prompt": None}
    )
    tools.journal.record("survivor", named)
    return survivor
