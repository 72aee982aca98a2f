"""The rows of one slice with their verdicts, those to look at first at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..judges import JudgedDataset, Row, Verdict
from .inspect_slice import members
from .slice import Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow:
    """One row of a slice with its verdict."""

    row: Row
    verdict: Verdict
    labelled: bool
    """Whether people call it positive."""
    classes: tuple[str, str] | None = None
    """People's class and the judge's, where it chooses among classes."""

    @property
    def outcome(self) -> str:
        """What kind of answer it is, in words."""
        if self.classes is not None:
            label, verdict = self.classes
            return "right" if label == verdict else f"{label} called {verdict}"
        if self.labelled == self.verdict.positive:
            return "right"
        return "false positive" if self.verdict.positive else "false negative"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the row with whole texts."""
        return {
            "id": self.row.id,
            "group": self.row.group,
            "label": self.row.label,
            "labelled": self.labelled,
            "score": self.verdict.score,
            "verdict": self.verdict.positive,
            "confidence": self.verdict.confidence,
            "outcome": self.outcome,
            "rationale": self.verdict.rationale,
            "inputs": dict(self.row.inputs),
            "metadata": dict(self.row.meta),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRows:
    """The rows of a slice, errors first and the judge's surest first among them."""

    predicate: Predicate
    rows: tuple[SliceRow, ...]
    """Cut at the limit."""
    found: int
    """Rows before the cut: all scored rows of the slice, or its errors."""
    errors: int
    support: int

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the rows and how many there are."""
        counts = {"found": self.found, "errors": self.errors, "support": self.support}
        return {
            "predicate": str(self.predicate),
            **counts,
            "rows": [row.to_json() for row in self.rows],
        }


def list_rows(
    judged: JudgedDataset, predicate: Predicate, *, errors_only: bool, limit: int
) -> SliceRows:
    """Return the scored rows of a slice, errors first.

    Raises:
        InputError: No row is in the slice, or no row has a column that it names.
    """
    inside, scale = members(judged.rows, predicate), judged.scale
    wrong = [i for i in judged.disagreements if inside[i]]
    chosen = list(wrong)
    if not errors_only:
        chosen += sorted({*inside.nonzero()[0].tolist()} - {*wrong})
    rows = tuple(
        SliceRow(
            row=judged.rows[i],
            verdict=judged.verdicts[i],
            labelled=bool(judged.positive[i]),
            classes=(scale.name(judged.label[i]), scale.name(judged.score[i]))
            if scale.kind == "choice"
            else None,
        )
        for i in chosen[:limit]
    )
    return SliceRows(
        predicate=predicate,
        rows=rows,
        found=len(chosen),
        errors=len(wrong),
        support=int(inside.sum()),
    )
