"""Have a model read the header of a table, with its reply recorded in the workspace."""

from __future__ import annotations

from dataclasses import fields

from ...judges import JudgePrompt
from ...judges.files import GuessedColumns
from ..config.command_options import AskOptions, ModelOptions
from ..config.environment import SIMULATED, Environment
from ..imports import ask_for_columns
from ..store.run_clients import start_run_client
from ..store.workspace import Workspace
from .bench import describe_spending


def reads_language(model: str | None, environment: Environment) -> bool:
    """Whether a model can be asked about a header: the simulated one cannot, nor one that only
    decides.

    Raises:
        InputError: The name stands for no model.
    """
    return model not in (None, SIMULATED) and environment.settings(model).api is None


def read_header(
    workspace: Workspace,
    guessed: GuessedColumns,
    prompt: JudgePrompt | None,
    models: AskOptions,
    environment: Environment,
) -> tuple[GuessedColumns, list[str]]:
    """Return the columns as the model reads the header, and notes: what it cost, or why its reading
    cannot be used; nothing is asked where the names leave nothing open.

    Raises:
        InputError: The model's name or the budget is not valid.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    if guessed.exact or guessed.no_rows or not reads_language(models.model, environment):
        return guessed, []
    shared = {one.name for one in fields(ModelOptions)} & {one.name for one in fields(models)}
    options = ModelOptions(**{name: getattr(models, name) for name in shared})
    config = {"model": options.model, "inputs": list(guessed.inputs)}
    with start_run_client(workspace, "columns", config, options, environment) as (_, client):
        reading = ask_for_columns(guessed, prompt, client)
        notes = list(describe_spending(client.stats))
    if isinstance(reading, str):
        return guessed, [*notes, f"the model's reading of the header cannot be used: {reading}"]
    return reading, notes
