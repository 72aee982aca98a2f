"""A person's marks on labels, set while reading rows that a judge got wrong or that flipped."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError, OutputScale
from ...optimize.events import JudgeMeasured
from ..actions.accept import identity
from ..actions.run_summary import RunSummary
from ..store.label_marks import LabelMarks
from .app_state import AppState
from .forms import field_of
from .row_pages import RowPages

_BACK = re.compile(r"/(?:runs|compare)/[\w:./?&=%+-]*(?:#[\w-]+)?")


def marks_of(state: AppState, run: RunSummary, labels: OutputScale) -> LabelMarks:
    """Return the marks of the rows that a run is about."""
    measured = run.last(JudgeMeasured)
    if measured is not None:
        data, data_hash = measured.data, measured.data_hash
    elif run.started is not None:
        data, data_hash = run.started.data, run.started.data_hash
    else:
        raise InputError(f"run {run.run_id} has no rows yet")
    return LabelMarks(root=state.root, data=Path(data).name, data_hash=data_hash, labels=labels)


def set_mark(
    state: AppState, request: Request, marks: LabelMarks, rows: RowPages, fallback: str
) -> Response:
    """Mark the row that a form names, and go back to where it stood.

    Args:
        state: The server's.
        request: A form with `row`, `mark`, `right_label` and `back`.
        marks: Those of the rows.
        rows: Those that may be marked here.
        fallback: Where to go if the form does not say.

    Raises:
        InputError: It is no row of these, no mark, or a label is missing.
    """
    row = field_of(request, "row")
    if rows.read(row) is None:
        raise InputError(f"row {row!r} is not on this page")
    marks.set(
        row,
        field_of(request, "mark"),
        _grade(field_of(request, "right_label")),
        by=identity(state.root),
    )
    back = field_of(request, "back")
    return RedirectResponse(back if _BACK.fullmatch(back) else fallback, 303)


def _grade(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise InputError(f"right label {text!r} is not a number") from None
