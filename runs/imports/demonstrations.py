"""The rows of a chat's demonstrations, read off their texts by the labels of the last message."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...judges import InputError
from ..exports.template_parts import Field, TemplateMessage, TemplatePart


def read_demonstrations(
    demonstrations: Sequence[tuple[TemplateMessage, TemplateMessage]],
    last: TemplateMessage,
    names: Mapping[str, str],
) -> list[tuple[dict[str, str], str]]:
    """Read the row of each demonstration off its text; return its inputs and the reply to it.

    Labels are found letter by letter, else whatever blanks and capitals they are written with.

    Args:
        demonstrations: Each the message that shows a row, and the reply to it.
        last: The message with the fields.
        names: The name here of each field.

    Raises:
        InputError: One does not have the form of the last message.
    """
    parts = _stripped(last.parts)
    patterns = [
        re.compile(_pattern(parts, names, loose=False)),
        re.compile(_pattern(parts, names, loose=True), re.IGNORECASE),
    ]
    replies: list[tuple[dict[str, str], str]] = []
    for number, (user, reply) in enumerate(demonstrations, start=1):
        text = "" if _has_fields(user, reply) else user.text({}).strip()
        match = next(
            (fitting for pattern in patterns if text and (fitting := pattern.fullmatch(text))), None
        )
        if match is None:
            raise InputError(
                f"demonstration {number} does not have the form of the last message, so its row"
                " cannot be read",
                hint="give each demonstration the same labels in the same order",
            )
        row = {name: value.strip("\r\n") for name, value in match.groupdict().items()}
        replies.append((row, reply.text({})))
    return replies


def _stripped(parts: Sequence[TemplatePart]) -> list[TemplatePart]:
    """Return parts without blanks at either end."""
    stripped = list(parts)
    if stripped and isinstance(stripped[0], str):
        stripped[0] = stripped[0].lstrip()
    if stripped and isinstance(stripped[-1], str):
        stripped[-1] = stripped[-1].rstrip()
    return stripped


def _pattern(parts: Sequence[TemplatePart], names: Mapping[str, str], *, loose: bool) -> str:
    """Return the pattern of a message; loosely line breaks part labels from values, with any blanks
    beside them. A value that is shown again is the same.
    """
    pattern = ""
    shown_before: set[str] = set()
    for part in parts:
        if isinstance(part, Field):
            name = names[part.name]
            pattern += f"(?P={name})" if part.name in shown_before else rf"(?P<{name}>[\s\S]*?)"
            shown_before.add(part.name)
            continue
        if not loose:
            pattern += re.escape(part)
            continue
        for blank, word in re.findall(r"(\s+)|(\S+)", part):
            if "\n" in blank:
                pattern += r"\s*" if pattern.endswith(r"[ \t]*") else r"[ \t\r]*\n\s*"
            elif word:
                pattern += re.escape(word) + r"[ \t]*"
    return pattern


def _has_fields(*messages: TemplateMessage) -> bool:
    return any(isinstance(part, Field) for message in messages for part in message.parts)
