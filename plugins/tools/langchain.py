"""Prompts of LangChain, as it serializes them, as text and fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...judges import InputError
from ...runs.exports import Field, TemplateMessage, TemplatePart
from ...runs.imports import ROLES, TemplateReader, read_f_string, read_parts

LANGCHAIN_SYNTAXES: Mapping[str, TemplateReader] = {
    "f-string": read_f_string,
    "jinja2": lambda text: read_parts(text, []),
    "mustache": lambda text: read_parts(text, []),
}
"""Template syntaxes by the names that LangChain gives them."""


def read_langchain(body: Any) -> tuple[TemplateMessage, ...]:  # Any: JSON
    """Read a `ChatPromptTemplate` or `PromptTemplate` as `langchain_core.load.dumpd` writes it.

    Raises:
        InputError: It is neither, or holds what no prompt of ours can.
    """
    try:
        kind = _kind_of(body)
        if kind == "PromptTemplate":
            return (TemplateMessage(role="user", parts=_template_parts(body["kwargs"], {})),)
        if kind not in ("ChatPromptTemplate", "StructuredPrompt"):
            raise InputError(
                f"the file holds {kind or 'no LangChain object'}, not a ChatPromptTemplate"
            )
        partial = body["kwargs"].get("partial_variables") or {}
        return tuple(_langchain_message(item, partial) for item in body["kwargs"]["messages"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"the file is no LangChain prompt: {type(error).__name__}: {error}"
        ) from None


def _langchain_message(item: Any, partial: Mapping[str, str]) -> TemplateMessage:  # Any: JSON
    kind = _kind_of(item)
    role = ROLES.get(re.sub(r"Message(?:PromptTemplate)?$", "", kind).lower())
    if role is None:
        raise InputError(
            f"a message is {kind or 'no LangChain object'}; system, human and AI messages are read"
        )
    kwargs = item["kwargs"]
    if kind.endswith("PromptTemplate") and _kind_of(kwargs.get("prompt")) == "PromptTemplate":
        return TemplateMessage(
            role=role, parts=_template_parts(kwargs["prompt"]["kwargs"], partial)
        )
    if not kind.endswith("PromptTemplate") and isinstance(kwargs.get("content"), str):
        return TemplateMessage(role=role, parts=(kwargs["content"],))
    raise InputError(f"a {kind} holds parts other than text")


def _template_parts(
    kwargs: Mapping[str, Any], partial: Mapping[str, str]
) -> tuple[TemplatePart, ...]:  # Any: JSON
    syntax = kwargs.get("template_format", "f-string")
    if syntax not in LANGCHAIN_SYNTAXES:
        raise InputError(f"the template format {syntax!r:.40} is not read")
    fills = {**partial, **(kwargs.get("partial_variables") or {})}
    parts: list[TemplatePart] = []
    for part in LANGCHAIN_SYNTAXES[syntax](kwargs["template"]):
        if isinstance(part, Field) and part.name in fills:
            parts.append(str(fills[part.name]))
        else:
            parts.append(part)
    return tuple(parts)


def _kind_of(body: Any) -> str:  # Any: JSON
    """Return the class of an object that LangChain serialized; empty where it is none."""
    if not isinstance(body, Mapping) or body.get("type") != "constructor":
        return ""
    if not isinstance(body.get("kwargs"), Mapping) or not body.get("id"):
        return ""
    return str(body["id"][-1])
