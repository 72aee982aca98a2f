"""Judged rows of which alike ones are held as one position with their number: millions of rows in
little memory.
"""

# Fields stand for what `JudgedArrays` names.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .judged_arrays import BoolArray, FloatArray, IntArray, JudgedArrays


@dataclass(frozen=True, kw_only=True)
class JudgedColumns(JudgedArrays):
    """Labels and verdicts without their rows: what metrics need, and nothing that could be shown of
    a single row.

    Scored rows with the same label, score and confidence, and of the same group where rows share
    groups, are one position of the arrays.
    """

    label: FloatArray
    score: FloatArray
    confidence: FloatArray
    weight: IntArray
    shared_groups: IntArray | None
    input_names: tuple[str, ...]
    unscored: Mapping[str, int]
    unlabelled: int
    unanswered: tuple[int, int]
    total: int

    @cached_property
    def predicted(self) -> BoolArray:
        """Whether the judge calls the rows positive; shape (n,)."""
        return self.score >= self.scale.threshold

    @cached_property
    def probability(self) -> FloatArray:
        """Probability of the positive label: the score on a probability scale, else from the
        confidence.
        """
        if self.scale.kind == "probability":
            return self.score
        return np.where(self.predicted, self.confidence, 1.0 - self.confidence)

    def __repr__(self) -> str:
        return (
            f"JudgedColumns({self.judge!r}, model {self.model!r}, {self.total:,} rows, {self.n:,}"
            " scored)"
        )
