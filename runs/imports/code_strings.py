"""Strings of a source file that may be its prompt, and the prompts that are made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...judges import InputError
from ..exports.template_parts import Field, TemplateMessage, TemplatePart
from .messages import ROLES
from .placeholders import read_parts

Parts = tuple[TemplatePart, ...]
_SYSTEM_NAME = re.compile(r"system|instruction", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeString:
    """A string of a source file that may be a prompt."""

    name: str
    """What it is assigned to; empty where that cannot be told."""
    parts: Parts
    line: int
    role: str = ""
    """The role of the message in whose list it stands."""

    @property
    def has_fields(self) -> bool:
        """Whether anything is put into it."""
        return any(isinstance(part, Field) for part in self.parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts if isinstance(part, str))


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePrompt:
    """Messages that a source file sends, as far as can be told."""

    name: str
    line: int
    messages: tuple[TemplateMessage, ...]


def prompts_of(
    chats: Sequence[Sequence[CodeString]],
    strings: Sequence[CodeString],
    wanted: str | None,
    system_of: Callable[[CodeString], CodeString | None],
) -> list[CodePrompt]:
    """Return the prompts of a file: its chats, and strings that stand in none.

    Args:
        chats: The lists of messages.
        strings: All strings.
        wanted: The name of the one to take.
        system_of: Returns the system text that the file sends with a string.

    Raises:
        InputError: There is none, or none of that name.
    """
    chats = [chat for chat in chats if any(string.has_fields for string in chat)]
    in_chats = [string for chat in chats for string in chat]
    prompts = [_prompt(chat) for chat in chats]
    for string in _with_fields(strings):
        if not any(string.parts == other.parts or _is_part(string, other) for other in in_chats):
            system = system_of(string) or _called_system(strings, string, in_chats)
            prompts.append(_prompt([system, string] if system else [string]))
    alone = [prompt for prompt in prompts if _SYSTEM_NAME.search(prompt.name) is None]
    prompts = alone or prompts
    if wanted is not None:
        named = [prompt for prompt in prompts if prompt.name == wanted]
        named = named or [_prompt([string]) for string in strings if string.name == wanted]
        if not named:
            names = ", ".join(sorted({string.name for string in strings if string.name})) or "none"
            raise InputError(f"there is no string {wanted!r} in it", hint=f"its strings: {names}")
        return named[:1]
    if not prompts:
        raise InputError(
            "it holds no string with fields",
            hint="put the prompt into a text file with {field} in it",
        )
    return prompts


def _with_fields(strings: Sequence[CodeString]) -> list[CodeString]:
    """Return the strings with fields, each once, without those that others are put together
    from.
    """
    found = [string for string in strings if string.has_fields and len(string) >= 20]
    found = found or [string for string in strings if string.has_fields and len(string) >= 5]
    if not found:
        read = [
            replace(one, parts=read_parts("".join(map(str, one.parts)), []))
            for one in strings
            if len(one) >= 60
        ]
        found = [string for string in read if string.has_fields]
    once = [
        string
        for at, string in enumerate(found)
        if all(string.parts != other.parts for other in found[:at])
    ]
    return [string for string in once if not any(_is_part(string, other) for other in once)]


def _called_system(
    strings: Sequence[CodeString], string: CodeString, in_chats: Sequence[CodeString]
) -> CodeString | None:
    """Return the one string that its name calls a system text, unless it goes with the messages of
    a chat.
    """
    called = [other for other in strings if _SYSTEM_NAME.search(other.name)]
    free = (
        len(called) == 1
        and called[0] != string
        and all(called[0].parts != other.parts for other in in_chats)
    )
    return called[0] if free else None


def _is_part(string: CodeString, other: CodeString) -> bool:
    """Whether a string is a piece of another one, which is put together from it."""
    texts = [
        "".join(p if isinstance(p, str) else "\ufffc" for p in one.parts).strip()
        for one in (string, other)
    ]
    return len(texts[0]) < len(texts[1]) and texts[0] in texts[1]


def _prompt(strings: Sequence[CodeString]) -> CodePrompt:
    messages: list[TemplateMessage] = []
    for at, string in enumerate(strings):
        role = ROLES.get(string.role) or ("user" if at == len(strings) - 1 else "system")
        messages.append(TemplateMessage(role=role, parts=string.parts))
    last = strings[-1]
    return CodePrompt(name=last.name, line=last.line, messages=tuple(messages))
