"""Which sources a question may go to: those that its row is allowed, and of these the nearest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....judges.errors import DataError
from ....judges.judged_dataset import FloatArray, IntArray
from ....judges.retrieval import Bm25, Retriever, rank, words
from ....judges.rows import Dataset, Row
from .catalog import Catalog, Source

Count = Callable[[int, int], None]

STEM = 5
"""Letters of a word that count: patient and patients, invoice and invoicing are one."""
_SAY_NOTHING = """
    a about after all also an and any are as at be been before being between both but by can could did do does during
    each for from get give had has have having he her here him his how i if in into is it its just let like many may me
    might more most much must my no nor not of off on once one only or other our out over own please same shall she
    should show so some such tell than that the their them then there these they this those through to too under until
    up us very was we were what when where which while who whom whose why will with would you your
"""  # noqa: E501
_FUNCTION_WORDS = frozenset(_SAY_NOTHING.split())
"""English words that say nothing of what is asked; among few short texts they would count as rare.
"""


class Keywords:
    """BM25 over the stems of words that carry meaning: for few, short descriptions, in which few
    words recur.

    Args:
        texts: What is said of each source.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._bm25 = Bm25([_stems(text) for text in texts])

    @property
    def name(self) -> str:
        """See `Retriever.name`."""
        return "keywords"

    def scores(self, query: str) -> FloatArray:
        """See `Retriever.scores`."""
        return self._bm25.scores(_stems(query))


def _stems(text: str) -> str:
    return " ".join(word[:STEM] for word in words(text) if word not in _FUNCTION_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The sources that are left for each row, by their place in the catalogue."""

    allowed: tuple[tuple[int, ...], ...]
    """After pruning, in the catalogue's order."""
    nearest: tuple[tuple[int, ...], ...]
    """Of these the nearest k, the nearest first."""
    k: int
    retriever: str


def find_candidates(
    dataset: Dataset,
    catalog: Catalog,
    retriever: Retriever,
    *,
    field: str = "question",
    k: int = 5,
    count: Count | None = None,
) -> Candidates:
    """Prune and retrieve.

    Args:
        dataset: Questions; `only` of a source reads the columns of their rows.
        catalog: The sources.
        retriever: Over `Source.text` of the catalogue, in its order.
        field: The input that is the question.
        k: How many sources are left at most.
        count: Told how many questions are done, and of how many.

    Raises:
        DataError: A source is for rows with a column that no row has.
    """
    seen = {column for row in dataset.rows for column in row.meta}
    for column, name in catalog.conditions.items():
        if column not in seen:
            raise DataError(
                f"source {name!r}, field 'only': no row has the column {column!r}",
                hint="name a column of the questions, or take the condition out",
            )
    allowed: list[tuple[int, ...]] = []
    nearest: list[tuple[int, ...]] = []
    ranked: dict[str, IntArray] = {}
    for done, row in enumerate(dataset.rows, 1):
        question = row.inputs[field]
        if question not in ranked:
            ranked[question] = rank(retriever.scores(question))
        may = tuple(i for i, source in enumerate(catalog.sources) if _is_open(source, row))
        allowed.append(may)
        order: Sequence[int] = ranked[question][np.isin(ranked[question], may)].tolist()
        nearest.append(tuple(order[:k]))
        if count is not None:
            count(done, len(dataset.rows))
    return Candidates(allowed=tuple(allowed), nearest=tuple(nearest), k=k, retriever=retriever.name)


def _is_open(source: Source, row: Row) -> bool:
    """Whether a row has one of the values that a source wants, in each column, whatever their
    capitals.
    """
    for column, values in source.only.items():
        value = row.meta.get(column)
        if value is None or str(value).strip().casefold() not in {
            one.strip().casefold() for one in values
        }:
            return False
    return True
