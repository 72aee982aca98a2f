"""Which columns of a table may be sliced on, and why the others are left out.

Below it, `column` encodes, `column_names` guesses by name, `leaks` looks at the data.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..judges import FloatArray, InputError, IntArray, JudgedDataset
from ..judges.rows import Scalar
from .column import Codes, Column, encode
from .column_names import BY_NAME, NAME_REASON, convention_reason, names_an_output
from .leaks import bins_reason, entropy, leak_reason, text_leak_reason
from .outcomes import Outcomes, count_groups
from .slice import Equals
from .text import feature_names, feature_rank, is_column, read_columns

if TYPE_CHECKING:
    import pandas as pd

KNOWN_REASON = "what a judge said: it stands beside the score in the file"
ALIKE = 0.95
"""Correlation of two numeric columns' bins above which a feature of the texts gives way."""
SAME = 0.10
"""Share of the joint entropy that two columns must not share for a feature of texts to stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """A column that holds what a judge said, and how that is known."""

    column: Column
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The columns that may be sliced on, by name, and those left out with the reason."""

    columns: tuple[Column, ...]
    left_out: Mapping[str, str]
    fields: tuple[str, ...] = ()
    """The texts whose single words may be searched as well."""
    outputs: tuple[OutputColumn, ...] = ()
    """Of those left out, the ones that hold what a judge said."""
    own: Mapping[str, FloatArray] = field(default_factory=dict)
    """This judge's score and confidence by name; shape (n,) each."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _OutputEvidence:
    """What is known of judges' outputs before a column is looked at."""

    declared: frozenset[str]
    """Columns that the file itself says hold some."""
    own: Mapping[str, FloatArray]
    """This judge's by name; shape (n,) each."""
    keep: frozenset[str]
    """Columns whose names are not to be judged by."""


def read_features(
    judged: JudgedDataset,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Features:
    """Turn what is known of the scored rows into columns to search, in the order of their names.

    Args:
        judged: The table.
        columns: The only columns to consider: metadata, features of the texts, or texts, whose
            words are meant; all unless given. A column that gives the label away, or holds what a
            judge said, is left out even so.
        exclude: Columns to leave out; with a text go its words and features.
        keep: Columns that tell of the row itself though their names sound like a label's or a
            judge's output. What is known to be one, or seen in the data, is left out even so.
        text: Whether to search the features and words of the texts where no columns are named.
        progress: Called with how many rows' texts are read, and of how many.

    Raises:
        InputError: A column that was named does not exist.
    """
    rows = judged.rows
    names = sorted({name for row in rows for name in row.meta})
    values: dict[str, Sequence[Scalar]] = {
        name: [row.meta.get(name) for row in rows] for name in names
    }
    inputs = sorted({name for row in rows for name in row.inputs}.difference(names))
    wanted: list[str] = []
    if text and columns is None:
        wanted = [name for name in feature_names(rows) if name.rpartition(":")[0] not in exclude]
    for name in (*(columns or ()), *exclude):
        if feature_rank(name) and name not in inputs and any(is_column(row, name) for row in rows):
            wanted.append(name)
    features = [name for name in dict.fromkeys(wanted) if name not in values]
    own = {"score": judged.score, "confidence": judged.confidence}
    chosen = choose_columns(
        values,
        Outcomes.of(judged),
        texts=read_columns(rows, features, progress=progress),
        columns=None if columns is None else [name for name in columns if name not in inputs],
        exclude=[name for name in exclude if name not in inputs],
        keep=keep,
        declared_outputs=judged.outputs,
        own={name: scores for name, scores in own.items() if np.isfinite(scores).any()},
    )
    if columns is not None:
        fields = [name for name in inputs if name in columns]
    else:
        fields = inputs if text else []
    return replace(chosen, fields=tuple(name for name in fields if name not in exclude))


def choose_columns(
    values: Mapping[str, Sequence[Scalar] | pd.Series],
    outcomes: Outcomes,
    *,
    texts: Mapping[str, Sequence[Scalar]] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    declared_outputs: Sequence[str] = (),
    own: Mapping[str, FloatArray] | None = None,
) -> Features:
    """Encode the columns that may be sliced on, in the order of their names; see `read_features`.

    Args:
        values: The values of each column, in the order of the outcomes.
        outcomes: What people and judge said.
        texts: The same for features of the texts, which give way to metadata that tells the same.
        columns: The only columns to consider.
        exclude: Columns to leave out.
        keep: Columns not to be judged by their names.
        declared_outputs: Columns that the file says hold what a judge said.
        own: This judge's score and confidence by name, in the order of the outcomes.

    Raises:
        InputError: A column that was named does not exist.
    """
    texts = texts or {}
    everything = {**values, **texts}
    _require_columns((*(columns or ()), *exclude, *keep), sorted(values), everything)
    evidence = _OutputEvidence(
        declared=frozenset(declared_outputs), own=own or {}, keep=frozenset(keep)
    )
    searched: list[Column] = []
    left_out: dict[str, str] = {}
    outputs: list[OutputColumn] = []
    by_name: list[str] = []
    seen: dict[bytes, str] = {}
    # Metadata first: of two columns that tell the same, the feature of a text goes.
    names = sorted(
        everything if columns is None else set(columns),
        key=lambda n: (n in texts, feature_rank(n), n),
    )
    for name in names:
        if name in exclude:
            left_out[name] = "left out on request"
            continue
        offered = name in texts and columns is None
        column = encode(name, everything[name])
        if np.count_nonzero(np.bincount(column.codes)) < 2:
            # Nobody misses a feature that we offered ourselves.
            if not offered:
                left_out[name] = "has one value only"
            continue
        if name in texts:
            reason = text_leak_reason(column, outcomes)
        else:
            reason = _reason(column, outcomes, evidence)
            named_so = reason is not None and reason in (NAME_REASON, convention_reason(name))
            by_name += [name] * named_so
            outputs += _output(column, evidence, named_so=named_so)
        reason = reason or _twin_reason(column, seen)
        if reason is None and offered:
            reason = _alike_reason(column, searched)
        if reason is None:
            searched.append(column)
        else:
            left_out[name] = reason
    notes: list[str] = []
    if by_name:
        notes.append(
            "left out for their names alone, as what people or judges said of a row:"
            f" {', '.join(by_name)}; one that tells of the row itself is searched with --keep"
            f" {by_name[0]}"
        )
    return Features(
        columns=tuple(sorted(searched, key=lambda column: column.name)),
        left_out=left_out,
        outputs=tuple(outputs),
        own=evidence.own,
        notes=tuple(notes),
    )


def _reason(column: Column, outcomes: Outcomes, evidence: _OutputEvidence) -> str | None:
    """Say why a column of the metadata is left out; None where it is searched."""
    if column.name in evidence.declared:
        return KNOWN_REASON
    reason = leak_reason(column, outcomes) or bins_reason(column.codes, evidence.own)
    if reason is None and column.name not in evidence.keep:
        reason = convention_reason(column.name)
        if reason is None and names_an_output(column.name):
            reason = NAME_REASON
    return reason or _scatter_reason(column, outcomes.groups)


def _output(column: Column, evidence: _OutputEvidence, *, named_so: bool) -> list[OutputColumn]:
    """Return the column if it holds what a judge said, with how that is known."""
    reason = KNOWN_REASON if column.name in evidence.declared else None
    reason = reason or bins_reason(column.codes, evidence.own)
    if reason is None and column.name not in evidence.keep and names_an_output(column.name):
        reason = BY_NAME
    if reason is None:
        return []
    return [OutputColumn(column=column, reason=NAME_REASON if named_so else reason)]


def _require_columns(
    names: Sequence[str], metadata: Sequence[str], columns: Container[str]
) -> None:
    for name in names:
        if name in columns:
            continue
        near = difflib.get_close_matches(name, metadata, n=3)
        suggestion = f"; near: {', '.join(near)}" if near else ""
        raise InputError(
            f"there is no column {name!r}{suggestion}",
            hint="the columns are: " + (", ".join(metadata) or "none"),
        )


def _scatter_reason(column: Column, groups: IntArray) -> str | None:
    """Say why nothing about a column's values could be confirmed on other rows, whatever the
    labels.
    """
    equal = [
        code for code, condition in enumerate(column.conditions) if isinstance(condition, Equals)
    ]
    if not equal:
        return None
    counts = np.bincount(column.codes, minlength=len(column.conditions))
    if counts[equal].max() == 1:
        return "has a value of its own for every row"
    clustered = count_groups(groups) < len(groups)
    if clustered and all(
        count_groups(groups[column.codes == code]) == 1 for code in equal if counts[code]
    ):
        return "every value occurs in one group only, so nothing about it could be confirmed"
    return None


def _twin_reason(column: Column, seen: dict[bytes, str]) -> str | None:
    """Say which earlier column parts the rows in the same way; enter this one where none does."""
    twin = seen.setdefault(_partition(column.codes), column.name)
    return None if twin == column.name else f"parts the rows exactly as {twin!r} does"


def _alike_reason(column: Column, others: Sequence[Column]) -> str | None:
    """Say which other column tells nearly the same; both ways, since what is coarser than another
    is not the same.
    """
    a = column.codes.astype(np.int64)
    own_entropy = entropy(np.bincount(a).astype(np.float64))
    for other in others:
        if _rank_correlation(column, other) >= ALIKE:
            return f"orders the rows nearly as {other.name!r} does"
        b = other.codes.astype(np.int64)
        joint = entropy(np.bincount(a * (int(b.max(initial=0)) + 1) + b).astype(np.float64))
        apart = 2 * joint - (own_entropy + entropy(np.bincount(b).astype(np.float64)))
        if apart <= SAME * joint:
            return f"parts the rows nearly as {other.name!r} does"
    return None


def _rank_correlation(one: Column, other: Column) -> float:
    """Of the bins of two numeric columns, without sign; 0 where they are not, or where many rows
    lack either.
    """
    both = (one.codes < one.ordered) & (other.codes < other.ordered)
    a, b = one.codes[both].astype(np.float64), other.codes[both].astype(np.float64)
    if both.mean() < ALIKE or not (a.std() > 0 < b.std()):
        return 0.0
    return abs(float(np.corrcoef(a, b)[0, 1]))


def _partition(codes: Codes) -> bytes:
    """Return a key that is equal for columns that part the rows alike, whatever the values are
    called.
    """
    first = np.full(int(codes.max(initial=0)) + 1, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    rank = np.argsort(np.argsort(first, kind="stable")).astype(np.uint8)
    return hashlib.blake2b(rank[codes].tobytes(), digest_size=16).digest()
