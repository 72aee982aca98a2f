"""Judge rows with several judges of one decision model: one request a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .asked_question import AskedQuestion
from .judge import JudgeSettings, judge
from .judged_dataset import JudgedDataset
from .models.client import Client
from .models.counters import Progress
from .models.question import DecisionApi
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


def joint_questions(
    prompts: Sequence[JudgePrompt],
    api: DecisionApi,
    read: Callable[[Sequence[str]], Mapping[str, Mapping[str, str]]],
) -> list[AskedQuestion]:
    """Return the question of each judge, beside those of the others.

    Where their states are the same the answers are those that `judge` gets. Else the state holds
    the inputs of all judges, which `read` returns by row, and no decided cases, and answers are
    recorded apart.

    Raises:
        InputError: A judge is no question.
    """
    questions = [AskedQuestion(prompt=prompt, api=api) for prompt in prompts]
    _ = [one.question for one in questions]  # refused before anything is sent
    apart = any(prompt.cases_by_row for prompt in prompts)
    fields = {one.prompt.inputs if one.by_name else one.prompt.template for one in questions}
    if apart or len(fields) > 1:
        shared = read(tuple(dict.fromkeys(name for prompt in prompts for name in prompt.inputs)))
        questions = [replace(one, shared=shared) for one in questions]
    return [
        replace(one, beside=tuple(other for other in questions if other is not one))
        for one in questions
    ]
