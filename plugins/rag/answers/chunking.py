"""Cut documents into chunks: recursively, at Markdown headings, or where sentences change the
subject.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ....judges.errors import InputError
from ....judges.extras import require_extra
from ....judges.judged_dataset import FloatArray
from ....judges.retrieval import Encode
from ..search import latent_vectors

Chunker = Literal["recursive", "markdown", "semantic"]
"""`recursive`: at the largest of paragraphs, sentences, words and letters that fits. `markdown`: a
section under a heading is a chunk; a longer one is cut recursively. `semantic`: between sentences
that resemble each other least."""
CHUNKERS: tuple[Chunker, ...] = ("recursive", "markdown", "semantic")

WINDOW = 3
"""Sentences on either side of a place that are compared there."""
LEAST_ALIKE = 0.25
"""A place may be cut where sentences resemble each other less than beside it, and it is in this
share of places.
"""
LEAST_SHARE = 0.25
"""A chunk of at least this share of the size may end at such a place."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How documents are cut."""

    chunker: Chunker = "recursive"
    size: int = 1800
    """Characters of a chunk at most."""
    overlap: int = 300
    """Characters that neighbours may share; a semantic chunk shares none."""

    def __post_init__(self) -> None:
        if (
            self.size < 1
            or self.overlap < 0
            or (self.chunker != "semantic" and self.overlap >= self.size)
        ):
            raise InputError(
                f"an overlap of {self.overlap:,} characters does not go with chunks of"
                f" {self.size:,}",
                hint="the overlap is at least 0 and less than the size",
            )

    def __str__(self) -> str:
        shared = f"/{self.overlap}" if self.overlap and self.chunker != "semantic" else ""
        return f"{self.chunker} {self.size}{shared}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document."""

    start: int
    """Its first character."""
    end: int
    """The character behind its last one."""
    headings: tuple[str, ...]
    """The Markdown headings it stands under, the highest first."""


def cut(text: str, chunking: Chunking, *, encode: Encode | None = None) -> tuple[Chunk, ...]:
    """Cut a document; every character that is no white space is in a chunk.

    Args:
        text: The document, with `\\n` for line ends.
        chunking: How.
        encode: Vectors of sentences for `semantic`; without one, latent semantic analysis of the
            document's own.
    """
    headings = _headings(text)
    match chunking.chunker:
        case "recursive":
            spans = _recursive(text, 0, len(text), chunking)
        case "markdown":
            starts = [0, *_section_starts(text, headings), len(text)]
            spans = [
                span
                for start, end in pairwise(starts)
                for span in _recursive(text, start, end, chunking)
            ]
        case "semantic":
            spans = _semantic(text, chunking.size, encode)
    starts = [heading.start for heading in headings]
    chunks: list[Chunk] = []
    for start, end in spans:
        if text[start:end].strip():
            at = bisect_right(starts, start)
            chunks.append(Chunk(start=start, end=end, headings=headings[at - 1].path if at else ()))
    return tuple(chunks)


def _recursive(text: str, start: int, end: int, chunking: Chunking) -> list[Span]:
    require_extra("rag", "semantic_text_splitter", purpose=f"--chunker {chunking.chunker}")
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    splitter = MarkdownSplitter if chunking.chunker == "markdown" else TextSplitter
    # Without trimming, what is between two chunks would be lost with a table's or a code block's
    # indentation.
    parts = splitter(chunking.size, overlap=chunking.overlap, trim=False).chunk_indices(
        text[start:end]
    )
    return [(start + at, start + at + len(part)) for at, part in parts]


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    """Where its line ends."""
    path: tuple[str, ...]
    """Its own text behind those of the headings it stands under."""


def _headings(text: str) -> list[_Heading]:
    """Find the headings as Markdown has them: none in code, and underlined ones too."""
    from markdown_it import MarkdownIt

    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    headings: list[_Heading] = []
    path: list[tuple[int, str]] = []
    tokens = MarkdownIt().parse(text)
    for token, inline in pairwise(tokens):
        # A heading inside of a list or a quotation starts no section.
        if token.type == "heading_open" and token.map is not None and token.level == 0:
            level = int(token.tag[1:])
            path = [
                *((above, name) for above, name in path if above < level),
                (level, inline.content.strip()),
            ]
            headings.append(
                _Heading(lines[token.map[0]], lines[token.map[1]], tuple(name for _, name in path))
            )
    return headings


def _section_starts(text: str, headings: Sequence[_Heading]) -> list[int]:
    """Return where sections begin behind the start; a heading with nothing under it begins that of
    the next one.
    """
    starts: list[int] = []
    for before, heading in pairwise([None, *headings]):
        assert heading is not None
        empty = not text[0 if before is None else before.end : heading.start].strip()
        if heading.start and not empty:
            starts.append(heading.start)
    return starts


def _semantic(text: str, size: int, encode: Encode | None) -> list[Span]:
    """Join neighbouring sentences until the size is reached, or the subject changes (compare Hearst
    1997).
    """
    sentences = _sentences(text, size)
    if len(sentences) < 2:
        return sentences
    texts = [text[start:end] for start, end in sentences]
    alike = _likeness(latent_vectors(texts) if encode is None else encode(texts))
    neighbours = np.concatenate([[np.inf], alike, [np.inf]])
    lowest = (alike <= neighbours[:-2]) & (alike <= neighbours[2:])
    changing = lowest & (alike <= np.quantile(alike, LEAST_ALIKE))
    spans: list[Span] = []
    begun = 0
    for i in range(1, len(sentences)):
        length = sentences[i - 1][1] - sentences[begun][0]
        changes = changing[i - 1] and length >= LEAST_SHARE * size
        if changes or sentences[i][1] - sentences[begun][0] > size:
            spans.append((sentences[begun][0], sentences[i - 1][1]))
            begun = i
    return [*spans, (sentences[begun][0], sentences[-1][1])]


def _sentences(text: str, size: int) -> list[Span]:
    """Return where sentences are; one that is longer than a chunk may be is cut."""
    # Compiled, without stubs.
    from sentencex import (
        get_sentence_boundaries,  # pyright: ignore[reportAttributeAccessIssue]
    )

    spans: list[Span] = []
    for sentence in get_sentence_boundaries("en", text):
        start, end = int(sentence["start_index"]), int(sentence["end_index"])
        spans += (
            _recursive(text, start, end, Chunking(size=size, overlap=0))
            if end - start > size
            else [(start, end)]
        )
    return spans


def _likeness(vectors: FloatArray) -> FloatArray:
    """Return the cosine of the sentences before and behind each place between two; shape (n -
    1,).
    """
    sums = np.vstack([np.zeros(vectors.shape[1]), np.cumsum(vectors, axis=0)])
    n = len(vectors)
    places = np.arange(1, n)
    before = sums[places] - sums[np.maximum(places - WINDOW, 0)]
    behind = sums[np.minimum(places + WINDOW, n)] - sums[places]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(behind, axis=1)
    products = np.einsum("ij,ij->i", before, behind)
    # Rounded, so that the places do not depend on the machine.
    cosines: FloatArray = np.divide(products, lengths, out=np.zeros(n - 1), where=lengths > 0)
    return np.round(cosines, 6)


def covered(span: Span, chunks: Sequence[Span]) -> float:
    """Return the share of a span's characters that lie in one of some chunks."""
    start, end = span
    inside = np.zeros(end - start, np.bool_)
    for first, last in chunks:
        inside[max(first - start, 0) : max(last - start, 0)] = True
    return float(inside.mean())
