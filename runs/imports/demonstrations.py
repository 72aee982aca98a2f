"""The rows of a chat's demonstrations, read off their texts by the labels of the last message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...judges import Example, InputError
from ..exports.template_parts import Field, TemplateMessage, TemplatePart


def read_demonstrations(
    demonstrations: Sequence[tuple[TemplateMessage, TemplateMessage]],
    last: TemplateMessage,
    names: Mapping[str, str],
) -> tuple[Example, ...]:
    """Read the row of each demonstration off its text.

    Labels are found letter by letter, else whatever blanks and capitals they are written with.

    Args:
        demonstrations: Each the message that shows a row, and the reply to it.
        last: The message with the fields.
        names: The name here of each field.

    Raises:
        InputError: One does not have the form of the last message.
    """
    parts = _stripped(last.parts)
    patterns = [re.compile(_exact(parts, names)), re.compile(_loose(parts, names), re.IGNORECASE)]
    examples: list[Example] = []
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
        examples.append(Example(inputs=row, reply=reply.text({})))
    return tuple(examples)


def _stripped(parts: Sequence[TemplatePart]) -> list[TemplatePart]:
    """Return parts without blanks at either end."""
    stripped = list(parts)
    if stripped and isinstance(stripped[0], str):
        stripped[0] = stripped[0].lstrip()
    if stripped and isinstance(stripped[-1], str):
        stripped[-1] = stripped[-1].rstrip()
    return stripped


def _exact(parts: Sequence[TemplatePart], names: Mapping[str, str]) -> str:
    """Return the pattern of a message as it is written."""
    values = _values(parts, names)
    return "".join(re.escape(part) if isinstance(part, str) else next(values) for part in parts)


def _loose(parts: Sequence[TemplatePart], names: Mapping[str, str]) -> str:
    """Return a pattern in which line breaks part labels from values, with any blanks beside
    them.
    """
    values = _values(parts, names)
    pattern = ""
    for part in parts:
        if not isinstance(part, str):
            pattern += next(values)
            continue
        for blank, word in re.findall(r"(\s+)|(\S+)", part):
            if "\n" in blank:
                pattern += r"\s*" if pattern.endswith(r"[ \t]*") else r"[ \t\r]*\n\s*"
            elif word:
                pattern += re.escape(word) + r"[ \t]*"
    return pattern


def _values(parts: Sequence[TemplatePart], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the pattern of each field's value; where it is shown again it is the same."""
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, Field):
            yield (
                f"(?P={names[part.name]})"
                if part.name in seen
                else rf"(?P<{names[part.name]}>[\s\S]*?)"
            )
            seen.add(part.name)


def _has_fields(*messages: TemplateMessage) -> bool:
    return any(isinstance(part, Field) for message in messages for part in message.parts)
