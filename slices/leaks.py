"""Columns that give the label or the verdict away, found from the data alone, held out by group.

A column that gives the human label away would make a perfect and useless slice. A short list of names that bear
labels by convention is left out as well.
"""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from .outcomes import Outcomes, count_groups
from .slice import Missing

if TYPE_CHECKING:
    pass

from .column import Codes, Column

LABEL_LEAK = 0.30
"""Share of the label's entropy a column may explain on held-out groups; honest columns of the reference data stay
under .22, copies of the label lie above .9, second annotators' verdicts above .4."""
VERDICT_LEAK = 0.80
"""The same for the judge's verdict, which an honest column such as the length may well drive."""
PRESENCE_LEAK = 0.40
"""How far the rates of positive labels may lie apart between rows with and rows without a value."""
PRESENCE_ROWS = 30
PRESENCE_GROUPS = 5
FLAG_GROUPS = 10
"""Groups in which one side of a two-valued column must hold nothing but the rarer label to be taken for a leak; labels
that are constant within groups come out so by chance once in a thousand at most."""
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
    *("hallucinated_*", "error_type", "error_text", "n_spans"),
    *("implicit_true_only", "negative_kind", "worst_label", "best_label", "conditional_idk"),
)
"""Names that bear a label by convention, matched against each part of dotted names."""
VERDICT_NAMES = ("*_guess", "*_confidence", "judge_*", "verdict", "verdicts", "score", "rl_f", "rb_llm", "rb_agg")
"""Names that bear a verdict by convention, matched alike."""
HONEST_NAMES = ("*_uncertain", "*_agree", "*_agreement")
"""Of those, last parts that tell how hard a row was for people, not what they said."""


def text_leak_reason(column: Column, outcomes: Outcomes) -> str | None:
    """Say that a feature of the texts holds the label itself.

    The judge has read the same texts, so what they tell of the label, as overlap with the source does, is no leak: on
    MTRAG it explains 45 %. Only a text that *is* the label or the verdict is left out.
    """
    for what, given in (("label", outcomes.positive), ("verdict", outcomes.predicted)):
        part = _explained_at_least(VERDICT_LEAK, column.codes, given, outcomes.groups)
        if part:
            return f"gives the {what} away: on held-out groups it explains {part:.0%} of it (limit {VERDICT_LEAK:.0%})"
    return None


def convention_reason(name: str) -> str | None:
    """Say that a column bears a label by convention, judging by its name; None where it does not."""
    parts = name.lower().split(".")
    if any(fnmatchcase(parts[-1], honest) for honest in HONEST_NAMES):
        return None
    pattern = next((p for p in (*LABEL_NAMES, *VERDICT_NAMES) if any(fnmatchcase(part, p) for part in parts)), None)
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
    there = _present(column)
    if not there.all() and _speaks(there, groups, PRESENCE_GROUPS):
        explained = _explained_at_least(LABEL_LEAK, column.codes[there], label[there], groups[there])
        if explained:
            return (
                f"gives the label away: where it has a value, it explains {explained:.0%} of it on held-out groups "
                f"(limit {LABEL_LEAK:.0%})"
            )
    gap = _presence_gap(there, label, groups)
    if gap >= PRESENCE_LEAK:
        return f"gives the label away: whether it has a value moves the rate of positives by {100 * gap:.0f} points"
    flag = _telling_flag(column, label, groups)
    if flag is not None:
        return f"gives the label away: {flag}"
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
    if entropy(cells.sum(0)) * (1 - limit) < sum(entropy(pair) * pair.sum() for pair in cells) / max(1, len(codes)):
        return 0.0
    found = uncertainty_coefficient(codes, outcome, groups)
    return found if found >= limit else 0.0


def entropy(counts: FloatArray) -> float:
    """Return the entropy of a distribution given as counts, in nats."""
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


def _present(column: Column) -> BoolArray:
    """Whether each row has a value; shape (n,)."""
    absent = np.array([isinstance(condition, Missing) for condition in column.conditions])
    return ~absent[column.codes]


def _speaks(rows: BoolArray, groups: IntArray, least: int) -> bool:
    """Whether rows are many enough, and of groups enough, to say something about a column."""
    return bool(rows.sum() >= PRESENCE_ROWS) and count_groups(groups[rows]) >= least


def _presence_gap(there: BoolArray, label: BoolArray, groups: IntArray) -> float:
    if not all(_speaks(side, groups, PRESENCE_GROUPS) for side in (there, ~there)):
        return 0.0
    return abs(float(label[there].mean() - label[~there].mean()))


def _telling_flag(column: Column, label: BoolArray, groups: IntArray) -> str | None:
    """Say that all rows on one side of a two-valued column have the rarer label."""
    values = np.flatnonzero(np.bincount(column.codes))
    if len(values) != 2:
        return None
    positive_is_rare = bool(label.mean() <= 0.5)
    for code in values.tolist():
        rows = column.codes == code
        if _speaks(rows, groups, FLAG_GROUPS) and (label[rows] == positive_is_rare).all():
            return f"all {rows.sum()} rows where {column.conditions[code]} have the rarer label"
    return None
