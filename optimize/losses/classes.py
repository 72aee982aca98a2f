"""What a loss sees of a judge that chooses among classes, and the grid that such a loss is tried
on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...judges import (
    BoolArray,
    FloatArray,
    IntArray,
    JudgedDataset,
    OutputScale,
    split_class_metric,
)
from .outcomes import PLACES

NO_CLASS = -1
"""The verdict of a row without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOutcomes:
    """What happened to each row of a choice, as columns of equal length n that an expression is
    evaluated over.
    """

    classes: tuple[str, ...]
    label: IntArray
    """The position of people's class; shape (n,)."""
    verdict: IntArray
    """That of the judge's; `NO_CLASS` where it gave none."""
    confidence: FloatArray
    inside: BoolArray
    """Whether each row is in the slice under repair."""

    @classmethod
    def of(cls, judged: JudgedDataset, inside: BoolArray) -> ClassOutcomes:
        """Describe the scored rows of a table; a verdict without a confidence counts as given with
        certainty.
        """
        return cls(
            classes=judged.scale.labels,
            label=judged.label.astype(np.int64),
            verdict=judged.score.astype(np.int64),
            confidence=np.where(np.isnan(judged.confidence), 1.0, judged.confidence),
            inside=inside,
        )

    def __len__(self) -> int:
        return len(self.label)

    def columns(self) -> dict[str, FloatArray]:
        """Return every name of the language with its column; shape (n,).

        Classes have numbers here, but no expression can take them for numbers: `class_columns` has
        them apart.
        """
        return {
            "correct": (self.label == self.verdict).astype(np.float64),
            "abstained": (self.verdict == NO_CLASS).astype(np.float64),
            "confidence": self.confidence,
            "in_slice": self.inside.astype(np.float64),
        }

    def class_columns(self) -> dict[str, IntArray]:
        """Return people's and the judge's class as positions; shape (n,)."""
        return {"label": self.label, "verdict": self.verdict}

    def describe(self, position: int) -> str:
        """Name the outcome of one row in words."""
        verdict = int(self.verdict[position])
        called = "given no verdict" if verdict == NO_CLASS else f"called {self.classes[verdict]!r}"
        label = self.classes[int(self.label[position])]
        where = PLACES[int(self.inside[position])]
        return f"{label!r} {called}, confidence {self.confidence[position]:.4g}, {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The classes that a loss is tried on, and which errors the objective fights."""

    names: tuple[str, ...]
    missed: str | None = None
    """The class that must not be missed, where the target is its recall."""
    overused: str | None = None
    """The class that must not be named wrongly, where the target is its precision."""

    @classmethod
    def of(cls, scale: OutputScale, target: str) -> Classes:
        """Take the classes of a scale, and the errors that a target metric counts."""
        metric, name = split_class_metric(target)
        return cls(
            names=scale.labels,
            missed=name if metric == "recall" else None,
            overused=name if metric in ("precision", "specificity") else None,
        )

    @property
    def fought(self) -> str | None:
        """The condition, in the language of losses, of a wrong row that the objective fights; None
        for all alike.
        """
        if self.missed is not None:
            return f"label == {self.missed!r}"
        if self.overused is not None:
            return f"verdict == {self.overused!r}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassGrid:
    """Every cell of confidence x membership x people's class x the judge's; costs have shape (C, 2,
    K, K).
    """

    confidences: FloatArray
    classes: Classes

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """See the class."""
        count = len(self.classes.names)
        return len(self.confidences), len(PLACES), count, count

    @property
    def right(self) -> BoolArray:
        """Whether both sides name one class; shape (K, K)."""
        return np.eye(self.shape[2], dtype=np.bool_)

    @property
    def perfect(self) -> BoolArray:
        """The same: a class is right or it is not."""
        return self.right

    @property
    def errors(self) -> dict[str, BoolArray]:
        """The cells of the one kind of error; shape (K, K)."""
        return {"wrong class": ~self.right}

    def outcomes(self) -> ClassOutcomes:
        """Return a made-up row for every cell."""
        c, m, label, verdict = (axis.ravel() for axis in np.indices(self.shape))
        return self._rows(c, m, label, verdict)

    def abstentions(self) -> ClassOutcomes:
        """Return rows without a verdict: confidence x membership x people's class."""
        c, m, label = (axis.ravel() for axis in np.indices(self.shape[:3]))
        return self._rows(c, m, label, np.full(c.shape, NO_CLASS))

    def _rows(self, c: IntArray, m: IntArray, label: IntArray, verdict: IntArray) -> ClassOutcomes:
        return ClassOutcomes(
            classes=self.classes.names,
            label=label,
            verdict=verdict,
            confidence=self.confidences[c],
            inside=m == 1,
        )

    def cell(self, marked: BoolArray) -> str:
        """Describe the first marked cell, with the confidences at which its kind of row is
        marked.
        """
        first = int(np.argmax(marked.any(axis=0).ravel()))
        m, label, verdict = (int(i) for i in np.unravel_index(first, self.shape[1:]))
        confidences = self.confidences[marked[:, m, label, verdict]]
        band = f"confidence {confidences[0]:.4g}"
        if len(confidences) > 1:
            band += f" to {confidences[-1]:.4g}"
        names = self.classes.names
        return f"{names[label]!r} called {names[verdict]!r}, {band}, {PLACES[m]}"

    def against_objective(self, costs: FloatArray) -> BoolArray:
        """Mark the errors that the objective fights and that cost less than the same two classes
        swapped.
        """
        name = self.classes.missed or self.classes.overused
        marked = np.zeros(costs.shape, np.bool_)
        if name is None:
            return marked
        code = self.classes.names.index(name)
        excess = costs - np.swapaxes(costs, 2, 3)
        fought = excess[:, :, code, :] if self.classes.missed else excess[:, :, :, code]
        cheap = fought < -1e-9
        # Somewhere the fought errors must cost more: equal everywhere, the loss says nothing of the
        # objective.
        others = np.arange(len(self.classes.names)) != code
        cheap |= others & (fought.sum(axis=2, keepdims=True) <= 1e-9)
        if self.classes.missed:
            marked[:, :, code, :] = cheap
        else:
            marked[:, :, :, code] = cheap
        return marked
