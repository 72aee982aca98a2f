"""Labelled rows: what is judged, what people said about it, and where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .notebook_display import FIRST_ROWS, html_table
from .scale import OutputScale

if TYPE_CHECKING:
    import pandas as pd

Scalar = str | int | float | bool | None

SAMPLING_PROBABILITY = "sampling_probability"
"""The column that says with which probability a row was drawn to be labelled."""

QUERY_WORDS = ("query", "question", "prompt")
"""What the name of an input holds whose group of rows can be ranked."""

Mark = Literal["real error", "wrong label", "unclear"]
"""A person's decision about a judge's error: the judge is wrong, the label is wrong, or it cannot
be decided.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelReview:
    """What a person who looked at a row's label again said of it."""

    mark: Mark
    before: float
    """The label in the data file; the split is drawn by it, so that no correction moves a row."""


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
    sampling_probability: float = 1.0
    """With which the row was drawn to be labelled, in (0, 1].

    Below 1 it was chosen for what judges said of it: such rows are no fair sample, and count in no
    figure.
    """
    review: LabelReview | None = None
    """The second look at its label; None where nobody took one."""

    @property
    def group_key(self) -> str:
        """The group, or a key of its own for a row without one."""
        return self.group or f"\0{self.id}"


OfficialSide = Literal["train", "validation", "open", "holdout"]
"""`open` is split into training and validation rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Rows together with the scale people graded them on."""

    rows: tuple[Row, ...]
    labels: OutputScale
    name: str = ""
    content_hash: str = ""
    """Of ids, inputs, labels, their reviews and groups; independent of the order of rows."""
    notes: tuple[str, ...] = ()
    """What was assumed while reading, for reports to repeat."""
    official: Mapping[str, OfficialSide] = field(default_factory=dict)
    """By row: where a split that somebody prescribed puts it; empty where none is."""
    group_text: str = ""
    """Name of the text whose rows are a group, where no column names the groups."""

    @classmethod
    def of(
        cls, rows: Iterable[Row], *, labels: OutputScale, name: str = "", notes: Iterable[str] = ()
    ) -> Dataset:
        """Build a dataset and hash its content."""
        rows = tuple(rows)
        return cls(
            rows=rows, labels=labels, name=name, content_hash=hash_rows(rows), notes=tuple(notes)
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        groups = len({row.group_key for row in self.rows})
        return (
            f"Dataset({self.name!r}, {len(self):,} rows in {groups:,} groups, labels"
            f" {self.labels.describe()!r})"
        )

    def _repr_html_(self) -> str:
        first = replace(self, rows=self.rows[:FIRST_ROWS]).to_frame()
        return html_table(first, title=repr(self), notes=self.notes, lines=len(self))

    def to_frame(self) -> pd.DataFrame:
        """Return one line a row: id, group, label, positive, the inputs, the metadata."""
        import pandas as pd

        lines = []
        for row in self.rows:
            positive = None if row.label is None else self.positive(row)
            own = {"id": row.id, "group": row.group, "label": row.label, "positive": positive}
            lines.append({**own, **row.inputs, **row.meta, **own})
        return pd.DataFrame(lines)

    def positive(self, row: Row) -> bool:
        """Whether people called the row positive; the row must have a label."""
        if row.label is None:
            raise ValueError(f"row {row.id!r} has no label")
        return self.labels.positive(row.label)

    def decision(self, row: Row) -> float:
        """Return a labelled row's class where labels are a choice, else whether it is positive."""
        return row.label or 0.0 if self.labels.kind == "choice" else float(self.positive(row))


def hash_rows(rows: Iterable[Row]) -> str:
    """Return 32 hexadecimal digits of the hash of all ids, inputs, labels, reviews and groups,
    whatever their order.

    Metadata does not count: a column added for slicing leaves verdicts and splits valid.
    """
    total = hashlib.blake2b(digest_size=16)
    for digest in sorted(_hash_row(row) for row in rows):
        total.update(digest)
    return total.hexdigest()


def _hash_row(row: Row) -> bytes:
    inputs = [part for name in sorted(row.inputs) for part in (name, row.inputs[name])]
    label = "" if row.label is None else repr(float(row.label))
    digest = hashlib.blake2b(digest_size=16)
    marks = [] if row.review is None else [row.review.mark]
    for part in (row.id, label, row.group, *inputs, *marks):
        # Each part goes in behind its length, so that text cannot move from one field to the next
        # unseen.
        body = part.encode("utf-8", "surrogatepass")
        digest.update(len(body).to_bytes(8, "big"))
        digest.update(body)
    return digest.digest()
