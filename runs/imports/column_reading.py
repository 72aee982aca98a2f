"""A model's reading of a table's header: which column holds which of a judge's texts and the label.

What it says is checked against the table, and only ever shown: a person agrees to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import orjson

from ...judges import (
    Filled,
    Instruction,
    JudgePrompt,
    OutputScale,
    Unfilled,
    ask_instruction,
    load_instruction,
)
from ...judges.files import Cell, ColumnReading, GuessedColumns, number_of
from ...judges.models import Client

ROWS = 4
"""Rows whose cells are shown."""
_ROOM, _LONGEST, _SHORTEST = 16_000, 240, 40
"""Characters of all cells that are shown, and of one."""
_PROMPT = 3_000
"""Characters of the judge's prompt that are shown."""


def header_instruction(inputs: tuple[str, ...]) -> Instruction:
    """Return the instruction with a field of the reply for each input of a judge."""
    instruction = load_instruction("read_columns")
    kind, *label = instruction.fields.items()
    of_inputs = [(f"input_{name}", "texts") for name in inputs]
    return replace(instruction, fields=dict([kind, *of_inputs, *label]))


def shown_header(guessed: GuessedColumns, prompt: JudgePrompt | None) -> dict[str, str]:
    """Return what a model is shown of a table, as the instruction's fields.

    Args:
        guessed: The table, with its first rows.
        prompt: The judge; None where only its inputs are known.
    """
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
    return {
        "inputs": "\n".join(guessed.inputs),
        "prompt": "\n\n".join(texts)[:_PROMPT] or "unknown",
        "scale": _described(prompt.scale) if prompt else "unknown",
        "columns": b"\n".join(lines).decode(),
    }


def _short(cell: Cell, longest: int) -> Cell:
    if not isinstance(cell, str) or len(cell) <= longest:
        return cell
    return f"{cell[:longest]}..."


def _described(scale: OutputScale) -> str:
    if scale.kind == "choice":
        return ", ".join(f"{number} = {name}" for number, name in enumerate(scale.labels))
    return scale.describe()


def ask_for_columns(
    guessed: GuessedColumns, prompt: JudgePrompt | None, client: Client
) -> ColumnReading | str:
    """Have a model read a header; return what it says, or why that cannot be used."""
    instruction = header_instruction(guessed.inputs)
    shown = shown_header(guessed, prompt)
    (answer,) = ask_instruction(instruction, [shown], client)
    if isinstance(answer, Unfilled):
        return f"{answer.reason}: {answer.detail}"
    return column_reading(answer, guessed.inputs, client.model.name, prompt)


def column_reading(
    answer: Filled, inputs: Sequence[str], model: str, prompt: JudgePrompt | None
) -> ColumnReading:
    """Return what an answer says; of the label's cells those that have a grade of the judge's
    scale.
    """
    cells: dict[str, float | None] = {}
    for pair in answer.texts("label_cells"):
        cell, _, grade = pair.rpartition("=")
        if grade.strip() == "none":
            cells[cell.strip()] = None
        elif (number := number_of(grade.strip())) is not None and _is_grade(number, prompt):
            cells[cell.strip()] = number
    return ColumnReading(
        model=model,
        kind=answer.text("kind").strip(),
        columns={
            **{name: answer.texts(f"input_{name}") for name in inputs},
            "label": answer.texts("label"),
        },
        label_cells=cells,
    )


def _is_grade(number: float, prompt: JudgePrompt | None) -> bool:
    return prompt is None or number in (0, 1) or prompt.scale.low <= number <= prompt.scale.high
