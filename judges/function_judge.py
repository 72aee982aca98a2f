"""A judge that is a Python function: each row in, a score out, no prompt and no endpoint."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from .errors import InputError
from .judged_dataset import JudgedDataset
from .rows import Dataset, Scalar
from .scale import BINARY, OutputScale
from .verdict import Answer, Unscored, Verdict

Score = float | bool | None
JudgeFunction = (
    Callable[[dict[str, Scalar]], Score] | Callable[[dict[str, Scalar]], Awaitable[Score]]
)
"""Gets a row as a dict, without its label; returns a score, or None where it has no verdict."""

CONCURRENCY = 64
"""Rows in flight at most, where the function is asynchronous."""


def judge_with_function(
    function: JudgeFunction, dataset: Dataset, *, scale: OutputScale | None = None
) -> JudgedDataset:
    """Score every row with a function.

    A row for which the function raises, or returns no number of the scale, is unscored with the
    reason; the others are not affected.

    Args:
        function: The judge, synchronous or not; the one is called row by row, the other for many
            rows at once.
        dataset: Labelled rows.
        scale: Of the scores; without one they must be booleans, 0 or 1.

    Raises:
        InputError: No row was scored, or scores are neither 0 nor 1 and no scale is given.
    """
    name = str(getattr(function, "__name__", type(function).__name__))
    # As a judge may see them: the label is not in them.
    results = _call(function, [{"id": row.id, **row.meta, **row.inputs} for row in dataset.rows])
    if scale is None:
        for row, result in zip(dataset.rows, results, strict=True):
            number = _number(result)
            if number is not None and number not in (0.0, 1.0):
                raise InputError(
                    f"the judge {name} returned {number:g} for row {row.id!r}, and no scale is"
                    " stated",
                    hint='state it, such as scale="probability" or scale="0..3@2"',
                )
    scale = scale or BINARY
    scored: list[Answer] = []
    for row, result in zip(dataset.rows, results, strict=True):
        number = _number(result)
        if isinstance(result, Exception):
            detail = f"{type(result).__name__}: {result}"
        elif number is None:
            detail = f"the function returned {result!r}"
        elif not scale.contains(number):
            detail = f"{number:g} is outside the scale ({scale.describe()})"
        else:
            grade = scale.written(number)
            scored.append(
                Verdict(
                    row_id=row.id, score=grade, positive=scale.positive(grade), parser="function"
                )
            )
            continue
        scored.append(Unscored(row_id=row.id, reason="parse", detail=detail[:300]))
    answers = tuple(scored)
    if not any(isinstance(answer, Verdict) for answer in answers):
        first = next((answer for answer in answers if isinstance(answer, Unscored)), None)
        detail = f"; row {first.row_id!r}: {first.detail}" if first else ""
        raise InputError(f"the judge {name} scored no row{detail}")
    return JudgedDataset(
        dataset=dataset, answers=answers, scale=scale or BINARY, judge=name, model="Python function"
    )


def _call(function: JudgeFunction, rows: list[dict[str, Scalar]]) -> list[object]:
    if not (
        inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(type(function).__call__)
    ):
        results: list[object] = []
        for row in rows:
            try:
                results.append(function(row))
            except Exception as error:  # noqa: BLE001  # one bad row is a value: whatever a person's function raises
                results.append(error)
        return results
    # A thread of its own, as the caller's may run an event loop already: a notebook does.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _call_all(function, rows)).result()


async def _call_all(function: JudgeFunction, rows: list[dict[str, Scalar]]) -> list[object]:
    slots = asyncio.Semaphore(CONCURRENCY)

    async def attempt(row: dict[str, Scalar]) -> object:
        async with slots:
            try:
                return await cast("Awaitable[object]", function(row))
            except Exception as error:  # noqa: BLE001  # as above
                return error

    return list(await asyncio.gather(*(attempt(row) for row in rows)))


def _number(result: object) -> float | None:
    if isinstance(result, Exception | str | bytes | Mapping) or result is None:
        return None
    try:
        number = float(cast("Any", result))  # Any: whatever a person's function returned
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
