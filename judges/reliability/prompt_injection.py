"""Instructions in row text: those we plant, to see whether a judge obeys, and those that somebody
else wrote.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, field_validator

from ..errors import InputError
from ..prompt import TextLoader
from ..rows import Row
from ..scale import OutputScale

CONTROL = "control"
"""The wording that asks for nothing."""

SCANNED = 1_000_000
"""Characters of a text that are searched for instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A part of a text that reads like an instruction to a judge."""

    kind: str
    """`overrule`, `demand`, `verdict`, `role`, `fence` or `address`."""
    at: int
    """Position of its first character."""
    text: str


def find_injections(text: str) -> list[Injection]:
    """Find what reads like an instruction to a judge, in the order of the text.

    Patterns for the common kinds, in a few languages; kept narrow, so that a hit is worth a look. A
    text without one is not proved harmless. Only the first `SCANNED` characters are read.
    """
    start = text[:SCANNED]
    folded = _folded(start)
    injections: list[Injection] = []
    for kind, searches in _shipped().patterns.items():
        for search in searches:
            # Looking for a word first is many times quicker than trying every pattern on every
            # text.
            if not any(need in folded for need in search.needs):
                continue
            for match in search.pattern.finditer(start):
                injections.append(
                    Injection(kind=kind, at=match.start(), text=match.group().strip())
                )
    return sorted(injections, key=lambda injection: (injection.at, injection.kind))


def _folded(text: str) -> str:
    """Return a text in lower case as a pattern without case sees it: some letters beyond ASCII
    count as an i or s.
    """
    lower = text.lower()
    if text.isascii():
        return lower
    return lower.replace("i\u0307", "i").replace("\u0131", "i").replace("\u017f", "s")


def wordings() -> Mapping[str, str]:
    """Return the wordings that are planted, by name, the control first, with `{{grade}}` and
    `{{field}}` to fill.
    """
    shipped = _shipped()
    return {CONTROL: shipped.control, **shipped.wordings}


def top_grade(scale: OutputScale) -> str:
    """Return the top of a scale, which planted instructions ask for, as a judge writes it."""
    return scale.labels[-1] if scale.labels else str(scale.high)


def plant(row: Row, scale: OutputScale, field: str, seed: int = 0) -> dict[str, Row]:
    """Return copies of a row by wording, each with the instruction before or behind the text of a
    field, unlabelled.

    Args:
        row: The row; it stays as it is.
        scale: Whose top grade is asked for.
        field: The input that gets the instruction.
        seed: Draws whether it stands in front or behind, for all wordings alike, by seed and row
            id.

    Raises:
        InputError: The row has no such field.
    """
    if field not in row.inputs:
        raise InputError(f"row {row.id!r} has no field {field!r} to plant an instruction into")
    text, grade = row.inputs[field], top_grade(scale)
    in_front = drawn(seed, row.id)[-1] % 2 == 0
    copies: dict[str, Row] = {}
    for name, wording in wordings().items():
        order = wording.replace("{{grade}}", grade).replace("{{field}}", field)
        inputs = {**row.inputs, field: f"{order}\n{text}" if in_front else f"{text}\n{order}"}
        copies[name] = replace(
            row, id=f"{row.id}#{name}", inputs=inputs, label=None, group=row.group or row.id
        )
    return copies


def drawn(*parts: str | int) -> bytes:
    """Return eight bytes that depend on nothing but these parts."""
    return hashlib.blake2b(
        "\0".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8
    ).digest()


class _Search(BaseModel):
    """A pattern, and the words of which every match holds one, in lower case."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    needs: tuple[str, ...]
    pattern: re.Pattern[str]

    @field_validator("pattern", mode="before")
    @classmethod
    def _compiled(cls, value: str) -> re.Pattern[str]:
        return re.compile(value, re.IGNORECASE | re.MULTILINE)


class _InjectionFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["1"]
    control: str
    wordings: dict[str, str]
    patterns: dict[str, tuple[_Search, ...]]


@cache
def _shipped() -> _InjectionFile:
    text = Path(__file__).with_name("prompt_injection.yaml").read_text(encoding="utf-8")
    return _InjectionFile.model_validate(yaml.load(text, Loader=TextLoader))  # noqa: S506  # reads text only
