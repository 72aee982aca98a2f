"""The passages of a row that let a reader check a verdict: what the judge quoted, and what is
nearest to the question.

A text that fits is shown whole. Sizes are bytes of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ..judges import Row
from ..judges.claims import split_sentences
from ..judges.retrieval import Bm25, rank

GAP = " [...] "
LEAST = 40
"""Bytes below which a text is not worth showing in part."""
_MOST_SENTENCE = 400
"""Characters of a sentence; a longer one is cut, so that a table without full stops has passages
too.
"""
_LEAST_QUOTE = 12
_NEXT_BEST = 3
"""Sentences shown for each sentence of the question before what stands around them."""
_ALIKE = 85.0
"""Per cent of a quotation's letters that must stand in a row, so that a slip of the judge's does
not hide its place.
"""
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[\"“”«»„]([^\"“”«»„]{12,})[\"“”«»„]")


def size(text: str) -> int:
    """Return the length of a text in bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def cut(text: str, limit: int) -> str:
    """Shorten a text to `limit` bytes by leaving out its middle."""
    if size(text) <= limit:
        return text
    half = max(0, (limit - size(GAP)) // 2)
    body = text.encode("utf-8", "surrogatepass")
    start, end = (
        body[:half].decode("utf-8", "ignore"),
        body[len(body) - half :].decode("utf-8", "ignore"),
    )
    return f"{start}{GAP}{end}" if half else ""


def focus_of(rows: Sequence[Row]) -> str:
    """Return the name of the input that the others are held against: the shortest one on the
    whole.
    """
    lengths: dict[str, int] = {}
    for row in rows:
        for name, text in row.inputs.items():
            lengths[name] = lengths.get(name, 0) + len(text)
    return min(lengths, key=lambda name: lengths[name], default="")


def quotations(rationale: str) -> tuple[str, ...]:
    """Return what may be quoted in a judge's reasons: what stands in quotation marks, and each
    line.
    """
    quotes: list[str] = []
    for line in rationale.splitlines():
        quotes += _QUOTED.findall(line)
        if len(line.strip()) >= _LEAST_QUOTE:
            quotes.append(line.strip().strip("\"“”'"))
    return tuple(quotes)


def shown_inputs(row: Row, rationale: str, focus: str, limit: int) -> dict[str, str]:
    """Return the texts of a row in at most `limit` bytes: the focus whole where it can be, windows
    of the others.
    """
    cut_texts: dict[str, str] = {}
    names = sorted(row.inputs, key=lambda name: (name != focus, size(row.inputs[name])))
    quotes = quotations(rationale)
    question = row.inputs.get(focus, "")
    room = limit
    for position, name in enumerate(names):
        text = " ".join(row.inputs[name].split())
        # What a short text leaves of its share goes to the longer ones after it.
        share = room // (len(names) - position)
        if size(text) <= share:
            cut_texts[name] = text
        elif name == focus and len(names) > 1:
            # An error is in something that the focus says: most of the room, and what has least
            # support first.
            others = [row.inputs[other] for other in names if other != focus]
            cut_texts[name] = least_supported(text, others=others, limit=limit * 2 // 3)
        else:
            cut_texts[name] = windows(text, quotes=quotes, question=question, limit=share)
        room -= size(cut_texts[name])
    return {name: cut_texts[name] for name in row.inputs}


def least_supported(text: str, *, others: Sequence[str], limit: int) -> str:
    """Return a text in at most `limit` bytes: the sentences that the other texts of the row support
    least.
    """
    if size(text) <= limit:
        return text
    sentences = _sentences(text)
    sources = [_words(sentence) for other in others for sentence in _sentences(other)]
    support: list[float] = []
    for sentence in sentences:
        words = _words(sentence)
        support.append(
            max((len(words & source) / len(words) for source in sources), default=0.0)
            if words
            else 1.0
        )
    order = sorted(range(len(sentences)), key=lambda i: support[i])
    return _joined(text, sentences, order, limit)


def _words(sentence: str) -> set[str]:
    return set(_WORD.findall(sentence.casefold()))


def windows(text: str, *, quotes: Sequence[str], question: str, limit: int) -> str:
    """Return passages of a text in at most `limit` bytes.

    Sentences that are quoted come first, then those that match each sentence of the question best,
    then what stands around them.

    Args:
        text: A text that is too long.
        quotes: What the judge may have quoted of it.
        question: What the text is held against.
        limit: Bytes.
    """
    sentences = _sentences(text)
    return _joined(
        text, sentences, _in_order(sentences, quotes, question) if sentences else (), limit
    )


def _joined(text: str, sentences: Sequence[str], order: Iterable[int], limit: int) -> str:
    """Join the first sentences in an order that fit into `limit` bytes, as they stand in the
    text.
    """
    if limit < LEAST:
        return ""
    chosen: set[int] = set()
    room = limit
    for i in order:
        cost = size(sentences[i]) + size(GAP)
        if i not in chosen and cost <= room:
            chosen.add(i)
            room -= cost
    if not chosen:
        return cut(text, limit)
    passages: list[str] = []
    last = -1
    for i in sorted(chosen):
        passages.append((" " if i == last + 1 else GAP) + sentences[i])
        last = i
    return "".join(passages).strip(" ") + (GAP.rstrip() if last < len(sentences) - 1 else "")


def _in_order(sentences: Sequence[str], quotes: Sequence[str], question: str) -> Iterator[int]:
    """Yield positions of sentences, the most telling first; some come more than once."""
    quoted = [
        i
        for i, sentence in enumerate(sentences)
        if any(_alike(quote, sentence) for quote in quotes)
    ]
    index = Bm25(sentences)
    # Each sentence of the question may be about another passage.
    ranked: list[list[int]] = [
        rank(index.scores(part)).tolist() for part in _sentences(question) or (question,)
    ]
    telling = [*quoted, *(order[0] for order in ranked)]
    yield from telling
    for position in range(1, _NEXT_BEST):
        yield from (order[position] for order in ranked if position < len(order))
    for i in telling:
        yield from (j for j in (i - 1, i + 1) if 0 <= j < len(sentences))
    yield from rank(index.scores(question)).tolist()


@lru_cache(maxsize=4_096)
def _sentences(text: str) -> tuple[str, ...]:
    pieces: list[str] = []
    for sentence in split_sentences(text):
        flat = " ".join(sentence.split())
        while len(flat) > _MOST_SENTENCE:
            end = flat.rfind(" ", 0, _MOST_SENTENCE)
            end = end if end > 0 else _MOST_SENTENCE
            pieces.append(flat[:end])
            flat = flat[end:].lstrip()
        if flat:
            pieces.append(flat)
    return tuple(pieces)


def _alike(quote: str, sentence: str) -> bool:
    from rapidfuzz import fuzz

    if min(len(quote), len(sentence)) < _LEAST_QUOTE:
        return False
    return fuzz.partial_ratio(quote.casefold(), sentence.casefold()) >= _ALIKE
