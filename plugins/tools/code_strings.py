"""Strings of a source file that may be its prompt, and the prompts that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...judges import InputError
from ...runs.exports import Field, TemplateMessage
from ...runs.imports import ROLES, ForeignJudge, Parts, foreign, read_parts

_SHORTEST = 20
"""Characters of a string that may be a prompt and stands in no list of messages."""
_SHORTEST_PLAIN = 60
"""The same of one without a field."""


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

    @property
    def text(self) -> str:
        """The string with a sign for each field."""
        pieces = (part if isinstance(part, str) else "\ufffc" for part in self.parts)
        return "".join(pieces).strip()

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts if isinstance(part, str))


def prompts_of(
    tool: str,
    location: str,
    chats: Sequence[Sequence[CodeString]],
    strings: Sequence[CodeString],
    string_name: str | None,
) -> list[ForeignJudge]:
    """Return the prompts of a source file: its chats, and strings that stand in none.

    Args:
        tool: What the file is.
        location: The file.
        chats: The lists of messages.
        strings: All strings.
        string_name: The name of the one to take.

    Raises:
        InputError: There is none, or none of that name.
    """
    chats = [chat for chat in chats if any(string.has_fields for string in chat)]
    in_chats = [string for chat in chats for string in chat]
    sent = "\0".join(string.text for string in in_chats)
    alone = [[string] for string in _candidates(strings) if string.text not in sent]
    called = [one for one in strings if "system" in one.name.casefold() and not one.has_fields]
    free = [one for one in called if one.text not in sent]
    if len(alone) == len(free) == 1 and not chats:
        alone = [[replace(free[0], role="system"), *alone[0]]]
    prompts = [*chats, *alone]
    if string_name is not None:
        named = [one for one in prompts if string_name in (one[-1].name, _line_of(one[-1]))]
        named = named or [[string] for string in strings if string.name == string_name]
        if not named:
            names = ", ".join(sorted({string.name for string in strings if string.name}))
            message = f"there is no string {string_name!r} in it"
            raise InputError(message, hint=f"its strings: {names or 'none'}")
        prompts = named[:1]
    if not prompts:
        raise InputError(
            "it holds no string that may be a prompt",
            hint="put the prompt into a text file with {field} in it",
        )
    uses = Counter(prompt[-1].name for prompt in prompts)
    judges: list[ForeignJudge] = []
    for prompt in prompts:
        # Of two functions with a `prompt` each, the line tells which is meant.
        name = prompt[-1].name if uses[prompt[-1].name] == 1 else ""
        judges.append(_judge(tool, location, prompt, name or _line_of(prompt[-1])))
    return judges


def _candidates(strings: Sequence[CodeString]) -> list[CodeString]:
    """Return the strings with fields, else the long ones, each once and none that is a piece of
    another.
    """
    candidates = [string for string in strings if string.has_fields and len(string) >= _SHORTEST]
    if not candidates:
        long = [string for string in strings if len(string) >= _SHORTEST_PLAIN]
        read = [replace(one, parts=read_parts("".join(map(str, one.parts)), [])) for one in long]
        candidates = [string for string in read if string.has_fields] or read
    once: dict[str, CodeString] = {}
    for string in candidates:
        once.setdefault(string.text, string)
    every = "\0".join(once)
    return [string for text, string in once.items() if every.count(text) == 1]


def _line_of(string: CodeString) -> str:
    return f"line {string.line}"


def _judge(tool: str, location: str, strings: Sequence[CodeString], name: str) -> ForeignJudge:
    messages: list[TemplateMessage] = []
    for at, string in enumerate(strings):
        role = ROLES.get(string.role) or ("user" if at == len(strings) - 1 else "system")
        messages.append(TemplateMessage(role=role, parts=string.parts))
    return foreign(tool, location, messages, string=name)
