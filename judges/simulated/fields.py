"""Find the parts of a request: its fields, the task they make, and the text outside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .rules import Rules, TaskName

_FENCE = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)-([0-9a-f]{6,16})>\n?")
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
        headings = "|".join(
            sorted((n.replace("_", "[ _]") for n in self._known), key=len, reverse=True)
        )
        self._heading = re.compile(rf"(?im)^[ \t>*#-]*({headings})[ \t]*\**[ \t]*:\**[ \t]*\n?")
        self._closing = re.compile(
            r"(?im)^[ \t>*#-]*(?:reply|answer"
            r" with|respond|return|output|give|score|grade|rating|criterion|"
            r"supporting evidence|confidence|reasoning|now)\b"
        )

    def fences(self, text: str) -> list[Block]:
        """Return the salted fences `<name-tag>..</name-tag>`, in order."""
        blocks: list[Block] = []
        at = 0
        while opening := _FENCE.search(text, at):
            name, content = opening[1], opening.end()
            closing = f"</{name}-{opening[2]}>"
            end = text.find(closing, content)
            if end < 0:
                at = content
                continue
            at = end + len(closing)
            blocks.append(
                Block(name=name, text=text[content:end].strip("\n"), start=opening.start(), end=at)
            )
        return blocks

    def blocks(self, text: str) -> list[Block]:
        """Return the fields of a text in order, by the first of the three notations that it
        uses.
        """
        return self.fences(text) or self._tags(text) or self._headings(text)

    def fields(self, text: str) -> dict[str, str]:
        """Return the contents of the fields of a text by name."""
        return {block.name: block.text for block in self.blocks(text)}

    def _tags(self, text: str) -> list[Block]:
        blocks: list[Block] = []
        at = 0
        while opening := _TAG.search(text, at):
            at = opening.end()
            name, closing = opening[1].lower(), f"</{opening[1]}>"
            end = text.find(closing, at)
            if name in self._known and end >= 0:
                content = text[at:end].strip("\n")
                at = end + len(closing)
                blocks.append(Block(name=name, text=content, start=opening.start(), end=at))
        return blocks

    def _headings(self, text: str) -> list[Block]:
        headings = list(self._heading.finditer(text))
        blocks: list[Block] = []
        for i, heading in enumerate(headings):
            if i + 1 < len(headings):
                end = headings[i + 1].start()
            else:
                # The reply clause follows the last field without a heading of its own.
                closing = self._closing.search(text, heading.end())
                end = closing.start() if closing else len(text)
            name, content = heading[1].lower().replace(" ", "_"), text[heading.end() : end].strip()
            blocks.append(Block(name=name, text=content, start=heading.start(), end=end))
        return blocks

    def pair(self, fields: Mapping[str, str], criteria: str) -> Pair | None:
        """Name the task from the fields present; None where there is nothing to compare."""
        statement = self._first(fields, "statement")
        source = self._first(fields, "source")
        query = self._first(fields, "query")
        answer = self._first(fields, "answer")
        passage = self._first(fields, "passage")
        if statement and source and statement != source:
            return Pair(task="groundedness", focus=fields[statement], ground=fields[source])
        if (
            query
            and answer
            and source
            and re.search(r"\b(?:ground|support|faithful)", criteria, re.IGNORECASE)
        ):
            return Pair(task="groundedness", focus=fields[answer], ground=fields[source])
        gold = self._first(fields, "gold")
        passages = self._first(fields, "passages")
        interpretation = self._first(fields, "interpretation")
        if interpretation and (passages or passage):
            ground = fields[passages or passage or ""]
            return Pair(
                task="interpretation_groundedness", focus=fields[interpretation], ground=ground
            )
        if gold and answer:
            return Pair(task="answer_correctness", focus=fields[gold], ground=fields[answer])
        more = " ".join(fields[n] for n in self._names["more"] if n in fields)
        if query and answer:
            return Pair(task="answer_relevance", focus=fields[query], ground=fields[answer])
        if query and passages:
            return Pair(task="answerability", focus=fields[query], ground=fields[passages])
        if query and passage and more.strip():
            # One line for the query: each further line is an example of what its definition takes
            # for relevant.
            first = " ".join(fields[query].split())
            return Pair(task="defined_relevance", focus=f"{first}\n{more}", ground=fields[passage])
        if query and passage:
            return Pair(
                task="context_relevance", focus=fields[query].strip(), ground=fields[passage]
            )
        if source and answer:
            return Pair(task="groundedness", focus=fields[answer], ground=fields[source])
        texts = list(fields.values())
        if not texts:
            return None
        if len(texts) == 1:
            return Pair(task="context_relevance", focus=criteria, ground=texts[0], alone=True)
        return Pair(task="groundedness", focus=texts[1], ground=texts[0])

    def _first(self, fields: Mapping[str, str], role: str) -> str | None:
        return next((name for name in self._names[role] if name in fields), None)


def outside(text: str, blocks: list[Block]) -> str:
    """Return a text without its blocks."""
    parts, at = [], 0
    for block in blocks:
        parts.append(text[at : block.start].strip())
        at = block.end
    parts.append(text[at:].strip())
    return "\n".join(part for part in parts if part)
