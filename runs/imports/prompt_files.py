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
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .foreign_judge import ForeignJudge
from .messages import read_langchain, read_messages
from .template_syntaxes import read_f_string, read_jinja, read_loose

_GRADED_BY_MODEL = ("llm-rubric", "g-eval", "model-graded-closedqa", "factuality")
MAX_CHARACTERS = 1_000_000
"""A longer file is no prompt."""


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        InputError: It cannot be read, or is too long to be a prompt.
    """
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}") from None
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"{path} has {len(text):,} characters, which is no prompt")
    return text


def read_prompt_file(path: Path) -> ForeignJudge:
    """Read a plain text with `{{field}}` or `{field}`, or a JSON list of messages with such
    fields.
    """
    return ForeignJudge(
        tool="a file",
        name=path.stem,
        location=path.name,
        syntax="{{field}} or {field}",
        messages=_messages_or_text(read_text(path)),
    )


def read_umbrela(path: Path) -> ForeignJudge:
    """Read an UMBRELA prompt: Python-format text, or YAML with `system_message` and `prefix_user`.

    Few-shot examples, which UMBRELA takes from judged pairs when it runs, are left out unless the
    user fills them.
    """
    text, system = read_text(path), ""
    if path.suffix in (".yaml", ".yml"):
        body = _yaml_mapping(text, path)
        system, text = str(body.get("system_message") or ""), str(body.get("prefix_user") or "")
    messages = [TemplateMessage(role="user", parts=read_f_string(text))]
    if system:
        messages.insert(0, TemplateMessage(role="system", parts=read_f_string(system)))
    return ForeignJudge(
        tool="UMBRELA",
        name=path.stem,
        location=path.name,
        syntax="str.format",
        messages=tuple(messages),
        scale=OutputScale(low=0, high=3, threshold=2.0),
        reply_schema=_umbrela_reply(text),
        fills={"examples": ""},
    )


def _umbrela_reply(text: str) -> dict[str, str] | None:
    """Return the JSON fields of UMBRELA's steps M, T, and O, the grade; none for `##final
    score:`.
    """
    if re.search(r"##\s*final score", text, re.IGNORECASE):
        return {}
    steps = [letter for letter in "MTO" if f"({letter})" in text]
    if "JSON" in text and "O" in steps:
        return dict.fromkeys(steps, "text") | {"O": "score"}
    return None


def read_langchain_file(path: Path) -> ForeignJudge:
    """Read a prompt as `langchain_core.load.dumpd` writes it; f-string, Mustache and Jinja
    templates.
    """
    text = read_text(path)
    syntax, notes = "f-string", ()
    if '"mustache"' in text:
        syntax = "mustache"
        notes = (
            (
                "LangChain's Mustache escapes HTML in the text of {{fields}}; here it comes through"
                " as it is."
            ),
        )
    return ForeignJudge(
        tool="LangChain",
        name=path.stem,
        location=path.name,
        syntax=syntax,
        messages=read_langchain(text),
        notes=notes,
    )


def read_promptfoo(path: Path, *, rubric_alone: bool = False) -> ForeignJudge:
    """Read the model-graded assertion of a promptfoo configuration, YAML or JSON.

    The grader's prompt is `rubricPrompt`, of the assertion or of `defaultTest.options`;
    `{{rubric}}` in it is the assertion's value, and a field of the row where several assertions
    share the prompt.

    Args:
        path: The file.
        rubric_alone: Whether an assertion without a prompt is read too, as its rubric with the
            output after it.

    Raises:
        InputError: There is no such prompt (the tool then uses its own, which stands in no file),
            or no one assertion.
    """
    body = _yaml_mapping(read_text(path), path)
    default = _mapping(body.get("defaultTest"))
    assertion = _graded_assertion(body, default, path)
    prompt = assertion.get("rubricPrompt") or _mapping(default.get("options")).get("rubricPrompt")
    value, threshold = assertion.get("value"), assertion.get("threshold")
    rubric = read_jinja(value) if isinstance(value, str) else ()
    if not prompt and not (rubric_alone and rubric):
        raise InputError(
            f"{path} has no rubricPrompt: promptfoo then grades with words of its own, which stand"
            " in no file",
            hint="write them as defaultTest.options.rubricPrompt",
        )
    notes: tuple[str, ...] = ()
    stated = isinstance(threshold, int | float)
    if not stated:
        threshold = 0.5
        notes = ("Without a threshold promptfoo passes every reply it can read; here it is 0.5.",)
    if prompt:
        messages = tuple(
            _with_rubric(message, rubric) for message in _rubric_messages(prompt, path)
        )
    else:
        messages = (
            TemplateMessage(
                role="user", parts=join_literals([*rubric, "\n\nOutput:\n", Field("output")])
            ),
        )
        notes += ("promptfoo's own words round the rubric stand in no file and are not here.",)
    return ForeignJudge(
        tool="promptfoo",
        name=path.stem,
        location=path.name,
        syntax="nunjucks",
        messages=messages,
        scale=OutputScale(kind="probability", threshold=float(threshold)),
        verdict="score" if stated else "",
        reply_schema=None if prompt else {"reason": "text", "score": "score"},
        criteria=value.strip() if isinstance(value, str) and "{{" not in value else "",
        notes=notes,
    )


def promptfoo_prompts(
    path: Path, body: Mapping[str, Any], text: str
) -> dict[str, Any]:  # Any: YAML
    """Return the prompts that a promptfoo config tests, by their labels, where no judge stands
    beside them.

    Each is a text or a list of messages: in place, under `raw`, or in a file beside the config.
    """
    listed = body.get("prompts")
    if not isinstance(listed, list) or re.search(
        r"rubricPrompt|llm-rubric|model-graded|g-eval", text
    ):
        return {}
    found: dict[str, Any] = {}
    for at, prompt in enumerate(listed, start=1):
        entry = _mapping(prompt)
        words = next(
            (entry[key] for key in ("raw", "content", "template", "file", "id") if entry.get(key)),
            prompt,
        )
        if isinstance(words, str) and words.startswith("file://"):
            words = _beside(path, words, "prompts")
        if isinstance(words, str) and words.lstrip().startswith(("[", "- role")):
            with suppress(yaml.YAMLError):
                words = yaml.safe_load(words)
        if isinstance(words, list) or (isinstance(words, str) and "\n" in words.strip()):
            found[str(entry.get("label") or entry.get("id") or f"prompt {at}")] = words
    return found


def _beside(path: Path, named: str, key: str) -> str:
    """Return the text of a file that a configuration names with `file://`.

    Raises:
        InputError: It lies outside the configuration's folder, or cannot be read.
    """
    file = (path.parent / named.removeprefix("file://")).resolve()
    if not file.is_relative_to(path.parent.resolve()):
        raise InputError(f"{key} names {named!r}, which lies outside the folder of {path.name}")
    return read_text(file)


def _graded_assertion(
    body: Mapping[str, Any], default: Mapping[str, Any], path: Path
) -> Mapping[str, Any]:  # Any: YAML
    """Return the one assertion that a model grades; empty where there is none."""
    shared = _mapping(default.get("options")).get("rubricPrompt")
    distinct: dict[str, Mapping[str, Any]] = {}
    for test in (default, *_mappings(body.get("tests"))):
        for assertion in _mappings(test.get("assert")):
            if assertion.get("type") in _GRADED_BY_MODEL:
                key = json.dumps([assertion.get("value"), assertion.get("rubricPrompt")])
                distinct[key] = assertion
    if (
        len(distinct) > 1
        and shared
        and not any(found.get("rubricPrompt") for found in distinct.values())
    ):
        return {}
    if len(distinct) > 1:
        raise InputError(
            f"{path} has {len(distinct)} model-graded assertions; leave the one to be imported"
        )
    return next(iter(distinct.values()), {})


def _rubric_messages(prompt: Any, path: Path) -> tuple[TemplateMessage, ...]:  # Any: YAML
    """Return the grader's messages: given in place or in a file, as text or as a list of
    messages.
    """
    if isinstance(prompt, str) and prompt.startswith("file://"):
        prompt = _beside(path, prompt, "rubricPrompt")
    if isinstance(prompt, str) and prompt.lstrip().startswith(("[", "- role")):
        with suppress(yaml.YAMLError):
            prompt = yaml.safe_load(prompt)
    if isinstance(prompt, str):
        return (TemplateMessage(role="user", parts=read_jinja(prompt)),)
    return read_messages(prompt, read_jinja)


def _with_rubric(message: TemplateMessage, rubric: tuple[TemplatePart, ...]) -> TemplateMessage:
    parts: list[TemplatePart] = []
    for part in message.parts:
        if rubric and part == Field("rubric"):
            parts += rubric
        else:
            parts.append(part)
    return TemplateMessage(role=message.role, parts=join_literals(parts))


def _messages_or_text(text: str) -> tuple[TemplateMessage, ...]:
    if text.lstrip().startswith("["):
        with suppress(ValueError, InputError):
            return read_messages(json.loads(text), read_loose)
    return (TemplateMessage(role="user", parts=read_loose(re.sub(r"\r\n?", "\n", text))),)


def _yaml_mapping(text: str, path: Path) -> Mapping[str, Any]:  # Any: YAML
    try:
        body = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{path} is no YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(body, Mapping):
        raise InputError(f"{path} holds no fields")
    return body


def _mapping(value: Any) -> Mapping[str, Any]:  # Any: YAML
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:  # Any: YAML
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
