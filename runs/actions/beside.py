"""The judges whose questions `bench --beside` asks in the same requests as JUDGE's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...judges import InputError, JudgePrompt, Registry
from ...judges.asked_question import AskedQuestion
from ...judges.judge_together import joint_questions
from ...judges.models.question import DecisionApi
from ..config.command_options import BenchOptions, RowOptions
from ..store.bench_config import inputs_of_rows


def benched_judges(
    registry: Registry,
    prompt: JudgePrompt,
    data: Path,
    rows: RowOptions,
    options: BenchOptions,
    api: DecisionApi | None,
) -> Iterator[tuple[JudgePrompt, RowOptions, AskedQuestion | None]]:
    """Yield each judge of a bench, how its rows are read, and its question beside others'.

    Raises:
        InputError: The model is a chat model, or what was asked for is measured of one judge.
    """
    if not options.beside:
        yield prompt, rows, None
        return
    if api is None:
        raise InputError("--beside is for a decision model", hint="bench each judge by itself")
    if options.by_claim or options.out or options.html:
        raise InputError("--by-claim, --out and --html are for one judge, without --beside")
    named = [name.partition("=")[::2] for name in options.beside]
    prompts = [prompt, *(registry.get(name) for name, _ in named)]
    read = partial(inputs_of_rows, prompt, data, rows.as_arguments())
    questions = joint_questions(prompts, api, read)
    every = {name for one in prompts for name in one.inputs}
    for one, label in zip(questions, ["", *(label for _, label in named)], strict=True):
        # A column of an input that no judge has is refused where rows are read.
        taken = every.difference(one.prompt.inputs)
        columns = {name: column for name, column in rows.columns.items() if name not in taken}
        yield one.prompt, replace(rows, label=label or rows.label, columns=columns), one
