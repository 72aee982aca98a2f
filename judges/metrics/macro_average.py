"""Means over the values of a column, such as data sets: each value counts the same, however many
rows it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import InputError
from ..judged_dataset import FloatArray, JudgedDataset
from .benchmark import rows_by_value
from .catalog import BINARY_METRICS, METRICS
from .estimate import Estimate
from .intervals import Cells
from .jackknife import jackknife_intervals
from .suites import decision_codes, estimate_of
from .table_intervals import table_value

AVERAGED: Mapping[str, str] = {
    f"{name}_macro": name for name in ("precision", "recall", "f1", "balanced_accuracy", "kappa")
}
"""What is averaged under each name."""
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
        """Return the estimate with `values`, how many were averaged, and `of`, how many there
        are.
        """
        return {**self.estimate.to_json(), "values": self.values, "of": self.of}

    def __str__(self) -> str:
        return f"{self.estimate} over {self.values:,} of {self.of:,} values"


def macro_means(predictions: JudgedDataset, column: str) -> dict[str, MacroMean]:
    """Return each metric of `AVERAGED`: its unweighted mean over the values of a metadata column.

    A row without the column counts to the value `(none)`. A value on which a metric does not exist
    (no positive verdict, one class of labels) is left out of its mean, and named. Intervals leave
    out each group, or row, of the whole dataset (`jackknife`); a value on which the metric does not
    exist without it is left out of that mean.

    Args:
        predictions: Rows with their answers.
        column: The metadata column.

    Raises:
        InputError: No row has the column, or the judge chooses among labels without order.
    """
    if predictions.scale.kind == "choice":
        raise InputError(
            "a mean over a column needs decisions at a threshold, and a choice has none"
        )
    positions = rows_by_value(predictions, column)
    # Values and cells share one code, so that one jackknife over groups serves all values at once.
    part_of_row = np.empty(len(predictions.dataset.rows), np.int64)
    for code, rows in enumerate(positions.values()):
        part_of_row[rows] = code
    part = part_of_row[predictions.scored]
    cells = Cells(
        code=4 * part + decision_codes(predictions),
        size=4 * len(positions),
        groups=predictions.shared_groups,
    )
    statistics = {name: partial(_mean, metric) for name, metric in AVERAGED.items()}
    intervals = jackknife_intervals(
        statistics, cells, bounds={name: METRICS[name].bounds(2) for name in AVERAGED}
    )
    tables = dict(zip(positions, cells.counts.reshape(-1, 2, 2), strict=True))
    means: dict[str, MacroMean] = {}
    for name, metric in AVERAGED.items():
        averaged, n = 0, 0
        left_out: dict[str, list[str]] = {}
        for value, table in tables.items():
            figure, reason = table_value(metric, table)
            if figure is None:
                left_out.setdefault(reason, []).append(value)
            else:
                averaged, n = averaged + 1, n + int(table.sum())
        mean = float(_mean(metric, cells.counts[None].astype(np.float64))[0]) if averaged else None
        estimate = estimate_of(mean, _say_left_out(left_out), intervals[name], cells)
        means[name] = MacroMean(estimate=replace(estimate, n=n), values=averaged, of=len(positions))
    return means


def _mean(metric: str, counts: FloatArray) -> FloatArray:
    """Return the mean of a metric over the values on which it exists, from counts of shape (b, 4 *
    values).
    """
    tables = counts.reshape(len(counts), -1, 2, 2)
    figures = BINARY_METRICS[metric](tables)
    if METRICS[metric].beyond_chance:
        one_label = np.count_nonzero(tables.sum(-1), axis=-1) == 1
        figures = np.where(one_label, np.nan, figures)
    exists = np.isfinite(figures)
    total, values = np.where(exists, figures, 0.0).sum(-1), exists.sum(-1)
    return np.divide(total, values, out=np.full(len(counts), np.nan), where=values > 0)


def _say_left_out(by_reason: Mapping[str, list[str]]) -> str:
    """Name the values that a mean leaves out, those with the same reason together."""
    parts = []
    for reason, values in by_reason.items():
        more = f" and {len(values) - NAMED:,} more" if len(values) > NAMED else ""
        parts.append(f"{', '.join(values[:NAMED])}{more} ({reason})")
    return f"left out: {'; '.join(parts)}" if parts else ""
