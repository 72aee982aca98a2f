"""What happened to each row, as columns of numbers: the only thing a loss can see.

Inputs, texts and identifiers of a row never reach a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...judges import BoolArray, FloatArray, IntArray, JudgedDataset, LossError

TARGET_SLICE = "target"
"""The name by which a loss asks whether a row is in the slice under repair."""
PLACES = ("in no slice", f"in slice {TARGET_SLICE}")
"""How the rows outside that slice and inside are named."""
NO_CLASS = -1
"""The verdict of a row without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What happened to each row, as columns of equal length n that an expression is evaluated
    over.
    """

    numbers: Mapping[str, FloatArray]
    """By the names of the language; shape (n,) each."""
    inside: BoolArray
    """Whether each row is in the slice under repair; shape (n,)."""
    names: tuple[str, ...] = ()
    """The classes of a judge that chooses; none for one that decides yes or no."""
    classes: Mapping[str, IntArray] = field(default_factory=dict)
    """People's and such a judge's class, `label` and `verdict`, as positions among the names.

    They have numbers here, but no expression can take them for numbers.
    """

    def __len__(self) -> int:
        return len(self.inside)

    @classmethod
    def of_grades(
        cls,
        *,
        label: FloatArray,
        prediction: FloatArray,
        label_rank: FloatArray,
        pred_rank: FloatArray,
        confidence: FloatArray,
        n_levels: int,
        inside: BoolArray,
        abstained: bool = False,
    ) -> Outcomes:
        """Return what happened to rows of a judge that decides yes or no; `label` and `prediction`
        are 1 for a yes, else 0.
        """
        answered, ones = float(not abstained), np.ones(len(label))
        numbers = {
            "correct": (label == prediction) * answered,
            "fp": (1.0 - label) * prediction * answered,
            "fn": label * (1.0 - prediction) * answered,
            "tp": label * prediction * answered,
            "tn": (1.0 - label) * (1.0 - prediction) * answered,
            "abstained": ones * abstained,
            "label": label,
            "prediction": prediction,
            "label_rank": label_rank,
            "pred_rank": pred_rank,
            "rank_distance": np.abs(label_rank - pred_rank),
            "n_levels": ones * n_levels,
            "confidence": confidence,
        }
        return cls(numbers=numbers, inside=inside)

    @classmethod
    def of_classes(
        cls,
        names: tuple[str, ...],
        label: IntArray,
        verdict: IntArray,
        confidence: FloatArray,
        inside: BoolArray,
    ) -> Outcomes:
        """Return what happened to rows of a judge that chooses; a verdict is `NO_CLASS` where it
        gave none.
        """
        numbers = {
            "correct": (label == verdict).astype(np.float64),
            "abstained": (verdict == NO_CLASS).astype(np.float64),
            "confidence": confidence,
        }
        classes = {"label": label, "verdict": verdict}
        return cls(numbers=numbers, inside=inside, names=names, classes=classes)

    def describe(self, position: int) -> str:
        """Name the outcome of one row in words."""
        at = {name: float(column[position]) for name, column in self.numbers.items()}
        confidence = f"confidence {at['confidence']:.4g}"
        where = PLACES[int(self.inside[position])]
        if self.classes:
            label, verdict = (int(column[position]) for column in self.classes.values())
            called = f"called {self.names[verdict]!r}"
            if at["abstained"]:
                called = "given no verdict"
            return f"{self.names[label]!r} {called}, {confidence}, {where}"
        correct = "true" if at["label"] == at["prediction"] else "false"
        outcome = f"{correct} {'positive' if at['prediction'] else 'negative'}"
        if at["abstained"]:
            outcome = "no verdict"
        return (
            f"{outcome}, {confidence}, label rank {at['label_rank']:g}, predicted rank"
            f" {at['pred_rank']:g}, {where}"
        )


def outcomes_of(judged: JudgedDataset, inside: BoolArray) -> Outcomes:
    """Describe the scored rows of a table in the language's terms.

    Ranks count from the lowest level of the judge's scale. People's grades are stretched onto it,
    so a binary label becomes its lowest or its highest rank; on a probability scale ranks run from
    0 to 1, and the probability of the side taken stands for a confidence that was not stated. Any
    other verdict without a confidence counts as given with certainty. Of a judge that chooses there
    are classes instead of ranks.

    Args:
        judged: The table; its unscored rows are left out.
        inside: Whether each scored row is in the slice under repair; shape (n,).
    """
    n = len(judged.rows)
    if inside.shape != (n,):
        raise LossError(f"the slice has shape {inside.shape}, the table has {n} scored rows")
    if judged.scale.kind == "choice":
        confidence = np.where(np.isnan(judged.confidence), 1.0, judged.confidence)
        label, verdict = judged.label.astype(np.int64), judged.score.astype(np.int64)
        return Outcomes.of_classes(judged.scale.labels, label, verdict, confidence, inside)
    n_levels = len(judged.scale.levels) or 2
    confidence = np.where(np.isnan(judged.confidence), judged.certainty, judged.confidence)
    return Outcomes.of_grades(
        label=judged.positive.astype(np.float64),
        prediction=judged.predicted.astype(np.float64),
        label_rank=_ranks(judged.label, judged.dataset.labels.levels, n_levels),
        pred_rank=_ranks(judged.score, judged.scale.levels, n_levels),
        confidence=np.where(np.isnan(confidence), 1.0, confidence),
        n_levels=n_levels,
        inside=inside,
    )


def first_marked(marked: BoolArray, confidences: FloatArray) -> tuple[tuple[int, int], str]:
    """Return the first marked cell of a grid, as what people and the judge say, and where its kind
    of row is marked, in words.

    Args:
        marked: Confidence x membership x people's side x the judge's.
        confidences: Of the first axis.
    """
    first = int(np.argmax(marked.any(axis=0).ravel()))
    m, human, judge = (int(i) for i in np.unravel_index(first, marked.shape[1:]))
    band = confidences[marked[:, m, human, judge]]
    to = f" to {band[-1]:.4g}" if len(band) > 1 else ""
    return (human, judge), f"confidence {band[0]:.4g}{to}, {PLACES[m]}"


def _ranks(grades: FloatArray, levels: tuple[float, ...], n_levels: int) -> FloatArray:
    low, high = (levels[0], levels[-1]) if levels else (0.0, 1.0)
    return (grades - low) * (n_levels - 1) / (high - low)
