"""Ask a judge about rows: render, ask, read, in the order the rows came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import BudgetSpent
from .judged import Judged
from .models.client import Client, Progress
from .models.model import Completion, Request
from .prompt import JudgePrompt
from .reply import read_reply, response_format
from .rows import Dataset, Row
from .verdict import Answer, Unscored

SIMULATED_FINGERPRINT = "simulated-"
"""How the simulated model signs its replies, so that it is known for what it is under any name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a judge is asked; everything here is part of each request's key."""

    temperature: float | None = 0.0
    max_tokens: int | None = 512
    structured: bool = True
    """Whether to ask the endpoint to hold the reply to the prompt's JSON schema."""
    max_chars: int = 400_000
    """Characters of a row's inputs; a larger row is not sent and is unscored as `oversized`."""


def judge(
    prompt: JudgePrompt,
    dataset: Dataset,
    client: Client,
    *,
    settings: JudgeSettings | None = None,
    repeat: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Judged:
    """Judge every row of a dataset and return the rows with their answers, in order.

    A row that fails is an `Unscored` answer with its reason; the others are not affected.

    Args:
        prompt: The judge.
        dataset: What to judge; its rows need the fields the prompt's template names.
        client: Where the answers come from; recorded ones are not asked again.
        settings: Sampling and limits.
        repeat: Which repetition of the same questions this is; another number asks anew.
        progress: Called in this thread while answers come in.

    Raises:
        PromptError: A row lacks a field the template names.
        ModelError: The endpoint refuses every request (a wrong key, an unknown model).
        Interrupted: The person asked to stop; finished calls are kept.
    """
    settings = settings or JudgeSettings()
    answers: dict[str, Answer] = {}
    sent: list[Row] = []
    simulated = client.model.simulated
    for row in dataset.rows:
        size = sum(len(text) for text in row.inputs.values())
        if size > settings.max_chars:
            detail = f"{size:,} characters, the limit is {settings.max_chars:,}"
            answers[row.id] = Unscored(row_id=row.id, reason="oversized", detail=detail)
        else:
            sent.append(row)
    requests = [judge_request(prompt, row, settings=settings, repeat=repeat) for row in sent]
    for row, reply in zip(sent, client.ask(requests, progress=progress), strict=True):
        if isinstance(reply, Completion):
            simulated = simulated or (reply.fingerprint or "").startswith(SIMULATED_FINGERPRINT)
            answers[row.id] = read_reply(prompt, row.id, reply)
        else:
            reason = "budget" if isinstance(reply, BudgetSpent) else "endpoint"
            answers[row.id] = Unscored(row_id=row.id, reason=reason, detail=str(reply)[:300])
    return Judged(
        dataset=dataset,
        answers=tuple(answers[row.id] for row in dataset.rows),
        scale=prompt.scale,
        judge=f"{prompt.name}@{prompt.version}",
        model=client.model.name,
        simulated=simulated,
    )


def judge_request(prompt: JudgePrompt, row: Row, *, settings: JudgeSettings, repeat: int = 0) -> Request:
    """Return the request that asks a judge about one row."""
    return Request(
        messages=prompt.messages(row),
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        response_format=response_format(prompt) if settings.structured else None,
        repeat=repeat,
    )
