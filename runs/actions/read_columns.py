"""Have a model read the header of a table: which column holds which of a judge's texts and the
label. What it says is checked against the table, and only ever shown: a person agrees to it.
"""

from __future__ import annotations

from dataclasses import fields, replace

import orjson

from ...judges import (
    Filled,
    Instruction,
    JudgePrompt,
    Unfilled,
    ask_instruction,
    load_instruction,
)
from ...judges.files import (
    Cell,
    ColumnReading,
    GuessedColumns,
    UnclearColumnsError,
    number_of,
    read_columns,
)
from ..config.command_options import AskOptions, ModelOptions
from ..config.environment import SIMULATED, Environment
from ..store.run_clients import start_run_client
from ..store.workspace import Workspace
from .bench import describe_spending

ROWS = 4
"""Rows whose cells are shown."""
_ROOM, _LONGEST, _SHORTEST = 16_000, 240, 40
"""Characters of all cells that are shown, and of one."""
_PROMPT = 3_000
"""Characters of the judge's prompt that are shown."""


def header_request(
    guessed: GuessedColumns, prompt: JudgePrompt | None
) -> tuple[Instruction, dict[str, str]]:
    """Return what a model is asked of a table, and what it is shown of it.

    Args:
        guessed: The table, with its first rows.
        prompt: The judge; None where only its inputs are known.
    """
    instruction = load_instruction("read_columns")
    kind, *label = instruction.fields.items()
    of_inputs = [(f"input_{name}", "texts") for name in guessed.inputs]
    longest = _ROOM // (ROWS * len(guessed.contents))
    longest = min(max(longest, _SHORTEST), _LONGEST)
    lines: list[bytes] = []
    for name, content in guessed.contents.items():
        cells = [_short(row.get(name), longest) for row in guessed.rows[:ROWS]]
        line = {"column": name, "first rows": cells}
        if content.labels:
            line["all different cells"] = list(content.labels)
        lines.append(orjson.dumps(line))
    texts = (prompt.system, prompt.criteria, prompt.template) if prompt else ()
    return replace(instruction, fields=dict([kind, *of_inputs, *label])), {
        "inputs": "\n".join(guessed.inputs),
        "prompt": "\n\n".join(texts)[:_PROMPT] or "unknown",
        "scale": prompt.scale.describe() if prompt else "unknown",
        "columns": b"\n".join(lines).decode(),
    }


def _short(cell: Cell, longest: int) -> Cell:
    if isinstance(cell, str) and len(cell) > longest:
        return f"{cell[:longest]}..."
    return cell


def column_reading(
    answer: Filled | Unfilled, guessed: GuessedColumns, prompt: JudgePrompt | None, model: str
) -> ColumnReading:
    """Return what an answer says; of the label's cells those with a grade of the judge's scale."""
    if isinstance(answer, Unfilled):
        return ColumnReading(model=model, problem=f"{answer.reason}: {answer.detail}")
    low, high = (prompt.scale.low, prompt.scale.high) if prompt else (-100, 100)
    cells: dict[str, float | None] = {}
    for pair in answer.texts("label_cells"):
        cell, _, grade = map(str.strip, pair.rpartition("="))
        number = number_of(grade)
        is_grade = number is not None and (number in (0, 1) or low <= number <= high)
        if is_grade or grade == "none":
            cells[cell] = number
    columns = {name: answer.texts(f"input_{name}") for name in guessed.inputs}
    columns["label"] = answer.texts("label")
    kind = answer.text("kind").strip()
    return ColumnReading(model=model, kind=kind, columns=columns, label_cells=cells)


def read_header(
    workspace: Workspace,
    guessed: GuessedColumns,
    prompt: JudgePrompt | None,
    models: AskOptions,
    environment: Environment,
) -> tuple[ColumnReading, tuple[str, ...]]:
    """Return what the model reads in the header, and what that cost.

    Raises:
        InputError: The model's name or the budget is not valid.
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    shared = {one.name for one in fields(ModelOptions)} & {one.name for one in fields(models)}
    options = ModelOptions(**{name: getattr(models, name) for name in shared})
    config = {"model": options.model, "inputs": list(guessed.inputs)}
    instruction, shown = header_request(guessed, prompt)
    with start_run_client(workspace, "columns", config, options, environment) as (_, client):
        (answer,) = ask_instruction(instruction, [shown], client)
        reading = column_reading(answer, guessed, prompt, client.model.name)
        return reading, describe_spending(client.stats)


def take_reading(
    error: UnclearColumnsError,
    workspace: Workspace,
    prompt: JudgePrompt | None,
    models: AskOptions,
    environment: Environment,
) -> list[str]:
    """Put what the model reads in the header into the error, where known names leave something in
    doubt and it reads language: the simulated one does not, nor one that only decides. Return what
    that cost, and why it cannot be used.

    Raises: As `read_header`.
    """
    guessed = error.guessed
    if guessed.exact or guessed.sure or guessed.no_rows:
        return []
    if models.model in (None, SIMULATED) or environment.settings(models.model).api is not None:
        return []
    reading, notes = read_header(workspace, guessed, prompt, models, environment)
    error.take(read_columns(guessed, reading))
    problem = f"{reading.model} cannot be used to read the header: {reading.problem}"
    return [*notes, problem] if reading.problem else [*notes]
