"""The prompts in a YAML, JSON or TOML file: chats, texts in keys, and those that stand deeper in
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...judges import InputError
from ..exports.template_parts import TemplateMessage
from .foreign_judge import ForeignJudge, foreign, has_field
from .messages import ROLES, read_messages, text_of
from .placeholders import read_parts
from .prompt_files import words_of

Body = Mapping[str, Any]  # Any: JSON or YAML
_SYSTEM_KEYS = words_of(
    "system system_prompt system_message systemPrompt instructions developer"
    " system_instruction systemInstruction instruction"
)
_USER_KEYS = words_of(
    "user prompt template user_prompt user_message prefix_user prompt_template"
    " promptTemplate userPrompt text content"
)
_RULE_KEYS = words_of("role task rules criteria rubric guidelines definition steps scale persona")
_LISTED_KEYS = ["messages", "prompt", "template", "input", "chat", "contents", "lines"]
"""Keys of a chat, or of a text line by line."""
_ABOUT = words_of(
    "description comment note notes name owner version title example examples rationale"
    " changelog id label"
)
"""Keys of texts on the prompt, which are no part of it."""
_SHORTEST = 20
_SHORTEST_PLAIN = 60


def prompts_in(path: Path, body: Any, key_path: str | None) -> list[ForeignJudge]:  # Any: JSON
    """Return the prompts of a file.

    Args:
        path: The file.
        body: What it holds.
        key_path: The path of keys, such as `judges.tone`, of the one to take.

    Raises:
        InputError: It holds none, or none of that name.
    """
    notes: list[str] = []
    judges = [
        replace(judge, string=judge.string or name)
        for name, judge in _prompts(path, body, "", notes)
    ]
    if key_path is not None:
        named = [judge for judge in judges if judge.string == key_path]
        if not named:
            names = ", ".join(judge.string for judge in judges) or "none"
            raise InputError(f"there is no {key_path!r} in it", hint=f"its prompts: {names}")
        judges = named[:1]
    if not judges:
        raise InputError(
            "none of its keys holds a prompt",
            hint=f"a chat stands under messages, a text under {', '.join(_USER_KEYS[:4])}",
        )
    return [replace(judge, notes=(*judge.notes, *notes)) for judge in judges]


def _prompts(
    path: Path, body: Any, name: str, notes: list[str]
) -> Iterator[tuple[str, ForeignJudge]]:  # Any: JSON
    """Yield each prompt in a body with the path of its keys."""
    body = _as_pairs(body)
    if _is_chat(body):
        yield name, foreign("a chat", path.name, _chat(body, notes))
        return
    if isinstance(body, str):
        judge = foreign("a text", path.name, [_message("user", body, notes)])
        if len(body) >= _SHORTEST and (has_field(judge) or not name):
            yield name, judge
        return
    if isinstance(body, Mapping):
        if {"criteria", "template", "reply", "scale"} <= body.keys():
            raise InputError(
                "it is a judge already", hint=f"judgewright bench {path.name} ROWS --model NAME"
            )
        messages = _messages(body, notes)
        judge = foreign("a prompt file", path.name, messages) if messages else None
        inner = list(_deeper(path, body, name, notes))
        if judge and (has_field(judge) or not inner):
            yield name, judge
        else:
            yield from inner
    elif isinstance(body, list):
        yield from _deeper(
            path, {_name_of(item, at): item for at, item in enumerate(body)}, name, notes
        )


def _deeper(
    path: Path, body: Body, name: str, notes: list[str]
) -> Iterator[tuple[str, ForeignJudge]]:
    for key, value in body.items():
        if str(key) not in _ABOUT:
            yield from _prompts(path, value, f"{name}.{key}" if name else str(key), notes)


def _name_of(item: Any, at: int) -> str:  # Any: JSON
    body = item if isinstance(item, Mapping) else {}
    keys = ("name", "id", "label", "key")
    named = next((body[key] for key in keys if isinstance(body.get(key), str)), None)
    return named.replace(".", "_") if named else str(at + 1)


def _as_pairs(body: Any) -> Any:  # Any: JSON
    """Return a chat whose keys have names of their own, such as `rol` and `contenido`, as pairs of
    role and text; anything else as it is.
    """
    if not isinstance(body, list) or not all(isinstance(item, Mapping) for item in body):
        return body
    pairs: list[list[Any]] = []
    for item in body:
        texts = [text for text in item.values() if isinstance(text, str)]
        if len(texts) != len(item) or len(texts) != 2 or texts[0] not in ROLES:
            return body
        pairs.append(texts)
    return pairs


def _is_chat(value: Any) -> bool:  # Any: JSON
    """Whether a value is a list of messages."""
    return isinstance(value, list) and bool(value) and all(map(_is_message, value))


def _is_message(item: Any) -> bool:  # Any: JSON
    if isinstance(item, list):
        return len(item) == 2 and item[0] in ROLES
    return isinstance(item, Mapping) and ("role" in item or set(item) <= ROLES.keys())


def _chat(chat: Sequence[Any], notes: list[str]) -> tuple[TemplateMessage, ...]:  # Any: JSON
    return read_messages(list(chat), lambda text: read_parts(text, notes))


def _message(role: str, text: str, notes: list[str]) -> TemplateMessage:
    return TemplateMessage(role=ROLES[role], parts=read_parts(text, notes))


def _messages(body: Body, notes: list[str]) -> tuple[TemplateMessage, ...]:
    """Return the messages that a mapping holds itself: a chat, a system and a user text, or the
    one text with fields among others.
    """
    system = next((text for key in _SYSTEM_KEYS if (text := text_of(body.get(key)))), None)
    for key in _LISTED_KEYS:
        chat = body.get(key)
        if isinstance(chat, list) and _is_chat(chat):
            return _chat([{"system": system}, *chat] if system else chat, notes)
    texts = {str(key): text for key, value in body.items() if (text := _text(key, value))}
    user = _row_key(texts)
    if user is None:
        return (_message("user", system, notes),) if system else ()
    others = [key for key in texts if key != user]
    before = [key for key in others if key in _SYSTEM_KEYS or key in _RULE_KEYS]
    extra = [key for key in before if key not in _SYSTEM_KEYS]
    if extra:
        notes.append(f"Its text under {', '.join(extra)} stands before the row here.")
    left_out = [key for key in others if key not in before and len(texts[key]) >= _SHORTEST_PLAIN]
    if left_out:
        notes.append(f"Its text under {', '.join(left_out)} is not here.")
    rules = (_message("system", texts[key], notes) for key in before)
    return (*rules, _message("user", texts[user], notes))


def _row_key(texts: Mapping[str, str]) -> str | None:
    """Return the key of the text that shows the row: one that is called so, else the only one with
    fields.
    """
    for key in _USER_KEYS:
        if key in texts:
            return key
    long = (key for key, text in texts.items() if len(text) >= _SHORTEST)
    with_fields = [
        key for key in long if has_field(foreign("", "", [_message("user", texts[key], [])]))
    ]
    return with_fields[0] if len(with_fields) == 1 else None


def _text(key: Any, value: Any) -> str:  # Any: JSON
    """Return the text under a key, also where it stands line by line; empty where it is none."""
    if str(key) in _ABOUT:
        return ""
    lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    if lines and key in _LISTED_KEYS:
        return "\n".join(value)
    return value.strip("\n") if isinstance(value, str) and value.strip() else ""
