"""Labelled rows: what is judged, what people said about it, and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .scale import OutputScale

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row to judge."""

    id: str
    inputs: Mapping[str, str]
    """The fields the judge's template names."""
    label: float | None = None
    """The human grade on the dataset's label scale; None where people gave none."""
    meta: Mapping[str, Scalar] = field(default_factory=dict)
    """Every other column, nested ones under dotted names; slices are searched over these."""
    group: str = ""
    """Rows of one group (a document, a query) stay on one side of every split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Rows together with the scale people graded them on."""

    rows: tuple[Row, ...]
    labels: OutputScale
    name: str = ""
    content_hash: str = ""
    """Of ids, inputs, labels and groups; independent of the order of rows."""
    notes: tuple[str, ...] = ()
    """What was assumed while reading, to be said aloud."""

    def __len__(self) -> int:
        return len(self.rows)

    def positive(self, row: Row) -> bool:
        """Whether people called the row positive; the row must have a label."""
        if row.label is None:
            raise ValueError(f"row {row.id!r} has no label")
        return self.labels.positive(row.label)
