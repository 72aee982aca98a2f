"""Score the passages of a corpus against a query: BM25, or cosine similarity of embeddings.

What is retrieved here is what gets annotated; so a ranking is the same whatever the machine, and
equal scores stand in the order of the corpus.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from .errors import InputError
from .extras import require_extra
from .judged_dataset import FloatArray, IntArray
from .plain_cases import ASCII_WORDS

EXTRA = "embeddings"
"""The extra that dense retrieval needs."""
DEFAULT_EMBEDDER = "sentence-transformers/all-MiniLM-L6-v2"

# Chinese and Japanese put no spaces between words, so each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

Encode = Callable[[Sequence[str]], FloatArray]
"""Texts to vectors, one row a text; shape (n, d)."""


class Retriever(Protocol):
    """Scores every document of one corpus against a query."""

    @property
    def name(self) -> str:
        """What it is called in files and reports."""
        ...

    def scores(self, query: str) -> FloatArray:
        """Return how near each document is to the query, higher is nearer; shape (documents,)."""
        ...


def rank(scores: FloatArray) -> IntArray:
    """Return the positions of the documents, best first; equal scores keep the order of the
    corpus.
    """
    # Stable: another sort would order equal scores by the machine it runs on.
    return np.argsort(-scores, kind="stable").astype(np.int64)


def words(text: str) -> list[str]:
    """Return the words of a text in order, compatibility forms and case folded; no word is left out
    as too common.
    """
    # What `_WORD` finds in ASCII, several times as quickly.
    if text.isascii():
        return text.translate(ASCII_WORDS).split()
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


class Bm25:
    """BM25 (Robertson et al. 1994) with Lucene's idf, ln(1 + (N - df + 1/2) / (df + 1/2)), which is
    never negative.

    A document's score is the sum over the query's words, a repeated word counting each time, of
    idf tf / (tf + k1 (1 - b + b length / mean length)). Without a word in common it is 0.

    Args:
        passages: The corpus, in the order that breaks ties.
        k1: How soon a repeated word stops counting.
        b: How far a long document is held back.

    Raises:
        InputError: There is no passage.
    """

    def __init__(self, passages: Sequence[str], *, k1: float = 1.5, b: float = 0.75) -> None:
        _require(passages)
        import bm25s

        self._size = len(passages)
        self._vocabulary: dict[str, int] = {}
        vocabulary = self._vocabulary
        ids: list[list[int]] = []
        for passage in passages:
            ids.append([vocabulary.setdefault(word, len(vocabulary)) for word in words(passage)])
        self._index = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
        # bm25s cannot index a corpus without a single word; no document has a score there.
        if vocabulary:
            self._index.index((ids, vocabulary), create_empty_token=False, show_progress=False)

    @property
    def name(self) -> str:
        """See `Retriever.name`."""
        return "bm25"

    def scores(self, query: str) -> FloatArray:
        """See `Retriever.scores`."""
        indexed = [word for word in words(query) if word in self._vocabulary]
        if not indexed:
            return np.zeros(self._size)
        return np.asarray(self._index.get_scores(indexed), np.float64)


class Dense:
    """Cosine similarity of embeddings.

    Args:
        passages: The corpus, in the order that breaks ties.
        encode: Turns texts into vectors; `load_encoder` gives one.
        name: What to call it, such as the model's name.

    Raises:
        InputError: There is no passage.
    """

    def __init__(self, passages: Sequence[str], encode: Encode, *, name: str = "dense") -> None:
        _require(passages)
        self._encode = encode
        self._name = name
        self._vectors = unit_vectors(encode(passages))

    @property
    def name(self) -> str:
        """See `Retriever.name`."""
        return self._name

    def scores(self, query: str) -> FloatArray:
        """See `Retriever.scores`; rounded to 1e-6, within which the same vectors differ from
        machine to machine.
        """
        return np.round(self._vectors @ unit_vectors(self._encode([query]))[0], 6)


def load_encoder(model: str = DEFAULT_EMBEDDER) -> Encode:
    """Return an encoder from the sentence-transformers package.

    Raises:
        InputError: The package is not installed, or has no such model.
    """
    require_extra(EXTRA, "sentence_transformers", purpose="an embedding model")
    from sentence_transformers import (  # pyright: ignore[reportMissingImports]
        SentenceTransformer,
    )

    try:
        loaded = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the embedding model {model!r} cannot be loaded: {str(error).splitlines()[0]}"
        ) from error
    return lambda texts: np.asarray(loaded.encode(list(texts), show_progress_bar=False), np.float64)


def _require(passages: Sequence[str]) -> None:
    if not passages:
        raise InputError("the corpus has no passage")


def unit_vectors(vectors: FloatArray) -> FloatArray:
    """Return vectors at length 1, shape (n, d); one of length 0 stays."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors, np.float64), where=length > 0)
