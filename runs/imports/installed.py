"""Judges that an installed tool ships, told by a probe: a script run in the Python that has the tool."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ...judges import InputError, OutputScale
from ..exports.conformance import CheckFailed, run_check
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from .foreign_judge import Found

TOOLS: Mapping[str, str] = {
    "trulens": "trulens-feedback",
    "mlflow": "mlflow",
    "ragas": "ragas",
    "deepeval": "deepeval",
    "umbrela": "umbrela",
}
"""Tools with a probe, and what pip installs."""
TIMEOUT = 300.0
"""Seconds that a probe may take; the largest tools import for half a minute."""


class _Scale(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["graded", "binary", "probability"]
    low: int = 0
    high: int = 1
    labels: tuple[str, ...] = ()


class _Told(BaseModel):
    """What a probe writes about one judge."""

    model_config = ConfigDict(extra="forbid")
    tool: str
    name: str
    place: str
    dialect: str
    messages: list[dict[Literal["role", "content"], str]]
    marks: dict[str, str]
    """The text that stood for each field when the tool wrote the messages, to the tool's name of the field."""
    scale: _Scale | None = None
    reply: dict[str, Literal["text", "score", "confidence"]] | None = None
    unreadable: str = ""
    fills: dict[str, str] = {}
    needs: dict[str, str] = {}
    notes: list[str] = []


def list_installed(tool: str, interpreter: str | None) -> list[str]:
    """Return the names of the judges that a tool ships.

    Raises:
        InputError: The tool is not there, or the probe fails.
    """
    return [str(name) for name in _run(tool, "", interpreter)["names"]]


def find_installed(tool: str, name: str, interpreter: str | None) -> Found:
    """Read one judge from an installed tool.

    Args:
        tool: One of `TOOLS`.
        name: As `list_installed` says.
        interpreter: The Python that has the tool; our own unless given.

    Raises:
        InputError: The tool is not there, it has no such judge, or the probe fails.
    """
    try:
        told = _Told.model_validate(_run(tool, name, interpreter))
    except ValidationError as error:
        raise InputError(f"the probe of {tool} told nothing that can be used: {error.errors()[0]['msg']}") from None
    scale = told.scale
    return Found(
        tool=told.tool,
        name=told.name,
        place=told.place,
        dialect=told.dialect,
        messages=tuple(_message(one, told.marks) for one in told.messages),
        scale=None if scale is None else _scale(scale),
        reply_schema=told.reply,
        unreadable=told.unreadable,
        fills=told.fills,
        needs=told.needs,
        notes=tuple(told.notes),
    )


def _scale(scale: _Scale) -> OutputScale:
    thresholds = {"graded": float(-(-(scale.low + scale.high) // 2)), "binary": 1.0, "probability": 0.5}
    return OutputScale(
        kind=scale.kind, low=scale.low, high=scale.high, labels=scale.labels, threshold=thresholds[scale.kind]
    )


def _message(one: Mapping[Literal["role", "content"], str], marks: Mapping[str, str]) -> TemplateMessage:
    """Cut a message at the marks that stood for the fields."""
    roles: dict[str, Literal["system", "user", "assistant"]] = {"system": "system", "assistant": "assistant"}
    pieces = re.split("(" + "|".join(map(re.escape, marks)) + ")", one["content"]) if marks else [one["content"]]
    segments: list[TemplatePart] = [Field(marks[piece]) if piece in marks else piece for piece in pieces]
    return TemplateMessage(role=roles.get(one["role"], "user"), segments=tuple(s for s in segments if s != ""))


def _run(tool: str, name: str, interpreter: str | None) -> dict[str, Any]:  # Any: JSON
    probe = files("judgewright.runs.imports") / "tool_readers" / f"import_{tool}.py"
    with tempfile.TemporaryDirectory() as scratch, as_file(probe) as script:
        try:
            return run_check(interpreter, script, [name], scratch=Path(scratch), timeout=TIMEOUT)
        except CheckFailed as failed:
            raise InputError(
                f"{tool} could not be read with {failed.program}: {failed.said}",
                hint=f"--with names the Python that has it; pip installs it as {TOOLS[tool]}",
            ) from None
