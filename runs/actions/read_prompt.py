"""Have a model read a person's prompt, with its reply recorded in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ...judges import InputError, JudgePrompt, JudgeSettings
from ...judges.instruction import ASKING
from ..config.command_options import AskOptions, ModelOptions
from ..config.environment import Environment
from ..imports import (
    NO_READING,
    AddOptions,
    ForeignJudge,
    ModelReading,
    ask_for_reading,
    read_own_prompts,
    several,
    understand,
)
from ..store.run_clients import start_run_client
from ..store.workspace import Workspace
from .bench import describe_spending


def read_with_model(
    workspace: Workspace,
    judges: Sequence[ForeignJudge],
    models: AskOptions,
    environment: Environment,
) -> tuple[ForeignJudge, ModelReading, list[str]]:
    """Return the one of several prompts that the model takes for the judge, what it says of it, and
    notes.

    The notes tell what of its reading was not used, and what it cost.

    Raises:
        InputError: The model does not tell which prompt is the judge.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    assert models.model is not None
    options = ModelOptions(**asdict(models))
    config = {"model": models.model, "file": judges[0].location}
    with start_run_client(workspace, "add", config, options, environment) as (_, client):
        tokens = models.max_tokens or ASKING.max_tokens
        judge, reading = ask_for_reading(judges, client, JudgeSettings(max_tokens=tokens))
        notes = list(describe_spending(client.stats))
        if client.model.simulated:
            notes.append(
                "SIMULATED: the simulated model reads no prompt but those of the documentation"
            )
    if isinstance(reading, str):
        return judge, NO_READING, [*notes, f"the model's reading cannot be used: {reading}"]
    notes += [f"the model says {words!r}, which the prompt does not" for words in reading.unfounded]
    return judge, reading, notes


def read_own(
    workspace: Workspace,
    path: Path,
    options: AddOptions,
    models: AskOptions,
    environment: Environment,
) -> JudgePrompt:
    """Return the prompt in a file, where what is said and what a model reads leave nothing open.

    Raises:
        InputError: There is not one prompt, or something is open; the message asks.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    prompts, reading = read_own_prompts(path), NO_READING
    judge = prompts[0]
    if models.model is not None:
        judge, reading, _ = read_with_model(workspace, prompts, models, environment)
    elif len(prompts) > 1:
        raise several(prompts)
    understood = understand(judge, options, reading)
    if understood.prompt is None:
        questions = "\n  ".join(question.text for question in understood.questions)
        answers = ", ".join(dict.fromkeys(question.option for question in understood.questions))
        raise InputError(
            f"{path.name}: it is open\n  {questions}", hint=f"say {answers}, or name a model"
        )
    return understood.prompt
