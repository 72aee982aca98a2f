"""Single words of the texts as conditions: the rows whose statement contains `refund`.

There are thousands of words, so they are not counted against every other column as the values of a
column are: one product of a sparse table with the losses scores them, and the likeliest go on.
"""

from __future__ import annotations

import functools
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..judges import BoolArray, FloatArray, Row
from ..judges.retrieval import words
from .column import Column
from .significance import LossScan
from .slice import Contains

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CACHED_TEXTS = 1 << 12
"""Texts whose words are remembered: rows of one group often share a source."""
LIKELY = 50
"""Words that go on to the search, of those that are frequent enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyWords:
    """The words that a half's losses point to, as columns over all rows."""

    columns: tuple[Column, ...] = ()
    considered: int = 0
    """How many words they were chosen from; the price of each in the search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Which word occurs in which text."""

    conditions: tuple[Contains, ...]
    present: csr_matrix
    """1 where the row's text has the word; shape (rows, words)."""

    def likely(
        self, loss: BoolArray | FloatArray, rows: BoolArray, *, min_rows: int
    ) -> LikelyWords:
        """Choose the words in whose rows losses gather most, one word at a time.

        The losses of other rows are not looked at. So a word that was chosen because it is poor
        here is no likelier than any other to be poor there, and the test there stays valid.

        Args:
            loss: What each row costs; booleans mark bad rows. Shape (n,).
            rows: The rows that may be looked at; shape (n,).
            min_rows: The fewest of those that a word must occur in.
        """
        part, lost = self.present[rows], loss[rows].astype(np.float64)
        n = np.asarray(part.sum(axis=0), np.float64).ravel()
        in_word = np.asarray(part.T @ lost, np.float64).ravel()
        enough = (n >= min_rows) & (n < len(lost))
        if not enough.any():
            return LikelyWords()
        scan = LossScan.of(loss[rows])
        if not scan.possible:
            return LikelyWords()
        score = np.where(enough, np.round(scan.llr(n, in_word), 9), 0.0)
        columns = []
        # Ties are in the order of the words, so that the order of rows cannot decide.
        for word in np.argsort(-score, kind="stable")[:LIKELY].tolist():
            if score[word] > 0:
                condition = self.conditions[word]
                codes = self.present[:, [word]].toarray().ravel().astype(np.uint8)
                columns.append(
                    Column(name=str(condition), codes=codes, conditions=(None, condition))
                )
        return LikelyWords(columns=tuple(columns), considered=int(enough.sum()))


def read_vocabulary(
    rows: Sequence[Row], fields: Sequence[str], *, min_rows: int
) -> Vocabulary | None:
    """Return the words that occur in so many rows, of each field; None where there are none.

    Args:
        rows: The rows.
        fields: The texts to read.
        min_rows: The fewest rows with, and without, a word.
    """
    from scipy.sparse import csr_matrix, hstack

    if 2 * min_rows > len(rows):
        return None
    # A text that many rows share is taken apart once.
    distinct_words = functools.lru_cache(maxsize=CACHED_TEXTS)(lambda text: set(words(text)))
    conditions: list[Contains] = []
    parts: list[csr_matrix] = []
    for field in sorted(fields):
        # Counted first: of all words of all rows, few are frequent enough to be held.
        rows_with: Counter[str] = Counter()
        for row in rows:
            rows_with.update(distinct_words(row.inputs.get(field, "")))
        most = len(rows) - min_rows
        frequent = sorted(word for word, n in rows_with.items() if min_rows <= n <= most)
        if not frequent:
            continue
        code = {word: i for i, word in enumerate(frequent)}
        codes, ends = array("i"), array("q", [0])
        for row in rows:
            present = code.keys() & distinct_words(row.inputs.get(field, ""))
            codes.extend(sorted(code[word] for word in present))
            ends.append(len(codes))
        ones = np.ones(len(codes), np.int8)
        parts.append(csr_matrix((ones, codes, ends), shape=(len(rows), len(frequent))))
        conditions += [Contains(column=field, word=word) for word in frequent]
    if not conditions:
        return None
    return Vocabulary(conditions=tuple(conditions), present=csr_matrix(hstack(parts, format="csr")))
