"""Judges that an installed tool ships, read by a script run in the Python that has the tool."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ...judges import InputError, OutputScale
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from ..exports.tool_scripts import ToolScriptFailed, run_tool_script
from ..plugins import brought, load
from .foreign_judge import ForeignJudge

TIMEOUT = 300.0
"""Seconds that a script may take; the largest tools import for half a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReader:
    """How the judges that a tool ships are read; a plug-in brings it."""

    script: Path
    """It gets the name of a judge, or none for all names, and the path of its answer."""
    installed_as: str
    """What pip installs."""


class _Scale(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["graded", "binary", "probability"]
    low: int = 0
    high: int = 1
    labels: tuple[str, ...] = ()

    def output_scale(self) -> OutputScale:
        """Return the scale, positive from its upper half on."""
        middle = float(-(-(self.low + self.high) // 2))  # rounded up
        threshold = {"graded": middle, "binary": 1.0, "probability": 0.5}[self.kind]
        return OutputScale(
            kind=self.kind, low=self.low, high=self.high, labels=self.labels, threshold=threshold
        )


class _Answer(BaseModel):
    """What a script writes about one judge."""

    model_config = ConfigDict(extra="forbid")
    tool: str
    name: str
    location: str
    messages: list[dict[Literal["role", "content"], str]]
    marks: dict[str, str]
    """The text that stood for each field when the tool wrote the messages, to the tool's name of
    the field.
    """
    scale: _Scale | None = None
    reply: dict[str, Literal["text", "score", "confidence"]] | None = None
    unreadable: str = ""
    mark: str = ""
    criteria: str = ""
    fills: dict[str, str] = {}
    needs: dict[str, str] = {}
    notes: list[str] = []


def list_installed(tool: str, interpreter: str | None) -> list[str]:
    """Return the names of the judges that a tool ships.

    Raises:
        InputError: The tool is not there, or the script fails.
    """
    return [str(name) for name in _run(tool, "", interpreter)["names"]]


def read_installed(tool: str, name: str, interpreter: str | None) -> ForeignJudge:
    """Read one judge from an installed tool.

    Args:
        tool: One that a plug-in reads.
        name: As `list_installed` says.
        interpreter: The Python that has the tool; our own unless given.

    Raises:
        InputError: The tool is not there, it has no such judge, or the script fails.
    """
    try:
        answer = _Answer.model_validate(_run(tool, name, interpreter))
    except ValidationError as error:
        raise InputError(
            f"what {tool} says of {name} cannot be used: {error.errors()[0]['msg']}"
        ) from None
    messages = tuple(_message(message, answer.marks) for message in answer.messages)
    return ForeignJudge(
        tool=answer.tool,
        name=f"{tool} {answer.name}",
        location=answer.location,
        messages=messages,
        scale=answer.scale.output_scale() if answer.scale else None,
        reply_schema=answer.reply,
        unreadable=answer.unreadable,
        reply_mark=answer.mark,
        criteria=answer.criteria,
        fills=answer.fills,
        needs=answer.needs,
        notes=tuple(answer.notes),
    )


def _message(
    message: Mapping[Literal["role", "content"], str], marks: Mapping[str, str]
) -> TemplateMessage:
    """Cut a message at the marks that stood for the fields."""
    roles: dict[str, Literal["system", "user", "assistant"]] = {
        "system": "system",
        "assistant": "assistant",
    }
    pieces = [message["content"]]
    if marks:
        pieces = re.split("(" + "|".join(map(re.escape, marks)) + ")", message["content"])
    parts: list[TemplatePart] = []
    for piece in pieces:
        if piece in marks:
            parts.append(Field(marks[piece]))
        elif piece:
            parts.append(piece)
    return TemplateMessage(role=roles.get(message["role"], "user"), parts=tuple(parts))


def _run(tool: str, name: str, interpreter: str | None) -> dict[str, Any]:  # Any: JSON
    reader: ToolReader = load(brought("judge_readers")[tool])
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return run_tool_script(
                interpreter, reader.script, [name], scratch=Path(scratch), timeout=TIMEOUT
            )
        except ToolScriptFailed as failure:
            raise InputError(
                f"{tool} could not be read with {failure.program}: {failure.reason}",
                hint=f"--with names the Python that has it; pip installs it as"
                f" {reader.installed_as}",
            ) from None
