"""The questions of several judges about one state, which go out as one request a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .asked_question import AskedQuestion
from .errors import BudgetSpent, InputError
from .models.client import Client
from .models.counters import Progress
from .models.decision_wire import split_answers
from .models.model import Completion
from .models.question import DecisionApi, question_request
from .prompt import JudgePrompt
from .rows import Row

_ROWS = 1_000
"""Rows whose requests are made at a time."""


def joint_questions(
    prompts: Sequence[JudgePrompt],
    api: DecisionApi,
    read: Callable[[Sequence[str]], Mapping[str, Mapping[str, str]]],
) -> list[AskedQuestion]:
    """Return the question of each judge, beside those of the others.

    Where their states are the same the answers are those that `judge` gets. Else the state holds
    the inputs of all judges, which `read` returns by row, and answers are recorded apart.

    Raises:
        InputError: A judge is no question, or shows decided cases, which are in its state.
    """
    if any(prompt.cases is not None for prompt in prompts):
        raise InputError(
            "a judge that shows decided cases has a state of its own", hint="bench it alone"
        )
    questions = [AskedQuestion(prompt=prompt, api=api) for prompt in prompts]
    _ = [one.question for one in questions]  # refused before anything is sent
    if len({one.prompt.inputs if one.by_name else one.prompt.template for one in questions}) > 1:
        shared = read(tuple(dict.fromkeys(name for prompt in prompts for name in prompt.inputs)))
        questions = [replace(one, shared=shared) for one in questions]
    return [
        replace(one, beside=tuple(other for other in questions if other is not one))
        for one in questions
    ]


def ask_jointly(
    question: AskedQuestion,
    rows: Sequence[Row],
    client: Client,
    *,
    repeat: int,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Ask a question and those beside it about the rows that lack an answer to one of them, and
    record each answer as if it was asked alone.

    Raises:
        BudgetSpent: It does not cover all rows; what was answered is kept.
    """
    questions = (question, *question.beside)
    messages = [one.message for one in questions]
    for first in range(0, len(rows), _ROWS):
        part = rows[first : first + _ROWS]
        each = [[one.request(row, repeat=repeat) for row in part] for one in questions]
        recorded = zip(*map(client.recorded, each), strict=True)
        part = [row for row, there in zip(part, recorded, strict=True) if not all(there)]
        requests = [question_request(messages, question.state(row), repeat=repeat) for row in part]
        outcomes = client.ask(requests, progress=progress) if requests else []
        answered = [
            (row, split_answers(one))
            for row, one in zip(part, outcomes, strict=True)
            if isinstance(one, Completion) and one.refusal is None
        ]
        for number, one in enumerate(questions):
            client.keep(
                [one.request(row, repeat=repeat) for row, _ in answered],
                [answers[number] for _, answers in answered],
            )
        for outcome in outcomes:
            if isinstance(outcome, BudgetSpent):
                raise outcome
