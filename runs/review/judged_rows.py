"""Every row that one judge judged and that may be shown, as a column of the matrix keeps it."""

from __future__ import annotations

import hashlib
from textwrap import shorten
from typing import Any

import numpy as np

from ...judges import Answer, JudgedDataset, Row, Verdict
from ..actions.compare_runs import ComparedSide, has_texts, keys_of_rows, rows_of_side
from ..actions.run_summary import read_run
from ..store.workspace import Workspace
from .bench_rows import slice_columns, value_of
from .row_pages import BRIEF, Arrays, RowItem

ERRS, AGREES, NO_LABEL, UNSCORED = range(4)
"""How a verdict stands to the label of its row."""
EXCERPT = 160
"""Characters of a row's texts that a list of rows shows."""


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
    cuts = {name: [value_of(row.meta, name) for row in rows] for name in slice_columns(judged)}
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
    }
    return head, items, arrays


def _item(judged: JudgedDataset, row: Row, answer: Answer) -> RowItem:
    texts = [*row.inputs.values()] or [text for text in row.meta.values() if isinstance(text, str)]
    texts.sort(key=len)  # a statement says more in few letters than the text it is about
    each = EXCERPT // max(len(texts), 1)
    excerpt = " · ".join(shorten(text[: 2 * each], each, placeholder="…") for text in texts if text)
    body = {"inputs": dict(row.inputs), "meta": dict(row.meta)}
    if isinstance(answer, Verdict):
        state = NO_LABEL
        if row.label is not None:
            state = AGREES if judged.is_right(row, answer) else ERRS
        said = _in_words(judged, answer.score, positive=answer.positive)
        body |= {"confidence": answer.confidence, "reasons": answer.rationale}
    else:
        state, said = UNSCORED, f"no verdict: {answer.reason}"
        body |= {"confidence": None, "reasons": answer.detail}
    body |= judged.distribution_fields(answer)
    people = ""
    if row.label is not None:
        people = _in_words(judged, row.label, positive=judged.dataset.positive(row))
    brief = {"row_id": row.id, "state": state, "said": said, "people": people, "excerpt": excerpt}
    return row.id, {BRIEF: brief, **body}


def _in_words(judged: JudgedDataset, grade: float, *, positive: bool) -> str:
    if judged.scale.kind == "choice":
        return judged.scale.name(grade)
    return f"{'yes' if positive else 'no'} ({round(grade, 3):g})"


def _hashed(names: list[bytes]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, np.uint64)
