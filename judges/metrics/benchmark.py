"""A judge measured against human labels: the confusion table, and every metric with its interval
and n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..judged_arrays import IntArray, JudgedArrays
from ..judged_dataset import JudgedDataset
from ..notebook_display import SIMULATED, html_table
from ..rows import Dataset
from . import cautions
from .estimate import Estimate, as_json
from .headline import judge_warning
from .intervals import count_rows
from .suites import decision_codes, grade_codes, measure_choice, measure_ordered
from .table_intervals import table_value

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeTable:
    """The confusion table of the grades."""

    levels: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    """Rows of one human grade each, columns by the judge's grade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """How well one judge agrees with people on one dataset; `measure` makes it."""

    judge: str
    model: str
    simulated: bool
    n: int
    """Rows with a label and a verdict; every metric is computed on these alone."""
    unscored: Mapping[str, int]
    """Rows without a verdict, by reason."""
    unlabelled: int
    repaired: int
    """Verdicts read from replies that had to be mended: JSON with comments, a mark in other
    brackets.
    """
    coverage: float
    """Share of the labelled rows that have a verdict; 0 where there is none."""
    groups: int
    """How many groups the n rows belong to; equal to n where rows are independent."""
    confusion: Mapping[str, int]
    """`tp`, `fp`, `fn` and `tn` at the threshold."""
    grades: GradeTable | None
    """None where judge and people graded on different scales, or on two levels only and the scale
    is no choice.
    """
    metrics: Mapping[str, Estimate]
    worst_case: Mapping[str, Bounds]
    """(low, high) of precision, recall, F1 and accuracy if every unscored labelled row were wrong,
    or right.

    Empty for a choice.
    """
    warning: str = ""
    """One sentence where the judge tells little about the rows as a whole; see `judge_warning`."""
    notes: tuple[str, ...] = ()
    """What a reader must know before trusting the figures."""

    def to_json(self) -> dict[str, object]:
        """Return the object that `score --json` prints."""
        worst_case = {
            name: {"low": low, "high": high} for name, (low, high) in self.worst_case.items()
        }
        names = (field.name for field in fields(self))
        figures = {name: as_json(getattr(self, name)) for name in names}
        return {"schema_version": SCHEMA_VERSION, **figures, "worst_case": worst_case}

    def __repr__(self) -> str:
        rows = f"n={self.n:,} in {self.groups:,} groups, coverage {self.coverage:.1%}"
        return (
            f"Benchmark({self.judge!r}, model {self.model!r}, {rows}{SIMULATED * self.simulated})"
        )

    def _repr_html_(self) -> str:
        notes = (self.warning, *self.notes) if self.warning else self.notes
        return html_table(self.to_frame(), title=repr(self), notes=notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one line a metric: metric, value, low, high, n, reason."""
        import pandas as pd

        lines = [{"metric": name, **asdict(estimate)} for name, estimate in self.metrics.items()]
        return pd.DataFrame(lines, columns=["metric", "value", "low", "high", "n", "reason"])

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """Return one line a metric for printing: name, value, 95 % interval, n, caution."""
        lines = []
        for name, estimate in self.metrics.items():
            value = "n/a" if estimate.value is None else f"{estimate.value:.4f}"
            interval = ""
            if estimate.low is not None and estimate.high is not None:
                interval = f"[{estimate.low:.4f}, {estimate.high:.4f}]"
            lines.append((name, value, interval, str(estimate.n), estimate.reason))
        return lines


def measure(
    predictions: JudgedArrays,
    *,
    at: Sequence[int] = (10,),
) -> Benchmark:
    """Measure a judge against the human labels.

    Intervals are 95 %: see `judges/metrics/table_intervals.py`, `calibration.py` and `delta.py`.
    Where rows share groups, groups are what was drawn; where every row is its own group, rows are.
    A figure that rests on few rows says so in its reason, and in the notes. An undefined metric is
    None with a reason. Which metrics there are:

    - at the threshold always, but not for a choice, whose labels have no order and so no threshold:
      there accuracy, macro F1 and kappa over the classes;
    - on the grades when judge and people grade on the same three or more levels;
    - `krippendorff_alpha`: ordinal on those grades, nominal over the classes of a choice, else
      nominal at the threshold;
    - calibration when some verdict carries a probability; its n counts those rows;
    - correlation when scores or labels may take more than two values in order;
    - ranking when some group has several rows and an input is called a query, question or prompt,
      or the inputs are unknown: the group is the query, and its rows are ranked by probability
      where the scale has two grades and every row has one, else by score.

    Args:
        predictions: Rows with their answers.
        at: Cut-offs of nDCG.

    Raises:
        InputError: A grade is not on the shared scale, a probability is outside [0, 1], or a
            cut-off is below 1.
    """
    table = count_rows(decision_codes(predictions), predictions.weight, 4).reshape(2, 2)
    (tn, fp), (fn, tp) = table.tolist()
    if predictions.scale.kind == "choice":
        # Labels without an order have no threshold, and so no decision that could come out either
        # way.
        metrics, worst_case = measure_choice(predictions), {}
    else:
        metrics, worst_case = measure_ordered(predictions, at), _worst_case(predictions, table)
        for name, caution in cautions.metric_cautions(predictions).items():
            if name in metrics:
                metrics[name] = metrics[name].with_caution(caution)
    return Benchmark(
        judge=predictions.judge,
        model=predictions.model,
        simulated=predictions.simulated,
        n=predictions.n,
        unscored=predictions.unscored,
        unlabelled=predictions.unlabelled,
        repaired=predictions.repaired,
        coverage=predictions.coverage,
        groups=predictions.group_count,
        confusion={"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        grades=_grade_table(predictions),
        metrics=metrics,
        worst_case=worst_case,
        warning=judge_warning(predictions, metrics),
        notes=_notes(predictions),
    )


def require_column(dataset: Dataset, column: str) -> None:
    """Make sure that some row has a metadata column.

    Raises:
        InputError: None has.
    """
    if not any(column in row.meta for row in dataset.rows):
        columns = sorted({name for row in dataset.rows for name in row.meta})
        raise InputError(
            f"no row has a column {column!r}",
            hint=f"the columns are {', '.join(columns) or 'none'}",
        )


def by_column(
    predictions: JudgedDataset,
    column: str,
    *,
    least: int = 1,
    at: Sequence[int] = (10,),
) -> dict[str, Benchmark]:
    """Measure the judge on the rows of each value of a metadata column, values in order; None
    counts as `(none)`.

    Args:
        predictions: Rows with their answers.
        column: The metadata column.
        least: Values with fewer rows than this are measured together, as `(fewer than N rows)`.
        at: As `measure`.

    Raises:
        InputError: No row has the column, or as `measure`.
    """
    positions = rows_by_value(predictions, column)
    together: list[int] = []
    for value, rows in list(positions.items()):
        if len(rows) < least:
            together += positions.pop(value)
    if together:
        positions[f"(fewer than {least} rows)"] = sorted(together)
    return {
        value: measure(predictions.only(positions[value]), at=at) for value in sorted(positions)
    }


def rows_by_value(predictions: JudgedDataset, column: str) -> dict[str, list[int]]:
    """Return the positions in the dataset of each value of a metadata column; None counts as
    `(none)`.

    Raises:
        InputError: No row has the column.
    """
    require_column(predictions.dataset, column)
    positions: dict[str, list[int]] = {}
    for i, row in enumerate(predictions.dataset.rows):
        value = row.meta.get(column)
        positions.setdefault("(none)" if value is None else str(value), []).append(i)
    return positions


def _grade_table(predictions: JudgedArrays) -> GradeTable | None:
    levels = predictions.scale.levels
    if not predictions.on_grades or (len(levels) < 3 and predictions.scale.kind != "choice"):
        return None
    counts = count_rows(grade_codes(predictions), predictions.weight, len(levels) ** 2).reshape(
        -1, len(levels)
    )
    return GradeTable(levels=levels, counts=tuple(tuple(line) for line in counts.tolist()))


def _worst_case(predictions: JudgedArrays, table: IntArray) -> dict[str, Bounds]:
    negative, positive = predictions.unanswered
    # A wrong answer about a positive row is a false negative, a right one a true positive.
    wrong = table + np.array([[0, negative], [positive, 0]])
    right = table + np.array([[negative, 0], [0, positive]])
    names = ("precision", "recall", "f1", "accuracy")
    return {name: (table_value(name, wrong)[0], table_value(name, right)[0]) for name in names}


def _notes(predictions: JudgedArrays) -> tuple[str, ...]:
    n = predictions.n
    notes = cautions.notes(predictions)
    with_probability = predictions.count(np.isfinite(predictions.probability))
    is_choice = predictions.scale.kind == "choice"
    if 0 < with_probability < n and not is_choice:
        notes.append(
            f"{with_probability} of {n} verdicts carry a probability; the calibration metrics are"
            " of those"
        )
    if is_choice and not predictions.same_scale:
        theirs = predictions.dataset.labels.describe()
        notes.append(
            f"the judge chooses among {len(predictions.scale.labels)} labels, people graded"
            f" {theirs}: no metric fits"
        )
    if predictions.same_scale and not predictions.on_grades:
        notes.append(
            "some grades lie between the levels of the scale: metrics of the grades are left out"
        )
    if predictions.repaired:
        notes.append(
            f"{predictions.repaired} verdicts are repaired: their replies left one reading once"
            " mended"
        )
    unanswered = sum(predictions.unscored.values())
    if unanswered:
        notes.append(
            f"{unanswered} rows have no verdict and enter no metric; worst_case says what they"
            " could change"
        )
    return tuple(notes)
