"""What few rows, few rows of a class or few groups leave in doubt, said beside the figures.

`benchmarks/coverage.py` measures where the intervals hold the truth as often as they say: from these numbers on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..judged import BoolArray, IntArray, JudgedDataset
from .calibration_error import ece_by_chance
from .intervals import effective_groups

FEW_ROWS = 100
FEW_GROUPS = 20
FEW_OF_A_CLASS = 20
"""Rows of one label or verdict, and groups that hold them."""
NOTABLE = 0.25
"""Share of ECE that chance alone may make before the remark says so."""

CLASSES: Mapping[str, tuple[str, ...]] = {
    "precision": ("that the judge calls positive",),
    "recall": ("labelled positive",),
    "specificity": ("labelled negative",),
    "f1": ("labelled positive",),
    "balanced_accuracy": ("labelled positive", "labelled negative"),
    "mcc": ("labelled positive", "labelled negative"),
    "kappa": ("labelled positive", "labelled negative"),
    "krippendorff_alpha": ("labelled positive", "labelled negative"),
    "auroc": ("labelled positive", "labelled negative"),
    "average_precision": ("labelled positive",),
}
"""The rows that decide how much is known of a metric."""


def remarks(judged: JudgedDataset) -> dict[str, str]:
    """Return a remark for each metric at the threshold or of probabilities that few rows bear on."""
    everything = np.ones(len(judged.scored), np.bool_)
    stated = np.isfinite(judged.probability)
    found = {}
    shares_grades = judged.on_grades and len(judged.scale.levels) > 2
    for metric, classes in CLASSES.items():
        if metric == "krippendorff_alpha" and shares_grades:
            continue
        among = stated if metric in ("auroc", "average_precision") else everything
        doubts = [_few(_members(judged, rows) & among, judged.groups, rows) for rows in classes]
        found[metric] = "; ".join(filter(None, doubts))
    found["ece"] = _bias(judged, stated)
    return {metric: remark for metric, remark in found.items() if remark}


def notes(judged: JudgedDataset) -> list[str]:
    """Return what is to be known of all intervals: that the rows, or their groups, are few."""
    n, sizes = len(judged.scored), np.bincount(judged.groups)
    groups, weight = len(sizes), effective_groups(sizes)
    found = []
    doubt = "95 % intervals may hold the truth less often than that"
    if 0 < n < FEW_ROWS:
        found.append(f"only {_counted(n, 'row')}: {doubt}")
    if 0 < groups < FEW_GROUPS and groups < n:
        found.append(f"the {n} rows belong to only {_counted(groups, 'group')}: {doubt}")
    elif weight < FEW_GROUPS <= groups < n:
        found.append(f"the {groups} groups weigh as much as {weight:.0f} of equal size: {doubt}")
    return found


def _members(judged: JudgedDataset, rows: str) -> BoolArray:
    if rows == "that the judge calls positive":
        return judged.predicted
    return judged.positive if rows == "labelled positive" else ~judged.positive


def _few(member: BoolArray, groups: IntArray, rows: str) -> str:
    count, held = int(member.sum()), len(np.unique(groups[member]))
    if 0 < count < FEW_OF_A_CLASS:
        return f"only {_counted(count, 'row')} {rows}"
    # Fewer groups than that altogether are a note of their own.
    if 0 < held < FEW_OF_A_CLASS <= len(np.unique(groups)):
        return f"only {_counted(held, 'group')} with rows {rows}"
    return ""


def _bias(judged: JudgedDataset, stated: BoolArray) -> str:
    n = int(stated.sum())
    if n == 0:
        return ""
    seen, chance = ece_by_chance(judged.positive[stated], judged.probability[stated], judged.groups[stated])
    if chance < NOTABLE * seen and n >= FEW_ROWS:
        return ""
    return f"ECE on {_counted(n, 'row')} is biased upwards: a calibrated judge would show about {chance:.2f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
