"""What a run has in its record: its rows as it cut them, and the verdicts on them; no model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...judges import Client, Dataset, InputError, JudgedDataset, JudgePrompt, Recorded, Splits, judge, split_dataset
from .calls import CallStore
from .journal import RunRecord
from .run_config import RunConfig
from .workspace import Workspace

Payload = Mapping[str, Any]  # Any: JSON out of the journal


def sealed_split(config: RunConfig, split: Payload) -> Splits:
    """Cut a run's rows again as the run cut them.

    Args:
        config: The run's.
        split: Its journal's split event.

    Raises:
        InputError: The rows have changed, or other rows would be sealed than were then; no row is to be shown.
    """
    # Where no groups were merged, looking for near duplicates would find none and take most of the time.
    parts = split_dataset(config.dataset(), shares=config.shares, near_duplicates=split["merged"] > 0)
    if {"holdout": parts.holdout.content_hash, "final": parts.final.content_hash} != split["seals"]:
        raise InputError(f"{config.data} is not split as it was when the run started", hint="start a new run")
    return parts


def recorded_verdicts(
    workspace: Workspace, run: RunRecord, *, started: Payload, prompts: Sequence[JudgePrompt], rows: Dataset
) -> list[JudgedDataset]:
    """Return what a run's judge said of rows, by each prompt.

    Args:
        workspace: Where the record is.
        run: The run.
        started: Its journal's first event, which names the model.
        prompts: Prompts that the run judged these rows with.
        rows: Open rows of the run.

    Raises:
        ModelError: An answer is not in the record.
    """
    settings = RunConfig.from_json(run.config).settings()
    model = Recorded(name=started["model"], endpoint=started["endpoints"][0], simulated=started["simulated"])
    with Client(model, record=CallStore(workspace.database, run.run_id)) as client:
        return [judge(prompt, rows, client, settings=settings.judge, rule=settings.rule) for prompt in prompts]
