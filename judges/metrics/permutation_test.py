"""The exact test of a paired comparison by groups: what if the two judges' answers had been swapped
in some of them?

If the new judge is no better than the old one, each group's two sets of answers could as well have
come the other way round. The metric's difference is taken again for every way to swap groups; p is
the share of ways in which it is as large as the observed one (the paired permutation test of Fisher
1935). It needs no standard error, which few or unequal groups estimate badly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..judged_arrays import CLASS_METRICS, BoolArray, FloatArray, IntArray
from ..judged_dataset import JudgedDataset
from .catalog import metric_of, sign_of
from .influence import Counts
from .paired_comparison import UNMOVED, Change, common_rows

FEW_GROUPS = 30
"""Where verdicts changed in fewer groups than this, the exact test has a say beside the one by the
standard error.
"""
EXACT_GROUPS = 15
"""Up to this many changed groups, every way to swap them is tried: 32,768 at most."""
DRAWS = 10_000
"""Ways that are drawn where there are more."""
BLOCK = 2_048
"""Ways that are reckoned at once."""


def with_permutation_p(
    change: Change | None, before: JudgedDataset, after: JudgedDataset
) -> Change | None:
    """Let the larger of the two p-values stand where verdicts changed in fewer than `FEW_GROUPS`
    groups.

    For macro F1 it always stands.

    These are counted by verdicts: one changed verdict moves the influence of every row on precision
    a little, so that `Change.changed_groups` may count nearly all groups.

    Args:
        change: As `compare` returned it for the two.
        before, after: Two answers to the same dataset, rows in the same order.
    """
    if change is None:
        return None
    rows = common_rows(before, after)
    before, after = before.only(rows), after.only(rows)
    classes = np.unique(np.concatenate([before.label, before.score, after.score]))
    old = count_cells(change.metric, before, before.groups, classes=classes)
    new = count_cells(change.metric, after, before.groups, classes=classes)
    # Macro F1 hangs on its rarest class, of which there may be few groups however many changed.
    few = (
        changed_groups(change.metric, old, new).sum() < FEW_GROUPS
        or change.metric == "f1_macro_grades"
    )
    if not few:
        return change
    p = permutation_p(change.metric, old, new)
    return replace(change, p=max(change.p, p), swap_p=p)


def count_cells(
    metric: str, predictions: JudgedDataset, groups: IntArray, *, classes: FloatArray | None = None
) -> Counts:
    """Count each group's rows by label and verdict; shape (G, 4), or (G, K * K) for a metric of K
    classes.

    Of a metric that is a mean over rows: the sum of what they count, and what they lack of 1 each;
    shape (G, 2).

    Args:
        metric: Which sides are compared.
        predictions: The rows.
        groups: The group of each row.
        classes: The grades or classes that a table of classes has; those that occur unless given.
    """
    label, predicted = predictions.compared(metric)
    size, of_rows = 2, metric_of(metric).of_rows
    if of_rows is not None:
        return sums_by_group(
            of_rows(label.astype(np.float64), predicted.astype(np.float64)), groups
        )
    if metric in CLASS_METRICS:
        levels = np.unique(np.concatenate([label, predicted]) if classes is None else classes)
        size = len(levels)
        cell = size * np.searchsorted(levels, label) + np.searchsorted(levels, predicted)
    else:
        cell = 2 * label.astype(np.int64) + predicted.astype(np.int64)
    cells, count = size * size, int(groups.max()) + 1 if len(groups) else 0
    return np.bincount(cells * groups + cell, minlength=cells * count).reshape(count, cells)


def sums_by_group(counts: FloatArray, groups: IntArray) -> FloatArray:
    """Return what the rows of each group count, and what they lack of 1 each; shape (G, 2)."""
    sums = [np.bincount(groups, weights=one) for one in (counts, 1.0 - counts)]
    return np.stack(sums, axis=1).astype(np.float64)


def cells_read(metric: str) -> slice | list[int]:
    """Return the columns of `count_cells` that a metric reads."""
    entry = metric_of(metric)
    return (
        slice(None) if metric in CLASS_METRICS or entry.of_rows is not None else list(entry.cells)
    )


def changed_groups(metric: str, before: Counts, after: Counts) -> BoolArray:
    """Return in which groups a count that the metric reads differs; shape (G,), of counts as
    `count_cells` has them.
    """
    cells = cells_read(metric)
    return np.any(np.abs(before[:, cells] - after[:, cells]) > UNMOVED, axis=1)


def permutation_p(
    metric: str,
    before: Counts,
    after: Counts,
    *,
    exact: int = EXACT_GROUPS,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """Return the one-sided p-value against no improvement, exact or, with many groups, by draws.

    Args:
        metric: Whose difference is tested.
        before, after: Counts of each group's rows by cell, as `count_cells` has them.
        exact: Up to this many changed groups, every way to swap them is tried.
        draws: Ways to swap that are drawn where there are more.
        seed: Of the draws.
    """
    gain = (after - before)[changed_groups(metric, before, after)]
    if len(gain) <= exact:
        # Each number from 0 to 2^groups - 1 is one way; its bits say which groups are swapped.
        swapped = (np.arange(2 ** len(gain))[:, None] >> np.arange(len(gain))) & 1
    else:
        swapped = np.random.default_rng(seed).integers(0, 2, (draws, len(gain)))
        swapped[0] = 0  # the observed answers are one of the ways
    differences, sign = np.empty(len(swapped)), sign_of(metric)
    # Some at a time: the tables of many classes would fill the memory.
    for first in range(0, len(swapped), BLOCK):
        moved = swapped[first : first + BLOCK] @ gain
        new, old = (
            value_of_cells(metric, after.sum(0) - moved),
            value_of_cells(metric, before.sum(0) + moved),
        )
        differences[first : first + BLOCK] = sign * (new - old)
    # A way in which the metric does not exist counts against the new judge.
    return float((np.isnan(differences) | (differences >= differences[0] - 1e-12)).mean())


def value_of_cells(metric: str, cells: Counts) -> FloatArray:
    """Return the metric of each line of counts as `count_cells` has them; shape (lines,), NaN where
    it is undefined.
    """
    size, entry = round(cells.shape[1] ** 0.5), metric_of(metric)
    if entry.of_rows is not None:
        return cells[:, 0] / cells.sum(1)
    assert entry.formula is not None, metric
    return entry.formula(cells.reshape(-1, size, size).astype(np.float64))
