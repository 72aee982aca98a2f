"""Every row that one judge judged and that may be shown, as a column of the matrix keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from ...judges import Answer, JudgedDataset, Row, Unscored, Verdict
from ..actions.compare_runs import ComparedSide, has_texts, keys_of_rows, rows_of_side
from ..actions.run_summary import read_run
from ..store.workspace import Workspace
from .bench_rows import slice_columns, value_of
from .row_pages import BRIEF, Arrays, RowItem

ERRS, AGREES, NO_LABEL, UNSCORED = range(4)
"""How a verdict stands to the label of its row."""
EXCERPT = 160
"""Characters of a row's texts that a list of rows shows."""
FOUND = "slice found in run"
"""What names the slice of an optimization, among the columns that cut its rows."""


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
    states = [_state(judged, *pair) for pair in zip(rows, judged.answers, strict=True)]
    cuts = {name: [value_of(row.meta, name) for row in rows] for name in slice_columns(judged)}
    cuts.update(_slice_found(workspace, side, judged))
    values = {name: sorted(set(of_rows)) for name, of_rows in cuts.items()}
    arrays: dict[str, np.ndarray[Any, Any]] = {  # Any: of whatever type
        "keys": _hashed([repr(key).encode() for key in keys_of_rows(judged.dataset)]),
        "ids": _hashed([row.id.encode("utf-8", "surrogatepass") for row in rows]),
        "states": np.array(states, np.uint8),
        "decisions": np.array([_decision(judged, answer) for answer in judged.answers]),
    }
    for i, (name, of_rows) in enumerate(cuts.items()):
        codes = {value: code for code, value in enumerate(values[name])}
        arrays[f"cut {i}"] = np.array([codes[value] for value in of_rows], np.int16)
    head = {
        "judge": judged.judge,
        "model": judged.model,
        "simulated": judged.simulated,
        "rows": len(rows),
        "note": shown.note,
        "texts": has_texts(judged),
        "threshold": judged.rule.threshold if judged.rule else None,
        "cuts": [[name, values[name]] for name in cuts],
    }
    items: list[RowItem] = [
        (row.id, _item(judged, row, answer, state))
        for row, answer, state in zip(rows, judged.answers, states, strict=True)
    ]
    return head, items, arrays


def _item(
    judged: JudgedDataset, row: Row, answer: Answer, state: int
) -> dict[str, Any]:  # Any: JSON
    texts = [*row.inputs.values()] or [text for text in row.meta.values() if isinstance(text, str)]
    texts.sort(key=len)  # a statement says more in few letters than the text it is about
    each = EXCERPT // max(len(texts), 1)
    excerpt = " · ".join(shorten(text[: 2 * each], each, placeholder="…") for text in texts if text)
    if isinstance(answer, Verdict):
        said = _in_words(judged, answer.score, positive=answer.positive)
    else:
        said = f"no verdict: {answer.reason}"
    people = ""
    if row.label is not None:
        people = _in_words(judged, row.label, positive=judged.dataset.positive(row))
    return {
        BRIEF: {"state": state, "said": said, "people": people, "excerpt": excerpt},
        "inputs": dict(row.inputs),
        "meta": dict(row.meta),
        "confidence": answer.confidence if isinstance(answer, Verdict) else None,
        "reasons": answer.rationale if isinstance(answer, Verdict) else answer.detail,
    }


def _in_words(judged: JudgedDataset, grade: float, *, positive: bool) -> str:
    if judged.scale.kind == "choice":
        return judged.scale.name(grade)
    return f"{'yes' if positive else 'no'} ({grade:g})"


def _state(judged: JudgedDataset, row: Row, answer: Answer) -> int:
    if isinstance(answer, Unscored):
        return UNSCORED
    if row.label is None:
        return NO_LABEL
    return AGREES if judged.is_right(row, answer) else ERRS


def _decision(judged: JudgedDataset, answer: Answer) -> float:
    """Return what two judges may decide otherwise: the class of a choice, else yes or no."""
    if isinstance(answer, Unscored):
        return np.nan
    return answer.score if judged.scale.kind == "choice" else float(answer.positive)


def _slice_found(
    workspace: Workspace, side: ComparedSide, judged: JudgedDataset
) -> Mapping[str, list[str]]:
    """Return which rows lie in the slice that an optimization is about."""
    run = None if side.file else read_run(workspace, side.run_id)
    if run is None or run.slice is None or run.slice.predicate is None:
        return {}
    inside = run.slice.predicate.mask(judged.dataset.rows)
    return {f"{FOUND} {run.run_id}": [run.slice.name if one else "the rest" for one in inside]}


def _hashed(names: list[bytes]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, np.uint64)
