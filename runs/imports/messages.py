"""Chat messages in a file: lists of `role` and `content`, and LangChain's prompts, as text and fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from ...judges import InputError
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from .template_syntaxes import DIALECTS, Dialect

_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
}


def read_messages(body: Any, dialect: Dialect, *, fixed: bool = False) -> tuple[TemplateMessage, ...]:  # Any: JSON
    """Read a list of `role` and `content`.

    Args:
        body: The list.
        dialect: How fields stand in it.
        fixed: Whether only the last message is a template.

    Raises:
        InputError: It is no such list.
    """
    if not isinstance(body, list) or not body:
        raise InputError("there is no list of messages")
    out = []
    for number, one in enumerate(body, start=1):
        text = one.get("content") if isinstance(one, Mapping) else None
        if not isinstance(text, str):
            raise InputError(f"message {number} has no text as its content")
        role = _ROLES.get(str(one.get("role")))
        if role is None:
            raise InputError(f"message {number} has the role {one.get('role')!r:.40}")
        literal = fixed and number < len(body)
        out.append(TemplateMessage(role=role, segments=(text,) if literal else dialect(text)))
    return tuple(out)


def read_langchain(text: str) -> tuple[TemplateMessage, ...]:
    """Read a `ChatPromptTemplate` or `PromptTemplate` as `langchain_core.load.dumpd` writes it.

    Raises:
        InputError: It is neither, or holds what no prompt of ours can.
    """
    try:
        body = json.loads(text)
        kind = _kind_of(body)
        if kind == "PromptTemplate":
            return (TemplateMessage(role="user", segments=_template(body["kwargs"], {})),)
        if kind != "ChatPromptTemplate":
            raise InputError(f"the file holds {kind or 'no LangChain object'}, not a ChatPromptTemplate")
        partial = body["kwargs"].get("partial_variables") or {}
        return tuple(_langchain_message(one, partial) for one in body["kwargs"]["messages"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the file is no LangChain prompt: {type(error).__name__}: {error}") from None


def _langchain_message(one: Any, partial: Mapping[str, str]) -> TemplateMessage:  # Any: JSON
    kind = _kind_of(one)
    role = _ROLES.get(re.sub(r"Message(?:PromptTemplate)?$", "", kind).lower())
    if role is None:
        raise InputError(f"a message is {kind or 'no LangChain object'}; system, human and AI messages are read")
    if kind.endswith("PromptTemplate"):
        if _kind_of(one["kwargs"].get("prompt")) != "PromptTemplate":
            raise InputError(f"a {kind} holds parts other than text")
        return TemplateMessage(role=role, segments=_template(one["kwargs"]["prompt"]["kwargs"], partial))
    if not isinstance(one["kwargs"].get("content"), str):
        raise InputError(f"a {kind} holds parts other than text")
    return TemplateMessage(role=role, segments=(one["kwargs"]["content"],))


def _template(kwargs: Mapping[str, Any], partial: Mapping[str, str]) -> tuple[TemplatePart, ...]:  # Any: JSON
    name = kwargs.get("template_format", "f-string")
    if name not in DIALECTS:
        raise InputError(f"the template format {name!r:.40} is not read")
    filled = {**partial, **(kwargs.get("partial_variables") or {})}
    segments = DIALECTS[name](kwargs["template"])
    return tuple(str(filled[s.name]) if isinstance(s, Field) and s.name in filled else s for s in segments)


def _kind_of(body: Any) -> str:  # Any: JSON
    known = isinstance(body, Mapping) and body.get("type") == "constructor" and isinstance(body.get("kwargs"), Mapping)
    return str(body["id"][-1]) if known and body.get("id") else ""
