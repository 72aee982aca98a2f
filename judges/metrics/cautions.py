"""Cautions beside the figures where few rows, few rows of a class or few groups leave them in
doubt.

`benchmarks/coverage.py` measures where the intervals hold the truth as often as they say: from
these numbers on.
"""

from __future__ import annotations

import numpy as np

from ..judged_arrays import BoolArray, JudgedArrays
from .calibration_error import ece_by_chance
from .catalog import METRICS, RowKind
from .intervals import count_rows, effective_groups

FEW_ROWS = 100
FEW_GROUPS = 20
FEW_OF_A_CLASS = 20
"""Rows of one label or verdict, and groups that hold them."""
NOTABLE = 0.25
"""Share of ECE that chance alone may make before the caution says so."""


def metric_cautions(predictions: JudgedArrays) -> dict[str, str]:
    """Return a caution for each metric at the threshold or of probabilities that few rows
    decide.
    """
    has_probability = np.isfinite(predictions.probability)
    shares_grades = predictions.on_grades and len(predictions.scale.levels) > 2
    cautions: dict[str, str] = {}
    for name, metric in METRICS.items():
        # On grades alpha is computed from all of them, not from two classes.
        if name == "krippendorff_alpha" and shares_grades:
            continue
        texts = []
        for kind in metric.caution_on:
            members = ~predictions.positive
            if kind == "that the judge calls positive":
                members = predictions.predicted
            elif kind == "labelled positive":
                members = predictions.positive
            if "probabilities" in metric.needs:
                members = members & has_probability
            texts.append(_few(members, predictions, kind))
        cautions[name] = "; ".join(filter(None, texts))
    if n := predictions.count(has_probability):
        groups, weight = predictions.shared_groups, predictions.weight
        error, by_chance = ece_by_chance(
            predictions.positive[has_probability],
            predictions.probability[has_probability],
            None if groups is None else groups[has_probability],
            None if weight is None else weight[has_probability],
        )
        if by_chance >= NOTABLE * error or n < FEW_ROWS:
            judge = f"a calibrated judge would show about {by_chance:.2f}"
            cautions["ece"] = f"ECE on {_counted(n, 'row')} is biased upwards: {judge}"
    return {name: caution for name, caution in cautions.items() if caution}


def notes(predictions: JudgedArrays) -> list[str]:
    """Return what is to be known of all intervals: that the rows, or their groups, are few."""
    n, codes = predictions.n, predictions.shared_groups
    groups, weight = predictions.group_count, float(n)
    if codes is not None:
        weight = effective_groups(count_rows(codes, predictions.weight))
    texts: list[str] = []
    doubt = "95 % intervals may hold the truth less often than that"
    if 0 < n < FEW_ROWS:
        texts.append(f"only {_counted(n, 'row')}: {doubt}")
    if 0 < groups < FEW_GROUPS and groups < n:
        texts.append(f"the {n} rows belong to only {_counted(groups, 'group')}: {doubt}")
    elif weight < FEW_GROUPS <= groups < n:
        texts.append(f"the {groups} groups weigh as much as {weight:.0f} of equal size: {doubt}")
    return texts


def _few(member: BoolArray, predictions: JudgedArrays, kind: RowKind) -> str:
    rows, groups = predictions.count(member), predictions.shared_groups
    holders = rows if groups is None else len(np.unique(groups[member]))
    if 0 < rows < FEW_OF_A_CLASS:
        return f"only {_counted(rows, 'row')} {kind}"
    # Fewer groups than that altogether are a note of their own.
    if 0 < holders < FEW_OF_A_CLASS <= predictions.group_count:
        return f"only {_counted(holders, 'group')} with rows {kind}"
    return ""


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
