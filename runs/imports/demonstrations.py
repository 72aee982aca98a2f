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

    Labels are found whatever blanks and capitals they are written with.

    Args:
        demonstrations: Each the message that shows a row, and the reply to it.
        last: The message with the fields.
        names: The name here of each field.

    Raises:
        InputError: One does not have the form of the last message.
    """
    pattern = re.compile(_pattern(last.parts, names), re.IGNORECASE)
    replies: list[tuple[dict[str, str], str]] = []
    for number, (user, reply) in enumerate(demonstrations, start=1):
        open_fields = any(isinstance(part, Field) for part in (*user.parts, *reply.parts))
        match = None if open_fields else pattern.fullmatch(user.text({}))
        if match is None:
            raise InputError(
                f"demonstration {number} does not have the form of the last message, so its row"
                " cannot be read",
                hint="give each demonstration the same labels in the same order",
            )
        row = {name: value.strip("\r\n") for name, value in match.groupdict().items()}
        replies.append((row, reply.text({})))
    return replies


def _pattern(parts: Sequence[TemplatePart], names: Mapping[str, str]) -> str:
    """Return the pattern of a message; line breaks part labels from values, with any blanks beside
    them. A value that is shown again is the same.
    """
    pattern = r"\s*"
    shown_before: set[str] = set()
    for part in parts:
        if isinstance(part, Field):
            name = names[part.name]
            pattern += f"(?P={name})" if part.name in shown_before else rf"(?P<{name}>[\s\S]*?)"
            shown_before.add(part.name)
            continue
        for blank, word in re.findall(r"(\s+)|(\S+)", part):
            if "\n" in blank and shown_before:
                pattern += r"\s*" if pattern.endswith(r"[ \t]*") else r"[ \t\r]*\n\s*"
            elif word:
                pattern += re.escape(word) + r"[ \t]*"
    return pattern + r"\s*"
