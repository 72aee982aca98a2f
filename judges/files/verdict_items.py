"""Aggregate several verdicts on one item: a claim judged chunk by chunk is supported if any chunk
supports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import orjson

from .columns import Draft
from .problems import Problems
from .records import Cell

Aggregate = Literal["max", "min", "mean"]
"""How the grades of one item become one."""

INPUTS = "inputs."
"""What the names of columns begin with that hold a row's texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredDraft:
    """One row of a verdict file before it is a `Row`: its draft, and what the judge answered."""

    draft: Draft
    score: float | None
    missing: str = ""
    """Why there is no score."""
    confidence: float | None = None


def aggregate_rows(
    rows: Sequence[ScoredDraft],
    how: Aggregate,
    by: Sequence[str],
    problems: Problems,
    notes: list[str],
) -> list[ScoredDraft]:
    """Make the rows that share the same values in some columns into one row each, in order of first
    appearance.

    Score and label are the maximum, minimum or mean of the rows'. An item of which one row has no
    score has none: what is missing could have decided it. Texts, reasons and confidence come from
    the first row that decided the score; a mean has no confidence. Columns that differ within an
    item are left out. The cells of the columns `by` are in `draft.aside`.

    Raises:
        DataError: A row has no value in one of the columns.
    """
    items: dict[tuple[str, ...], list[ScoredDraft]] = {}
    for row in rows:
        key: list[str] = []
        for column in by:
            cell = row.draft.aside[column]
            if cell is None or cell == "":
                problems.add(
                    row.draft.at, f"field {column!r} is empty; it names the item the row belongs to"
                )
            key.append("" if cell is None else str(cell))
        items.setdefault(tuple(key), []).append(row)
    problems.check(hint="each row needs the columns of --by with --aggregate")
    merged = [_merge(key, item, how, by) for key, item in items.items()]
    _note(list(items.values()), merged, how, by, notes)
    return merged


def _merge(
    key: tuple[str, ...], rows: list[ScoredDraft], how: Aggregate, by: Sequence[str]
) -> ScoredDraft:
    join = {"max": max, "min": min, "mean": fmean}[how]
    unscored = [row for row in rows if row.score is None]
    score, missing = None, ""
    if unscored:
        missing = f"{len(unscored)} of its {len(rows)} rows have no score: {unscored[0].missing}"
    else:
        score = join([row.score for row in rows if row.score is not None])
    decider = next((row for row in rows if row.score == score), rows[0])
    labels = [row.draft.label for row in rows if row.draft.label is not None]
    shared: dict[str, Cell] = {}
    for name, value in decider.draft.meta.items():
        if name.startswith(INPUTS) or all(row.draft.meta.get(name) == value for row in rows):
            shared[name] = value
    draft = replace(
        decider.draft,
        at=rows[0].draft.at,
        id=key[0] if len(key) == 1 else orjson.dumps(key).decode(),
        label=join(labels) if labels else None,
        group=rows[0].draft.group,
        meta=shared | {column: rows[0].draft.aside[column] for column in by},
    )
    # No row gave a mean, so there is no confidence in it.
    confidence = None if how == "mean" else decider.confidence
    return ScoredDraft(draft=draft, score=score, missing=missing, confidence=confidence)


def _note(
    items: list[list[ScoredDraft]],
    merged: list[ScoredDraft],
    how: Aggregate,
    by: Sequence[str],
    notes: list[str],
) -> None:
    rows = differing = strays = 0
    columns: set[str] = set()
    for item in items:
        rows += len(item)
        differing += len({row.draft.label for row in item}) > 1
        strays += len({row.draft.group for row in item}) > 1
        for row in item:
            columns.update(row.draft.meta)
    labels = "their labels agree"
    if differing:
        labels = f"in {differing:,} items labels differ, and the label is their {how} too"
    notes.append(
        f"{rows:,} rows are {len(items):,} items, one per {' and '.join(by)}: the score is the"
        f" {how}; {labels}"
    )
    columns = columns.difference(*(row.draft.meta for row in merged))
    if columns:
        notes.append(
            f"columns that differ within an item were left out: {', '.join(sorted(columns))}"
        )
    if strays:
        notes.append(
            f"{strays:,} items have rows of several groups; each stands in the group of its"
            " first row"
        )
