"""The labelled rows that `judgewright demo` judges: written on demand, synthetic, and no benchmark.

Every sentence is ours, about houses, firms and people that do not exist; `facts.yaml` holds the
frames and this file fills them. Each document states some facts of its genre, and each statement is
supported or not *by construction*; afterwards 2 of 100 labels (`LABEL_NOISE`) are turned round at
random, as happens in labels that people give.

One slice is made to be hard. Where the document is a table (`channel` = table), unsupported
statements are mostly true ones with a number or a name exchanged, so that a judge which goes by
shared words accepts more of them there; about half of the rows are supported in every channel, so
the slice differs in the judge's errors and not in its base rate. What a judge scores on these rows
says nothing about how good it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import TypeVar

import jsonlines
import yaml
from pydantic import BaseModel

from ...judges.errors import InputError
from ...judges.rows import Scalar

T = TypeVar("T")

LABEL_NOISE = 0.02
"""Share of labels turned round."""

CHANNELS = {"web": 26.0, "pdf": 23.0, "chat": 23.0, "table": 28.0}
"""Weights of the forms a document comes in."""

SUPPORTED = {"direct": 28.0, "other": 26.0, "implied": 18.0, "partial": 18.0, "abstention": 10.0}
"""Weights of the kinds of supported statements, the same in every channel."""

UNSUPPORTED = {"number": 8.0, "name": 6.0, "negation": 12.0, "absent": 50.0, "mixed": 24.0}
"""Weights of the kinds of unsupported statements in running text."""

UNSUPPORTED_IN_TABLES = {
    "number": 46.0,
    "name": 24.0,
    "negation": 8.0,
    "absent": 14.0,
    "mixed": 8.0,
}
"""Weights of the kinds of unsupported statements about a table."""

GENRE_TILT = {
    "clinic leaflet": {"negation": 1.5},
    "company results": {"number": 1.5},
    "museum note": {"name": 1.5},
}
"""What some genres have more of."""

FACT_COUNTS = {"web": (6, 8), "pdf": (6, 8), "chat": (6, 6), "table": (7, 8)}
"""Fewest and most facts of a document, by channel."""

_WRITERS = ("model-a", "model-b", "human")
_ABSTENTIONS = (
    "The document does not say {topic}.",
    "The text does not mention {topic}.",
    "It is not stated {topic}.",
    "The source gives no information on {topic}.",
)
_MONTHS = "January February March April May June July August September October November December"
_NUMERALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty twenty-one"
)
_NUMBERS = frozenset({"int", "decimal", "clock", "date", "year"})
"""Kinds of slots that hold a number; every other kind holds a name."""
_CHOOSY_FIRST = [*dict.fromkeys(("name", "number", *SUPPORTED, *UNSUPPORTED))]
"""Not every fact has a name to exchange, so those statements choose their facts first."""
_SLOT = re.compile(r"\{(\w+)(\.words)?\}")


class _Fact(BaseModel, extra="forbid"):
    key: str
    slots: dict[str, str]
    line: str
    say: list[str]
    direct: list[str]
    other: list[str]
    implied: list[str]
    flip: list[str]
    topic: str


class _Genre(BaseModel, extra="forbid"):
    slots: dict[str, str]
    titles: list[str]
    facts: list[_Fact]
    absent: list[tuple[str, str]]


class _Book(BaseModel, extra="forbid"):
    words: dict[str, list[str]]
    genres: dict[str, _Genre]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStatement:
    """One statement about a document and what it was made to be."""

    text: str
    kind: str
    """A key of `SUPPORTED` or `UNSUPPORTED`; never a column of the rows, because it gives the label
    away.
    """

    @property
    def supported(self) -> bool:
        """Whether the document supports it, by construction."""
        return self.kind in SUPPORTED


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """One document with its statements."""

    number: int
    genre: str
    channel: str
    source: str
    statements: tuple[DemoStatement, ...]
    labels: tuple[int, ...]
    """What the simulated annotator said: construction, with noise."""
    writers: tuple[str, ...]


def demo_rows(*, seed: int = 0, documents: int = 300) -> list[dict[str, Scalar]]:
    """Write the demo's rows, three or four a document.

    The columns are `id`, `source`, `statement`, `label` (0 or 1), `group_id` (the document),
    `genre`, `channel`, `statement_words`, `source_words`, `language` and `writer`. The first
    documents are the same whatever their number.

    Args:
        seed: Which rows; equal seeds give equal rows on every machine.
        documents: How many documents, at least one.

    Raises:
        InputError: `documents` is below one.
    """
    rows: list[dict[str, Scalar]] = []
    for document in demo_documents(seed=seed, documents=documents):
        group = f"doc-{document.number:04d}"
        judged = zip(document.statements, document.labels, document.writers, strict=True)
        for position, (statement, label, writer) in enumerate(judged, start=1):
            rows.append(
                {
                    "id": f"{group}-{position}",
                    "source": document.source,
                    "statement": statement.text,
                    "label": label,
                    "group_id": group,
                    "genre": document.genre,
                    "channel": document.channel,
                    "statement_words": len(statement.text.split()),
                    "source_words": len(document.source.split()),
                    "language": "en",
                    "writer": writer,
                }
            )
    return rows


def write_demo_rows(path: Path, *, seed: int = 0, documents: int = 300) -> int:
    """Write the demo's rows as JSON lines and return how many there are; see `demo_rows`."""
    rows = demo_rows(seed=seed, documents=documents)
    with path.open("w", encoding="utf-8", newline="\n") as file, jsonlines.Writer(file) as writer:
        writer.write_all(rows)
    return len(rows)


def demo_documents(*, seed: int = 0, documents: int = 300) -> tuple[DemoDocument, ...]:
    """Make the documents behind the rows, with the kind of every statement; see `demo_rows`."""
    if documents < 1:
        raise InputError(f"documents is {documents!r}; ask for at least one")
    text = (files("judgewright.runs.demo") / "facts.yaml").read_text(encoding="utf-8")
    book = _Book.model_validate(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506  # builds text, lists and maps only
    return tuple(
        _document(book, number, _Draw(f"{seed}:{number}", book.words))
        for number in range(documents)
    )


class _Draw:
    """Seeded choices that rest on `Random.random` alone, whose sequence Python keeps from version
    to version.
    """

    def __init__(self, seed: str, words: Mapping[str, Sequence[str]]) -> None:
        self._random = Random(seed)
        self._words = words

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def whole(self, low: int, high: int) -> int:
        return low + int(self._random.random() * (high - low + 1))

    def one(self, items: Sequence[T]) -> T:
        return items[self.whole(0, len(items) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        keyed = [(self._random.random(), i) for i in range(len(items))]
        return [items[i] for _, i in sorted(keyed)]

    def weighted(self, weights: Mapping[str, float]) -> str:
        point = self._random.random() * sum(weights.values())
        for name, weight in weights.items():
            point -= weight
            if point < 0:
                return name
        return list(weights)[-1]

    def value(self, spec: str) -> str:
        """Draw the value of a slot; `spec` is as `facts.yaml` describes it."""
        kind, *bounds = spec.split()
        if kind == "person":
            return f"{self.one(self._words['first'])} {self.one(self._words['last'])}"
        if kind == "date":
            return f"{self.whole(1, 28)} {self.one(_MONTHS.split())}"
        if kind == "clock":
            hour = self.whole(int(bounds[0]), int(bounds[1]) - 1)
            return f"{hour}:{self.one(('00', '15', '30', '45'))}"
        if kind == "decimal":
            low, high = (round(float(bound) * 10) for bound in bounds)
            tenths = self.whole(low, high)
            return f"{tenths // 10}.{tenths % 10}"
        if kind in {"int", "year"}:
            low, high, step = (*map(int, bounds), 1)[:3]
            number = low + step * self.whole(0, (high - low) // step)
            return str(number) if kind == "year" else f"{number:,}"
        return self.one(self._words[kind])

    def other_value(self, spec: str, taken: Sequence[str]) -> str:
        """Draw a value that is not among those taken."""
        while (value := self.value(spec)) in taken:
            pass
        return value


class _Draft:
    """A document in the making: its values, the facts it tells, and those it does not."""

    def __init__(self, genre: _Genre, count: int, draw: _Draw) -> None:
        self.draw = draw
        self.slots = {name: draw.value(spec) for name, spec in genre.slots.items()}
        self.values = {fact.key: self.fresh(fact) for fact in genre.facts}
        order = draw.shuffled(genre.facts)
        self.facts, self.unused = order[:count], order[count:]
        self.absent = draw.shuffled(genre.absent)

    def fresh(self, fact: _Fact) -> dict[str, str]:
        """Values for a fact's slots, none of them a name that the document's title bears."""
        taken = tuple(self.slots.values())
        return self.slots | {
            name: self.draw.other_value(spec, taken) for name, spec in fact.slots.items()
        }

    def text(self, fact: _Fact, frames: Sequence[str]) -> str:
        """Fill one of a fact's frames."""
        return _fill(self.draw.one(frames), self.values[fact.key])

    def stranger(self) -> tuple[str, str]:
        """A claim the document says nothing about, and its topic."""
        if self.unused and self.draw.chance(0.4):
            fact = self.unused.pop()
            return self.text(fact, fact.direct), fact.topic
        return self.absent.pop()


def _document(book: _Book, number: int, draw: _Draw) -> DemoDocument:
    name = tuple(book.genres)[number % len(book.genres)]
    genre = book.genres[name]
    channel = draw.weighted(CHANNELS)
    draft = _Draft(genre, draw.whole(*FACT_COUNTS[channel]), draw)
    source = _source(draft, _fill(draw.one(genre.titles), draft.slots), channel)
    facts = draw.shuffled(draft.facts)
    kinds = sorted(_kinds(name, channel, draw), key=_CHOOSY_FIRST.index)
    statements = draw.shuffled([_statement(draft, kind, facts) for kind in kinds])
    writers = tuple(draw.one(_WRITERS) for _ in statements)
    return DemoDocument(
        number=number,
        genre=name,
        channel=channel,
        source=source,
        statements=tuple(_written(s, w, draw) for s, w in zip(statements, writers, strict=True)),
        labels=tuple(int(s.supported != draw.chance(LABEL_NOISE)) for s in statements),
        writers=writers,
    )


def _source(draft: _Draft, title: str, channel: str) -> str:
    """Lay the facts out the way the channel does."""
    if channel == "table":
        lines = [f"{fact.key}: {_fill(fact.line, draft.values[fact.key])}" for fact in draft.facts]
        return "\n".join([f"Title: {title}", *lines])
    said = [draft.text(fact, fact.say) for fact in draft.facts]
    if channel == "chat":
        turns = [
            f"Visitor: May I ask {fact.topic}?\nDesk: {' '.join(said[start : start + 2])}"
            for start, fact in list(enumerate(draft.facts))[::2]
        ]
        return "\n".join([f"Chat about {title}", *turns])
    if channel == "pdf":
        half = len(said) // 2
        printed = f"Printed on {draft.draw.value('date')}."
        return "\n\n".join([title, " ".join(said[:half]), " ".join(said[half:]), printed])
    return f"{title}\n\n{' '.join(said)}"


def _kinds(genre: str, channel: str, draw: _Draw) -> list[str]:
    """Choose what the statements of a document are: three or four, half of them supported as nearly
    as can be.
    """
    count = draw.whole(3, 4)
    supported = count // 2 + (draw.whole(0, 1) if count % 2 else 0)
    weights = UNSUPPORTED_IN_TABLES if channel == "table" else UNSUPPORTED
    tilted = {
        kind: weight * GENRE_TILT.get(genre, {}).get(kind, 1.0) for kind, weight in weights.items()
    }
    kinds = [draw.weighted(SUPPORTED) for _ in range(supported)]
    return kinds + [draw.weighted(tilted) for _ in range(count - supported)]


def _statement(draft: _Draft, kind: str, facts: list[_Fact]) -> DemoStatement:
    """Make a statement of one kind, using up facts so that no two statements of a document are
    about the same one.
    """
    if kind in {"absent", "abstention"}:
        claim, topic = draft.stranger()
        text = claim if kind == "absent" else draft.draw.one(_ABSTENTIONS).replace("{topic}", topic)
    elif kind in {"number", "name"}:
        choices = _exchangeable(facts, kind) or _exchangeable(facts, kind := "number")
        text = _exchanged(draft, facts, draft.draw.one(choices))
    elif kind == "partial":
        first, second = facts.pop(), facts.pop()
        text = f"{draft.text(first, first.direct)} {draft.text(second, second.other)}"
    elif kind == "mixed":
        first = facts.pop()
        text = f"{draft.text(first, first.direct)} {draft.stranger()[0]}"
    else:
        fact = facts.pop()
        frames = {
            "direct": fact.direct,
            "other": fact.other,
            "implied": fact.implied,
            "negation": fact.flip,
        }
        text = draft.text(fact, frames[kind])
    return DemoStatement(text=text, kind=kind)


def _exchangeable(facts: Sequence[_Fact], kind: str) -> list[tuple[_Fact, str, str]]:
    """List the fact, frame and slot of every number or name that a statement could get wrong."""
    return [
        (fact, frame, slot)
        for fact in facts
        for frame in fact.direct
        for slot, _ in _SLOT.findall(frame)
        if slot in fact.slots and (fact.slots[slot].split()[0] in _NUMBERS) == (kind == "number")
    ]


def _exchanged(draft: _Draft, facts: list[_Fact], choice: tuple[_Fact, str, str]) -> str:
    """Say a told fact with one of its numbers or names exchanged for another."""
    fact, frame, slot = choice
    facts.remove(fact)
    mine = draft.values[fact.key]
    return _fill(
        frame, mine | {slot: draft.draw.other_value(fact.slots[slot], tuple(mine.values()))}
    )


def _written(statement: DemoStatement, writer: str, draw: _Draw) -> DemoStatement:
    """Give a statement the habits of its writer."""
    text = statement.text
    if writer == "model-b" and statement.kind != "abstention" and draw.chance(0.35):
        text = f"According to the document: {text}"
    elif writer == "human" and draw.chance(0.3):
        text = text.removesuffix(".")
    return DemoStatement(text=text, kind=statement.kind)


def _fill(frame: str, values: Mapping[str, str]) -> str:
    def filled(match: re.Match[str]) -> str:
        value = values[match.group(1)]
        return _NUMERALS.split()[int(value)] if match.group(2) else value

    text = _SLOT.sub(filled, frame)
    return text[0].upper() + text[1:] if frame.endswith(".") else text
