"""What people and judge decided about each scored row: all that a search for slices reads beside
the columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray, InputError, IntArray, JudgedDataset

NO_GROUPS = "the rows have no group: each is taken to be independent of the others"
"""The note of every search on rows without groups."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The scored rows as arrays, shape (n,) each."""

    positive: BoolArray
    """Whether people call the row positive."""
    predicted: BoolArray
    """Whether the judge does."""
    groups: IntArray
    """Codes 0..G-1; rows of one group depend on each other."""
    group_names: Sequence[str]
    """The group of each code."""
    probability: FloatArray
    """Of the positive label, NaN where the judge stated none."""
    distance: FloatArray | None = None
    """|label - grade|; None where people and judge grade on different scales."""

    def __post_init__(self) -> None:
        n = len(self.positive)
        for name in ("predicted", "groups", "probability"):
            if len(getattr(self, name)) != n:
                raise InputError(f"{len(getattr(self, name))} values of {name} for {n} labels")

    @classmethod
    def of(cls, judged: JudgedDataset) -> Outcomes:
        """Take the scored rows of a table.

        For a choice every row is positive, and predicted where the judge chose people's class: an
        error is a miss.
        """
        # In the order of the codes in `judged.groups`.
        names = dict.fromkeys(row.group_key for row in judged.rows)
        probability = judged.score if judged.scale.kind == "probability" else judged.probability
        positive, predicted, distance = judged.positive, judged.predicted, None
        if judged.scale.kind == "choice":
            positive, predicted = np.ones(len(judged.rows), np.bool_), ~judged.wrong
        elif judged.same_scale:
            distance = np.abs(judged.label - judged.score)
        return cls(
            positive=positive,
            predicted=predicted,
            groups=judged.groups,
            group_names=tuple(names),
            probability=probability,
            distance=distance,
        )

    def __len__(self) -> int:
        return len(self.positive)

    @property
    def clustered(self) -> bool:
        """Whether any group has two rows."""
        return len(self.group_names) < len(self)

    def only(self, chosen: BoolArray) -> Outcomes:
        """Return some of the rows, group codes as they were; chosen has shape (n,)."""
        return Outcomes(
            positive=self.positive[chosen],
            predicted=self.predicted[chosen],
            groups=self.groups[chosen],
            group_names=self.group_names,
            probability=self.probability[chosen],
            distance=None if self.distance is None else self.distance[chosen],
        )

    def order(self, seed: int) -> IntArray:
        """Return the rank of each row's group by a hash of its name, so that the order of rows does
        not matter.

        Groups that fall between two ranks a fixed number apart are a random part of all; shape
        (n,).
        """
        digests = bytearray()
        for name in self.group_names:
            key = f"{seed}\0{name}".encode("utf-8", "surrogatepass")
            digests += hashlib.blake2b(key, digest_size=8).digest()
        ranked = np.argsort(np.frombuffer(digests, ">u8"), kind="stable")
        rank = np.empty(len(ranked), np.int64)
        rank[ranked] = np.arange(len(ranked))
        return rank[self.groups]


def compress(groups: IntArray) -> IntArray:
    """Return codes 0..G-1 without gaps, in the order of the old ones; shape (n,)."""
    present = np.bincount(groups) > 0
    return (np.cumsum(present) - 1)[groups]


def count_groups(groups: IntArray) -> int:
    """Return how many different groups there are."""
    return int(np.count_nonzero(np.bincount(groups)))
