"""The chunks of documents, and what retrieves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ....judges.judged_dataset import IntArray
from ....judges.retrieval import Bm25, Dense, Encode, Retriever, rank
from .chunking import Chunking, Span, covered, cut
from .documents import Document, Question

Context = Literal["none", "document"]
"""What stands before each chunk: nothing, or what is known of its document."""
CONTEXTS: tuple[Context, ...] = ("none", "document")


class ChunkIndex:
    """The chunks of documents, cut in one way, and what retrieves them.

    Args:
        documents: What is cut.
        chunking: How.
        context: What stands before each chunk.
        encode: Vectors of texts; BM25 without one.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        chunking: Chunking,
        context: Context,
        encode: Encode | None,
    ) -> None:
        self._chunks: list[tuple[int, Span]] = []
        self.texts: list[str] = []
        for position, document in enumerate(documents):
            about = [document.about] if context == "document" and document.about else []
            for start, end in cut(document.text, chunking):
                self._chunks.append((position, (start, end)))
                self.texts.append("\n".join([*about, document.text[start:end].strip()]))
        self._retriever: Retriever = (
            Bm25(self.texts) if encode is None else Dense(self.texts, encode)
        )

    def __len__(self) -> int:
        return len(self.texts)

    def best(self, question: str, k: int) -> IntArray:
        """Return the positions of the k nearest chunks, the nearest first."""
        return rank(self._retriever.scores(question))[:k]

    def passages(self, retrieved: IntArray) -> str:
        """Return chunks as a model reads them, each below its number; lines stay, as those of
        tables mean something.
        """
        return "\n\n".join(f"[{number}]\n{self.texts[i]}" for number, i in enumerate(retrieved, 1))

    def found(self, question: Question, retrieved: IntArray) -> tuple[bool | None, float | None]:
        """Say whether the right document, and how much of the evidence, is among retrieved
        chunks.
        """
        if question.document is None:
            return None, None
        chunks = [self._chunks[i] for i in retrieved]
        spans = [span for position, span in chunks if position == question.document]
        return bool(spans), None if question.evidence is None else covered(question.evidence, spans)
