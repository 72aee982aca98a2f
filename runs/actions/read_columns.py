"""Have a model read the header of a table, with its reply recorded in the workspace."""

from __future__ import annotations

from dataclasses import fields

from ...judges import JudgePrompt
from ...judges.files import ColumnReading, GuessedColumns, read_columns
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
) -> tuple[ColumnReading | str, list[str]]:
    """Return what the model reads in the header, or why that cannot be used, and what it cost.

    Raises:
        InputError: The model's name or the budget is not valid.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    shared = {one.name for one in fields(ModelOptions)} & {one.name for one in fields(models)}
    options = ModelOptions(**{name: getattr(models, name) for name in shared})
    config = {"model": options.model, "inputs": list(guessed.inputs)}
    with start_run_client(workspace, "columns", config, options, environment) as (_, client):
        reading = ask_for_columns(guessed, prompt, client)
        return reading, list(describe_spending(client.stats))


def with_reading(
    workspace: Workspace,
    guessed: GuessedColumns,
    prompt: JudgePrompt | None,
    models: AskOptions,
    environment: Environment,
) -> tuple[GuessedColumns, list[str]]:
    """Return the columns as the model reads the header, where names leave something open and it can
    read one; and notes: what that cost, or why its reading cannot be used.

    Raises: As `read_header`.
    """
    if guessed.exact or guessed.no_rows or not reads_language(models.model, environment):
        return guessed, []
    reading, notes = read_header(workspace, guessed, prompt, models, environment)
    if isinstance(reading, str):
        return guessed, [*notes, f"{models.model} cannot be used to read the header: {reading}"]
    return read_columns(guessed, reading), notes
