"""What metrics read of judged rows, however these are held: row by row, or alike rows as one with
their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .rows import Dataset
from .scale import OutputScale, split_class_metric

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

CLASS_METRICS = ("accuracy_grades", "kappa_grades", "f1_macro_grades")
"""Metrics that take grades or classes as names: only whether two are the same counts."""
PROBABILITY_METRICS = ("brier",)
"""Metrics of the judge's probability that two judges can be compared by."""


@dataclass(frozen=True, kw_only=True)
class JudgedArrays:
    """Labels and verdicts as arrays over the scored rows: those with a human label and a verdict.

    Unscored rows are counted in `unscored` and enter no mean.
    """

    dataset: Dataset
    """The scale of the labels, the name and the notes; `JudgedDataset` has its rows there too."""
    scale: OutputScale
    """The judge's scale, its threshold the one that decides here; the label scale is the dataset's.
    """
    judge: str = ""
    """`name@version` of the prompt, or the file the verdicts came from."""
    model: str = ""
    simulated: bool = False

    # `label` and `score` are people's and the judge's grades, `predicted` whether the judge calls
    # the row positive; `confidence` in the verdict and `probability` of the positive label are
    # NaN where none was given; `weight` is how many rows a position stands for, None where each
    # is one row; `shared_groups` are codes 0..G-1, None where every row is its own group: each of
    # shape (n,). `unscored` counts rows without a verdict by reason, `unlabelled` those without a
    # label, `unanswered` the labelled ones without a verdict that people call negative and
    # positive.
    if TYPE_CHECKING:  # fields of the one kind, worked out by the other

        @property
        def weight(self) -> IntArray | None: ...

        @property
        def shared_groups(self) -> IntArray | None: ...

        @property
        def input_names(self) -> tuple[str, ...]: ...

        @property
        def label(self) -> FloatArray: ...

        @property
        def score(self) -> FloatArray: ...

        @property
        def predicted(self) -> BoolArray: ...

        @property
        def confidence(self) -> FloatArray: ...

        @property
        def probability(self) -> FloatArray: ...

        @property
        def unscored(self) -> Mapping[str, int]: ...

        @property
        def unlabelled(self) -> int: ...

        @property
        def unanswered(self) -> tuple[int, int]: ...

        @property
        def total(self) -> int: ...

    @property
    def n(self) -> int:
        """Scored rows."""
        return len(self.label) if self.weight is None else int(self.weight.sum())

    def count(self, member: BoolArray) -> int:
        """Return how many rows the marked positions stand for; shape (n,)."""
        return int(member.sum() if self.weight is None else self.weight[member].sum())

    @property
    def group_count(self) -> int:
        """How many groups the scored rows belong to."""
        groups = self.shared_groups
        return self.n if groups is None else int(groups.max()) + 1

    @property
    def repaired(self) -> int:
        """How many verdicts were read from a reply that had to be mended."""
        return 0

    def noting(self, *notes: str) -> Self:
        """Return the same with more notes about the rows."""
        return replace(self, dataset=replace(self.dataset, notes=(*self.dataset.notes, *notes)))

    @cached_property
    def positive(self) -> BoolArray:
        """Whether people call the row positive; shape (n,)."""
        return self.label >= self.dataset.labels.threshold

    @cached_property
    def wrong(self) -> BoolArray:
        """Whether the judge decided otherwise than people, or chose another class than they; shape
        (n,).
        """
        if self.scale.kind == "choice":
            return self.label != self.score
        return self.positive != self.predicted

    @property
    def states_probability(self) -> bool:
        """Whether at least one scored row has a probability."""
        return bool(np.isfinite(self.probability).any())

    @cached_property
    def certainty(self) -> FloatArray:
        """Probability the judge gives the side it took, NaN where none was given; shape (n,)."""
        if self.scale.kind != "probability":
            return self.confidence
        return np.where(self.predicted, self.score, 1.0 - self.score)

    def compared(self, metric: str) -> tuple[BoolArray, BoolArray] | tuple[FloatArray, FloatArray]:
        """Return people's side and the judge's as a metric compares them.

        Decisions for a metric of decisions, grades or classes for one of those, probabilities for
        one of those: a verdict without a confidence then counts as given with certainty. A metric
        of one class of a choice, such as `recall[billing]`, takes the class for the positive side
        and all others for the negative one.

        Raises:
            InputError: The metric does not fit the scale: people graded on another one, or a choice
                has no threshold.
        """
        _, name = split_class_metric(metric)
        if name is not None:
            if self.scale.kind != "choice" or name not in self.scale.labels:
                raise InputError(
                    f"{metric}: {name!r} is not a class of the judge, which gives"
                    f" {self.scale.describe()}"
                )
            code = float(self.scale.labels.index(name))
            return self.label == code, self.score == code
        if self.scale.kind == "choice" and metric not in CLASS_METRICS:
            raise InputError(
                f"{metric} needs an order, and this judge chooses {self.scale.describe()}",
                hint=(
                    f"name a class, such as recall[{self.scale.labels[0]}], or use"
                    f" {', '.join(CLASS_METRICS)}"
                ),
            )
        if metric in PROBABILITY_METRICS:
            stated = np.isfinite(self.probability)
            return self.positive.astype(np.float64), np.where(
                stated, self.probability, self.predicted
            )
        if metric not in CLASS_METRICS and metric != "off_by_one":
            return self.positive, self.predicted
        if not self.same_scale:
            theirs = self.dataset.labels.describe()
            raise InputError(
                f"{metric} compares grades, but labels are {theirs} and the judge's"
                f" {self.scale.describe()}"
            )
        return self.label, self.score

    @property
    def coverage(self) -> float:
        """Share of the labelled rows that have a verdict; 0 for no rows."""
        labelled = self.total - self.unlabelled
        return self.n / labelled if labelled else 0.0

    @property
    def same_scale(self) -> bool:
        """Whether people and judge graded on the same levels, so that grades can be compared one by
        one.
        """
        levels = self.scale.levels
        return levels == self.dataset.labels.levels and len(levels) > 0

    @cached_property
    def on_grades(self) -> bool:
        """Whether labels and scores share a scale and none of them lies between two of its
        levels.
        """
        grades = np.concatenate([self.label, self.score])
        return self.same_scale and bool((grades == np.round(grades)).all())
