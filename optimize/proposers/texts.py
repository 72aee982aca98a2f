"""New texts out of the optimizer model's replies: asked for between tags, asked again, then given up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...judges import JudgePrompt, Request, estimate_tokens
from ..invariants import token_cap
from .prompt_parts import Part, text_of, with_text
from .workbench import Ask

TEXT_LIMIT = 4_096
"""Tokens of a new text and of the thinking before it, where the settings of the optimizer model say nothing."""
_TRY = 100_000
"""Added to a request's repeat index for each further try; steps count far below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The new text of a part of a prompt, as it is asked for."""

    prompt: JudgePrompt
    part: Part
    request: Request
    tag: str
    """What the text stands between in the reply."""

    def read(self, reply: str) -> tuple[str | None, str]:
        """Return the text of a reply, or None and why it cannot be used."""
        text, reason = read_tagged(reply, self.tag)
        if text is not None:
            old = text_of(self.prompt, self.part)
            reason = too_long(self.prompt, old, text) or with_text(self.prompt, self.part, text)[1]
        return (None, reason) if reason else (text, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of asking for one text."""

    text: str | None
    reason: str = ""
    """Why there is none."""
    tries: int


def write_texts(wanted: list[Wanted], ask: Ask, *, retries: int) -> list[Written]:
    """Ask for all texts at once, and again for those that came back unusable, at most `retries` times."""
    written: list[Written] = [Written(text=None, tries=0) for _ in wanted]
    for attempt in range(1, retries + 2):
        left = [i for i, one in enumerate(written) if one.text is None]
        if not left:
            break
        replies = ask([_request(wanted[i].request, written[i].reason, attempt) for i in left])
        for i, reply in zip(left, replies, strict=True):
            text, reason = wanted[i].read(reply.text)
            written[i] = Written(text=text, reason=reason, tries=attempt)
    return written


def _request(first: Request, reason: str, attempt: int) -> Request:
    """Ask again with why the last reply could not be used; each try is a request of its own."""
    if attempt == 1:
        return first
    *before, last = first.messages
    again = replace(last, content=f"{last.content}\n\nYour last answer could not be used: {reason}.")
    return replace(first, messages=(*before, again), repeat=first.repeat + (attempt - 1) * _TRY)


def read_tagged(reply: str, tag: str) -> tuple[str | None, str]:
    """Return the text between the last pair of tags, or None and what was wrong with the reply."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    closed = reply.rfind(closing)
    opened = reply.rfind(opening, 0, closed) if closed >= 0 else -1
    if opened < 0:
        return None, "the closing tag is missing" if opening in reply else f"it has no {opening} tags"
    start = opened + len(opening)
    new = reply[start : reply.find(closing, start)].strip()
    if not new:
        return None, "the text between the tags is empty"
    return new, ""


def too_long(prompt: JudgePrompt, old: str, new: str) -> str:
    """Say that a text would take the prompt over its cap of tokens, and by how much; empty where it would not."""
    others = estimate_tokens(f"{prompt.system}\n{prompt.criteria}\n{prompt.reply}") - estimate_tokens(old)
    room = token_cap(prompt) - others
    if estimate_tokens(new) <= room:
        return ""
    return f"it has about {len(new.split()):,} words; about {room:,} tokens fit"
