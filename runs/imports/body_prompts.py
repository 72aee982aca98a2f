"""The prompts in a YAML, JSON or TOML file: chats, texts in keys, and those that stand deeper in
it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...judges import InputError
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .body_facts import facts_of
from .foreign_judge import ForeignJudge
from .messages import ROLES, read_messages, text_of
from .placeholders import read_parts
from .prompt_files import promptfoo_prompts, read_promptfoo
from .saved_objects import read_saved_object
from .text_units import ABOUT_CRITERIA

Body = Mapping[str, Any]  # Any: JSON or YAML
_SYSTEM_KEYS = (
    *("system", "system_prompt", "system_message", "systemPrompt", "instructions", "developer"),
    *("system_instruction", "systemInstruction", "instruction"),
)
_USER_KEYS = (
    *(
        "user",
        "prompt",
        "template",
        "user_prompt",
        "user_message",
        "prefix_user",
        "prompt_template",
    ),
    *("promptTemplate", "userPrompt", "text", "content"),
)
_LISTED_KEYS = ("messages", "prompt", "template", "input", "chat", "contents", "lines")
"""Keys of a chat, or of a text line by line."""
_ABOUT = re.compile(
    r"desc|comment|note|name|owner|version|title|example|rationale|changelog|^id$", re.IGNORECASE
)
"""Keys of texts on the prompt, which are no part of it."""
_PART_OF_KEY = re.compile(
    r"(?:[_-]?(?:system|user|human|prompt|template|instructions?|message|text))+$", re.IGNORECASE
)
"""What keys of one prompt's messages differ in: `judge_system` and `judge_user`."""


def prompts_in(path: Path, body: Any, text: str) -> Sequence[ForeignJudge]:  # Any: JSON or YAML
    """Return the prompts of a file, or of what stands at a key of it.

    Args:
        path: The file.
        body: What it holds.
        text: How that is written.

    Raises:
        InputError: It holds none.
    """
    if (
        isinstance(body, list)
        and not _is_chat(body)
        and body
        and all(isinstance(item, Mapping) for item in body)
    ):
        body = {str(_name_of(item, at)): item for at, item in enumerate(body)}
    notes: list[str] = []
    if isinstance(body, list):
        return [_judge(path, "a chat", _chat(body, notes), notes)]
    if not isinstance(body, Mapping):
        return [
            _judge(
                path,
                "a text",
                (TemplateMessage(role="user", parts=read_parts(text, notes)),),
                notes,
            )
        ]
    if (saved := read_saved_object(path, body, text)) is not None:
        return [saved]
    of_promptfoo = bool(body.keys() & {"defaultTest", "tests", "providers"})
    if of_promptfoo or any(isinstance(prompt, str) for prompt in body.get("prompts") or ()):
        if inline := promptfoo_prompts(path, body, text):
            return [_promptfoo(path, name, words) for name, words in inline.items()]
        if of_promptfoo:
            return [read_promptfoo(path, rubric_alone=True)]
    if isinstance(
        body.get("prompt"), Mapping
    ):  # LangSmith, Langfuse and others keep the prompt one level down
        inner = prompts_in(path, body["prompt"], json.dumps(body["prompt"]))
        return [_with_outer(judge, body, text) for judge in inner]
    if messages := _messages(body, notes):
        return [_judge(path, "a prompt file", messages, notes, beside=facts_of(body, text))]
    return _deeper(path, body, text)


def chosen(body: Any, text: str, name: str | None) -> tuple[Any, str]:  # Any: JSON or YAML
    """Return what stands at a path of keys such as `judges.tone`, with its text; all of it without
    a path.

    Raises:
        InputError: There is no such key.
    """
    if name is None:
        return body, text
    for key in name.split("."):
        inner = dict(_entries(body)).get(key)
        if inner is None:
            names = ", ".join(name for name, _ in _paths(body)) or "none"
            raise InputError(f"there is no {name!r} in it", hint=f"its prompts: {names}")
        body = inner
    return (body, body) if isinstance(body, str) else (body, json.dumps(body))


def _deeper(path: Path, body: Body, text: str) -> Sequence[ForeignJudge]:
    """Return the prompts under keys of a file that is none itself."""
    found: list[ForeignJudge] = []
    places = list(_paths(body))
    for name, inner in places:
        written = text if len(places) == 1 else _section(text, name)
        judges = prompts_in(path, inner, inner if isinstance(inner, str) else json.dumps(inner))
        beside = [_with_outer(judge, body if len(places) == 1 else {}, written) for judge in judges]
        found += [replace(judge, string=judge.string or name) for judge in beside]
    if not found:
        raise InputError(
            f"none of its keys holds a prompt: {', '.join(map(str, list(body)[:12]))}",
            hint=f"a chat stands under messages, a text under {', '.join(_USER_KEYS[:4])}",
        )
    return found


def _entries(body: Any) -> Iterator[tuple[str, Any]]:  # Any: JSON or YAML
    """Yield the entries of a mapping, or of a list of mappings by their names."""
    if isinstance(body, Mapping):
        yield from ((str(key), value) for key, value in body.items())
    elif isinstance(body, list) and not _is_chat(body):
        yield from (
            (_name_of(item, at), item) for at, item in enumerate(body) if isinstance(item, Mapping)
        )


def _name_of(item: Any, at: int) -> str:  # Any: JSON or YAML
    named = next(
        (item[key] for key in ("name", "id", "label", "key") if isinstance(item.get(key), str)),
        None,
    )
    return named.replace(".", "_") if named else str(at + 1)


def _paths(body: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # Any: JSON or YAML
    """Yield each prompt in a body with the path of its keys: mappings with messages, and texts with
    fields.
    """
    for key, value in _entries(body):
        name = f"{path}.{key}" if path else key
        if _is_chat(value) or (isinstance(value, Mapping) and _is_prompt(value)):
            yield name, value
        elif isinstance(value, str):
            if not _ABOUT.search(key) and len(value) >= 20 and _has_field(read_parts(value, [])):
                yield name, value
        else:
            yield from _paths(value, name)


def _is_prompt(body: Body) -> bool:
    """Whether a mapping holds a prompt itself: texts with fields, or a text under a key that says
    so.
    """
    says = any(
        isinstance(body.get(key), str | list) and body[key] for key in (*_USER_KEYS[:4], "messages")
    )
    return says or any(_has_field(message.parts) for message in _messages(body, []))


def _section(text: str, name: str) -> str:
    """Return the lines of YAML or TOML that stand under a path of keys, with the comments over
    them.
    """
    key = re.escape(name.rpartition(".")[2])
    over = r"(?m)^(?:[ \t]*#.*\n)*"
    headed = rf"{over}\[+{re.escape(name)}\]+.*\n(?:(?!\[).*\n?)*"
    under = (
        rf"{over}(?P<indent>[ \t]*)(?:- )?(?:name: *)?[\"']?{key}[\"']?:?.*\n(?:(?P=indent)["
        r" \t]+.*\n|[ \t]*\n)*"
    )
    match = re.search(headed, text) or re.search(under, text)
    return match.group() if match and not text.lstrip().startswith(("{", "[{")) else ""


def _is_chat(value: Any) -> bool:  # Any: JSON or YAML
    """Whether a value is a list of messages."""
    return isinstance(value, list) and bool(value) and all(map(_is_message, value))


def _is_lines(value: Any) -> bool:  # Any: JSON or YAML
    """Whether a value is a text, line by line."""
    return isinstance(value, list) and bool(value) and all(isinstance(line, str) for line in value)


def _is_message(item: Any) -> bool:  # Any: JSON or YAML
    if isinstance(item, list):
        return len(item) == 2 and item[0] in ROLES
    return isinstance(item, Mapping) and ("role" in item or set(item) <= ROLES.keys())


def _chat(
    chat: Sequence[Any], notes: list[str]
) -> tuple[TemplateMessage, ...]:  # Any: JSON or YAML
    return read_messages(list(chat), lambda text: read_parts(text, notes))


def _messages(body: Body, notes: list[str]) -> tuple[TemplateMessage, ...]:
    """Return the messages that a mapping holds itself: a chat, a system and a user text, or texts
    with fields.
    """
    body = {
        key: "\n".join(v) if key in _LISTED_KEYS and _is_lines(v) else v for key, v in body.items()
    }
    chats = [key for key in _LISTED_KEYS if body.get(key)]
    chats += [key for key, value in body.items() if _is_chat(value) and not _ABOUT.search(str(key))]
    for key in dict.fromkeys(chats):
        if isinstance(chat := body[key], list):
            system = text_of(next((body[name] for name in _SYSTEM_KEYS if body.get(name)), None))
            return _chat([{"system": system}, *chat] if system else chat, notes)
    found: list[TemplateMessage] = []
    for role, keys in (("system", _SYSTEM_KEYS), ("user", _USER_KEYS)):
        value = next(
            (body[key] for key in keys if isinstance(body.get(key), str) and body[key].strip()),
            None,
        )
        if value is not None:
            role = "system" if role == "system" else "user"
            found.append(TemplateMessage(role=role, parts=read_parts(value, notes)))
    if not any(_has_field(message.parts) for message in found):
        found = list(_of_any_keys(body, notes)) or found
    elif rules := _rules(body, found[-1]):
        found[-1:-1] = [
            TemplateMessage(role="system", parts=read_parts(body[key], notes)) for key in rules
        ]
        notes.append(f"Its text under {', '.join(rules)} stands before the row here.")
    if found and found[-1].role == "system":
        found[-1] = TemplateMessage(role="user", parts=found[-1].parts)
    return tuple(found)


def _rules(body: Body, last: TemplateMessage) -> list[str]:
    """Return the keys of texts that are rules by their names, unless the message with the row has a
    place for them.
    """
    fields = {part.name for part in last.parts if isinstance(part, Field)}
    named = [
        key
        for key, value in body.items()
        if isinstance(value, str) and ABOUT_CRITERIA.search(str(key))
    ]
    return [str(key) for key in named if key not in fields and len(body[key]) >= 60]


def _of_any_keys(body: Body, notes: list[str]) -> Iterator[TemplateMessage]:
    """Yield the messages that the texts of a mapping make, whatever its keys; none where they are
    several prompts.
    """
    texts = {
        str(key): value
        for key, value in body.items()
        if isinstance(value, str) and not _ABOUT.search(str(key))
    }
    read = {key: read_parts(value, notes) for key, value in texts.items() if len(value) >= 20}
    with_fields = [key for key, parts in read.items() if _has_field(parts)]
    fields = [{part.name for part in read[key] if isinstance(part, Field)} for key in with_fields]
    stems = {_PART_OF_KEY.sub("", key) for key in with_fields}
    shared = any(one & other for at, one in enumerate(fields) for other in fields[:at])
    if not with_fields or (
        shared and len(stems) > 1
    ):  # texts that show the same field are prompts of their own
        return
    last = with_fields[-1]
    system: list[TemplatePart] = []
    for key in read:
        if key != last and (key in with_fields or len(texts[key]) >= 60):
            system += [*(["\n\n"] if system else []), *read[key]]
    if system:
        yield TemplateMessage(role="system", parts=join_literals(system))
    yield TemplateMessage(role="user", parts=read[last])


def _has_field(parts: Sequence[TemplatePart]) -> bool:
    return any(isinstance(part, Field) for part in parts)


def _promptfoo(path: Path, name: str, words: Any) -> ForeignJudge:  # Any: a text, or a chat
    notes: list[str] = []
    messages = (
        (TemplateMessage(role="user", parts=read_parts(words, notes)),)
        if isinstance(words, str)
        else _chat(words, notes)
    )
    return replace(_judge(path, "a promptfoo config", messages, notes), string=name)


def _with_outer(judge: ForeignJudge, body: Body, text: str) -> ForeignJudge:
    """Return a judge with what stands beside its key in the file too."""
    inner, outer = judge.beside, facts_of(body, text)
    facts = replace(
        outer,
        thresholds=inner.thresholds or outer.thresholds,
        compared=inner.compared or outer.compared,
        labels=inner.labels or outer.labels,
        scores=inner.scores or outer.scores,
        answer_fields=inner.answer_fields or outer.answer_fields,
    )
    return replace(judge, beside=facts)


def _judge(
    path: Path, tool: str, messages: tuple[TemplateMessage, ...], notes: Sequence[str], **more: Any
) -> ForeignJudge:  # Any: fields
    return ForeignJudge(
        tool=tool,
        name=path.stem,
        location=path.name,
        syntax="as written",
        messages=messages,
        notes=tuple(notes),
        **more,
    )
