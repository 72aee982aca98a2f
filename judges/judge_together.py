"""Judge rows with several judges of one decision model: one request a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .errors import InputError
from .judge import JudgeSettings, asked_question, judge
from .judged_dataset import JudgedDataset
from .models.client import Client
from .models.counters import Progress
from .models.decision_endpoint import DecisionEndpoint
from .prompt import JudgePrompt
from .rows import Dataset

_ROWS = 1_000
"""Rows whose requests are made at a time."""


def judge_together(
    prompts: Sequence[JudgePrompt],
    dataset: Dataset,
    client: Client,
    *,
    settings: JudgeSettings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[JudgedDataset]:
    """Return what each of several judges says of every row, asked as the questions of one request.

    The questions share a state. Where it is the same for all of them these are the answers that
    `judge` gets; else it holds the inputs of all judges, by name, and answers are recorded apart
    from those. A chat model is asked judge by judge.

    Raises:
        PromptError: A row lacks a field that one of the judges names.
        InputError: A judge is no question, or shows decided cases, which are in its state.
        ModelError: As `judge`.
    """
    settings, model = settings or JudgeSettings(), client.model
    if isinstance(model, DecisionEndpoint):
        if any(prompt.cases is not None for prompt in prompts):
            raise InputError(
                "a judge that shows decided cases has a state of its own", hint="bench it alone"
            )
        states = {p.inputs if client.settings.api == "systemone" else p.template for p in prompts}
        if len(states) > 1:
            inputs = dict.fromkeys(name for prompt in prompts for name in prompt.inputs)
            settings = replace(settings, state_inputs=tuple(inputs))
        for row in dataset.rows:
            for prompt in prompts:
                prompt.require_inputs(row)
        questions = list(filter(None, (asked_question(p, client, settings) for p in prompts)))
        rows = [row for row in dataset.rows if settings.oversized(row) is None]
        for first in range(0, len(rows), _ROWS):
            part = rows[first : first + _ROWS]
            requests = [one.request(row) for row in part for one in questions]
            with model.together([one.message for one in questions]):
                client.ask(requests, progress=progress)
    # Their answers are in the record.
    return [judge(prompt, dataset, client, settings=settings) for prompt in prompts]
