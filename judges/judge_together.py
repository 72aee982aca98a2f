"""Judge rows with several judges of one decision model: one request a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .asked_question import AskedQuestion
from .errors import BudgetSpent, InputError
from .judge import JudgeSettings, asked_judge, judge
from .judged_dataset import JudgedDataset
from .models.client import Client
from .models.counters import Progress
from .models.decision_wire import split_answers
from .models.model import Completion
from .models.question import question_request
from .prompt import JudgePrompt
from .rows import Dataset, Row

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
        BudgetSpent: It does not cover all rows; what was answered is kept.
        ModelError: As `judge`.
    """
    settings = settings or JudgeSettings()
    wordings = [asked_judge(prompt, client, settings) for prompt in prompts]
    questions = [one for one in wordings if isinstance(one, AskedQuestion)]
    if len(questions) < 2:
        return [judge(prompt, dataset, client, settings=settings) for prompt in prompts]
    if any(prompt.cases is not None for prompt in prompts):
        raise InputError(
            "a judge that shows decided cases has a state of its own", hint="bench it alone"
        )
    if len({one.prompt.inputs if one.by_name else one.prompt.template for one in questions}) > 1:
        inputs = tuple(dict.fromkeys(name for prompt in prompts for name in prompt.inputs))
        questions = [replace(one, state_inputs=inputs) for one in questions]
    for row in dataset.rows:
        for prompt in prompts:
            prompt.require_inputs(row)
    rows = [row for row in dataset.rows if settings.oversized(row) is None]
    for first in range(0, len(rows), _ROWS):
        _ask(questions, rows[first : first + _ROWS], client, progress)
    # Their answers are in the record; a row whose request was refused is asked judge by judge.
    return [
        judge(one.prompt, dataset, client, settings=settings, question=one) for one in questions
    ]


def _ask(
    questions: Sequence[AskedQuestion],
    rows: Sequence[Row],
    client: Client,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Ask all questions about the rows that lack an answer to one of them, and record each answer
    as if it was asked alone.
    """
    recorded = [client.recorded([one.request(row) for row in rows]) for one in questions]
    rows = [row for row, *each in zip(rows, *recorded, strict=True) if not all(each)]
    messages = [one.message for one in questions]
    requests = [question_request(messages, questions[0].state(row)) for row in rows]
    outcomes = list(zip(rows, client.ask(requests, progress=progress), strict=True))
    answered = [
        (row, split_answers(one))
        for row, one in outcomes
        if isinstance(one, Completion) and one.refusal is None
    ]
    for number, question in enumerate(questions):
        client.keep(
            [question.request(row) for row, _ in answered],
            [answers[number] for _, answers in answered],
        )
    for _, outcome in outcomes:
        if isinstance(outcome, BudgetSpent):
            raise outcome
