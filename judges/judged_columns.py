"""Judged rows of which alike ones are held as one position with their number: millions of rows in
little memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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

    labels: FloatArray
    """Human grades; shape (n,)."""
    scores: FloatArray
    """The judge's grades; shape (n,)."""
    confidences: FloatArray
    """NaN where none was given; shape (n,)."""
    weights: IntArray
    """How many rows each position stands for; shape (n,)."""
    groups: IntArray | None
    """Codes 0..G-1; None where every row is its own. Shape (n,)."""
    inputs: tuple[str, ...]
    reasons: Mapping[str, int]
    """Rows without a verdict, by reason."""
    without_label: int
    without_verdict: tuple[int, int]
    """Of the labelled rows, those that people call negative and positive."""
    rows: int

    @property
    def weight(self) -> IntArray:
        """How many rows each position stands for; shape (n,)."""
        return self.weights

    @property
    def shared_groups(self) -> IntArray | None:
        """Codes 0..G-1 of the groups, None where every row is its own; shape (n,)."""
        return self.groups

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the rows' inputs."""
        return self.inputs

    @cached_property
    def label(self) -> FloatArray:
        """Human grades; shape (n,)."""
        return self.labels

    @cached_property
    def score(self) -> FloatArray:
        """The judge's grades; shape (n,)."""
        return self.scores

    @cached_property
    def predicted(self) -> BoolArray:
        """Whether the judge calls the rows positive; shape (n,)."""
        return self.scores >= self.scale.threshold

    @cached_property
    def confidence(self) -> FloatArray:
        """Confidence in the verdict, NaN where none was given; shape (n,)."""
        return self.confidences

    @cached_property
    def probability(self) -> FloatArray:
        """Probability of the positive label: the score on a probability scale, else from the
        confidence.
        """
        if self.scale.kind == "probability":
            return self.scores
        return np.where(self.predicted, self.confidences, 1.0 - self.confidences)

    @property
    def unscored(self) -> Mapping[str, int]:
        """How many rows have no verdict, by reason."""
        return self.reasons

    @property
    def unlabelled(self) -> int:
        """How many rows have no human label."""
        return self.without_label

    @property
    def unanswered(self) -> tuple[int, int]:
        """How many labelled rows without a verdict people call negative, and how many positive."""
        return self.without_verdict

    @property
    def total(self) -> int:
        """All rows, scored or not."""
        return self.rows

    def noting(self, *notes: str) -> JudgedColumns:
        """Return the same with more notes about the rows."""
        return replace(self, dataset=replace(self.dataset, notes=(*self.dataset.notes, *notes)))

    def __repr__(self) -> str:
        return (
            f"JudgedColumns({self.judge!r}, model {self.model!r}, {self.rows:,} rows, {self.n:,}"
            " scored)"
        )
