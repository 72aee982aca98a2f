"""What happened to each row, as columns of numbers: the only thing a loss can see.

Inputs, texts and identifiers of a row never reach a loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...judges import BoolArray, FloatArray, JudgedDataset, LossError

TARGET_SLICE = "target"
"""The name by which a loss asks whether a row is in the slice under repair."""
PLACES = ("in no slice", f"in slice {TARGET_SLICE}")
"""How the rows outside that slice and inside are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What happened to each row, as columns of equal length n that an expression is evaluated
    over.
    """

    label: FloatArray
    """1 where people say positive, else 0; shape (n,)."""
    prediction: FloatArray
    label_rank: FloatArray
    pred_rank: FloatArray
    confidence: FloatArray
    abstained: FloatArray
    n_levels: int
    inside: BoolArray
    """Whether each row is in the slice under repair."""

    def __len__(self) -> int:
        return len(self.label)

    def columns(self) -> dict[str, FloatArray]:
        """Return every name of the language with its column, and `in_slice`; shape (n,)."""
        answered = 1.0 - self.abstained
        label, prediction = self.label, self.prediction
        return {
            "correct": (label == prediction) * answered,
            "fp": (1.0 - label) * prediction * answered,
            "fn": label * (1.0 - prediction) * answered,
            "tp": label * prediction * answered,
            "tn": (1.0 - label) * (1.0 - prediction) * answered,
            "abstained": self.abstained,
            "label": label,
            "prediction": prediction,
            "label_rank": self.label_rank,
            "pred_rank": self.pred_rank,
            "rank_distance": np.abs(self.label_rank - self.pred_rank),
            "n_levels": np.full(len(self), float(self.n_levels)),
            "confidence": self.confidence,
            "in_slice": self.inside.astype(np.float64),
        }

    def describe(self, position: int) -> str:
        """Name the outcome of one row in words."""
        label, prediction = bool(self.label[position]), bool(self.prediction[position])
        correct = "true" if label == prediction else "false"
        outcome = f"{correct} {'positive' if prediction else 'negative'}"
        if self.abstained[position]:
            outcome = "no verdict"
        return (
            f"{outcome}, confidence {self.confidence[position]:.4g}, label rank"
            f" {self.label_rank[position]:g}, predicted rank {self.pred_rank[position]:g},"
            f" {PLACES[int(self.inside[position])]}"
        )


def outcomes_of(judged: JudgedDataset, inside: BoolArray) -> Outcomes:
    """Describe the scored rows of a table in the language's terms.

    Ranks count from the lowest level of the judge's scale. People's grades are stretched onto it,
    so a binary label becomes its lowest or its highest rank; on a probability scale ranks run from
    0 to 1, and the probability of the side taken stands for a confidence that was not stated. Any
    other verdict without a confidence counts as given with certainty.

    Args:
        judged: The table; its unscored rows are left out.
        inside: Whether each scored row is in the slice under repair; shape (n,).
    """
    n = len(judged.rows)
    if inside.shape != (n,):
        raise LossError(f"the slice has shape {inside.shape}, the table has {n} scored rows")
    n_levels = len(judged.scale.levels) or 2
    confidence = np.where(np.isnan(judged.confidence), judged.certainty, judged.confidence)
    return Outcomes(
        label=judged.positive.astype(np.float64),
        prediction=judged.predicted.astype(np.float64),
        label_rank=_ranks(judged.label, judged.dataset.labels.levels, n_levels),
        pred_rank=_ranks(judged.score, judged.scale.levels, n_levels),
        confidence=np.where(np.isnan(confidence), 1.0, confidence),
        abstained=np.zeros(n),
        n_levels=n_levels,
        inside=inside,
    )


def _ranks(grades: FloatArray, levels: tuple[float, ...], n_levels: int) -> FloatArray:
    low, high = (levels[0], levels[-1]) if levels else (0.0, 1.0)
    return (grades - low) * (n_levels - 1) / (high - low)
