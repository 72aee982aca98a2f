"""Pairs of query and document with the scores of several rankers, and labels by people and by a
judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....judges.errors import InputError
from ....judges.judged_dataset import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class SearchTable:
    """One line a pair, in any order."""

    queries: tuple[str, ...]
    """What each query is called; shape (Q,)."""
    query: IntArray
    """0..Q-1; shape (n,)."""
    documents: tuple[str, ...]
    """What each pair's document is called; shape (n,)."""
    features: tuple[str, ...]
    """Names of the features; shape (F,)."""
    values: FloatArray
    """Their values, higher for a document that should stand higher, NaN for none; shape (n, F)."""
    human: FloatArray
    """People's grade, NaN where they gave none; shape (n,)."""
    judge: FloatArray
    """The judge's grade, likewise."""

    def __post_init__(self) -> None:
        n = len(self.query)
        if not n == len(self.documents) == len(self.values) == len(self.human) == len(self.judge):
            raise InputError("the columns of a search table differ in length")
        if self.values.shape[1] != len(self.features):
            raise InputError(f"{len(self.features)} names for {self.values.shape[1]} features")

    @property
    def graded_by_people(self) -> BoolArray:
        """Which queries have a pair that people graded; shape (Q,)."""
        return self._with(self.human)

    @property
    def graded_by_judge(self) -> BoolArray:
        """Which queries have a pair that the judge graded; shape (Q,)."""
        return self._with(self.judge)

    def _with(self, grades: FloatArray) -> BoolArray:
        there = np.zeros(len(self.queries), np.bool_)
        there[self.query[~np.isnan(grades)]] = True
        return there
