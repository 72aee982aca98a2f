"""What a better prompt is: the objective, the rows to improve on, the loss that measures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..judges import BoolArray, Dataset, FloatArray, JudgedDataset
from ..slices import Predicate
from ..slices.slice import ALL_ROWS
from .losses.loss import Loss, row_losses
from .losses.objective import Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The rows to improve on: a slice, or everything."""

    predicate: Predicate | None
    """None for all rows."""
    why: str
    tested: bool = True
    """Whether it is more than the place with most errors to read: if not, proposers may try prompts
    on other training rows too, and the gate asks nothing of it."""

    @property
    def name(self) -> str:
        """The predicate as text, or `ALL_ROWS`."""
        return ALL_ROWS if self.predicate is None else str(self.predicate)

    def member(self, dataset: Dataset) -> BoolArray:
        """Say which rows of a dataset belong to the target; shape (rows,)."""
        if self.predicate is None:
            return np.ones(len(dataset.rows), np.bool_)
        return self.predicate.mask(dataset.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a run works towards; frozen before its first step."""

    objective: Objective
    target: Target
    loss: Loss
    slices: Mapping[str, Predicate] = field(default_factory=dict[str, Predicate])
    """The saved slices that the loss names."""

    def row_losses(self, judged: JudgedDataset) -> FloatArray:
        """Return the loss of each scored row, in [0, 1]; shape (n,).

        Raises:
            LossError: The loss cannot be computed on these rows.
        """
        slices = {
            name: predicate.mask(judged.dataset.rows)[judged.scored]
            for name, predicate in self.slices.items()
        }
        return row_losses(
            self.loss, judged, self.target.member(judged.dataset)[judged.scored], slices
        )
