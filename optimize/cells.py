"""Which rows a judge gets right and wrong: the kinds of error, the cells of a column's values, and
labels in doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..judges import BoolArray, Dataset, IntArray, JudgedDataset
from ..judges.duplicates import Clusters, join_near_duplicates
from ..slices import read_features

LEAST_ROWS = 8
"""Rows that a value of a column needs for a line of the table."""
CELLS = ("right positives", "false positives", "false negatives", "right negatives")


def kinds_of_error(judged: JudgedDataset) -> dict[str, BoolArray]:
    """Return which scored rows are errors of each kind, shape (n,) each.

    Two of a decision, and where people and judge grade alike a right decision with another grade;
    else pairs of classes, the commonest first.
    """
    if is_choice(judged):
        pairs = Counter(
            zip(
                judged.label[judged.wrong].tolist(),
                judged.score[judged.wrong].tolist(),
                strict=True,
            )
        )
        names = judged.scale.labels
        return {
            f"{names[int(label)]!r} called {names[int(score)]!r}": (
                (judged.label == label) & (judged.score == score)
            )
            for (label, score), _ in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
        }
    kinds = {
        "false positive": judged.predicted & ~judged.positive,
        "false negative": ~judged.predicted & judged.positive,
    }
    if judged.same_scale:
        kinds["grade off"] = ~judged.wrong & (judged.label != judged.score)
    return kinds


def label_doubts(dataset: Dataset) -> dict[str, str]:
    """Return which labelled rows have a near-duplicate that people decided otherwise: by id, the id
    of the first such row. Every text of the two must be nearly the same.
    """
    rows = [row for row in dataset.rows if row.label is not None]
    clusters = Clusters(len(rows))
    join_near_duplicates(rows, clusters, each_input=True)
    first: dict[int, dict[float, str]] = {}
    decisions = [dataset.decision(row) for row in rows]
    for i, row in enumerate(rows):
        first.setdefault(clusters.find(i), {}).setdefault(decisions[i], row.id)
    doubts: dict[str, str] = {}
    for i, row in enumerate(rows):
        others = first[clusters.find(i)].items()
        other = next((twin for decision, twin in others if decision != decisions[i]), None)
        if other is not None:
            doubts[row.id] = other
    return doubts


def column_values(
    judged: JudgedDataset,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> dict[str, dict[str, str]]:
    """Return what rows have in each column that slices may use: by column and row id, the value as
    a condition such as `channel = web`; rare values are left out.

    Args:
        judged: Training rows.
        columns: As in `find_slices`.
        exclude: As in `find_slices`.
        keep: As in `find_slices`.
    """
    values: dict[str, dict[str, str]] = {}
    features = read_features(judged, columns=columns, exclude=exclude, keep=keep)
    for column in features.columns:
        own = values.setdefault(column.name, {})
        codes: list[int] = column.codes.tolist()
        for row, code in zip(judged.rows, codes, strict=True):
            condition = column.conditions[code]
            if condition is not None:
                own[row.id] = " ".join(str(condition).split())
    return values


def count_cells(
    judged: JudgedDataset, values: Mapping[str, str], *, least: int = LEAST_ROWS
) -> dict[str, tuple[int, ...]]:
    """Count the rows of each value by cell: true positives, false positives, false negatives, true
    negatives; of a choice those that are right and wrong.

    Args:
        judged: Judged rows.
        values: Of each row, by its id.
        least: Rows that a value needs to be counted.
    """
    cells = _cells(judged)
    counts: dict[str, list[int]] = {}
    for row, cell in zip(judged.rows, cells.tolist(), strict=True):
        if row.id in values:
            counts.setdefault(values[row.id], [0] * (2 if is_choice(judged) else 4))[cell] += 1
    return {value: tuple(n) for value, n in sorted(counts.items()) if sum(n) >= least}


def is_choice(judged: JudgedDataset) -> bool:
    """Whether the judge chooses among labels that have no order."""
    return judged.scale.kind == "choice"


def _cells(judged: JudgedDataset) -> IntArray:
    """Return the number of each scored row's cell; shape (n,)."""
    if is_choice(judged):
        return judged.wrong.astype(np.int64)
    return 2 * (~judged.predicted).astype(np.int64) + (judged.predicted == judged.wrong)


def information(counts: Mapping[str, tuple[int, ...]]) -> float:
    """Say how much a column tells of the cells: the G statistic less its degrees of freedom."""
    table = np.array(list(counts.values()), np.float64)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    seen = table > 0
    g = 2 * float((table[seen] * np.log(table[seen] / expected[seen])).sum())
    return g - (len(table) - 1) * (int((table.sum(0) > 0).sum()) - 1)
