"""Labels that may be wrong: where a confident judge contradicts people, listed for a person to look
at.

A list to look at, not a correction. Nothing is relabelled without somebody's mark, and rows on
which judge and label agree are never listed, so that an audit can only speak for the judge.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files.audited_labels import MARKS, Finding, read_audit, reviews_of, with_audited_labels
from ..files.write_beside import write_beside
from ..judged_dataset import JudgedDataset
from ..metrics import Estimate
from ..metrics.benchmark import Benchmark, measure
from ..metrics.catalog import NO_ROWS
from ..metrics.delta import mean_over_rows
from ..notebook_display import html_table
from ..rows import Mark, Row
from ..verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

__all__ = (
    "Finding",
    "Mark",
    "read_audit",
)  # what the face takes from here, beside what is written here


_OF_AUDITORS = ("mark", "right_label", "comment", "inputs")
"""Of a line what an auditor fills in, and the texts, which are columns of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A row whose label a judge contradicts."""

    row: Row
    labelled: bool
    """Whether people call the row positive."""
    verdict: Verdict
    confidence: float | None
    """Of the judge in the class that people did not choose; None where it gave no probability."""
    strength: float
    """The confidence, or without one the distance of the grades as a share of the scale; 0..1."""
    confident: bool
    """Whether the confidence reaches what the judge gives rows that people put into that class, on
    average.
    """

    def to_json(self) -> dict[str, object]:
        """Return the line that an auditor fills in; `mark` and `right_label` are theirs."""
        return {
            "id": self.row.id,
            "mark": "",
            "right_label": None,
            "comment": "",
            "label": self.row.label,
            "labelled": int(self.labelled),
            "verdict": int(self.verdict.positive),
            "score": self.verdict.score,
            "confidence": self.confidence,
            "confident": self.confident,
            "rationale": (
                self.verdict.rationale.encode(errors="replace").decode()
            ),  # a reply may hold half a letter
            "inputs": dict(self.row.inputs),
            "group": self.row.group,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelAudit:
    """The likeliest label errors, and how many there could be."""

    suspects: tuple[Suspect, ...]
    """The most likely first, cut at the limit."""
    found: int
    """Suspects before the cut."""
    n: int
    """Rows with a label and a verdict."""
    at_most: Estimate
    """Share of the n labels that would be wrong if every contradicted label were."""
    confident: Estimate | None
    """Share of the n labels that are contradicted with confidence; None where the judge gives no
    probability.
    """
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        listed = f"{len(self.suspects)} of {self.found:,} suspects"
        return f"LabelAudit({listed}, at most {self.at_most} of the labels wrong, n={self.n:,})"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one line a suspect, the most likely first: both sides, how sure the judge is and
        why, then the row's inputs.
        """
        import pandas as pd

        lines = []
        for suspect in self.suspects:
            body = suspect.to_json()
            own = {name: body[name] for name in body if name not in _OF_AUDITORS}
            # Twice: first in order, then again, so that an input of the same name does not replace
            # a column.
            lines.append({**own, **suspect.row.inputs, **own})
        return pd.DataFrame(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasured:
    """A judge before and after an audit of its labels."""

    before: Benchmark
    after: Benchmark
    marks: Mapping[str, int]
    """Rows by mark."""
    notes: tuple[str, ...]


def likely_label_errors(predictions: JudgedDataset, *, limit: int = 20) -> LabelAudit:
    """List the rows whose label the judge contradicts, the likeliest label error first.

    Contradictions come first in which the judge is as sure of the other class as it is, on average,
    on rows that people put there: the per-class threshold of confident learning (Northcutt, Jiang
    and Chuang 2021). Within these the order is that of confidence, or of the distance between the
    grades where there is no confidence.

    Args:
        predictions: The judge, with the labels.
        limit: How many to list.
    """
    suspects = _suspects(predictions)
    listed = sorted(suspects, key=lambda suspect: (not suspect.confident, -suspect.strength))
    at_most = _share_of(predictions, {s.row.id for s in suspects})
    confident = None
    has_probability = bool(np.isfinite(predictions.probability).any())
    if has_probability:
        confident = _share_of(predictions, {s.row.id for s in suspects if s.confident})
    n = len(predictions.rows)
    notes = [
        f"{len(suspects):,} of {n:,} labels are contradicted: if every one of them were wrong, the"
        f" share of wrong labels would be {at_most}; labels that the judge shares are not counted"
    ]
    if not has_probability:
        notes.append(
            "the judge gives no probability: the order is that of the distance between grades"
        )
    return LabelAudit(
        suspects=tuple(listed[:limit]),
        found=len(suspects),
        n=n,
        at_most=at_most,
        confident=confident,
        notes=tuple(notes),
    )


def write_audit(audit: LabelAudit, path: Path) -> None:
    """Write the suspects as JSONL, one line each, for a person to fill in `mark` and, on grades,
    `right_label`.
    """
    lines = (json.dumps(suspect.to_json(), ensure_ascii=False) for suspect in audit.suspects)
    write_beside(path, "".join(f"{line}\n" for line in lines))


def remeasure(predictions: JudgedDataset, path: Path) -> Remeasured:
    """Measure a judge with the labels people had, and with those that an audit has put right.

    Rows marked `unclear` keep their label.

    Raises:
        DataError: The file of marks cannot be read, or does not fit the rows; see
            `with_audited_labels`.
    """
    audited = with_audited_labels(predictions.dataset, path)
    marks = reviews_of(audited.rows)
    return Remeasured(
        before=measure(predictions),
        after=measure(replace(predictions, dataset=audited)),
        marks={mark: marks.get(mark, 0) for mark in MARKS},
        notes=(
            "only labels that the judge contradicts were looked at, so that correcting them can"
            " only favour it: the figure after is an upper bound",
        ),
    )


def _suspects(predictions: JudgedDataset) -> list[Suspect]:
    # The mean probability of each class on the rows labelled with it; infinite for a class without
    # rows.
    thresholds = {True: math.inf, False: math.inf}
    for positive in (False, True):
        labelled_so = (predictions.positive == positive) & np.isfinite(predictions.probability)
        if labelled_so.any():
            sure = predictions.probability[labelled_so]
            thresholds[positive] = float((sure if positive else 1.0 - sure).mean())
    # How far the grades are apart, as a share of the scale; without a common scale 0.
    distance = np.zeros(len(predictions.rows))
    if predictions.same_scale:
        levels = predictions.scale.levels
        distance = np.abs(predictions.score - predictions.label) / (levels[-1] - levels[0])
    suspects = []
    for i, (row, position) in enumerate(
        zip(predictions.rows, predictions.scored.tolist(), strict=True)
    ):
        verdict, labelled = predictions.answers[position], bool(predictions.positive[i])
        if not isinstance(verdict, Verdict) or verdict.positive == labelled:
            continue
        confidence = None
        strength, confident = float(distance[i]), False
        probability = float(predictions.probability[i])
        if not math.isnan(probability):
            confidence = strength = 1.0 - probability if labelled else probability
            confident = confidence >= thresholds[not labelled]
        suspects.append(
            Suspect(
                row=row,
                labelled=labelled,
                verdict=verdict,
                confidence=confidence,
                strength=strength,
                confident=confident,
            )
        )
    return suspects


def _share_of(predictions: JudgedDataset, ids: Collection[str]) -> Estimate:
    listed = np.array([row.id in ids for row in predictions.rows], np.float64)
    return mean_over_rows(listed, predictions.groups, missing=NO_ROWS)
