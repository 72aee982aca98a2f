"""Chat messages in a file, lists of `role` and `content`, as text and fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ...judges import InputError
from ..exports.template_parts import TemplateMessage
from .placeholders import TemplateReader

ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
}
"""Roles by the names that tools give them."""


def read_messages(
    body: Any, read_template: TemplateReader
) -> tuple[TemplateMessage, ...]:  # Any: JSON
    """Read a list of `role` and `content`.

    Args:
        body: The list.
        read_template: Reads the syntax in which its fields stand.

    Raises:
        InputError: It is no such list.
    """
    if not isinstance(body, list) or not body:
        raise InputError("there is no list of messages")
    messages = []
    for number, item in enumerate(body, start=1):
        role_name, text = _role_and_text(item)
        if text is None:
            raise InputError(f"message {number} has no text as its content")
        role = ROLES.get(role_name)
        if role is None:
            raise InputError(f"message {number} has the role {role_name!r:.40}")
        messages.append(TemplateMessage(role=role, parts=read_template(text)))
    return tuple(messages)


def _role_and_text(item: Any) -> tuple[str, str | None]:  # Any: JSON
    """Return the role and the text of a message: also of `{"user": text}`, `["user", text]`, and of
    a list of parts.
    """
    if isinstance(item, list) and len(item) == 2:
        return str(item[0]), text_of(item[1])
    if not isinstance(item, Mapping):
        return "", None
    if len(item) == 1 and (only := next(iter(item.items())))[0] in ROLES:
        return only[0], text_of(only[1])
    return str(item.get("role", "")), text_of(item.get("content", item.get("parts")))


def text_of(content: Any) -> str | None:  # Any: JSON
    """Return a content that is a text, or a list of parts that each are one; None where it is
    neither.
    """
    if isinstance(content, Mapping):
        content = content.get("text", content.get("parts"))
    if isinstance(content, list) and content:
        texts = [text_of(part) for part in content]
        return (
            "\n\n".join(text for text in texts if text)
            if all(text is not None for text in texts)
            else None
        )
    return content if isinstance(content, str) else None
