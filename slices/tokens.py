"""Single words of the texts as conditions: the rows whose statement contains `refund`.

There are thousands of words, so they are not counted against every other column as the values of a
column are: one product of a sparse table with the losses scores them, and the likeliest go on.
"""

from __future__ import annotations

import itertools
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

    conditions: list[Contains] = []
    parts = []
    for field in sorted(fields):
        frequent, table = _count_words([row.inputs.get(field, "") for row in rows], min_rows)
        conditions += [Contains(column=field, word=word) for word in frequent]
        parts.append(table)
    if not conditions:
        return None
    return Vocabulary(conditions=tuple(conditions), present=csr_matrix(hstack(parts, format="csr")))


def _count_words(texts: Sequence[str], min_rows: int) -> tuple[list[str], csr_matrix]:
    """Return the words that so many texts have and lack, in order, and which text has which; shape
    (texts, words).

    A text that many rows share is taken apart once.
    """
    from scipy.sparse import csr_matrix

    different: dict[str, int] = {}
    text_of = np.array([different.setdefault(text, len(different)) for text in texts], np.int64)
    ids = _Numbers()
    word_ids = [list(map(ids.__getitem__, set(words(text)))) for text in different]
    # The sparse table by hand: scikit-learn's counting takes several times as long.
    ends = np.cumsum([0, *map(len, word_ids)])
    columns = np.fromiter(itertools.chain.from_iterable(word_ids), np.int64, int(ends[-1]))
    shared = np.repeat(np.bincount(text_of, minlength=len(word_ids)), np.diff(ends))
    n = np.bincount(columns, shared, minlength=len(ids)).astype(np.int64)
    frequent = (n >= min_rows) & (n <= len(texts) - min_rows)
    chosen = sorted(word for word, i in ids.items() if frequent[i])
    column_of = np.full(len(ids), -1)
    column_of[[ids[word] for word in chosen]] = np.arange(len(chosen))
    inside = column_of[columns] >= 0
    ends = np.concatenate([[0], np.cumsum(inside)])[ends]
    ones = np.ones(int(inside.sum()), np.int64)
    table = csr_matrix((ones, column_of[columns[inside]], ends), shape=(len(word_ids), len(chosen)))
    table.sort_indices()
    return chosen, csr_matrix(table[text_of])


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they come up."""

    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        return self[word]
