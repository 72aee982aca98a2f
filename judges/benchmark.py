"""A judge measured against human labels: the confusion table, and every metric with its interval and n."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from .errors import InputError
from .judged import FloatArray, IntArray, Judged
from .metrics import agreement, calibration
from .metrics.agreement import BINARY_METRICS, GRADE_METRICS, PROPORTIONS
from .metrics.calibration import CALIBRATION_METRICS
from .metrics.estimate import Estimate
from .metrics.intervals import Cells, Statistic, bootstrap, wilson
from .rows import Dataset
from .verdict import Unscored

SCHEMA_VERSION = 1
FEW_GROUPS = 20
"""Below this many groups an interval over groups is too narrow to be trusted, and a note says so."""

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeTable:
    """The confusion table of the grades."""

    levels: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    """Rows of one human grade each, columns by the judge's grade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What `measure` found: how well one judge agrees with people on one dataset."""

    judge: str
    model: str
    simulated: bool
    n: int
    """Rows with a label and a verdict; every metric is computed on these alone."""
    unscored: Mapping[str, int]
    """Rows without a verdict, by reason."""
    unlabelled: int
    coverage: float
    """Share of the labelled rows that have a verdict; 0 where there is none."""
    groups: int
    """How many groups the n rows belong to; equal to n where rows are independent."""
    confusion: Mapping[str, int]
    """`tp`, `fp`, `fn` and `tn` at the threshold."""
    grades: GradeTable | None
    """None where judge and people graded on different scales, or on two levels only."""
    metrics: Mapping[str, Estimate]
    worst_case: Mapping[str, Bounds]
    """(low, high) of precision, recall, F1 and accuracy if every unscored labelled row were wrong, or right."""
    notes: tuple[str, ...] = ()
    """What a reader must know before trusting the figures."""

    def to_json(self) -> dict[str, object]:
        """Return the object that `score --json` prints."""
        grades = self.grades and {"levels": self.grades.levels, "counts": self.grades.counts}
        return {
            "schema_version": SCHEMA_VERSION,
            "judge": self.judge,
            "model": self.model,
            "simulated": self.simulated,
            "n": self.n,
            "unscored": dict(self.unscored),
            "unlabelled": self.unlabelled,
            "coverage": self.coverage,
            "groups": self.groups,
            "confusion": dict(self.confusion),
            "grades": grades,
            "metrics": {name: estimate.to_json() for name, estimate in self.metrics.items()},
            "worst_case": {name: {"low": low, "high": high} for name, (low, high) in self.worst_case.items()},
            "notes": list(self.notes),
        }

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """Return one line a metric for printing: name, value, 95 % interval, n, remark."""
        return [(name, *_printed(estimate)) for name, estimate in self.metrics.items()]


def measure(judged: Judged, *, resamples: int = 2000, seed: int = 0) -> Benchmark:
    """Measure a judge against the human labels.

    Intervals are 95 %. Where rows share groups, groups are resampled; where every row is its own group,
    rows are, and single proportions get Wilson's interval. Grade metrics are there when judge and people
    grade on the same three or more levels (of unordered labels only `kappa_grades`), calibration metrics
    when some verdict carries a probability; their n counts those rows. An undefined metric is None with a
    reason, but precision, recall, F1 and MCC are 0 as in scikit-learn, with a reason and no interval.

    Args:
        judged: Rows with their answers.
        resamples: How many to draw for each interval.
        seed: Of the draws.

    Raises:
        InputError: A grade is not on the shared scale, or a probability is outside [0, 1].
    """
    n = len(judged.scored)
    groups = len(np.unique(judged.groups))
    sampling = _Sampling(groups=judged.groups if groups < n else None, resamples=resamples, seed=seed)
    binary = 2 * judged.positive.astype(np.int64) + judged.predicted
    table = np.bincount(binary, minlength=4).reshape(2, 2)
    (tn, fp), (fn, tp) = table.tolist()
    metrics = _agreement(tuple(BINARY_METRICS), binary, 2, sampling)
    grades = None
    if judged.same_scale and len(judged.scale.levels) > 2:
        grades, graded = _grades(judged, sampling)
        metrics |= graded
    metrics |= _calibration(judged, sampling)
    return Benchmark(
        judge=judged.judge,
        model=judged.model,
        simulated=judged.simulated,
        n=n,
        unscored=judged.unscored,
        unlabelled=judged.unlabelled,
        coverage=judged.coverage,
        groups=groups,
        confusion={"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        grades=grades,
        metrics=metrics,
        worst_case=_worst_case(judged, table),
        notes=_notes(judged, groups),
    )


def require_column(dataset: Dataset, column: str) -> None:
    """Make sure that some row has a metadata column.

    Raises:
        InputError: None has.
    """
    if not any(column in row.meta for row in dataset.rows):
        known = sorted({name for row in dataset.rows for name in row.meta})
        raise InputError(f"no row has a column {column!r}", hint=f"the columns are {', '.join(known) or 'none'}")


def by_column(
    judged: Judged, column: str, *, least: int = 1, resamples: int = 2000, seed: int = 0
) -> dict[str, Benchmark]:
    """Measure the judge on the rows of each value of a metadata column, values in order; None counts as `(none)`.

    Args:
        judged: Rows with their answers.
        column: The metadata column.
        least: Values with fewer rows than this are told together, as `(fewer than N rows)`.
        resamples: How many to draw for each interval.
        seed: Of the draws.

    Raises:
        InputError: No row has the column, or as `measure`.
    """
    require_column(judged.dataset, column)
    positions: dict[str, list[int]] = {}
    for i, row in enumerate(judged.dataset.rows):
        value = row.meta.get(column)
        positions.setdefault("(none)" if value is None else str(value), []).append(i)
    rare = [value for value, rows in positions.items() if len(rows) < least]
    if rare:
        together = sorted(i for value in rare for i in positions.pop(value))
        positions[f"(fewer than {least} rows)"] = together
    return {
        value: measure(judged.only(positions[value]), resamples=resamples, seed=seed) for value in sorted(positions)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampling:
    groups: IntArray | None
    resamples: int
    seed: int

    def cells(self, code: IntArray, size: int) -> Cells:
        return Cells(code=code, size=size, groups=self.groups)

    def only(self, rows: IntArray) -> _Sampling:
        """Return the sampling of some of the rows, the groups numbered afresh."""
        if self.groups is None:
            return self
        kept = np.unique(self.groups[rows], return_inverse=True)[1].astype(np.int64)
        return _Sampling(groups=kept, resamples=self.resamples, seed=self.seed)


def _agreement(names: tuple[str, ...], code: IntArray, k: int, sampling: _Sampling) -> dict[str, Estimate]:
    cells = sampling.cells(code, k * k)
    table = cells.counts.reshape(k, k)
    points = {name: agreement.point(name, table) for name in names}
    by_formula = set(PROPORTIONS) & set(names) if sampling.groups is None else set()
    functions = {**BINARY_METRICS, **GRADE_METRICS}
    wanted = [name for name, (value, reason) in points.items() if value is not None and not reason]
    statistics = {name: partial(_on_tables, functions[name], k) for name in wanted if name not in by_formula}
    intervals = bootstrap(statistics, cells, resamples=sampling.resamples, seed=sampling.seed)
    for name in by_formula & set(wanted):
        hits, rows = PROPORTIONS[name](table.astype(np.float64))
        intervals[name] = wilson(float(hits), float(rows))
    return {name: _estimate(*points[name], intervals.get(name), cells) for name in names}


def _on_tables(function: Statistic, k: int, counts: FloatArray) -> FloatArray:
    return function(counts.reshape(-1, k, k))


def _grades(judged: Judged, sampling: _Sampling) -> tuple[GradeTable, dict[str, Estimate]]:
    levels = judged.scale.levels
    k = len(levels)
    code = agreement.codes(judged.label, levels) * k + agreement.codes(judged.score, levels)
    counts = np.bincount(code, minlength=k * k).reshape(k, k).tolist()
    # The labels of a choice have no order, so nothing is one step from anything.
    names = ("kappa_grades",) if judged.scale.kind == "choice" else tuple(GRADE_METRICS)
    table = GradeTable(levels=levels, counts=tuple(tuple(line) for line in counts))
    return table, _agreement(names, code, k, sampling)


def _calibration(judged: Judged, sampling: _Sampling) -> dict[str, Estimate]:
    probability = _probability(judged)
    rows = np.flatnonzero(np.isfinite(probability))
    if len(rows) == 0:
        return {}
    calibration.require_probabilities(probability[rows])
    values, code = calibration.tally(judged.positive[rows], probability[rows])
    cells = sampling.only(rows).cells(code, 2 * len(values))
    statistics = {name: partial(_on_masses, name, values) for name in CALIBRATION_METRICS}
    points = {name: float(s(cells.counts[None].astype(np.float64))[0]) for name, s in statistics.items()}
    defined = {name: s for name, s in statistics.items() if np.isfinite(points[name])}
    intervals = bootstrap(
        defined, cells, resamples=sampling.resamples, seed=sampling.seed, centre={"ece": points["ece"]}
    )
    return {
        name: _estimate(points[name], "", intervals[name], cells)
        if name in defined
        else Estimate.undefined(len(rows), calibration.UNDEFINED[name])
        for name in statistics
    }


def _on_masses(name: str, values: FloatArray, counts: FloatArray) -> FloatArray:
    return CALIBRATION_METRICS[name](counts.reshape(-1, len(values), 2), values)


def _probability(judged: Judged) -> FloatArray:
    # On a probability scale the grade is the probability; elsewhere it follows from the confidence.
    return judged.score if judged.scale.kind == "probability" else judged.probability


def _estimate(value: float | None, reason: str, interval: tuple[float, float] | None, cells: Cells) -> Estimate:
    n = len(cells.code)
    low, high = interval or (None, None)
    if value is not None and interval is None and not reason:
        one = "one row" if cells.groups is None else "the rows of one group"
        reason = f"{one} cannot show the spread" if cells.units < 2 else "undefined in most resamples"
    return Estimate(value=value, low=low, high=high, n=n, reason=reason)


def _worst_case(judged: Judged, table: IntArray) -> dict[str, Bounds]:
    missing = [
        judged.dataset.positive(row)
        for row, answer in zip(judged.dataset.rows, judged.answers, strict=True)
        if row.label is not None and isinstance(answer, Unscored)
    ]
    positive = sum(missing)
    negative = len(missing) - positive
    wrong = table + np.array([[0, negative], [positive, 0]])
    right = table + np.array([[negative, 0], [0, positive]])
    names = ("precision", "recall", "f1", "accuracy")
    return {name: (agreement.point(name, wrong)[0], agreement.point(name, right)[0]) for name in names}


def _notes(judged: Judged, groups: int) -> tuple[str, ...]:
    n = len(judged.scored)
    notes = []
    if 0 < groups < FEW_GROUPS and groups < n:
        notes.append(f"the {n} rows belong to only {groups} groups: the intervals are too narrow to be trusted")
    known = int(np.isfinite(_probability(judged)).sum())
    if 0 < known < n:
        notes.append(f"{known} of {n} verdicts carry a probability; the calibration metrics are of those")
    unanswered = sum(judged.unscored.values())
    if unanswered:
        notes.append(f"{unanswered} rows have no verdict and enter no metric; worst_case says what they could change")
    return tuple(notes)


def _printed(estimate: Estimate) -> tuple[str, str, str, str]:
    value = "-" if estimate.value is None else f"{estimate.value:.4f}"
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"[{estimate.low:.4f}, {estimate.high:.4f}]"
    return value, interval, str(estimate.n), estimate.reason
