"""A judge's chat messages as literal text and fields, before any tool's dialect: what every export is held to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...judges import PLACEHOLDER, Example, JudgePrompt

DIFFERENCE = (
    "Fences around row text are fixed tags here; Judgewright derives them from prompt and row, so that row text "
    "cannot close them. Remove the closing tags from row text before filling the placeholders."
)


@dataclass(frozen=True, slots=True)
class Field:
    """The place of a row's field."""

    name: str


TemplatePart = str | Field
"""Literal text, never read as a template, or the place of a field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateMessage:
    """One chat message in which fields are still open."""

    role: Literal["system", "user", "assistant"]
    segments: tuple[TemplatePart, ...]


def template_messages(prompt: JudgePrompt) -> tuple[TemplateMessage, ...]:
    """Return the messages of a judge: the system text, its demonstrations, and the row to be judged."""
    out = [TemplateMessage(role="system", segments=(prompt.system_text(),))]
    for example in prompt.examples:
        out.append(TemplateMessage(role="user", segments=_joined(_user(prompt, example))))
        out.append(TemplateMessage(role="assistant", segments=(example.reply,)))
    out.append(TemplateMessage(role="user", segments=_joined(_user(prompt, None))))
    return tuple(out)


def fill(messages: Sequence[TemplateMessage], inputs: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the messages for one row as `role` and `content`; the row's text comes through as it is.

    Raises:
        KeyError: The row lacks a field.
    """
    return [
        {
            "role": message.role,
            "content": "".join(inputs[s.name] if isinstance(s, Field) else s for s in message.segments),
        }
        for message in messages
    ]


def _user(prompt: JudgePrompt, example: Example | None) -> Iterator[TemplatePart]:
    at = 0
    for found in PLACEHOLDER.finditer(prompt.template):
        name = found.group(1)
        yield prompt.template[at : found.start()]
        yield f"<{name}>\n"
        yield Field(name) if example is None else example.inputs[name]
        yield f"\n</{name}>"
        at = found.end()
    yield prompt.template[at:]
    if prompt.reply.strip():
        yield "\n\n" + prompt.reply.strip()


def _joined(segments: Iterator[TemplatePart]) -> tuple[TemplatePart, ...]:
    """Join literals that stand side by side."""
    out: list[TemplatePart] = []
    for segment in segments:
        last = out[-1] if out else None
        if isinstance(segment, str) and isinstance(last, str):
            out[-1] = last + segment
        elif segment != "":
            out.append(segment)
    return tuple(out)
