"""The gold audit of a slice: its most telling errors marked in the terminal or in a file, and what that changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...judges import JudgedDataset
from ...judges.reliability import Finding, read_audit
from ...slices import SliceAudit, apply_marks, audit_slice, read_slice
from ...slices.error_annotation import annotate_errors, write_marks
from ..terminal import say, say_json
from .find_slices import Search, numbered, search


def audit_named(judged: JudgedDataset, wanted: Search, text: str) -> SliceAudit:
    """Choose the errors of the slice a person means; a slice of the table is looked at in its own direction.

    Raises:
        InputError: There is no such slice, or its metric is not audited.
    """
    if not text.strip().isdecimal():
        return audit_slice(judged, read_slice(text), metric=wanted.metric)
    found = numbered(search(judged, wanted), int(text))
    return audit_slice(judged, found.predicate, metric=wanted.metric, direction=found.direction)


def mark(
    judged: JudgedDataset, audit: SliceAudit, path: Path, *, ask: Callable[[str], str] | None
) -> dict[str, Finding]:
    """Return the marks of a file; where there is none, ask for them one by one, or write the file to be filled in.

    Args:
        judged: The rows.
        audit: The errors to mark.
        path: The file of marks, written after every answer.
        ask: Puts a question; None where nobody is there to answer.
    """
    if path.exists():
        return read_audit(path)
    kept: dict[str, Finding] = {}
    write_marks(audit, kept, path)
    if ask is not None:
        for row_id, finding in annotate_errors(audit, judged.dataset.labels, ask=ask, show=say):
            kept[row_id] = finding
            write_marks(audit, kept, path)
    return kept


def tell_audit(
    judged: JudgedDataset, audit: SliceAudit, path: Path, *, ask: Callable[[str], str] | None, as_json: bool
) -> None:
    """Print the audit, and the slice's metric with the audited labels once there are marks."""
    marks = mark(judged, audit, path, ask=ask)
    after = apply_marks(judged, audit, marks) if marks else None
    if as_json:
        body: dict[str, Any] = {"predicate": str(audit.predicate), "metric": audit.metric}  # Any: JSON
        body |= {"direction": audit.direction, "value": audit.value.to_json(), "rest": audit.rest.to_json()}
        body |= {"needed": audit.needed, "errors": [s.to_json() for s in audit.errors.suspects], "path": str(path)}
        if after is not None:
            body |= {"marks": dict(after.marks), "audited": after.after.to_json()}
        say_json(body)
        return
    say(f"{audit.predicate}: {audit.describe()}")
    if after is None:
        say(f"{len(audit.errors.suspects)} errors written to {path}: mark them, and run the same command again")
    else:
        say(after.describe())
