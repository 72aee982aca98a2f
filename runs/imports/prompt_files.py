"""Judges in files that people and tools keep: plain text, UMBRELA, LangChain, promptfoo."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from ...judges import InputError, OutputScale, read_small_text
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from .foreign_judge import Found
from .messages import read_langchain, read_messages
from .template_syntaxes import joined, read_f_string, read_jinja, read_loose

_GRADED = ("llm-rubric", "g-eval", "model-graded-closedqa", "factuality")
MAX_FILE = 1_000_000
"""Characters; a longer file is no prompt."""


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        InputError: It cannot be read, or is too long to be a prompt.
    """
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}") from None
    if len(text) > MAX_FILE:
        raise InputError(f"{path} has {len(text):,} characters, which is no prompt")
    return text


def find_file(path: Path) -> Found:
    """Read a plain text with `{{field}}` or `{field}`, or a JSON list of messages with such fields."""
    text = read_text(path)
    return Found(
        tool="a file",
        name=path.stem,
        place=path.name,
        dialect="{{field}} or {field}",
        messages=_messages_or_text(text),
    )


def find_umbrela(path: Path) -> Found:
    """Read an UMBRELA prompt: Python-format text, or YAML with `system_message` and `prefix_user`.

    Few-shot examples, which UMBRELA takes from judged pairs when it runs, are left out unless the user fills them.
    """
    text, system = read_text(path), ""
    if path.suffix in (".yaml", ".yml"):
        body = _mapping(text, path)
        system, text = str(body.get("system_message") or ""), str(body.get("prefix_user") or "")
    messages = [TemplateMessage(role="user", segments=read_f_string(text))]
    if system:
        messages.insert(0, TemplateMessage(role="system", segments=read_f_string(system)))
    return Found(
        tool="UMBRELA",
        name=path.stem,
        place=path.name,
        dialect="str.format",
        messages=tuple(messages),
        scale=OutputScale(low=0, high=3, threshold=2.0),
        reply_schema=_umbrela_reply(text),
        fills={"examples": ""},
    )


def find_langchain(path: Path) -> Found:
    """Read a prompt as `langchain_core.load.dumpd` writes it; f-string, Mustache and Jinja templates."""
    text = read_text(path)
    escapes = '"mustache"' in text
    return Found(
        tool="LangChain",
        name=path.stem,
        place=path.name,
        dialect="mustache" if escapes else "f-string",
        messages=read_langchain(text),
        notes=("LangChain's Mustache escapes HTML in the text of {{fields}}; here it comes through as it is.",)
        if escapes
        else (),
    )


def find_promptfoo(path: Path) -> Found:
    """Read the model-graded assertion of a promptfoo configuration, YAML or JSON.

    The grader's prompt is `rubricPrompt`, of the assertion or of `defaultTest.options`; `{{rubric}}` in it is the
    assertion's value.

    Raises:
        InputError: There is no such prompt (the tool then uses its own, which stands in no file), or no one assertion.
    """
    body = _mapping(read_text(path), path)
    default = body.get("defaultTest")
    default = default if isinstance(default, Mapping) else {}
    asserts = [*_asserts(default), *(one for test in _listed(body.get("tests")) for one in _asserts(test))]
    graded = [one for one in asserts if one.get("type") in _GRADED]
    distinct = {json.dumps([one.get("value"), one.get("rubricPrompt")]): one for one in graded}
    if len(distinct) > 1:
        raise InputError(f"{path} has {len(distinct)} model-graded assertions; leave the one to be imported")
    assertion = next(iter(distinct.values()), {})
    options = default.get("options")
    shared = options.get("rubricPrompt") if isinstance(options, Mapping) else None
    prompt = assertion.get("rubricPrompt") or shared
    if not prompt:
        raise InputError(
            f"{path} has no rubricPrompt: promptfoo then grades with words of its own, which stand in no file",
            hint="write them as defaultTest.options.rubricPrompt",
        )
    value, threshold = assertion.get("value"), assertion.get("threshold")
    rubric = read_jinja(value) if isinstance(value, str) else ()
    decides = isinstance(threshold, int | float)
    return Found(
        tool="promptfoo",
        name=path.stem,
        place=path.name,
        dialect="nunjucks",
        messages=tuple(_with_rubric(m, rubric) for m in _rubric(prompt, path)),
        scale=OutputScale(kind="probability", threshold=float(threshold) if decides else 0.5),
        notes=() if decides else ("Without a threshold promptfoo passes every reply it can read; here it is 0.5.",),
    )


def _umbrela_reply(text: str) -> dict[str, str] | None:
    """The JSON fields an UMBRELA prompt asks for: its steps M, T, and O, the grade; none for `##final score:`."""
    if re.search(r"##\s*final score", text, re.IGNORECASE):
        return {}
    steps = [letter for letter in "MTO" if f"({letter})" in text]
    if "JSON" in text and "O" in steps:
        return {letter: "score" if letter == "O" else "text" for letter in steps}
    return None


def _rubric(prompt: Any, path: Path) -> tuple[TemplateMessage, ...]:  # Any: YAML
    """The grader's messages: given in place or in a file, as text or as a list of messages."""
    if isinstance(prompt, str) and prompt.startswith("file://"):
        named = (path.parent / prompt.removeprefix("file://")).resolve()
        if not named.is_relative_to(path.parent.resolve()):
            raise InputError(f"rubricPrompt names {prompt!r}, which lies outside the folder of {path.name}")
        prompt = read_text(named)
    if isinstance(prompt, str):
        with suppress(yaml.YAMLError):
            prompt = yaml.safe_load(prompt) if prompt.lstrip().startswith(("[", "- role")) else prompt
    if isinstance(prompt, str):
        return (TemplateMessage(role="user", segments=read_jinja(prompt)),)
    return read_messages(prompt, read_jinja)


def _with_rubric(message: TemplateMessage, rubric: tuple[TemplatePart, ...]) -> TemplateMessage:
    out: list[TemplatePart] = []
    for segment in message.segments:
        out += rubric if rubric and segment == Field("rubric") else [segment]
    return TemplateMessage(role=message.role, segments=joined(out))


def _messages_or_text(text: str) -> tuple[TemplateMessage, ...]:
    if text.lstrip().startswith("["):
        with suppress(ValueError, InputError):
            return read_messages(json.loads(text), read_loose)
    return (TemplateMessage(role="user", segments=read_loose(re.sub(r"\r\n?", "\n", text))),)


def _mapping(text: str, path: Path) -> Mapping[str, Any]:  # Any: YAML
    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{path} is no YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(body, Mapping):
        raise InputError(f"{path} holds no fields")
    return body


def _asserts(test: Any) -> list[Mapping[str, Any]]:  # Any: YAML
    return _listed(test.get("assert")) if isinstance(test, Mapping) else []


def _listed(value: Any) -> list[Mapping[str, Any]]:  # Any: YAML
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
