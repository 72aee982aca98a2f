"""The classes of a judge that chooses, and the grid that a loss over them is tried on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...judges import (
    BoolArray,
    FloatArray,
    IntArray,
    OutputScale,
    split_class_metric,
)
from .outcomes import NO_CLASS, PLACES, Outcomes, first_marked


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

    def outcomes(self) -> Outcomes:
        """Return a made-up row for every cell."""
        c, m, label, verdict = (axis.ravel() for axis in np.indices(self.shape))
        return self._rows(c, m, label, verdict)

    def abstentions(self) -> Outcomes:
        """Return rows without a verdict: confidence x membership x people's class."""
        c, m, label = (axis.ravel() for axis in np.indices(self.shape[:3]))
        return self._rows(c, m, label, np.full(c.shape, NO_CLASS))

    def _rows(self, c: IntArray, m: IntArray, label: IntArray, verdict: IntArray) -> Outcomes:
        confidence = self.confidences[c]
        return Outcomes.of_classes(self.classes.names, label, verdict, confidence, m == 1)

    def cell(self, marked: BoolArray) -> str:
        """Describe the first marked cell, with the confidences at which its kind of row is
        marked.
        """
        (label, verdict), where = first_marked(marked, self.confidences)
        return f"{self.classes.names[label]!r} called {self.classes.names[verdict]!r}, {where}"

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
