"""New texts out of the optimizer model's replies: asked for between tags, asked again, then given
up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...judges import Completion, JudgePrompt, Request, cut_off, estimate_tokens
from .prompt_parts import Part, join_texts, text_of, tokens_left, with_text
from .workbench import Ask

TEXT_LIMIT = 4_096
"""Tokens of a new text and of the thinking before it, where the settings of the optimizer model say
nothing.
"""
_ANNOUNCING = 8
"""Words of a line that only announces a text."""
_FENCES = ("```", "~~~")
_ROUND = (("<![CDATA[", "]]>"), ("**", "**"), ("`\n", "\n`"), ('"', '"'), ("“", "”"))
"""What may stand round a text that is not of it."""
_TRY = 100_000
"""Added to a request's repeat index for each further try; steps count far below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The new text of a part of a prompt, or of several in one answer, as it is asked for."""

    prompt: JudgePrompt
    parts: tuple[Part, ...]
    request: Request
    tag: str
    """What the text stands between in the reply."""
    cap: int | None = None
    """Tokens that the whole prompt may have; None for what this prompt allows."""

    def read(self, reply: Completion) -> tuple[str | None, str]:
        """Return the text of a reply, or None and why it cannot be used."""
        text, reason = read_tagged(reply.text, self.tag)
        if text is None and reply.finish_reason == "length":
            reason = f"{cut_off(reply)}; raise optimizer_max_tokens of the model in models.yaml"
        if text is None:
            return None, reason
        texts, reason = part_texts(text, self.parts)
        for part, own in texts.items():
            texts[part], reason = self._read_part(part, own)
            if reason:
                break
        return (None, reason) if reason else (join_texts(texts), "")

    def _read_part(self, part: Part, text: str) -> tuple[str, str]:
        """Return the text of a part without what stands round it, and why it cannot be used."""
        old = text_of(self.prompt, part)
        names = (self.tag.replace("_", " "), *((part,) if part != "reply" else ()))
        text = _unwrapped(text, old, names)
        if not re.search(r"[^\W_]", text):
            return text, "the text between the tags is empty"
        length = too_long(self.prompt, old, text, self.cap)
        return text, length or with_text(self.prompt, part, text)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of asking for one text."""

    text: str | None
    reason: str = ""
    """Why there is none."""
    tries: int


def write_texts(texts: list[Wanted], ask: Ask, *, retries: int) -> list[Written]:
    """Ask for all texts at once, and again for those that came back unusable, at most `retries`
    times.

    A reply that was cut is not asked for again: the client has done that already, with twice the
    room.
    """
    written: list[Written] = [Written(text=None, tries=0) for _ in texts]
    unwritten = list(range(len(texts)))
    for attempt in range(1, retries + 2):
        if not unwritten:
            break
        replies = ask([_request(texts[i].request, written[i].reason, attempt) for i in unwritten])
        for i, reply in zip(unwritten, replies, strict=True):
            text, reason = texts[i].read(reply)
            written[i] = Written(text=text, reason=reason, tries=attempt)
        uncut = [
            i
            for i, reply in zip(unwritten, replies, strict=True)
            if reply.finish_reason != "length"
        ]
        unwritten = [i for i in uncut if written[i].text is None]
    return written


def _request(first: Request, reason: str, attempt: int) -> Request:
    """Ask again with why the last reply could not be used; each try is a request of its own."""
    if attempt == 1:
        return first
    *before, last = first.messages
    again = replace(
        last, content=f"{last.content}\n\nYour last answer could not be used: {reason}."
    )
    return replace(first, messages=(*before, again), repeat=first.repeat + (attempt - 1) * _TRY)


def read_tagged(reply: str, tag: str) -> tuple[str | None, str]:
    """Return the text between the last pair of tags in whatever letters, or None and what was wrong
    with the reply.
    """
    start, text = None, None
    name = r"\\?[_ -]".join(
        map(re.escape, tag.split("_"))
    )  # as Markdown writes it: `IMPROVED\_CRITERIA`
    for one in re.finditer(rf"<[ ]?(/?)[ ]?{name}(?:\s[^<>]*)?>", reply, re.IGNORECASE):
        if not one[1]:
            start = one.end()
        elif start is not None:
            start, text = None, reply[start : one.start()].strip()
    if text is None:
        return (
            None,
            "the closing tag is missing" if start is not None else f"it has no <{tag}> tags",
        )
    if not text:
        return None, "the text between the tags is empty"
    return text, ""


def part_texts(text: str, parts: Sequence[Part]) -> tuple[dict[Part, str], str]:
    """Part a text that holds several parts, each between tags of its name; the second value says
    why that cannot be done.
    """
    if len(parts) == 1:
        return {parts[0]: text}, ""
    texts: dict[Part, str] = {}
    for part in parts:
        own, reason = read_tagged(text, part.upper())
        if own is None:
            return {}, reason
        texts[part] = own
    return texts, ""


def with_texts(prompt: JudgePrompt, parts: Sequence[Part], text: str) -> JudgePrompt:
    """Return the prompt with the new texts of its parts; what cannot be one stays as it is."""
    for part, own in part_texts(text, parts)[0].items():
        prompt = with_text(prompt, part, own)[0] or prompt
    return prompt


def _unwrapped(text: str, old: str, names: tuple[str, ...]) -> str:
    """Return a text without a fence round it and a line above it that only announces it, unless the
    old one has them.

    Args:
        text: What stands between the tags.
        old: The text that it replaces.
        names: What the text is called in the request.
    """
    for opens, closes in _ROUND:
        inner = text.removeprefix(opens).removesuffix(closes)
        if (
            len(text) - len(inner) == len(opens + closes)
            and opens not in inner
            and not old.startswith(opens)
        ):
            text = inner.strip() or text
    lines = text.splitlines()
    first, rest = lines[0].strip(" #*_"), "\n".join(lines[1:]).strip()
    named = (
        any(name.lower() in first.lower() for name in names) and len(first.split()) <= _ANNOUNCING
    )
    announces = first.endswith(":") or first.lower() in {name.lower() for name in names}
    if rest and announces and first not in old and (named or rest.startswith(_FENCES)):
        lines = rest.splitlines()
    if lines[0].startswith(_FENCES) and not old.lstrip().startswith(_FENCES):
        ends = [at for at, line in enumerate(lines) if at and line.strip() == lines[0][:3]]
        lines = lines[1 : ends[-1] if ends else None]
    return "\n".join(lines).strip()


def too_long(prompt: JudgePrompt, old: str, new: str, cap: int | None = None) -> str:
    """Say that a text would take the prompt over its cap of tokens, and by how much; empty where it
    would not.
    """
    room = tokens_left(prompt, old, cap)
    if estimate_tokens(new) <= room:
        return ""
    return f"it has about {len(new.split()):,} words; about {room:,} tokens fit"
