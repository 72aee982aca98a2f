"""One column as codes: values of a category, deciles of a number, and the condition that each code
stands for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..judges import BoolArray, FloatArray, IntArray
from ..judges.rows import Scalar
from .slice import Condition, Equals, Interval, Missing, is_missing, is_number, text_of

if TYPE_CHECKING:
    import pandas as pd

MAX_VALUES = 64
"""Values of a column that are searched; the rest are folded into one that is not."""
BINS = 10
"""Quantile bins of a numeric column; unions of neighbouring bins are searched too."""
FEW_NUMBERS = 12
"""A numeric column with at most so many different values is taken value by value."""
Codes = npt.NDArray[np.integer[Any]]  # Any: as few bits as the codes need


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column as codes, and the condition each code stands for."""

    name: str
    codes: Codes
    """0..K-1 per scored row; shape (n,)."""
    conditions: tuple[Condition | None, ...]
    """One per code; None for the rows of all rare values together, which are not searched."""
    ordered: int = 0
    """The first so many codes are ascending intervals, whose unions are searched as well."""

    def only(self, chosen: BoolArray) -> Column:
        """Return the column of the chosen rows; chosen has shape (n,)."""
        return replace(self, codes=self.codes[chosen])


def encode(name: str, values: Sequence[Scalar] | pd.Series) -> Column:
    """Encode one column; numbers are binned by quantile, a missing value is a value of its own."""
    position, distinct = _factorize(values)
    present = [value for value in distinct if not is_missing(value)]
    different = {text_of(value) for value in present}
    if len(different) > FEW_NUMBERS and all(is_number(value) for value in present):
        return _numeric(name, position, distinct)
    return _categorical(name, position, distinct)


def _factorize(values: Sequence[Scalar] | pd.Series) -> tuple[IntArray, list[Scalar]]:
    """Return each row's position among the distinct values, and those; True, 1 and "1" are three of
    them.
    """
    if isinstance(values, Sequence):
        # The type is part of the key because Python holds True, 1 and 1.0 to be equal.
        positions: dict[tuple[type, Scalar], int] = {}
        codes = [positions.setdefault((type(value), value), len(positions)) for value in values]
        return np.array(codes, np.int64), [value for _, value in positions]
    import pandas as pd

    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    return np.asarray(codes, np.int64), [
        None if pd.isna(value) else value for value in distinct.tolist()
    ]


def _categorical(name: str, position: IntArray, distinct: Sequence[Scalar]) -> Column:
    texts = [None if is_missing(value) else text_of(value) for value in distinct]
    rows = np.bincount(position, minlength=len(distinct))
    counts: dict[str, int] = {}
    for text, n in zip(texts, rows.tolist(), strict=True):
        if text is not None:
            counts[text] = counts.get(text, 0) + n
    common = sorted(counts, key=lambda text: (-counts[text], text))[:MAX_VALUES]
    conditions: list[Condition | None] = [Equals(column=name, value=text) for text in common]
    code_of: dict[str | None, int] = {text: code for code, text in enumerate(common)}
    if None in texts:
        code_of[None] = len(conditions)
        conditions.append(Missing(column=name))
    codes = np.array([code_of.get(text, len(conditions)) for text in texts], np.uint8)[position]
    if len(counts) > len(common):
        conditions.append(None)
    return Column(name=name, codes=codes, conditions=tuple(conditions))


def _numeric(name: str, position: IntArray, distinct: Sequence[Scalar]) -> Column:
    numbers = np.full(len(distinct), math.nan)
    for i, value in enumerate(distinct):
        if is_number(value):
            numbers[i] = float(value)  # type: ignore[arg-type]  # a number
    rows = numbers[position]
    edges = readable_edges(rows[np.isfinite(rows)])
    bounds = itertools.pairwise((-math.inf, *edges, math.inf))
    conditions: list[Condition | None] = [Interval(column=name, low=a, high=b) for a, b in bounds]
    codes = np.searchsorted(np.array(edges), numbers, side="right").astype(np.uint8)
    ordered = len(conditions)
    missing = np.isnan(numbers)
    if missing.any():
        codes[missing] = ordered
        conditions.append(Missing(column=name))
    return Column(name=name, codes=codes[position], conditions=tuple(conditions), ordered=ordered)


def readable_edges(values: FloatArray) -> tuple[float, ...]:
    """Return the inner quantile edges, rounded to as few digits as keep them apart and every bin
    filled.
    """
    quantiles = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], method="higher")
    exact = np.unique(quantiles)
    exact = exact[exact > values.min()]
    for digits in (2, 3, 4):
        rounded = np.array([float(f"{edge:.{digits}g}") for edge in exact])
        counts = np.bincount(
            np.searchsorted(rounded, values, side="right"), minlength=len(exact) + 1
        )
        filled = counts.min() * 2 * len(counts) >= len(
            values
        )  # half the rows of an even share in each bin
        if len(np.unique(rounded)) == len(exact) and filled:
            return tuple(rounded.tolist())
    return tuple(exact.tolist())
