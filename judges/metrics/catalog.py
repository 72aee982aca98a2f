"""Every metric that is reported, one entry each: its formula, the rows it needs, and how it is
described.

To add a metric of the confusion table, write its formula in `agreement.py` and one entry below:
tables, intervals, cautions, thresholds, help and reports follow from the entry. With an influence
function, or as a mean over rows, it can also be an objective or a guard of the gate, and be
compared between two judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..errors import InputError
from ..scale import split_class_metric
from . import agreement
from .agreement import Formula, Influence, OfRows, Proportion

Needs = Literal[
    "decisions",
    "grades",
    "classes",
    "probabilities",
    "scores",
    "queries",
    "column",
]
"""What a metric is computed from, and the module whose function computes it.

`decisions`: the (2, 2) table at the threshold; `grades`: the (K, K) table of grades in order;
`classes`: the (K, K) table of labels without order (`suites.py`, by the entry's formula).
`probabilities`: `calibration.py`. `scores`: scores and labels as numbers, `correlation.py`.
`queries`: rows that are ranked by query, `ranking.py`. `column`: one to average over,
`macro_average.py`.
"""
RowKind = Literal["labelled positive", "labelled negative", "that the judge calls positive"]
CellSet = tuple[int, ...]
"""Cells of the (2, 2) table by their position: 0 is TN, 1 FP, 2 FN, 3 TP."""

ALL_CELLS: CellSet = (0, 1, 2, 3)
LABELLED_NEGATIVE: CellSet = (0, 1)
LABELLED_POSITIVE: CellSet = (2, 3)
CALLED_POSITIVE: CellSet = (1, 3)
EITHER_POSITIVE: CellSet = (1, 2, 3)
EITHER_NEGATIVE: CellSet = (0, 1, 2)

ONE_LABEL = "the labels hold only one class"
NO_ROWS = "no row has both a label and a verdict"
_ONE_GRADE = "labels and verdicts hold one and the same grade"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What reports, intervals, comparisons and cautions need to know of one metric."""

    what: str
    """In a few words, for reports and help."""
    range: Literal["0..1", "-1..1", "at most 1", "0 and up"] = "0..1"
    lower_is_better: bool = False
    needs: tuple[Needs, ...]
    formula: Formula | None = None
    """Of a confusion table; None where a function of its own computes the metric, or several of a
    family at once.

    Its interval comes from the jackknife over rows or groups (`table_intervals.py`).
    """
    proportion: Proportion | None = None
    """Hits and the rows they are counted among, where the metric is one proportion.

    Wilson's interval is then used where rows are independent.
    """
    influence: Influence | None = None
    """How much one row of each cell moves the metric; needed for paired comparisons, and so for the
    gate.
    """
    of_rows: OfRows | None = None
    """What each row counts, where the metric is a mean over all rows; it then stands for formula
    and influence.
    """
    denominators: tuple[CellSet, ...] = (ALL_CELLS,)
    """The cells that the metric is computed from. A metric that needs both classes has two sets.

    The set with the fewest rows or groups decides how far the standard error can be trusted.
    """
    caution_on: tuple[RowKind, ...] = ()
    """Rows of which a report says so when there are few."""
    undefined: str = ""
    """Why the metric does not exist on a table that holds rows."""
    beyond_chance: bool = False
    """Whether it is 0 whatever the judge says where all labels are the same, and so says nothing
    about the judge.
    """
    zero_if_undefined: bool = False
    """Whether it counts as 0 where it does not exist while a threshold is chosen; nothing reports
    it so.
    """

    @property
    def description(self) -> str:
        """One line: what it is, its range, and which way is good."""
        direction = "lower" if self.lower_is_better else "higher"
        return f"{self.what}; {self.range}, {direction} is better"

    @property
    def cells(self) -> CellSet:
        """The cells that the metric reads at all."""
        return tuple(sorted(set().union(*self.denominators)))

    def bounds(self, levels: int) -> tuple[float, float]:
        """Return the least and the most that it can be on a scale with so many levels."""
        if self.range == "0 and up":
            return 0.0, levels - 1.0
        return (0.0, 1.0) if self.range == "0..1" else (-1.0, 1.0)


METRICS: Mapping[str, Metric] = {
    "precision": Metric(
        what="share of the judge's positives that people call positive",
        needs=("decisions",),
        formula=agreement.PRECISION.value,
        proportion=agreement.PRECISION.parts,
        influence=agreement.PRECISION.influence,
        denominators=(CALLED_POSITIVE,),
        caution_on=("that the judge calls positive",),
        undefined="the judge calls no row positive",
        zero_if_undefined=True,
    ),
    "recall": Metric(
        what="share of people's positives that the judge finds",
        needs=("decisions",),
        formula=agreement.RECALL.value,
        proportion=agreement.RECALL.parts,
        influence=agreement.RECALL.influence,
        denominators=(LABELLED_POSITIVE,),
        caution_on=("labelled positive",),
        undefined="no row is labelled positive",
        zero_if_undefined=True,
    ),
    "specificity": Metric(
        what="share of people's negatives that the judge leaves negative",
        needs=("decisions",),
        formula=agreement.SPECIFICITY.value,
        proportion=agreement.SPECIFICITY.parts,
        influence=agreement.SPECIFICITY.influence,
        denominators=(LABELLED_NEGATIVE,),
        caution_on=("labelled negative",),
        undefined="no row is labelled negative",
    ),
    "f1": Metric(
        what="harmonic mean of precision and recall",
        needs=("decisions",),
        formula=agreement.F1.value,
        influence=agreement.F1.influence,
        denominators=(EITHER_POSITIVE,),
        caution_on=("labelled positive",),
        undefined="no row is positive, neither by label nor by verdict",
        zero_if_undefined=True,
    ),
    "accuracy": Metric(
        what="share of rows on which judge and people decide alike",
        needs=("decisions",),
        formula=agreement.ACCURACY.value,
        proportion=agreement.ACCURACY.parts,
        influence=agreement.ACCURACY.influence,
    ),
    "balanced_accuracy": Metric(
        what="mean of recall and specificity, 0.5 for guessing",
        needs=("decisions",),
        formula=agreement.balanced_accuracy,
        influence=agreement.balanced_accuracy_influence,
        denominators=(LABELLED_POSITIVE, LABELLED_NEGATIVE),
        caution_on=("labelled positive", "labelled negative"),
        undefined=ONE_LABEL,
    ),
    "mcc": Metric(
        what="correlation of decisions and labels (Matthews), 0 for guessing",
        range="-1..1",
        needs=("decisions",),
        formula=agreement.mcc,
        influence=agreement.mcc_influence,
        denominators=(EITHER_POSITIVE, EITHER_NEGATIVE),
        caution_on=("labelled positive", "labelled negative"),
        undefined="the labels or the verdicts hold only one class",
        zero_if_undefined=True,
    ),
    "kappa": Metric(
        what="agreement beyond chance at the threshold (Cohen), 0 for chance",
        range="-1..1",
        needs=("decisions",),
        formula=agreement.kappa,
        influence=agreement.kappa_influence,
        denominators=(EITHER_POSITIVE, EITHER_NEGATIVE),
        caution_on=("labelled positive", "labelled negative"),
        undefined="labels and verdicts hold one and the same class",
        beyond_chance=True,
    ),
    "accuracy_grades": Metric(
        what="share of rows for which the judge gave people's very grade or class",
        needs=("grades", "classes"),
        formula=agreement.ACCURACY.value,
        proportion=agreement.ACCURACY.parts,
        influence=agreement.ACCURACY.influence,
    ),
    "kappa_grades": Metric(
        what="agreement beyond chance on the exact grade or class (Cohen)",
        range="-1..1",
        needs=("grades", "classes"),
        formula=agreement.kappa,
        influence=agreement.kappa_influence,
        undefined=_ONE_GRADE,
        beyond_chance=True,
    ),
    "kappa_linear": Metric(
        what="agreement beyond chance, a miss weighing its distance in grades",
        range="-1..1",
        needs=("grades",),
        formula=agreement.kappa_linear,
        undefined=_ONE_GRADE,
        beyond_chance=True,
    ),
    "kappa_quadratic": Metric(
        what="agreement beyond chance, a miss weighing its squared distance",
        range="-1..1",
        needs=("grades",),
        formula=agreement.kappa_quadratic,
        undefined=_ONE_GRADE,
        beyond_chance=True,
    ),
    "off_by_one": Metric(
        what="share of rows graded at most one step from people",
        needs=("grades",),
        formula=agreement.OFF_BY_ONE.value,
        proportion=agreement.OFF_BY_ONE.parts,
        of_rows=agreement.within_one,
    ),
    "mae": Metric(
        what="mean distance from people's grade, in grades",
        range="0 and up",
        lower_is_better=True,
        needs=("grades",),
        formula=agreement.MAE.value,
    ),
    "f1_macro_grades": Metric(
        what="unweighted mean of every grade's or class's F1",
        needs=("grades", "classes"),
        formula=agreement.f1_macro,
        influence=agreement.f1_macro_influence,
    ),
    # Without a formula here: `suites.py` takes the nominal or the ordinal one, whichever fits the
    # rows.
    "krippendorff_alpha": Metric(
        what="agreement beyond chance, ordinal on shared grades or nominal",
        range="at most 1",
        needs=(),
        denominators=(EITHER_POSITIVE, EITHER_NEGATIVE),
        caution_on=("labelled positive", "labelled negative"),
        undefined="labels and verdicts hold one and the same value",
    ),
    "auroc": Metric(
        what=(
            "chance that a positive row gets a higher probability than a negative, 0.5 for guessing"
        ),
        needs=("probabilities",),
        caution_on=("labelled positive", "labelled negative"),
        undefined=ONE_LABEL,
    ),
    "average_precision": Metric(
        what="precision averaged over recall as the probability's threshold falls",
        needs=("probabilities",),
        caution_on=("labelled positive",),
        undefined="no row is labelled positive",
    ),
    "brier": Metric(
        what="mean squared error of the probability",
        lower_is_better=True,
        needs=("probabilities",),
        of_rows=agreement.squared_error,
        undefined="no verdict carries a probability",
    ),
    "ece": Metric(
        what="mean gap of probability and observed share, over ten bins",
        lower_is_better=True,
        needs=("probabilities",),
    ),
    "pearson": Metric(
        what="linear correlation of scores and labels", range="-1..1", needs=("scores",)
    ),
    "spearman": Metric(
        what="correlation of the ranks of scores and labels", range="-1..1", needs=("scores",)
    ),
    "kendall_tau": Metric(
        what="concordant less discordant pairs of rows, ties left out (tau-b)",
        range="-1..1",
        needs=("scores",),
    ),
    "map": Metric(
        what="mean over queries of the precision at each relevant document", needs=("queries",)
    ),
    "precision_macro": Metric(
        what="unweighted mean of precision over the values of a column", needs=("column",)
    ),
    "recall_macro": Metric(
        what="unweighted mean of recall over the values of a column", needs=("column",)
    ),
    "f1_macro": Metric(what="unweighted mean of F1 over the values of a column", needs=("column",)),
    "balanced_accuracy_macro": Metric(
        what="unweighted mean of balanced accuracy over the values of a column", needs=("column",)
    ),
    "kappa_macro": Metric(
        what="unweighted mean of kappa over the values of a column",
        range="-1..1",
        needs=("column",),
    ),
    "ndcg@k": Metric(
        what="discounted gain of the first k documents over the best possible, gain the grade",
        needs=("queries",),
    ),
    "ndcg_exp@k": Metric(
        what="discounted gain of the first k documents over the best possible, gain 2^grade - 1",
        needs=("queries",),
    ),
}
"""By the name under which `score` reports them; `@k` stands for a cut-off such as `ndcg@10`."""


def _formulas(needs: Needs) -> dict[str, Formula]:
    return {
        name: m.formula for name, m in METRICS.items() if needs in m.needs and m.formula is not None
    }


BINARY_METRICS: Mapping[str, Formula] = _formulas("decisions")
"""Formulas of the (2, 2) table at the threshold."""
GRADE_METRICS: Mapping[str, Formula] = _formulas("grades")
"""Formulas of the (K, K) table of grades."""
CHOICE_METRICS: Mapping[str, Formula] = _formulas("classes")
"""Formulas of the (K, K) table of labels without order."""
PAIRED_METRICS = (
    *(name for name, metric in METRICS.items() if metric.influence),
    *(name for name, metric in METRICS.items() if metric.of_rows),
)
"""Metrics that have an influence function, or are means over rows.

One of decisions can also be taken of one class of a choice, `recall[billing]`.
"""
LOWER_IS_BETTER = frozenset(name for name, metric in METRICS.items() if metric.lower_is_better)


def sign_of(name: str) -> float:
    """Return 1 for a metric that is better high, -1 for one that is better low."""
    return -1.0 if name in LOWER_IS_BETTER else 1.0


def metric_of(name: str) -> Metric:
    """Return the entry of a metric; of `recall[billing]`, that of recall.

    Raises:
        InputError: No such metric has an influence function, or it cannot be taken of one class.
    """
    family, label = split_class_metric(name)
    if family not in PAIRED_METRICS or (label is not None and family not in BINARY_METRICS):
        raise InputError(
            f"no influence function is known for {name!r}; there is one for"
            f" {', '.join(PAIRED_METRICS)}"
        )
    return METRICS[family]


def is_metric(name: str) -> bool:
    """Say whether `score` knows a metric of this name, such as `f1`, `ndcg@5` or
    `recall[billing]`.
    """
    of_class, label = split_class_metric(name)
    if label is not None:
        return of_class in BINARY_METRICS
    family, at, cutoff = name.partition("@")
    if at:
        return cutoff.isdecimal() and f"{family}@k" in METRICS
    return name in METRICS
