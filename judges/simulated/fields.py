"""Find the parts of a request: its fields, the task they make, and the text outside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .rules import TaskName

_FENCE = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)(-[0-9a-f]{6,16})>\n?")
_PLAIN_FENCE = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)()>\n")
"""As the prompts in a tool's own templates have it, which no code renders."""
_PAIRS: tuple[tuple[TaskName, str, str], ...] = (
    ("groundedness", "statement", "source"),
    ("interpretation_groundedness", "interpretation", "passages"),
    ("interpretation_groundedness", "interpretation", "passage"),
    ("answer_correctness", "gold", "answer"),
    ("answer_relevance", "query", "answer"),
    ("answerability", "query", "passages"),
    ("context_relevance", "query", "passage"),
)
"""Each task with what is looked for and where; the first one that a message has fields for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One field found in a text: its name in lower case, its content, and where it stood."""

    name: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What a judge is asked to compare."""

    task: TaskName
    focus: str
    ground: str
    alone: bool = False
    """Whether the message has this one text, so that the focus is the instructions."""


def fences(text: str) -> list[Block]:
    """Return the salted fences `<name-tag>..</name-tag>` in order, else those without a tag."""
    return _fences(text, _FENCE) or _fences(text, _PLAIN_FENCE)


def _fences(text: str, fence: re.Pattern[str]) -> list[Block]:
    blocks: list[Block] = []
    at = 0
    while opening := fence.search(text, at):
        name, content = opening[1], opening.end()
        closing = f"</{name}{opening[2]}>"
        end = text.find(closing, content)
        if end < 0:
            at = content
            continue
        at = end + len(closing)
        blocks.append(
            Block(name=name, text=text[content:end].strip("\n"), start=opening.start(), end=at)
        )
    return blocks


def named_texts(state: str | Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a state by name in lower case; one without fences is a text alone."""
    if isinstance(state, str):
        return {block.name: block.text for block in fences(state)} or {"text": state}
    return {name.lower(): text for name, text in state.items()}


def pair_of(
    names: Mapping[str, Sequence[str]], fields: Mapping[str, str], criteria: str
) -> Pair | None:
    """Name the task from the fields present; None where there is nothing to compare.

    Args:
        names: The names that a field may have, by what it is for.
        fields: The texts of the message by name.
        criteria: What a single field is compared with.
    """
    name_by_role: dict[str, str] = {}
    for role, own in names.items():
        name = next((name for name in own if name in fields), None)
        if name is not None:
            name_by_role[role] = name
    for task, focus, ground in _PAIRS:
        if (
            focus not in name_by_role
            or ground not in name_by_role
            or name_by_role[focus] == name_by_role[ground]
        ):
            continue
        text = fields[name_by_role[focus]]
        if task == "context_relevance":
            text = text.strip()
            more = " ".join(fields[name] for name in names["more"] if name in fields)
            if more.strip():
                # One line for the query: each further line is an example of what its definition
                # takes for relevant.
                task, text = "defined_relevance", f"{' '.join(text.split())}\n{more}"
        return Pair(task=task, focus=text, ground=fields[name_by_role[ground]])
    texts = list(fields.values())
    if not texts:
        return None
    if len(texts) == 1:
        return Pair(task="context_relevance", focus=criteria, ground=texts[0], alone=True)
    return Pair(task="groundedness", focus=texts[1], ground=texts[0])


def outside(text: str, blocks: list[Block]) -> str:
    """Return a text without its blocks."""
    parts, at = [], 0
    for block in blocks:
        parts.append(text[at : block.start].strip())
        at = block.end
    parts.append(text[at:].strip())
    return "\n".join(part for part in parts if part)
