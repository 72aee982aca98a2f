"""How far a search goes: how deep, over which columns, and the fewest rows of a slice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, InputError
from .column import Column
from .features import Features
from .text import feature_rank

MIN_SUPPORT = 30
"""The fewest rows of a slice in the metric's denominator; half a per cent where that is more."""
FEW_ROWS = 2000
"""With fewer rows in the denominator, slices have two conditions at most, of eight columns."""
FEW_COLUMNS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a search goes, as the caller wants it."""

    max_depth: int
    min_support: int | None
    """The fewest rows of the denominator; None for 30 or half a per cent."""
    seed: int
    named: bool
    """Whether the columns were asked for by name, and none is dropped for want of rows."""

    def support(self, total: int) -> int:
        """Return the fewest rows of a slice where the denominator has so many in all."""
        return max(2, self.min_support or max(MIN_SUPPORT, math.ceil(0.005 * total)))

    def __post_init__(self) -> None:
        if self.max_depth not in (1, 2, 3):
            raise InputError(f"max_depth {self.max_depth!r} is not 1, 2 or 3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is searched after all."""

    columns: tuple[Column, ...]
    depth: int
    left_out: dict[str, str]
    """Further columns that are not searched, each with the reason."""
    notes: list[str]


def narrow(features: Features, inside: BoolArray, support: int, limits: Limits) -> Scope:
    """Leave out columns without a frequent value, and search less deeply where rows are few.

    Args:
        features: The columns that may be searched.
        inside: Which rows the metric is about; shape (n,).
        support: The fewest rows of a slice.
        limits: What the caller wants.
    """
    total = int(inside.sum())
    evenness: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for column in features.columns:
        evenness_of_column = _evenness(column, inside, support)
        if evenness_of_column is None:
            left_out[column.name] = f"no value covers {support} rows of the metric's denominator"
        else:
            evenness[column.name] = evenness_of_column
    columns = [column for column in features.columns if column.name in evenness]
    if total >= FEW_ROWS:
        return Scope(columns=tuple(columns), depth=limits.max_depth, left_out=left_out, notes=[])
    notes: list[str] = []
    if limits.max_depth > 2:
        notes.append(f"with {total} rows in the denominator, slices have at most two conditions")
    names = list(evenness)
    if len(names) > FEW_COLUMNS and not limits.named:
        # Metadata first, then what most often matters in texts; of metadata, what parts the rows
        # most evenly. Chosen without a look at the errors, so it costs no significance.
        names.sort(key=lambda name: (feature_rank(name), -evenness[name], name))
        dropped = names[FEW_COLUMNS:]
        texts = [name for name in dropped if feature_rank(name)]
        for name in sorted(set(dropped) - set(texts)):
            left_out[name] = f"too few rows ({total}) to search more than {FEW_COLUMNS} columns"
        note = (
            f"with {total} rows in the denominator, only {FEW_COLUMNS} columns are searched; name"
            " others to have them"
        )
        if texts:
            note += f", such as {texts[0]}, one of {len(texts)} features of the texts left out"
        notes.append(note)
        columns = [column for column in columns if column.name not in dropped]
    return Scope(
        columns=tuple(columns), depth=min(limits.max_depth, 2), left_out=left_out, notes=notes
    )


def _evenness(column: Column, inside: BoolArray, support: int) -> float | None:
    """Return the entropy of a column's frequent values, in nats; None where it has none."""
    counts = np.bincount(column.codes[inside], minlength=len(column.conditions))
    usable = counts[[condition is not None for condition in column.conditions]]
    shares = usable[usable >= support] / max(1, int(inside.sum()))
    if not len(shares):
        return None
    # Rounded, so that the order of summation cannot part equals.
    return round(float(-(shares * np.log(shares)).sum()), 9)
