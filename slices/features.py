"""Metadata columns as codes to slice by, and the columns that must not be sliced on, each with its reason.

A column that gives the human label away would make a perfect and useless slice. Such columns are found from
the data alone, held out by group, and a short list of names that bear labels by convention is left out as well.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from ..judges import BoolArray, FloatArray, InputError, IntArray, Judged, Row
from ..judges.rows import Scalar
from .slice import Condition, Equals, Interval, Missing, is_missing, is_number, text_of

MAX_VALUES = 64
"""Values of a column that are searched; the rest are folded into one that is not."""
BINS = 5
FEW_NUMBERS = 12
"""A numeric column with at most so many different values is taken value by value."""

LABEL_LEAK = 0.30
"""Share of the label's entropy a column may explain on held-out groups; honest columns of the reference data stay
under .22, copies of the label lie above .9, second annotators' verdicts above .4."""
VERDICT_LEAK = 0.80
"""The same for the judge's verdict, which an honest column such as the length may well drive."""
PRESENCE_LEAK = 0.40
"""How far the rates of positive labels may lie apart between rows with and rows without a value."""
PRESENCE_ROWS = 30
PRESENCE_GROUPS = 5

LABEL_NAMES = (
    *(
        "label",
        "label_*",
        "*_label",
        "*_label_*",
        "labels",
        "gold",
        "gold_*",
        "annotation*",
        "*_annotation",
        "human",
        "human_*",
    ),
    *(
        "*_guess",
        "*_confidence",
        "judge_*",
        "verdict",
        "verdicts",
        "score",
        "hallucinated_*",
        "error_type",
        "error_text",
        "n_spans",
    ),
    *(
        "implicit_true_only",
        "negative_kind",
        "worst_label",
        "best_label",
        "conditional_idk",
        "rl_f",
        "rb_llm",
        "rb_agg",
    ),
)
"""Names that bear a label or a verdict by convention, matched against the first and last part of dotted names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column as codes, and the condition each code stands for."""

    name: str
    codes: IntArray
    """0..K-1 per scored row; shape (n,)."""
    conditions: tuple[Condition | None, ...]
    """One per code; None for the rows of all rare values together, which are not searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The columns that may be sliced on, by name, and those left out with the reason."""

    columns: tuple[Column, ...]
    left_out: dict[str, str]


def read_features(judged: Judged, *, columns: Sequence[str] | None = None, exclude: Sequence[str] = ()) -> Features:
    """Turn the metadata of the scored rows into columns to search, in the order of their names.

    Args:
        judged: The table.
        columns: The only columns to consider; all unless given. A column that gives the label away is left out even so.
        exclude: Columns to leave out.

    Raises:
        InputError: A column that was named does not exist.
    """
    rows = judged.rows
    names = sorted({name for row in rows for name in row.meta})
    _require_known((*(columns or ()), *exclude), names)
    kept: list[Column] = []
    left_out: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    for name in names if columns is None else sorted(set(columns)):
        if name in exclude:
            left_out[name] = "left out on request"
            continue
        column = encode(name, rows)
        reason = (
            _constant_reason(column)
            or leak_reason(column, judged)
            or convention_reason(name)
            or _scatter_reason(column, judged.groups)
        )
        if reason is None:
            twin = seen.setdefault(_partition(column.codes), name)
            reason = f"parts the rows exactly as {twin!r} does" if twin != name else None
        if reason is None:
            kept.append(column)
        else:
            left_out[name] = reason
    return Features(columns=tuple(kept), left_out=left_out)


def _require_known(asked: Sequence[str], names: Sequence[str]) -> None:
    for name in asked:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3)
            raise InputError(
                f"there is no metadata column {name!r}" + (f"; near: {', '.join(near)}" if near else ""),
                hint="the columns are: " + (", ".join(names) or "none"),
            )


def encode(name: str, rows: Sequence[Row]) -> Column:
    """Encode one metadata column; numbers are binned by quantile, a missing value is a value of its own."""
    values = [row.meta.get(name) for row in rows]
    present = [value for value in values if not is_missing(value)]
    distinct = {text_of(value) for value in present}
    if present and all(is_number(value) for value in present) and len(distinct) > FEW_NUMBERS:
        return _numeric(name, values)
    return _categorical(name, values)


def _categorical(name: str, values: Sequence[Scalar]) -> Column:
    texts = [None if is_missing(value) else text_of(value) for value in values]
    counts = Counter(text for text in texts if text is not None)
    common = sorted(counts, key=lambda text: (-counts[text], text))[:MAX_VALUES]
    conditions: list[Condition | None] = [Equals(column=name, value=text) for text in common]
    position: dict[str | None, int] = {text: code for code, text in enumerate(common)}
    if None in texts:
        position[None] = len(conditions)
        conditions.append(Missing(column=name))
    other = len(conditions)
    codes = np.array([position.get(text, other) for text in texts], np.int64)
    if len(counts) > len(common):
        conditions.append(None)
    return Column(name=name, codes=codes, conditions=tuple(conditions))


def _numeric(name: str, values: Sequence[Scalar]) -> Column:
    numbers = np.array([float(v) if is_number(v) else math.nan for v in values], np.float64)  # type: ignore[arg-type]  # a number
    known = numbers[np.isfinite(numbers)]
    edges = readable_edges(known)
    bounds = (-math.inf, *edges, math.inf)
    conditions: list[Condition | None] = [Interval(column=name, low=a, high=b) for a, b in itertools.pairwise(bounds)]
    codes = np.searchsorted(np.array(edges), numbers, side="right").astype(np.int64)
    missing = np.isnan(numbers)
    if missing.any():
        codes[missing] = len(conditions)
        conditions.append(Missing(column=name))
    return Column(name=name, codes=codes, conditions=tuple(conditions))


def readable_edges(known: FloatArray) -> tuple[float, ...]:
    """Return the inner quantile edges, rounded to as few digits as keep them apart and every bin filled."""
    exact = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
    exact = exact[exact > known.min()]
    for digits in (2, 3, 4):
        rounded = np.array([float(f"{edge:.{digits}g}") for edge in exact])
        if len(np.unique(rounded)) == len(exact) and _filled(known, rounded):
            return tuple(float(edge) for edge in rounded)
    return tuple(float(edge) for edge in exact)


def _filled(known: FloatArray, edges: FloatArray) -> bool:
    counts = np.bincount(np.searchsorted(edges, known, side="right"), minlength=len(edges) + 1)
    return bool(counts.min() * 2 * (len(edges) + 1) >= len(known))


def _constant_reason(column: Column) -> str | None:
    return "has one value only" if len(np.unique(column.codes)) < 2 else None


def _scatter_reason(column: Column, groups: IntArray) -> str | None:
    """Say why nothing about a column's values could be confirmed on other rows, whatever the labels."""
    equal = [code for code, condition in enumerate(column.conditions) if isinstance(condition, Equals)]
    if not equal:
        return None
    counts = np.bincount(column.codes, minlength=len(column.conditions))
    if counts[equal].max() == 1:
        return "has a value of its own for every row"
    pairs = np.unique(np.stack([column.codes, groups]), axis=1)[0]
    clustered = groups.max(initial=-1) + 1 < len(groups)
    if clustered and np.bincount(pairs, minlength=len(counts))[equal].max() == 1:
        return "every value occurs in one group only, so nothing about it could be confirmed"
    return None


def convention_reason(name: str) -> str | None:
    """Say that a column bears a label by convention, judging by its name; None where it does not."""
    parts = name.lower().split(".")
    pattern = next((p for p in LABEL_NAMES if fnmatchcase(parts[-1], p) or fnmatchcase(parts[0], p)), None)
    return None if pattern is None else f"its name bears a label or a verdict by convention ({pattern})"


def leak_reason(column: Column, judged: Judged) -> str | None:
    """Say how a column gives the label or the verdict away; None where it does not.

    The share of entropy explained is Theil's uncertainty coefficient, with each row's probability taken from
    the rows of *other* groups that hold the same value, so that a column cannot leak by naming its groups.
    """
    label, groups = judged.positive, judged.groups
    explained = uncertainty_coefficient(column.codes, label, groups)
    if explained >= LABEL_LEAK:
        return f"gives the label away: on held-out groups it explains {explained:.0%} of it (limit {LABEL_LEAK:.0%})"
    gap = _presence_gap(column, label, groups)
    if gap >= PRESENCE_LEAK:
        return f"gives the label away: whether it has a value moves the rate of positives by {100 * gap:.0f} points"
    of_verdict = uncertainty_coefficient(column.codes, judged.predicted, groups)
    if of_verdict >= VERDICT_LEAK:
        return (
            f"gives the verdict away: on held-out groups it explains {of_verdict:.0%} of it (limit {VERDICT_LEAK:.0%})"
        )
    return None


def uncertainty_coefficient(codes: IntArray, outcome: BoolArray, groups: IntArray) -> float:
    """Return the share of the outcome's entropy that the codes explain on held-out groups; at most 1, 0 if undefined.

    Args:
        codes: Values as codes; shape (n,).
        outcome: What might be given away; shape (n,).
        groups: Group of each row; shape (n,).
    """
    n = len(codes)
    base = outcome.mean() if n else 0.0
    if not 0.0 < base < 1.0:
        return 0.0
    cells, cell = np.unique(np.stack([codes, groups]), axis=1, return_inverse=True)
    cell = cell.reshape(-1)
    rows, hits = _minus_own(codes, cells[0], cell, outcome)
    all_rows, all_hits = _minus_own(np.zeros(n, np.int64), np.zeros(cells.shape[1], np.int64), cell, outcome, groups)
    prior = (all_hits + base) / (all_rows + 1.0)
    chance = np.clip((hits + prior) / (rows + 1.0), 0.002, 0.998)
    surprise = -np.where(outcome, np.log(chance), np.log1p(-chance)).mean()
    entropy = -(base * math.log(base) + (1 - base) * math.log1p(-base))
    return float(1.0 - surprise / entropy)


def _minus_own(
    codes: IntArray, code_of_cell: IntArray, cell: IntArray, outcome: BoolArray, groups: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Rows and positive rows that share a row's code but not its group; shape (n,) each."""
    own = cell if groups is None else groups
    per_code = np.bincount(codes), np.bincount(codes, outcome)
    per_own = np.bincount(own), np.bincount(own, outcome)
    return tuple(total[codes] - mine[own] for total, mine in zip(per_code, per_own, strict=True))  # type: ignore[return-value]  # two arrays in, two out


def _presence_gap(column: Column, label: BoolArray, groups: IntArray) -> float:
    absent = np.zeros(len(label), np.bool_)
    for code, condition in enumerate(column.conditions):
        if isinstance(condition, Missing):
            absent = column.codes == code
    for side in (absent, ~absent):
        if side.sum() < PRESENCE_ROWS or len(np.unique(groups[side])) < PRESENCE_GROUPS:
            return 0.0
    return abs(float(label[absent].mean() - label[~absent].mean()))


def _partition(codes: IntArray) -> bytes:
    """A key equal for columns that part the rows alike, whatever the values are called."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32).tobytes()
