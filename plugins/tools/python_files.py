"""Prompts in a Python file or a notebook: judges that it builds as objects of a tool, else its
strings. The file is parsed, and nothing of it is run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...judges import InputError
from ...runs.exports import Field
from ...runs.imports import ForeignJudge, PromptReader
from .code_strings import prompts_of
from .python_strings import PythonStrings, fixed_arguments
from .tool_code import read_tool_code


def read_python(path: Path, text: str, string: str | None) -> Sequence[ForeignJudge]:
    """Return the prompts of a Python file or a notebook.

    Raises:
        InputError: It is no Python, or there is none, or none of that name.
    """
    code = _notebook_code(text) if path.suffix == ".ipynb" else text
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise InputError(f"line {error.lineno}: it is no Python: {error.msg}") from None
    built = read_tool_code(path.name, tree)
    if built := [judge for judge in built if string in (None, judge.string)]:
        return built
    strings = PythonStrings(tree)
    try:
        prompts = prompts_of("a Python file", path.name, strings.chats(), strings.strings(), string)
    except InputError as error:
        raise strings.refused or error from None
    fills, notes = fixed_arguments(tree), dict.fromkeys(strings.notes)
    return [replace(one, fills=fills, notes=_notes_on(one, notes)) for one in prompts]


def _notes_on(judge: ForeignJudge, notes: Sequence[str] | dict[str, None]) -> tuple[str, ...]:
    """Return the notes that name a field of a prompt."""
    names = [p.name for message in judge.messages for p in message.parts if isinstance(p, Field)]
    return tuple(note for note in notes if any(f" {name} " in note for name in names))


def _notebook_code(text: str) -> str:
    """Return the Python of a notebook's cells; commands and cells that are none are left out."""
    cells = json.loads(text).get("cells", [])
    sources = ["".join(cell.get("source", ())) for cell in cells if cell.get("cell_type") == "code"]
    codes = (
        "\n".join(line for line in source.split("\n") if not line.lstrip().startswith(("%", "!")))
        for source in sources
    )
    return "\n\n".join(filter(_is_python, codes))


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


READER = PromptReader(suffixes=(".py", ".ipynb"), read=read_python)
"""Reads Python and notebooks."""
