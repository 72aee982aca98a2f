"""Means over the values of a column, such as data sets: each value counts the same, however many rows it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..errors import InputError
from ..judged import FloatArray, JudgedDataset
from . import agreement
from .benchmark import rows_by_value
from .estimate import Estimate
from .intervals import Cells, Interval
from .jackknife import jackknife_intervals
from .suites import decision_codes, estimate_of, shared_groups

AVERAGED: Mapping[str, str] = {
    f"{name}_macro": name for name in ("precision", "recall", "f1", "balanced_accuracy", "kappa")
}
"""What is averaged under each name."""
BOUNDS: Mapping[str, Interval] = {"kappa_macro": (-1.0, 1.0)}
"""Between which numbers a mean lies that is not in [0, 1]."""
NAMED = 3
"""Values that a reason names; the rest are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroMean:
    """The unweighted mean of a metric over the values of a column."""

    estimate: Estimate
    """Its n counts the rows of the values that were averaged; the reason names those left out."""
    values: int
    """Values that were averaged: those on which the metric exists."""
    of: int
    """Values there are."""

    def to_json(self) -> dict[str, float | int | str | None]:
        """Return the estimate with `values`, how many were averaged, and `of`, how many there are."""
        return {**self.estimate.to_json(), "values": self.values, "of": self.of}

    def __str__(self) -> str:
        return f"{self.estimate} over {self.values:,} of {self.of:,} values"


def macro_means(judged: JudgedDataset, column: str) -> dict[str, MacroMean]:
    """Return each metric of `AVERAGED`: its unweighted mean over the values of a metadata column.

    A row without the column counts to the value `(none)`. A value on which a metric does not exist (no positive
    verdict, one class of labels) is left out of its mean, and named. Intervals leave out each group, or row, of the
    whole dataset (`jackknife`); a value on which the metric does not exist without it is left out of that mean.

    Args:
        judged: Rows with their answers.
        column: The metadata column.

    Raises:
        InputError: No row has the column, or the judge chooses among labels without order.
    """
    if judged.scale.kind == "choice":
        raise InputError("a mean over a column needs decisions at a threshold, and a choice has none")
    positions = rows_by_value(judged, column)
    part_of_row = np.empty(len(judged.dataset.rows), np.int64)
    for code, rows in enumerate(positions.values()):
        part_of_row[rows] = code
    part = part_of_row[judged.scored]
    cells = Cells(code=4 * part + decision_codes(judged), size=4 * len(positions), groups=shared_groups(judged))
    statistics = {name: partial(_mean, metric) for name, metric in AVERAGED.items()}
    intervals = jackknife_intervals(statistics, cells, bounds=BOUNDS)
    tables = dict(zip(positions, cells.counts.reshape(-1, 2, 2), strict=True))
    means: dict[str, MacroMean] = {}
    for name, metric in AVERAGED.items():
        points = {value: agreement.point(metric, table) for value, table in tables.items()}
        counted = [value for value, (figure, _) in points.items() if figure is not None]
        mean = float(_mean(metric, cells.counts[None].astype(np.float64))[0])
        reason = _left_out({value: why for value, (_, why) in points.items() if why})
        n = int(sum(tables[value].sum() for value in counted))
        estimate = estimate_of(mean if counted else None, reason, intervals[name], cells)
        means[name] = MacroMean(estimate=_of_rows(estimate, n), values=len(counted), of=len(positions))
    return means


def _mean(metric: str, counts: FloatArray) -> FloatArray:
    """Return the mean of a metric over the values on which it exists, from counts of shape (b, 4 * values)."""
    tables = counts.reshape(len(counts), -1, 2, 2)
    figures = agreement.BINARY_METRICS[metric](tables)
    if metric in agreement.BEYOND_CHANCE:
        one_label = np.count_nonzero(tables.sum(-1), axis=-1) == 1
        figures = np.where(one_label, np.nan, figures)
    exists = np.isfinite(figures)
    total, values = np.where(exists, figures, 0.0).sum(-1), exists.sum(-1)
    return np.divide(total, values, out=np.full(len(counts), np.nan), where=values > 0)


def _left_out(reasons: Mapping[str, str]) -> str:
    """Name the values that a mean leaves out, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for value, reason in reasons.items():
        by_reason.setdefault(reason, []).append(value)
    named = []
    for reason, values in by_reason.items():
        more = f" and {len(values) - NAMED:,} more" if len(values) > NAMED else ""
        named.append(f"{', '.join(values[:NAMED])}{more} ({reason})")
    return f"left out: {'; '.join(named)}" if named else ""


def _of_rows(estimate: Estimate, n: int) -> Estimate:
    return Estimate(value=estimate.value, low=estimate.low, high=estimate.high, n=n, reason=estimate.reason)
