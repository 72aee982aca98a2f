"""Metadata columns as codes to slice by, and the columns that must not be sliced on, each with its reason.

A column that gives the human label away would make a perfect and useless slice. Such columns are found from
the data alone, held out by group, and a short list of names that bear labels by convention is left out as well.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..judges import BoolArray, FloatArray, InputError, IntArray, Judged
from ..judges.rows import Scalar
from .outcomes import Outcomes, count_groups
from .slice import Condition, Equals, Interval, Missing, is_missing, is_number, text_of

if TYPE_CHECKING:
    import pandas as pd

MAX_VALUES = 64
"""Values of a column that are searched; the rest are folded into one that is not."""
BINS = 10
"""Quantile bins of a numeric column; unions of neighbouring bins are searched too."""
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
    """The first so many codes are intervals in ascending order, and their unions are searched as well."""


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
    values = {name: [row.meta.get(name) for row in rows] for name in names}
    return choose_columns(values, Outcomes.of(judged), columns=columns, exclude=exclude)


def choose_columns(
    values: Mapping[str, Sequence[Scalar] | pd.Series],
    outcomes: Outcomes,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> Features:
    """Encode the columns that may be sliced on, in the order of their names; see `read_features`.

    Args:
        values: The values of each column, in the order of the outcomes.
        outcomes: What people and judge said.
        columns: The only columns to consider.
        exclude: Columns to leave out.

    Raises:
        InputError: A column that was named does not exist.
    """
    names = sorted(values)
    _require_known((*(columns or ()), *exclude), names)
    kept: list[Column] = []
    left_out: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    for name in names if columns is None else sorted(set(columns)):
        if name in exclude:
            left_out[name] = "left out on request"
            continue
        column = encode(name, values[name])
        reason = (
            _constant_reason(column)
            or leak_reason(column, outcomes)
            or convention_reason(name)
            or _scatter_reason(column, outcomes.groups)
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


def encode(name: str, values: Sequence[Scalar] | pd.Series) -> Column:
    """Encode one metadata column; numbers are binned by quantile, a missing value is a value of its own."""
    position, distinct = _factorize(values)
    present = [value for value in distinct if not is_missing(value)]
    if present and all(is_number(value) for value in present) and len({text_of(v) for v in present}) > FEW_NUMBERS:
        return _numeric(name, position, distinct)
    return _categorical(name, position, distinct)


def _factorize(values: Sequence[Scalar] | pd.Series) -> tuple[IntArray, list[Scalar]]:
    """Return each row's position among the distinct values, and those; True, 1 and "1" are three of them."""
    if isinstance(values, Sequence):
        known: dict[tuple[type, Scalar], int] = {}
        position = np.array([known.setdefault((type(value), value), len(known)) for value in values], np.int64)
        return position, [value for _, value in known]
    import pandas as pd

    position, found = pd.factorize(values, use_na_sentinel=False)
    cells = [None if pd.isna(value) else value for value in found.tolist()]
    return np.asarray(position, np.int64), cells


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
    numbers = np.array([float(v) if is_number(v) else math.nan for v in distinct], np.float64)  # type: ignore[arg-type]  # a number
    rows = numbers[position]
    edges = readable_edges(rows[np.isfinite(rows)])
    bounds = (-math.inf, *edges, math.inf)
    conditions: list[Condition | None] = [Interval(column=name, low=a, high=b) for a, b in itertools.pairwise(bounds)]
    codes = np.searchsorted(np.array(edges), numbers, side="right").astype(np.uint8)
    ordered = len(conditions)
    missing = np.isnan(numbers)
    if missing.any():
        codes[missing] = len(conditions)
        conditions.append(Missing(column=name))
    return Column(name=name, codes=codes[position], conditions=tuple(conditions), ordered=ordered)


def readable_edges(known: FloatArray) -> tuple[float, ...]:
    """Return the inner quantile edges, rounded to as few digits as keep them apart and every bin filled."""
    exact = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1], method="higher"))
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


def convention_reason(name: str) -> str | None:
    """Say that a column bears a label by convention, judging by its name; None where it does not."""
    parts = name.lower().split(".")
    pattern = next((p for p in LABEL_NAMES if fnmatchcase(parts[-1], p) or fnmatchcase(parts[0], p)), None)
    return None if pattern is None else f"its name bears a label or a verdict by convention ({pattern})"


def leak_reason(column: Column, outcomes: Outcomes) -> str | None:
    """Say how a column gives the label or the verdict away; None where it does not.

    The share of entropy explained is Theil's uncertainty coefficient, with each row's probability taken from
    the rows of *other* groups that hold the same value, so that a column cannot leak by naming its groups.
    """
    label, groups = outcomes.positive, outcomes.groups
    explained = _explained_at_least(LABEL_LEAK, column.codes, label, groups)
    if explained:
        return f"gives the label away: on held-out groups it explains {explained:.0%} of it (limit {LABEL_LEAK:.0%})"
    gap = _presence_gap(column, label, groups)
    if gap >= PRESENCE_LEAK:
        return f"gives the label away: whether it has a value moves the rate of positives by {100 * gap:.0f} points"
    of_verdict = _explained_at_least(VERDICT_LEAK, column.codes, outcomes.predicted, groups)
    if of_verdict:
        return (
            f"gives the verdict away: on held-out groups it explains {of_verdict:.0%} of it (limit {VERDICT_LEAK:.0%})"
        )
    return None


def uncertainty_coefficient(codes: Codes, outcome: BoolArray, groups: IntArray) -> float:
    """Return the share of the outcome's entropy that the codes explain on held-out groups; at most 1, 0 if undefined.

    Args:
        codes: Values as codes; shape (n,).
        outcome: What might be given away; shape (n,).
        groups: Group of each row; shape (n,).
    """
    return _explained(codes, _cells_of(codes, groups), outcome, groups)


def _explained_at_least(limit: float, codes: Codes, outcome: BoolArray, groups: IntArray) -> float:
    """The uncertainty coefficient where it reaches a limit, else 0; rows seen may not explain what held-out ones do."""
    counts = np.bincount(codes.astype(np.int64) * 2 + outcome).astype(np.float64)
    cells = np.pad(counts, (0, len(counts) % 2)).reshape(-1, 2)
    if _entropy(cells.sum(0)) * (1 - limit) < sum(_entropy(pair) * pair.sum() for pair in cells) / max(1, len(codes)):
        return 0.0
    found = uncertainty_coefficient(codes, outcome, groups)
    return found if found >= limit else 0.0


def _entropy(counts: FloatArray) -> float:
    present = counts[counts > 0] / max(1.0, float(counts.sum()))
    return float(-(present * np.log(present)).sum())


def _cells_of(codes: Codes, groups: IntArray) -> IntArray:
    """Return a code for each pair of value and group; shape (n,)."""
    values = int(codes.max(initial=0)) + 1
    key = groups * values + codes
    if values * (int(groups.max(initial=0)) + 1) <= 8 * len(codes):
        return key
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _explained(codes: Codes, cell: IntArray, outcome: BoolArray, groups: IntArray) -> float:
    n = len(codes)
    base = float(outcome.mean()) if n else 0.0
    if not 0.0 < base < 1.0:
        return 0.0
    own_rows, own_hits = np.bincount(groups)[groups], np.bincount(groups, outcome)[groups]
    prior = (outcome.sum() - own_hits + base) / (n - own_rows + 1.0)
    rows = np.bincount(codes)[codes] - np.bincount(cell)[cell]
    hits = np.bincount(codes, outcome)[codes] - np.bincount(cell, outcome)[cell]
    chance = np.clip((hits + prior) / (rows + 1.0), 0.002, 0.998)
    surprise = -np.where(outcome, np.log(chance), np.log1p(-chance)).mean()
    entropy = -(base * math.log(base) + (1 - base) * math.log1p(-base))
    return float(1.0 - surprise / entropy)


def _presence_gap(column: Column, label: BoolArray, groups: IntArray) -> float:
    absent = np.zeros(len(label), np.bool_)
    for code, condition in enumerate(column.conditions):
        if isinstance(condition, Missing):
            absent = column.codes == code
    for side in (absent, ~absent):
        if side.sum() < PRESENCE_ROWS or count_groups(groups[side]) < PRESENCE_GROUPS:
            return 0.0
    return abs(float(label[absent].mean() - label[~absent].mean()))


def _partition(codes: Codes) -> bytes:
    """A key equal for columns that part the rows alike, whatever the values are called."""
    first = np.full(int(codes.max(initial=0)) + 1, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    rank = np.argsort(np.argsort(first, kind="stable")).astype(np.uint8)
    return hashlib.blake2b(rank[codes].tobytes(), digest_size=16).digest()
