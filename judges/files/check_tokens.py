"""Count the tokens a run will take, on the rows themselves or on an even part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..asked_question import AskedQuestion
from ..models.question import DecisionApi
from ..models.tokens import count_tokens
from ..prompt import JudgePrompt
from ..rows import Row

COUNTED = 2000
"""Rows whose tokens are counted; of a longer file so many, evenly spread, stand for all."""
_PER_MESSAGE = 4
"""Tokens that chat formats add around a message, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSummary:
    """Tokens of the rows as they will be sent."""

    of: str
    """`inputs`, or the judge whose whole messages were counted."""
    calls: int
    counted: int
    """How many rows were counted; the total is scaled up where that is fewer than `calls`."""
    median: int
    p95: int
    longest: int
    """Of the rows that were counted and the one with most characters."""
    total: int
    method: str
    """How a text's tokens were found, as `models.tokens` states it."""


def count_row_tokens(
    rows: Sequence[Row],
    *,
    model: str,
    prompt: JudgePrompt | None = None,
    api: DecisionApi | None = None,
) -> TokenSummary:
    """Count the tokens of the inputs of at least one row, or of the messages about them.

    An unknown model gets the stated estimate; a prompt's instructions count for every row.

    Args:
        prompt: The judge that is asked; the inputs alone are counted unless given.
        api: The interface of a decision model, which is asked a question and sent no messages.

    Raises:
        InputError: The judge is no question of that interface.
    """
    of = f"{prompt.name}@{prompt.version}" if prompt else "inputs"
    prompt = None if prompt is None else prompt.to_count()
    question = None
    if prompt is not None and api is not None:
        question = AskedQuestion(prompt=prompt, api=api)
    positions = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), COUNTED)).astype(int))
    counted = [rows[i] for i in positions.tolist()]
    # Many rows share a source or the instructions.
    count = cache(lambda text: count_tokens(text, model))
    methods: set[str] = set()

    def tokens(row: Row) -> int:
        texts, extra = list(row.inputs.values()), 0
        if prompt is not None:
            messages = prompt.messages(row) if question is None else question.request(row).messages
            texts, extra = [message.content for message in messages], _PER_MESSAGE
        methods.update(count(text).method for text in texts)
        return sum(count(text).n + extra for text in texts)

    sizes = np.array([tokens(row) for row in counted])
    largest = max(rows, key=lambda row: sum(map(len, row.inputs.values())))
    median, p95 = np.quantile(sizes, [0.5, 0.95], method="higher")
    return TokenSummary(
        of=of,
        calls=len(rows),
        counted=len(counted),
        median=int(median),
        p95=int(p95),
        longest=max(int(sizes.max()), tokens(largest)),
        total=round(float(sizes.mean()) * len(rows)),
        method="; ".join(sorted(methods)),
    )
