"""Two judges side by side, of runs or of verdict files: the rows that both judged, how each metric
differs on them, and which rows flip.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...judges import Answer, Dataset, EqualGain, InputError, JudgedDataset, Row, equal_gain
from ...judges.metrics import CHOICE_METRICS, compare
from ...judges.metrics.paired_comparison import Change
from ...optimize.holdout.row_fingerprints import row_keys
from ..store.workspace import Workspace
from .flips import BothSides, Flips, flips_of
from .run_summary import read_run
from .show_rows import ShownRows, Side, shown_rows, shown_verdicts

COMPARED = ("precision", "recall", "specificity", "f1", "accuracy", "kappa")
"""Metrics that are compared of judges that decide yes or no."""
OF_GRADES = ("accuracy_grades", "off_by_one")
"""Beside them where judge and people grade on one scale of three or more levels."""


FILE = "file:"
"""What begins the name of a verdict file, where a run could stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """A run, or one side of it, or a judge of a verdict file, that is compared."""

    run_id: str = ""
    side: Side = "after"
    file: str = ""
    """The verdict file, below the workspace; empty where it is a run."""
    judge: str = ""
    """Which judge of the file, where it has several."""

    @property
    def name(self) -> str:
        """How an address names it."""
        if self.file:
            return f"{FILE}{self.file}{':' if self.judge else ''}{self.judge}"
        return self.run_id if self.side == "after" else f"{self.run_id}:before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a judge's figures differ from another's on the same rows."""

    before: str
    """`name@version` of the one, and its model."""
    after: str
    n: int
    """Rows that both judged, with a label."""
    groups: int
    changes: tuple[Change, ...]
    equal_gains: tuple[EqualGain, ...]
    """What is left of each change at the same recall."""
    flips: Flips
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the comparison without the rows that flip."""
        return {
            "before": self.before,
            "after": self.after,
            "n": self.n,
            "right": self.flips.right,
            "wrong": self.flips.wrong,
            "groups": self.groups,
            "changes": [asdict(change) for change in self.changes],
            "equal_gains": [asdict(equal) for equal in self.equal_gains],
            "notes": list(self.notes),
        }


def parse_side(text: str) -> ComparedSide:
    """Read `RUN`, `RUN:before`, `file:FILE` or `file:FILE:JUDGE`.

    Raises:
        InputError: It is none of them.
    """
    if text.startswith(FILE):
        file, _, judge = text.removeprefix(FILE).partition(":")
        return ComparedSide(file=file, judge=judge)
    run_id, colon, side = text.partition(":")
    if colon and side not in ("before", "after"):
        raise InputError(
            f"{text!r} is no run; write RUN, or RUN:before for the prompt that it began with"
        )
    return ComparedSide(run_id=run_id, side="before" if side == "before" else "after")


def compare_runs(workspace: Workspace, before: ComparedSide, after: ComparedSide) -> Comparison:
    """Compare two runs on the rows that both judged; rows are the same where their texts are.

    Raises:
        InputError: One of them has no rows to compare, they share none, or their judges answer on
            other scales.
        ModelError: An answer is not in the record.
    """
    old, new = (rows_of_side(workspace, one) for one in (before, after))
    return compare_rows(old, new)


def rows_of_side(workspace: Workspace, one: ComparedSide) -> ShownRows:
    """Return the rows that may be shown of what is compared, judged.

    Raises:
        InputError: It has no verdicts on rows, or its rows have changed.
        DataError: A verdict file cannot be used.
        ModelError: An answer is not in the record.
    """
    if one.file:
        return shown_verdicts(workspace, workspace.root / Path(one.file), one.judge or None)
    return shown_rows(workspace, read_run(workspace, one.run_id), one.side)


def compare_rows(before: ShownRows, after: ShownRows) -> Comparison:
    """Compare two judges on the rows that both judged.

    Raises:
        InputError: They share no row, or their judges answer on other scales.
    """
    old, new, notes = pair_rows(before.judged, after.judged)
    changes = [
        change for metric in _metrics(old, new) if (change := compare(metric, old, new)) is not None
    ]
    flips = flips_of(BothSides(before=old, after=new, in_slice=np.ones(len(old.dataset), np.bool_)))
    sealed = max(before.sealed, after.sealed)
    if sealed:
        notes.append(f"{sealed:,} sealed rows are left out: the gate alone compares judges there")
    at = [f" at threshold {side.rule.threshold:g}" if side.rule else "" for side in (old, new)]
    return Comparison(
        before=f"{old.judge}{at[0]} on {old.model}",
        after=f"{new.judge}{at[1]} on {new.model}",
        n=flips.n,
        groups=len({row.group_key for row in old.dataset.rows}),
        changes=tuple(changes),
        equal_gains=tuple(equal_gain(change.metric, old, new) for change in changes),
        flips=flips,
        notes=tuple(notes),
    )


def pair_rows(
    before: JudgedDataset, after: JudgedDataset
) -> tuple[JudgedDataset, JudgedDataset, list[str]]:
    """Put two judges' answers on the rows that both have, with what was left out.

    Raises:
        InputError: They share no row, or their judges answer on other scales.
    """
    alike = _same_scale(before, after)
    scales = [side.scale.describe() for side in (before, after)]
    if not alike and "choice" in (before.scale.kind, after.scale.kind):
        raise InputError(
            f"{before.judge} answers {scales[0]}, {after.judge} answers {scales[1]}: no common"
            " decision to compare"
        )
    notes: list[str] = []
    mine, other_keys = keys_of_rows(before.dataset), keys_of_rows(after.dataset)
    if set(mine).isdisjoint(other_keys) and not (has_texts(before) and has_texts(after)):
        mine, other_keys = ([row.id for row in side.dataset.rows] for side in (before, after))
        notes.append("rows are the same where their ids are: a verdict file has no texts")
    labelled = [any(row.label is not None for row in s.dataset.rows) for s in (before, after)]
    # Labels and texts are of the side that has them: a verdict file may have neither.
    richer = has_texts(after) > has_texts(before) and labelled[1]
    base = after if richer or labelled == [False, True] else before
    theirs = {key: i for i, key in enumerate(other_keys)}
    rows: list[Row] = []
    answers: tuple[list[Answer], list[Answer]] = ([], [])
    relabelled = 0
    for i, key in enumerate(mine):
        j = theirs.get(key)
        if j is None:
            continue
        row, other = before.dataset.rows[i], after.dataset.rows[j]
        labels = [
            _label(side.dataset, one, exact=alike) for side, one in ((before, row), (after, other))
        ]
        if labelled[0] == labelled[1] and labels[0] != labels[1]:
            relabelled += 1
            continue
        rows.append(row if base is before else replace(other, id=row.id))
        answers[0].append(before.answers[i])
        answers[1].append(replace(after.answers[j], row_id=row.id))
    if not rows:
        raise InputError("the two have no row with the same texts and label that may be shown")
    dataset = Dataset.of(rows, labels=base.dataset.labels, name=base.dataset.name)
    if not alike:
        notes.append(
            f"{before.judge} answers {scales[0]}, {after.judge} {scales[1]}: compared by yes and no"
        )
    for side in (before, after):
        alone = len(side.dataset) - len(rows) - relabelled
        if alone:
            notes.append(
                f"{alone:,} rows of {side.judge} on {side.dataset.name} are in the one run alone"
            )
    if relabelled:
        notes.append(f"{relabelled:,} rows have another label in the other run and are left out")
    old = replace(before, dataset=dataset, answers=tuple(answers[0]))
    return old, replace(after, dataset=dataset, answers=tuple(answers[1])), notes


def _same_scale(before: JudgedDataset, after: JudgedDataset) -> bool:
    first, second = before.scale, after.scale
    return (first.kind, first.labels) == (
        second.kind,
        second.labels,
    ) and before.dataset.labels == after.dataset.labels


def _label(dataset: Dataset, row: Row, *, exact: bool) -> float | bool | None:
    """Return what people said of a row: the grade, or whether it is positive."""
    return row.label if exact or row.label is None else dataset.positive(row)


def has_texts(judged: JudgedDataset) -> bool:
    """Return whether the rows have the texts that were judged; a verdict file has none."""
    return any(row.inputs for row in judged.dataset.rows[:1])


def keys_of_rows(dataset: Dataset) -> Sequence[Hashable]:
    """Return a key of each row's texts; of rows with the same texts each has its number."""
    seen: dict[bytes, int] = {}
    keys: list[tuple[bytes, int]] = []
    for key in row_keys(dataset):
        seen[key] = seen.get(key, 0) + 1
        keys.append((key, seen[key]))
    return keys


def _metrics(before: JudgedDataset, after: JudgedDataset) -> tuple[str, ...]:
    if before.scale.kind == "choice":
        return tuple(CHOICE_METRICS)
    graded = all(side.same_scale and len(side.scale.levels) > 2 for side in (before, after))
    return (
        (*COMPARED, *OF_GRADES)
        if graded and before.scale.levels == after.scale.levels
        else COMPARED
    )
