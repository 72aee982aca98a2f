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
from ...runs.exports import (
    Field,
    TemplateMessage,
    TemplatePart,
    ToolScriptFailed,
    run_tool_script,
)
from ...runs.imports import ForeignJudge

TIMEOUT = 300.0
"""Seconds that a script may take; the largest tools import for half a minute."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReader:
    """Reads the judges that a tool ships, by a script in the Python that has it."""

    tool: str
    script: Path
    """It gets the name of a judge, or none for all names, and the path of its answer."""
    installed_as: str
    """What pip installs."""

    def names(self, interpreter: str | None) -> list[str]:
        """Return the names of the judges that the tool ships.

        Raises:
            InputError: The tool is not there, or the script fails.
        """
        return [str(name) for name in self._run("", interpreter)["names"]]

    def read(self, name: str, interpreter: str | None) -> ForeignJudge:
        """Read one judge.

        Args:
            name: As `names` says.
            interpreter: The Python that has the tool; our own unless given.

        Raises:
            InputError: The tool is not there, it has no such judge, or the script fails.
        """
        try:
            answer = _Answer.model_validate(self._run(name, interpreter))
        except ValidationError as error:
            raise InputError(
                f"what {self.tool} says of {name} cannot be used: {error.errors()[0]['msg']}"
            ) from None
        messages = tuple(_message(message, answer.marks) for message in answer.messages)
        return ForeignJudge(
            tool=answer.tool,
            name=f"{self.tool} {answer.name}",
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

    def _run(self, name: str, interpreter: str | None) -> dict[str, Any]:  # Any: JSON
        with tempfile.TemporaryDirectory() as scratch:
            try:
                return run_tool_script(
                    interpreter, self.script, [name], scratch=Path(scratch), timeout=TIMEOUT
                )
            except ToolScriptFailed as failure:
                raise InputError(
                    f"{self.tool} could not be read with {failure.program}: {failure.reason}",
                    hint=f"--with names the Python that has it; pip installs it as"
                    f" {self.installed_as}",
                ) from None


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
