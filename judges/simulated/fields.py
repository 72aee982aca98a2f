"""How the simulated model finds the parts of a request: fenced fields, the task, and everything outside fences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .rules import Rules, TaskName

_FENCE = re.compile(r"<([a-z][a-z0-9_]*)-([0-9a-f]{6,16})>\n?")
_TAG = re.compile(r"<([A-Za-z][A-Za-z0-9_]*)>")


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


class FieldFinder:
    """Finds fields by salted fence, by plain tag or by heading, in this order of trust."""

    def __init__(self, rules: Rules) -> None:
        self._names = rules.fields
        self._known = {name for names in rules.fields.values() for name in names}
        headings = "|".join(sorted((n.replace("_", "[ _]") for n in self._known), key=len, reverse=True))
        self._heading = re.compile(rf"(?im)^[ \t>*#-]*({headings})[ \t]*\**[ \t]*:\**[ \t]*\n?")
        self._closing = re.compile(
            r"(?im)^[ \t>*#-]*(?:reply|answer with|respond|return|output|give|score|grade|rating|criterion|"
            r"supporting evidence|confidence|reasoning|now)\b"
        )

    def fences(self, text: str) -> list[Block]:
        """Return the salted fences `<name-tag>..</name-tag>`, in order."""
        found, at = [], 0
        while opened := _FENCE.search(text, at):
            closing = f"</{opened[1]}-{opened[2]}>"
            end = text.find(closing, opened.end())
            if end < 0:
                at = opened.end()
                continue
            at = end + len(closing)
            found.append(Block(name=opened[1], text=text[opened.end() : end].strip("\n"), start=opened.start(), end=at))
        return found

    def blocks(self, text: str) -> list[Block]:
        """Return the fields of a text in order, by the first of the three notations that it uses."""
        return self.fences(text) or self._tags(text) or self._headings(text)

    def _tags(self, text: str) -> list[Block]:
        found, at = [], 0
        while opened := _TAG.search(text, at):
            at = opened.end()
            closing = f"</{opened[1]}>"
            end = text.find(closing, at)
            if opened[1].lower() in self._known and end >= 0:
                content = text[at:end].strip("\n")
                at = end + len(closing)
                found.append(Block(name=opened[1].lower(), text=content, start=opened.start(), end=at))
        return found

    def _headings(self, text: str) -> list[Block]:
        marks = list(self._heading.finditer(text))
        found: list[Block] = []
        for i, mark in enumerate(marks):
            last = i + 1 == len(marks)
            end = len(text) if last else marks[i + 1].start()
            closing = self._closing.search(text, mark.end()) if last else None
            end = closing.start() if closing else end
            name = mark[1].lower().replace(" ", "_")
            found.append(Block(name=name, text=text[mark.end() : end].strip(), start=mark.start(), end=end))
        return found

    def pair(self, fields: Mapping[str, str], criteria: str) -> Pair | None:
        """Name the task from the fields present; None where there is nothing to compare."""
        statement = self._first(fields, "statement")
        source = self._first(fields, "source")
        query = self._first(fields, "query")
        answer = self._first(fields, "answer")
        passage = self._first(fields, "passage")
        if statement and source and statement != source:
            return Pair(task="groundedness", focus=fields[statement], ground=fields[source])
        if query and answer and source and re.search(r"\b(?:ground|support|faithful)", criteria, re.IGNORECASE):
            return Pair(task="groundedness", focus=fields[answer], ground=fields[source])
        gold = self._first(fields, "gold")
        passages = self._first(fields, "passages")
        interpretation = self._first(fields, "interpretation")
        if interpretation and (found := passages or passage):
            return Pair(task="interpretation_groundedness", focus=fields[interpretation], ground=fields[found])
        if gold and answer:
            return Pair(task="answer_correctness", focus=fields[gold], ground=fields[answer])
        more = " ".join(fields[n] for n in self._names["more"] if n in fields)
        if query and answer:
            return Pair(task="answer_relevance", focus=fields[query], ground=fields[answer])
        if query and passages:
            return Pair(task="answerability", focus=fields[query], ground=fields[passages])
        if query and passage and more.strip():
            asked = " ".join(fields[query].split())
            return Pair(task="defined_relevance", focus=f"{asked}\n{more}", ground=fields[passage])
        if query and passage:
            return Pair(task="context_relevance", focus=fields[query].strip(), ground=fields[passage])
        if source and answer:
            return Pair(task="groundedness", focus=fields[answer], ground=fields[source])
        texts = list(fields.values())
        if len(texts) > 1:
            return Pair(task="groundedness", focus=texts[1], ground=texts[0])
        return Pair(task="context_relevance", focus=criteria, ground=texts[0], alone=True) if texts else None

    def _first(self, fields: Mapping[str, str], role: str) -> str | None:
        return next((name for name in self._names[role] if name in fields), None)


def outside(text: str, blocks: list[Block]) -> str:
    """Return a text without its blocks."""
    kept, at = [], 0
    for block in blocks:
        kept.append(text[at : block.start])
        at = block.end
    kept.append(text[at:])
    return "\n".join(part.strip() for part in kept if part.strip())
