"""Which columns of a table may be sliced on, and why the others are left out."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..judges import InputError, IntArray, Judged
from ..judges.rows import Scalar
from .column import Codes, Column, encode
from .leaks import convention_reason, entropy, leak_reason, text_leak_reason
from .outcomes import Outcomes, count_groups
from .slice import Equals
from .text import feature_names, feature_rank, is_column, read_columns

if TYPE_CHECKING:
    import pandas as pd

ALIKE = 0.95
"""Correlation of the bins of two numeric columns above which a feature of the texts is left out beside the other."""
SAME = 0.10
"""Share of their joint entropy that two columns must keep to themselves for a feature of the texts to stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The columns that may be sliced on, by name, and those left out with the reason."""

    columns: tuple[Column, ...]
    left_out: Mapping[str, str]
    fields: tuple[str, ...] = ()
    """The texts whose single words may be searched as well."""


def read_features(
    judged: Judged, *, columns: Sequence[str] | None = None, exclude: Sequence[str] = (), text: bool = False
) -> Features:
    """Turn what is known of the scored rows into columns to search, in the order of their names.

    Args:
        judged: The table.
        columns: The only columns to consider: metadata, features of the texts, or texts, whose words are meant; all
            unless given. A column that gives the label away is left out even so.
        exclude: Columns to leave out; with a text go its words and features.
        text: Whether to search the features and words of the texts where no columns are named.

    Raises:
        InputError: A column that was named does not exist.
    """
    rows = judged.rows
    names = sorted({name for row in rows for name in row.meta})
    values: dict[str, Sequence[Scalar]] = {name: [row.meta.get(name) for row in rows] for name in names}
    inputs = sorted({name for row in rows for name in row.inputs}.difference(names))
    offered = feature_names(rows) if text and columns is None else ()
    offered = [name for name in offered if name.rpartition(":")[0] not in exclude]
    asked = [name for name in (*(columns or ()), *exclude) if feature_rank(name) and name not in inputs]
    known = [name for name in asked if any(is_column(row, name) for row in rows)]
    texts = read_columns(rows, [name for name in dict.fromkeys((*offered, *known)) if name not in values])
    found = choose_columns(
        values,
        Outcomes.of(judged),
        texts=texts,
        columns=None if columns is None else [name for name in columns if name not in inputs],
        exclude=[name for name in exclude if name not in inputs],
    )
    fields = inputs if text and columns is None else [name for name in inputs if name in (columns or ())]
    return replace(found, fields=tuple(name for name in fields if name not in exclude))


def choose_columns(
    values: Mapping[str, Sequence[Scalar] | pd.Series],
    outcomes: Outcomes,
    *,
    texts: Mapping[str, Sequence[Scalar]] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> Features:
    """Encode the columns that may be sliced on, in the order of their names; see `read_features`.

    Args:
        values: The values of each column, in the order of the outcomes.
        outcomes: What people and judge said.
        texts: The same for features of the texts, which give way to a metadata column that tells the same.
        columns: The only columns to consider.
        exclude: Columns to leave out.

    Raises:
        InputError: A column that was named does not exist.
    """
    texts = texts or {}
    everything = {**values, **texts}
    _require_known((*(columns or ()), *exclude), sorted(values), everything)
    kept: list[Column] = []
    left_out: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    for name in sorted(everything if columns is None else set(columns), key=lambda n: (n in texts, feature_rank(n), n)):
        if name in exclude:
            left_out[name] = "left out on request"
            continue
        column = encode(name, everything[name])
        constant = _constant_reason(column)
        if constant and name in texts and columns is None:
            continue  # a column nobody made is not missed
        reason = constant or (text_leak_reason if name in texts else _reason)(column, outcomes)
        if reason is None:
            twin = seen.setdefault(_partition(column.codes), name)
            reason = f"parts the rows exactly as {twin!r} does" if twin != name else None
        if reason is None and name in texts and columns is None:
            reason = _alike_reason(column, kept)
        if reason is None:
            kept.append(column)
        else:
            left_out[name] = reason
    return Features(columns=tuple(sorted(kept, key=lambda column: column.name)), left_out=left_out)


def _reason(column: Column, outcomes: Outcomes) -> str | None:
    return leak_reason(column, outcomes) or convention_reason(column.name) or _scatter_reason(column, outcomes.groups)


def _require_known(asked: Sequence[str], names: Sequence[str], known: Container[str]) -> None:
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, names, n=3)
            raise InputError(
                f"there is no column {name!r}" + (f"; near: {', '.join(near)}" if near else ""),
                hint="the columns are: " + (", ".join(names) or "none"),
            )


def _constant_reason(column: Column) -> str | None:
    return "has one value only" if np.count_nonzero(np.bincount(column.codes)) < 2 else None


def _scatter_reason(column: Column, groups: IntArray) -> str | None:
    """Say why nothing about a column's values could be confirmed on other rows, whatever the labels."""
    equal = [code for code, condition in enumerate(column.conditions) if isinstance(condition, Equals)]
    if not equal:
        return None
    counts = np.bincount(column.codes, minlength=len(column.conditions))
    if counts[equal].max() == 1:
        return "has a value of its own for every row"
    clustered = count_groups(groups) < len(groups)
    if clustered and all(count_groups(groups[column.codes == code]) == 1 for code in equal if counts[code]):
        return "every value occurs in one group only, so nothing about it could be confirmed"
    return None


def _alike_reason(column: Column, others: Sequence[Column]) -> str | None:
    """Say which other column tells nearly the same; both ways, since what is coarser than another is not the same."""
    a = column.codes.astype(np.int64)
    for other in others:
        b = other.codes.astype(np.int64)
        if _rank_correlation(column, other) >= ALIKE:
            return f"orders the rows nearly as {other.name!r} does"
        joint = entropy(np.bincount(a * (int(b.max(initial=0)) + 1) + b).astype(np.float64))
        apart = 2 * joint - sum(entropy(np.bincount(codes).astype(np.float64)) for codes in (a, b))
        if apart <= SAME * joint:
            return f"parts the rows nearly as {other.name!r} does"
    return None


def _rank_correlation(one: Column, other: Column) -> float:
    """Of the bins of two numeric columns, without sign; 0 where they are not, or where many rows lack either."""
    both = (one.codes < one.ordered) & (other.codes < other.ordered)
    a, b = one.codes[both].astype(np.float64), other.codes[both].astype(np.float64)
    if both.mean() < ALIKE or not (a.std() > 0 < b.std()):
        return 0.0
    return abs(float(np.corrcoef(a, b)[0, 1]))


def _partition(codes: Codes) -> bytes:
    """A key equal for columns that part the rows alike, whatever the values are called."""
    first = np.full(int(codes.max(initial=0)) + 1, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    rank = np.argsort(np.argsort(first, kind="stable")).astype(np.uint8)
    return hashlib.blake2b(rank[codes].tobytes(), digest_size=16).digest()
