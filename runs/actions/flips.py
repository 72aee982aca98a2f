"""Rows that a new prompt decides otherwise: which became right, which became wrong, on open rows.

Both prompts' answers come from the record of calls; no model is asked. The holdout and the final
rows stay sealed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...judges import BoolArray, InputError, JudgedDataset, Row, Verdict
from ...optimize.word_diff import Piece, diff_words
from ..store.workspace import Workspace
from .run_summary import RunSummary
from .show_rows import error_of, in_words, shown_rows, verdict_body, verdict_words

Direction = Literal["became right", "became wrong"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides:
    """Open rows with both prompts' answers, row by row."""

    before: JudgedDataset
    after: JudgedDataset | None
    """None where there is no new prompt."""
    in_slice: BoolArray
    """Shape (rows,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A row that both prompts answered, one of them wrongly."""

    row_id: str
    direction: Direction
    error: str
    """The error that was mended, or made; of a choice, which class was called which."""
    in_slice: bool
    label: float
    """The human grade, on the dataset's scale."""
    positive: bool
    """Whether people call the row positive."""
    people: str
    """What people say, in words."""
    judge: tuple[str, str]
    """What the judge said before and says after, in words."""
    sides: Mapping[str, Mapping[str, Any]]  # Any: JSON
    """Score, decision, confidence, rationale and distribution, `before` and `after`."""
    inputs: Mapping[str, str]
    meta: Mapping[str, Any]  # Any: whatever the file has

    @property
    def rationale(self) -> tuple[Piece, ...]:
        """Both rationales word by word; made when it is asked for, as a page shows few rows of
        many.
        """
        return diff_words(*(side["rationale"] for side in self.sides.values()))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the flip as `runs show --flips --json` prints it."""
        return {
            "row_id": self.row_id,
            "direction": self.direction,
            "error": self.error,
            "in_slice": self.in_slice,
            "label": self.label,
            "positive": self.positive,
            **self.sides,
            "inputs": dict(self.inputs),
            "meta": dict(self.meta),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """Every flip of a run, those that became wrong first, else in the order of the data."""

    rows: tuple[Flip, ...]
    right: int
    """Rows that became right."""
    wrong: int
    n: int
    """Rows with a label that both prompts answered; 0 where there is no new prompt."""


def flips_of(rows: BothSides) -> Flips:
    """Return the rows that changed sides; a row that one of the prompts did not answer is none of
    them.
    """
    if rows.after is None:
        return Flips(rows=(), right=0, wrong=0, n=0)
    both = rows.before.scored[np.isin(rows.before.scored, rows.after.scored)]
    flipped: list[Flip] = []
    for i in both:
        old, new = rows.before.answers[i], rows.after.answers[i]
        if isinstance(old, Verdict) and isinstance(new, Verdict):
            row, in_slice = rows.before.dataset.rows[i], bool(rows.in_slice[i])
            if rows.before.is_right(row, old) != rows.before.is_right(row, new):
                flipped.append(_flip(rows.before, row, old, new, in_slice=in_slice))
    flipped.sort(key=lambda flip: flip.direction, reverse=True)
    right = sum(flip.direction == "became right" for flip in flipped)
    return Flips(rows=tuple(flipped), right=right, wrong=len(flipped) - right, n=len(both))


def both_sides(workspace: Workspace, run: RunSummary) -> BothSides:
    """Return a run's open rows with the recorded answers of its prompt and of the best new one; of
    a run that has not ended only the rows that both were asked about.

    Raises:
        InputError: The run is no optimization, has not chosen a prompt yet, or its data have
            changed.
        ModelError: An answer is not in the record.
    """
    run.require_optimization()
    if run.best is None or run.slice is None:
        raise InputError(
            f"run {run.run_id!r} has chosen no prompt yet", hint="wait for it, or resume it"
        )
    before, after = shown_rows(workspace, run, "before").judged, None
    if run.after is not None:
        after = shown_rows(workspace, run, "after").judged
        judged = {row.id for row in after.dataset.rows}
        before = before.only([i for i, r in enumerate(before.dataset.rows) if r.id in judged])
    in_slice = np.ones(len(before.dataset), np.bool_)
    if run.slice.predicate is not None:
        in_slice = run.slice.predicate.mask(before.dataset.rows)
    return BothSides(before=before, after=after, in_slice=in_slice)


def _flip(judged: JudgedDataset, row: Row, old: Verdict, new: Verdict, *, in_slice: bool) -> Flip:
    assert row.label is not None  # it is scored
    wrong = new if judged.is_right(row, old) else old
    return Flip(
        row_id=row.id,
        direction="became right" if wrong is old else "became wrong",
        error=error_of(judged, row, wrong),
        in_slice=in_slice,
        label=row.label,
        positive=judged.dataset.positive(row),
        people=in_words(judged, row.label, positive=judged.dataset.positive(row)),
        judge=(verdict_words(judged, old), verdict_words(judged, new)),
        sides={"before": verdict_body(judged, old), "after": verdict_body(judged, new)},
        inputs=row.inputs,
        meta=row.meta,
    )
