"""A judge's chat messages as literal text and fields, before any tool's template syntax.

Every export is compared with these messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...judges import PLACEHOLDER, JudgePrompt

FENCE_DIFFERENCE = (
    "Fences around row text are fixed tags here; Judgewright derives them from prompt and row, so"
    " that row text cannot close them. Remove the closing tags from row text before filling the"
    " placeholders."
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
    parts: tuple[TemplatePart, ...]

    def text(self, inputs: Mapping[str, str]) -> str:
        """Return the message's text for one row; KeyError where the row lacks a field."""
        return "".join(
            inputs[part.name] if isinstance(part, Field) else part for part in self.parts
        )


def template_messages(prompt: JudgePrompt) -> tuple[TemplateMessage, ...]:
    """Return the messages of a judge: the system text, and the row to be judged."""
    return (
        TemplateMessage(role="system", parts=(prompt.system_text(),)),
        TemplateMessage(role="user", parts=join_literals(_user_parts(prompt))),
    )


def fill(messages: Sequence[TemplateMessage], inputs: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the messages for one row as `role` and `content`; the row's text comes through as it
    is.

    Raises:
        KeyError: The row lacks a field.
    """
    return [{"role": message.role, "content": message.text(inputs)} for message in messages]


def split_placeholders(template: str) -> Iterator[TemplatePart]:
    """Cut a template of ours at its placeholders."""
    end = 0
    for match in PLACEHOLDER.finditer(template):
        yield template[end : match.start()]
        yield Field(match.group(1))
        end = match.end()
    yield template[end:]


def join_literals(parts: Iterable[TemplatePart]) -> tuple[TemplatePart, ...]:
    """Join literals that stand side by side, and leave out empty ones."""
    joined: list[TemplatePart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = last + part
        elif part != "":
            joined.append(part)
    return tuple(joined)


def _user_parts(prompt: JudgePrompt) -> Iterator[TemplatePart]:
    """Cut the user message into parts."""
    if prompt.cases is not None:
        yield prompt.shown_cases.choice.first_text()
    for part in split_placeholders(prompt.template):
        if isinstance(part, Field):
            yield f"<{part.name}>\n"
            yield part
            yield f"\n</{part.name}>"
        else:
            yield part
    reply = prompt.reply.strip()
    if reply:
        yield f"\n\n{reply}"
