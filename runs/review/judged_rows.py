"""Every row that one judge judged and that may be shown, as a column of the matrix keeps it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from ...judges import Answer, JudgedDataset, Row, Unscored, Verdict
from ..actions.compare_runs import ComparedSide, has_texts, keys_of_rows, rows_of_side
from ..actions.run_summary import read_run
from ..actions.show_rows import in_words, verdict_body, verdict_words
from ..store.workspace import Workspace
from .row_pages import BRIEF, Arrays, RowItem

ERRS, AGREES, NO_LABEL, UNSCORED = range(4)
"""How a verdict stands to the label of its row."""
EXCERPT = 160
"""Characters of a row's texts that a list of rows shows."""
MOST_EXAMPLES = 5
"""Rows that are named for one kind of unreadable reply."""
MOST_VALUES = 40
"""Values of a column up to which it is offered as slices."""
_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+(?:[.,]\d+)*")


def judged_rows(
    workspace: Workspace, side: ComparedSide
) -> tuple[dict[str, Any], list[RowItem], Arrays]:  # Any: JSON
    """Return what is kept of a judge's rows: what stands above them, each row, and of all rows
    their keys, states, decisions and slices.

    Raises:
        InputError: There are no such rows, or they have changed.
        DataError: A verdict file cannot be used.
        ModelError: An answer is not in the record.
    """
    shown = rows_of_side(workspace, side)
    judged, rows = shown.judged, shown.judged.dataset.rows
    cuts = {name: [_value_of(row.meta, name) for row in rows] for name in slice_columns(judged)}
    run = None if side.file else read_run(workspace, side.run_id)
    if run and run.slice and run.slice.predicate is not None:
        inside, name = run.slice.predicate.mask(rows), run.slice.name
        cuts[f"slice found in run {run.run_id}"] = [name if one else "the rest" for one in inside]
    values = {name: sorted(set(of_rows)) for name, of_rows in cuts.items()}
    codes = {name: {value: i for i, value in enumerate(values[name])} for name in cuts}
    items = [_item(judged, *pair) for pair in zip(rows, judged.answers, strict=True)]
    choice = judged.scale.kind == "choice"
    decisions = [
        (answer.score if choice else answer.positive) if isinstance(answer, Verdict) else np.nan
        for answer in judged.answers
    ]
    labels = [
        np.nan if row.label is None else row.label if choice else judged.dataset.positive(row)
        for row in rows
    ]
    arrays = {
        "keys": _hashed([repr(key).encode() for key in keys_of_rows(judged.dataset)]),
        "ids": _hashed([row.id.encode("utf-8", "surrogatepass") for row in rows]),
        "states": np.array([body[BRIEF]["state"] for _, body in items], np.uint8),
        "decisions": np.array(decisions, np.float64),
        "labels": np.array(labels, np.float64),
        "surest_first": _ranks(judged),
        "cuts": np.array(
            [[codes[name][value] for value in of_rows] for name, of_rows in cuts.items()], np.int16
        ),
    }
    head = {
        "judge": judged.judge,
        "model": judged.model,
        "simulated": judged.simulated,
        "rows": len(rows),
        "note": shown.note,
        "texts": has_texts(judged),
        "threshold": judged.rule.threshold if judged.rule else None,
        "cuts": list(values.items()),
        "classes": list(judged.scale.labels) if choice else [],
        "unreadable": group_unreadable(judged),
    }
    return head, items, arrays


def slice_columns(judged: JudgedDataset) -> list[str]:
    """Return the columns that cut the rows into a few parts, in the order of their names."""
    values: dict[str, set[str]] = {}
    for row in judged.dataset.rows:
        for name in row.meta:
            seen = values.setdefault(name, set())
            if len(seen) <= MOST_VALUES:
                seen.add(_value_of(row.meta, name))
    few = [name for name in sorted(values) if 2 <= len(values[name]) <= MOST_VALUES]
    return [name for name in few if name not in judged.outputs]


def group_unreadable(judged: JudgedDataset) -> list[dict[str, Any]]:  # Any: JSON
    """Group the rows without a verdict by reason, and by what was said of them but for numbers and
    quotations; the detail is that of the first, and a few rows are named.
    """
    groups: dict[tuple[str, str], list[Unscored]] = {}
    for answer in judged.answers:
        if isinstance(answer, Unscored):
            key = (answer.reason, _PARTICULARS.sub("…", answer.detail))
            groups.setdefault(key, []).append(answer)
    return [
        {
            "reason": group[0].reason,
            "detail": group[0].detail,
            "count": len(group),
            "row_ids": [answer.row_id for answer in group[:MOST_EXAMPLES]],
        }
        for group in sorted(groups.values(), key=len, reverse=True)
    ]


def _value_of(meta: Mapping[str, Any], column: str) -> str:  # Any: whatever the file has
    """Return a column's value as slices name it."""
    value = meta.get(column)
    return "(none)" if value is None else str(value)


def _ranks(judged: JudgedDataset) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return where each row stands among the wrong ones, the surest first; rows that are not wrong
    stand behind them.
    """
    ranks = np.full(len(judged.answers), len(judged.answers), np.int64)
    wrong = judged.disagreements
    ranks[judged.scored[wrong]] = np.arange(len(wrong))
    return ranks


def _item(judged: JudgedDataset, row: Row, answer: Answer) -> RowItem:
    texts = [*row.inputs.values()] or [text for text in row.meta.values() if isinstance(text, str)]
    texts.sort(key=len)  # a statement says more in few letters than the text it is about
    each = EXCERPT // max(len(texts), 1)
    excerpt = " · ".join(shorten(text[: 2 * each], each, placeholder="…") for text in texts if text)
    if isinstance(answer, Verdict):
        state = NO_LABEL
        if row.label is not None:
            state = AGREES if judged.is_right(row, answer) else ERRS
        said, body = verdict_words(judged, answer), verdict_body(judged, answer)
    else:
        state, said = UNSCORED, f"no verdict: {answer.reason}"
        body = {"confidence": None, "rationale": answer.detail}
    people = ""
    if row.label is not None:
        people = in_words(judged, row.label, positive=judged.dataset.positive(row))
    brief = {"row_id": row.id, "state": state, "said": said, "people": people, "excerpt": excerpt}
    return row.id, {BRIEF: brief, "inputs": dict(row.inputs), "meta": dict(row.meta), **body}


def _hashed(names: list[bytes]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, np.uint64)
