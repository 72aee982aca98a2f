"""Cut documents into chunks: recursively, or at Markdown headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ....judges.errors import InputError
from ....judges.extras import require_extra

Chunker = Literal["recursive", "markdown"]
"""`recursive`: at the largest of paragraphs, sentences, words and letters that fits. `markdown`: a
section under a heading is a chunk; a longer one is cut recursively."""
CHUNKERS: tuple[Chunker, ...] = ("recursive", "markdown")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How documents are cut."""

    chunker: Chunker = "recursive"
    size: int = 1800
    """Characters of a chunk at most."""
    overlap: int = 300
    """Characters that neighbours may share."""

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.size:
            raise InputError(
                f"an overlap of {self.overlap:,} characters does not go with chunks of"
                f" {self.size:,}",
                hint="the overlap is at least 0 and less than the size",
            )

    def __str__(self) -> str:
        shared = f"/{self.overlap}" if self.overlap else ""
        return f"{self.chunker} {self.size}{shared}"


def cut(text: str, chunking: Chunking) -> tuple[Span, ...]:
    """Return where the chunks of a document are; every character that is no white space is in one.

    Args:
        text: The document, with `\\n` for line ends.
        chunking: How.
    """
    sections = _section_starts(text) if chunking.chunker == "markdown" else []
    spans: list[Span] = []
    for start, end in pairwise([0, *sections, len(text)]):
        spans += _recursive(text, start, end, chunking)
    return tuple((start, end) for start, end in spans if text[start:end].strip())


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


def _section_starts(text: str) -> list[int]:
    """Return where sections begin behind the start; a heading with nothing under it begins that of
    the next one.
    """
    from markdown_it import MarkdownIt

    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    starts: list[int] = []
    before = 0
    for token in MarkdownIt().parse(text):
        # A heading inside of a list or a quotation starts no section.
        if token.type == "heading_open" and token.map is not None and token.level == 0:
            start, end = (lines[at] for at in token.map)
            if text[before:start].strip():
                starts.append(start)
            before = end
    return starts


def covered(span: Span, chunks: Sequence[Span]) -> float:
    """Return the share of a span's characters that lie in one of some chunks."""
    start, end = span
    inside = np.zeros(end - start, np.bool_)
    for first, last in chunks:
        inside[max(first - start, 0) : max(last - start, 0)] = True
    return float(inside.mean())
