"""Have the optimizer model read an objective in words, before anything else is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...judges import Client, JudgePrompt
from ...optimize import Objective, ObjectiveWords, read_by_model
from ...slices import load_saved_slice, read_slice
from ..config.command_options import ModelOptions
from ..config.environment import Environment
from ..store.run_clients import start_run_client
from ..store.workspace import Workspace


def settle_objective(
    workspace: Workspace,
    words: ObjectiveWords,
    judge: JudgePrompt | None,
    columns: Sequence[str],
    models: ModelOptions,
    environment: Environment,
) -> Objective:
    """Settle an objective; words are read, in a run of its own, by the model that writes loss and
    criteria.

    Args:
        judge: The judge that it is about; None where only a scale is known.
        columns: Columns of the rows that a slice may name.
        models: The model that reads it, and how it is reached.

    Raises:
        InputError: What it means is not settled.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    slices = saved_slices(workspace)
    if not words.needs_reading(judge, slices):
        return words.read(judge, slices=slices)
    config = {
        "objective": words.text,
        "judge": judge.name if judge else None,
        "model": models.model,
    }
    with start_run_client(workspace, "reading", config, models, environment) as (_, client):
        return ask_reading(words, judge, columns, client, slices)


def ask_reading(
    words: ObjectiveWords,
    judge: JudgePrompt | None,
    columns: Sequence[str],
    client: Client,
    slices: Mapping[str, str] | None,
) -> Objective:
    """Settle an objective in words with a model's reading of it.

    Raises:
        InputError: What it means is not settled.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    reading = read_by_model(words.text, judge, columns, client.ask_one, slices or {})
    return words.read(judge, reading, slices or {})


def saved_slices(workspace: Workspace) -> dict[str, str]:
    """Return the predicates of the slices saved in the workspace's folder `slices`, by the names of
    their files.

    Raises:
        InputError: A file there is not a saved slice.
    """
    files = sorted((workspace.root / "slices").glob("*.yaml"))
    return {path.stem: str(load_saved_slice(path).predicate) for path in files}


def named_slice(text: str, saved: Mapping[str, str]) -> str:
    """Return the predicate of a slice as a run is told it, by name or written out; `auto` and `all`
    stay.

    Raises:
        InputError: There is no such slice, and it is no predicate.
    """
    return text if text in ("auto", "all") else str(read_slice(text, saved))
