"""Columns that give the label or the verdict away, found from the data alone, held out by group.

A column that gives the human label away would make a perfect and useless slice. A column made of
this judge's own score says that it errs where it is unsure, which no prompt can use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from .column import Codes, Column
from .outcomes import Outcomes, count_groups
from .slice import Missing

LABEL_LEAK = 0.30
"""Share of the label's entropy a column may explain on held-out groups; ordinary columns of the
reference data stay under .22, copies of the label lie above .9, second annotators' verdicts above
.4."""
VERDICT_LEAK = 0.80
"""The same for the judge's verdict, which an ordinary column such as the length may well drive."""
PRESENCE_LEAK = 0.40
"""How far the rates of positive labels may lie apart between rows with and rows without a value."""
PRESENCE_ROWS = 30
PRESENCE_GROUPS = 5
FLAG_GROUPS = 10
"""Groups in which one side of a two-valued column must hold nothing but the rarer label to be taken
for a leak; with labels constant within groups, chance does so once in a thousand at most."""
OUTPUT_SHARE = 0.9
"""Share of the rows that must have a score or confidence for a column to be bins of it."""
OUTPUT_ROWS = 30
"""Rows that must have one."""


def leak_reason(column: Column, outcomes: Outcomes) -> str | None:
    """Say how a column gives the label or the verdict away; None where it does not.

    The share of entropy explained is Theil's uncertainty coefficient, with each row's probability
    taken from *other* groups with the same value, so that naming its groups is no leak.
    """
    codes, label, groups = column.codes, outcomes.positive, outcomes.groups
    explained = _explained_at_least(LABEL_LEAK, codes, label, groups)
    if explained:
        return (
            f"gives the label away: on held-out groups it explains {explained:.0%} of it (limit"
            f" {LABEL_LEAK:.0%})"
        )
    absent = np.array([isinstance(condition, Missing) for condition in column.conditions])
    present = ~absent[codes]
    with_value = _enough(present, groups, PRESENCE_GROUPS)
    if not present.all() and with_value:
        explained = _explained_at_least(LABEL_LEAK, codes[present], label[present], groups[present])
        if explained:
            return (
                f"gives the label away: where it has a value, it explains {explained:.0%} of it on"
                f" held-out groups (limit {LABEL_LEAK:.0%})"
            )
    gap = 0.0
    if with_value and _enough(~present, groups, PRESENCE_GROUPS):
        gap = abs(float(label[present].mean() - label[~present].mean()))
    if gap >= PRESENCE_LEAK:
        return (
            "gives the label away: whether it has a value moves the rate of positives by"
            f" {100 * gap:.0f} points"
        )
    flag = _telling_flag(column, label, groups)
    if flag is not None:
        return f"gives the label away: {flag}"
    explained = _explained_at_least(VERDICT_LEAK, codes, outcomes.predicted, groups)
    if explained:
        return (
            f"gives the verdict away: on held-out groups it explains {explained:.0%} of it (limit"
            f" {VERDICT_LEAK:.0%})"
        )
    return None


def text_leak_reason(column: Column, outcomes: Outcomes) -> str | None:
    """Say that a feature of the texts holds the label itself; None where it does not.

    The judge has read the same texts, so what they tell of the label, as overlap with the source
    does, is no leak: on MTRAG it explains 45 %. Only a text that *is* one of them is left out.
    """
    for name, outcome in (("label", outcomes.positive), ("verdict", outcomes.predicted)):
        share = _explained_at_least(VERDICT_LEAK, column.codes, outcome, outcomes.groups)
        if share:
            return (
                f"gives the {name} away: on held-out groups it explains {share:.0%} of it (limit"
                f" {VERDICT_LEAK:.0%})"
            )
    return None


def bins_reason(codes: Codes, own: Mapping[str, FloatArray]) -> str | None:
    """Say of which output of this judge a column holds bins; None where it does of none.

    Bins are ranges that do not overlap: in the order of the output each value of the column comes
    up in one stretch. Nothing that was not made of the output does so on thirty rows.

    Args:
        codes: The column's values as codes; shape (n,).
        own: This judge's outputs by name; shape (n,) each.
    """
    for name, values in own.items():
        finite = np.isfinite(values)
        if finite.sum() < OUTPUT_ROWS or finite.mean() < OUTPUT_SHARE:
            continue
        pairs = np.unique(
            np.stack([values[finite], codes[finite].astype(np.float64)], axis=1), axis=0
        )
        stretches = 1 + np.count_nonzero(np.diff(pairs[:, 1]))
        one_each = len(np.unique(pairs[:, 0])) == len(pairs)
        if one_each and stretches == len(np.unique(pairs[:, 1])) > 1:
            return f"what the judge said: its values are ranges of this judge's {name}"
    return None


def uncertainty_coefficient(codes: Codes, outcome: BoolArray, groups: IntArray) -> float:
    """Return the share of the outcome's entropy that the codes explain on held-out groups; at most
    1, 0 if undefined.

    Args:
        codes: Values as codes; shape (n,).
        outcome: What might be given away; shape (n,).
        groups: Group of each row; shape (n,).
    """
    n = len(codes)
    base = float(outcome.mean()) if n else 0.0
    if not 0.0 < base < 1.0:
        return 0.0
    cell = _value_and_group(codes, groups)
    own_rows, own_hits = np.bincount(groups)[groups], np.bincount(groups, outcome)[groups]
    prior = (outcome.sum() - own_hits + base) / (n - own_rows + 1.0)
    rows = np.bincount(codes)[codes] - np.bincount(cell)[cell]
    hits = np.bincount(codes, outcome)[codes] - np.bincount(cell, outcome)[cell]
    # Clipped, so that one surprise of a row cannot outweigh hundreds of rows that are told right.
    chance = np.clip((hits + prior) / (rows + 1.0), 0.002, 0.998)
    surprise = -np.where(outcome, np.log(chance), np.log1p(-chance)).mean()
    base_entropy = -(base * math.log(base) + (1 - base) * math.log1p(-base))
    return float(1.0 - surprise / base_entropy)


def entropy(counts: FloatArray) -> float:
    """Return the entropy of a distribution given as counts, in nats."""
    present = counts[counts > 0] / max(1.0, float(counts.sum()))
    return float(-(present * np.log(present)).sum())


def _explained_at_least(limit: float, codes: Codes, outcome: BoolArray, groups: IntArray) -> float:
    """Return the uncertainty coefficient where it reaches a limit, else 0."""
    counts = np.bincount(codes.astype(np.int64) * 2 + outcome).astype(np.float64)
    cells = np.pad(counts, (0, len(counts) % 2)).reshape(-1, 2)
    # Cheap first: what the rows themselves do not explain, held-out rows do not either.
    left = sum(entropy(pair) * pair.sum() for pair in cells) / max(1, len(codes))
    if entropy(cells.sum(0)) * (1 - limit) < left:
        return 0.0
    explained = uncertainty_coefficient(codes, outcome, groups)
    return explained if explained >= limit else 0.0


def _value_and_group(codes: Codes, groups: IntArray) -> IntArray:
    """Return a code for each pair of value and group; shape (n,)."""
    values = int(codes.max(initial=0)) + 1
    key = groups * values + codes
    if values * (int(groups.max(initial=0)) + 1) <= 8 * len(codes):
        return key
    # Counts by key would be mostly zeros: number only the pairs that occur.
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _enough(rows: BoolArray, groups: IntArray, least: int) -> bool:
    """Whether rows are many enough, and of groups enough, to say something about a column."""
    return bool(rows.sum() >= PRESENCE_ROWS) and count_groups(groups[rows]) >= least


def _telling_flag(column: Column, label: BoolArray, groups: IntArray) -> str | None:
    """Say that all rows on one side of a two-valued column have the rarer label."""
    values = np.flatnonzero(np.bincount(column.codes))
    if len(values) != 2:
        return None
    positive_is_rare = bool(label.mean() <= 0.5)
    for code in values.tolist():
        rows = column.codes == code
        if _enough(rows, groups, FLAG_GROUPS) and (label[rows] == positive_is_rare).all():
            return f"all {rows.sum()} rows where {column.conditions[code]} have the rarer label"
    return None
