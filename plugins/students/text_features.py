"""Numbers about two texts that hint at whether the longer one bears the shorter one out. No model
is asked.

The texts are those of a source and a statement, a passage and a query, an answer and a question.
Names, negations and sentence ends are those of English.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ...judges.judged_dataset import FloatArray
from ...judges.retrieval import words

T = TypeVar("T")

FEATURES = (
    "words covered",  # the share of the shorter text's words, by idf, that the longer one has
    "words covered evenly",  # likewise, each word alike
    "pairs covered",  # of two neighbouring words
    "triples covered",
    "letters covered",  # of four neighbouring letters
    "best sentence",  # as `words covered`, of the sentence of the longer text that covers most
    "cosine",  # of TF-IDF vectors
    "frequency",  # how often the shorter text's words stand in the longer one, by idf
    "rarest missing",  # the idf of the rarest word that is not covered
    "second rarest missing",
    "numbers covered",
    "numbers missing",
    "names covered",  # words with a capital letter inside a sentence
    "names missing",
    # the best sentence negates and the shorter text does not, or the other way round
    "negation differs",
    "first place",  # where the first covered word stands, 0 the beginning
    "length",  # ln(1 + words) of the longer text
    "length of the shorter",
    "question",  # whether the shorter text ends in a question mark
)
"""What is counted, in this order."""
DIGITS = 6
"""Of an idf, so that a student's file stays small."""
MOST_WORDS = 20_000
"""Words whose idf is kept, the most frequent; others count as the rarest."""

_NEGATIONS = frozenset(
    {"not", "no", "never", "none", "without", "nor", "cannot", "neither", "nothing"}
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<=[^.!?\s][ \t])[A-Z]\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPair:
    """Two texts, cut up once."""

    long: tuple[str, ...]
    """Words of the longer text, in order."""
    short: tuple[str, ...]
    sentences: tuple[frozenset[str], ...]
    """Words of each sentence of the longer text."""
    letters: float
    numbers: tuple[int, int]
    """Of the shorter text: how many the longer has, and how many not."""
    names: tuple[int, int]
    question: bool

    @classmethod
    def of(cls, long: str, short: str) -> TextPair:
        """Cut up two texts."""
        parts = [frozenset(words(part)) for part in _SENTENCE_END.split(long) if part.strip()]
        return cls(
            long=tuple(words(long)),
            short=tuple(words(short)),
            sentences=tuple(parts),
            letters=_share(_letters(short), _letters(long)),
            numbers=_found(_NUMBER.findall(short), set(_NUMBER.findall(long))),
            names=_found(_NAME.findall(short), set(re.findall(r"\w+", long))),
            question=short.rstrip().endswith("?"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WordWeights:
    """How rare words are: idf = ln((1 + n) / (1 + df)) + 1, of n texts."""

    idf: Mapping[str, float]
    rarest: float
    """Of a word that stands nowhere, or was left out."""

    @classmethod
    def of(cls, pairs: Iterable[TextPair]) -> WordWeights:
        """Count words over the different texts of pairs."""
        texts = {text for pair in pairs for text in (pair.long, pair.short)}
        df = Counter(word for text in texts for word in set(text))
        # A word of one text is as rare as one of none, nearly; the order decides nothing but ties
        # at the limit.
        vocabulary = sorted(
            ((word, n) for word, n in df.items() if n > 1), key=lambda one: (-one[1], one[0])
        )[:MOST_WORDS]
        n = len(texts)
        idf = {
            word: round(math.log((1 + n) / (1 + count)) + 1, DIGITS) for word, count in vocabulary
        }
        return cls(idf=idf, rarest=math.log((1 + n) / 2) + 1)

    def of_word(self, word: str) -> float:
        """Return the idf of a word."""
        return self.idf.get(word, self.rarest)

    def features(self, pairs: Sequence[TextPair]) -> FloatArray:
        """Return `FEATURES` of each pair; shape (n, F)."""
        return np.array([self._features(pair) for pair in pairs], np.float64).reshape(
            -1, len(FEATURES)
        )

    def _features(self, pair: TextPair) -> list[float]:
        long, short = Counter(pair.long), Counter(pair.short)
        shared = long.keys() & short.keys()
        weight = {word: self.of_word(word) for word in short}
        total = sum(weight.values()) or 1.0
        best, best_share = frozenset[str](), 0.0
        for sentence in pair.sentences:
            share = sum(weight[word] for word in sentence & short.keys()) / total
            if share > best_share:
                best, best_share = sentence, share
        missing = sorted((weight[word] for word in short.keys() - shared), reverse=True)[:2]
        missing += [0.0] * (2 - len(missing))
        first = next((i for i, word in enumerate(pair.long) if word in short), len(pair.long))
        return [
            sum(weight[word] for word in shared) / total,
            len(shared) / max(1, len(short)),
            _share(set(pairwise(pair.short)), set(pairwise(pair.long))),
            _share(_triples(pair.short), _triples(pair.long)),
            pair.letters,
            best_share,
            self._cosine(long, short),
            sum(math.log1p(long[word]) * weight[word] for word in shared) / max(1, len(short)),
            *missing,
            *_covered(pair.numbers),
            *_covered(pair.names),
            float(bool(best & _NEGATIONS) != bool(short.keys() & _NEGATIONS)),
            first / max(1, len(pair.long)),
            math.log1p(len(pair.long)),
            math.log1p(len(pair.short)),
            float(pair.question),
        ]

    def _cosine(self, long: Mapping[str, int], short: Mapping[str, int]) -> float:
        vectors = [
            {w: (1 + math.log(n)) * self.of_word(w) for w, n in text.items()}
            for text in (long, short)
        ]
        product = sum(weight * vectors[0].get(word, 0.0) for word, weight in vectors[1].items())
        return product / (
            math.hypot(*vectors[0].values()) * math.hypot(*vectors[1].values()) or 1.0
        )


def _letters(text: str) -> set[str]:
    plain = " ".join(text.casefold().split())
    return {plain[i : i + 4] for i in range(max(0, len(plain) - 3))}


def _triples(text: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(text, text[1:], text[2:], strict=False))


def _share(some: set[T], of: set[T]) -> float:
    return len(some & of) / len(some) if some else 0.0


def _found(some: Iterable[str], there: set[str]) -> tuple[int, int]:
    different = set(some)
    return len(different & there), len(different - there)


def _covered(counts: tuple[int, int]) -> tuple[float, float]:
    """Return the share that is covered, all of it where there is nothing to cover, and how much is
    missing.
    """
    present, missing = counts
    return (present / (present + missing) if present + missing else 1.0), float(missing)
