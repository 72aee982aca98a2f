"""Judge rows with several judges of one decision model: one request a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .joint_questions import joint_questions
from .judge import JudgeSettings, judge
from .judged_dataset import JudgedDataset
from .models.client import Client
from .models.counters import Progress
from .prompt import JudgePrompt
from .rows import Dataset


def judge_together(
    prompts: Sequence[JudgePrompt],
    dataset: Dataset,
    client: Client,
    *,
    settings: JudgeSettings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[JudgedDataset]:
    """Return what each of several judges says of every row, asked as the questions of one request.

    A chat model is asked judge by judge, and so is a row whose request was refused.

    Raises:
        PromptError: A row lacks a field that one of the judges names.
        InputError: See `joint_questions`.
        BudgetSpent: It does not cover all rows; what was answered is kept.
        ModelError: As `judge`.
    """
    api, questions = client.settings.api, [None for _ in prompts]

    def inputs_of_rows(names: Sequence[str]) -> dict[str, dict[str, str]]:
        for row in dataset.rows:
            for prompt in prompts:
                prompt.require_inputs(row)
        return {row.id: {name: row.inputs[name] for name in names} for row in dataset.rows}

    if api is not None:
        questions = joint_questions(prompts, api, inputs_of_rows)
    return [
        judge(prompt, dataset, client, settings=settings, question=question, progress=progress)
        for prompt, question in zip(prompts, questions, strict=True)
    ]
