"""Look closer at one slice that a person chose: its numbers and its rows.

Nothing here is corrected: what a person tries is tested as the only thing tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..judges import BoolArray, Dataset, Estimate, InputError, JudgedDataset, Row, Verdict
from ..judges.notebook_display import html_table
from ..judges.rows import hash_rows
from .consistency import prevailing_errors
from .effect import Cells, Direction, Parts, decompose, gains_of
from .outcomes import Outcomes, count_groups
from .slice import Predicate
from .target import estimate_on, target_of
from .text import is_column

if TYPE_CHECKING:
    import pandas as pd

WITHOUT_GAIN = ("ece",)
"""Metrics that are no mean over rows: a slice's gap does not say what closing it would gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSlice:
    """A slice that a person chose, measured on all scored rows."""

    predicate: Predicate
    metric: str
    value: Estimate
    """The metric inside; its n counts rows of the metric's denominator."""
    rest: Estimate
    """The metric outside."""
    support: int
    """Scored rows inside."""
    groups: int
    """Groups they belong to."""
    fp: int
    fn: int
    p: float | None
    """One-sided and clustered, not corrected; None where there is nothing to compare."""
    direction: Direction | None
    """Which errors prevail, where one kind does with p < .05."""
    direction_p: float
    parts: Parts | None
    """What the gap is made of; None for a metric of grades or probabilities."""
    gain: float | None
    """How much better the whole metric would be if the slice did as well as the rest."""

    def __repr__(self) -> str:
        sides = (
            f"{self.metric} {self.value}, n={self.value.n:,}, against {self.rest},"
            f" n={self.rest.n:,}"
        )
        return f"MeasuredSlice({str(self.predicate)!r}, {sides})"

    def _repr_html_(self) -> str:
        tested = (
            "nothing to compare"
            if self.p is None
            else f"p = {self.p:.2g}, for this slice alone, not corrected"
        )
        return html_table(
            self.to_frame(), title=str(self.predicate), notes=("chosen by hand", tested)
        )

    def to_frame(self) -> pd.DataFrame:
        """Return two lines, the metric inside and elsewhere, each with its interval and n."""
        import pandas as pd

        sides = (("inside", self.value), ("elsewhere", self.rest))
        return pd.DataFrame(
            {"rows": rows, "metric": self.metric, **asdict(value)} for rows, value in sides
        )

    @property
    def fp_share(self) -> float | None:
        """Share of false positives among the errors; None without errors."""
        errors = self.fp + self.fn
        return self.fp / errors if errors else None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the slice, and that it was chosen by hand."""
        own = {
            "predicate": str(self.predicate),
            "value": self.value.to_json(),
            "rest": self.rest.to_json(),
        }
        return asdict(self) | own | {"chosen_by_hand": True}


def measure_slice(judged: JudgedDataset, predicate: Predicate, *, metric: str) -> MeasuredSlice:
    """Measure a slice of a person's own on all scored rows, against the rows outside.

    Raises:
        InputError: No scored row is inside, a column does not exist, or the metric cannot be used.
    """
    target, outcomes = target_of(metric), Outcomes.of(judged)
    member = members(judged.rows, predicate)
    inside, loss = target.losses(outcomes)
    direction, _, direction_p = prevailing_errors(outcomes, member & inside)
    tested = target.test(outcomes, member)
    cells, rest = Cells.of(outcomes, member), Cells.of(outcomes, ~member)
    gain = None
    if tested is not None and metric not in WITHOUT_GAIN:
        [gain] = gains_of(metric, outcomes, member, inside, loss)
    return MeasuredSlice(
        predicate=predicate,
        metric=metric,
        value=estimate_on(target, outcomes, member, n=int((member & inside).sum())),
        rest=estimate_on(target, outcomes, ~member, n=int((~member & inside).sum())),
        support=int(member.sum()),
        groups=count_groups(outcomes.groups[member]),
        fp=int(cells.fp),
        fn=int(cells.fn),
        p=tested and tested.p,
        direction=direction,
        direction_p=direction_p,
        parts=decompose(metric, cells, rest) if tested is not None else None,
        gain=gain,
    )


def members(rows: Sequence[Row], predicate: Predicate) -> BoolArray:
    """Return which rows are in a slice; shape (rows,).

    Raises:
        InputError: None is, or no row has a column that the slice names.
    """
    require_columns(rows, predicate)
    member = predicate.mask(rows)
    if not member.any():
        raise InputError(f"no row is in the slice {str(predicate)!r}")
    return member


def require_columns(rows: Sequence[Row], predicate: Predicate) -> None:
    """Make sure that some row has each column of a slice; `is missing` would hold for a misspelt
    one everywhere.

    Raises:
        InputError: None has.
    """
    for column in predicate.columns:
        if not any(is_column(row, column) for row in rows):
            columns = sorted({name for row in rows for name in (*row.meta, *row.inputs)})
            raise InputError(
                f"no row has a column {column!r}", hint=f"columns: {', '.join(columns) or 'none'}"
            )


def rows_in_slice(dataset: Dataset, predicate: Predicate) -> Dataset:
    """Return the rows of a dataset that are in a slice, and note it.

    Raises:
        InputError: None is, or no row has a column that the slice names.
    """
    member = members(dataset.rows, predicate)
    rows = tuple(row for row, inside in zip(dataset.rows, member, strict=True) if inside)
    note = f"only the slice {predicate}: {len(rows):,} of {len(dataset):,} rows"
    return replace(dataset, rows=rows, content_hash=hash_rows(rows), notes=(*dataset.notes, note))


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow:
    """One row of a slice with its verdict."""

    row: Row
    verdict: Verdict
    labelled: bool
    """Whether people call it positive."""
    classes: tuple[str, str] | None = None
    """People's class and the judge's, where it chooses among classes."""

    @property
    def outcome(self) -> str:
        """What kind of answer it is, in words."""
        if self.classes is not None:
            label, verdict = self.classes
            return "right" if label == verdict else f"{label} called {verdict}"
        if self.labelled == self.verdict.positive:
            return "right"
        return "false positive" if self.verdict.positive else "false negative"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the row with whole texts."""
        return {
            "id": self.row.id,
            "group": self.row.group,
            "label": self.row.label,
            "labelled": self.labelled,
            "score": self.verdict.score,
            "verdict": self.verdict.positive,
            "confidence": self.verdict.confidence,
            "outcome": self.outcome,
            "rationale": self.verdict.rationale,
            "inputs": dict(self.row.inputs),
            "metadata": dict(self.row.meta),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRows:
    """The rows of a slice, errors first and the judge's surest first among them."""

    predicate: Predicate
    rows: tuple[SliceRow, ...]
    """Cut at the limit."""
    found: int
    """Rows before the cut: all scored rows of the slice, or its errors."""
    errors: int
    support: int

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the rows and how many there are."""
        counts = {"found": self.found, "errors": self.errors, "support": self.support}
        return {
            "predicate": str(self.predicate),
            **counts,
            "rows": [row.to_json() for row in self.rows],
        }


def list_rows(
    judged: JudgedDataset, predicate: Predicate, *, errors_only: bool, limit: int
) -> SliceRows:
    """Return the scored rows of a slice, errors first.

    Raises:
        InputError: No row is in the slice, or no row has a column that it names.
    """
    inside, scale = members(judged.rows, predicate), judged.scale
    wrong = [i for i in judged.disagreements if inside[i]]
    chosen = list(wrong)
    if not errors_only:
        chosen += sorted({*inside.nonzero()[0].tolist()} - {*wrong})
    rows = tuple(
        SliceRow(
            row=judged.rows[i],
            verdict=judged.verdicts[i],
            labelled=bool(judged.positive[i]),
            classes=(scale.name(judged.label[i]), scale.name(judged.score[i]))
            if scale.kind == "choice"
            else None,
        )
        for i in chosen[:limit]
    )
    return SliceRows(
        predicate=predicate,
        rows=rows,
        found=len(chosen),
        errors=len(wrong),
        support=int(inside.sum()),
    )
