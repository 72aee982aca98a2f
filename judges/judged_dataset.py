"""Rows with a judge's answers: the one table that metrics, slices and the gate read."""

# What `JudgedArrays` names is worked out once.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError
from .judged_arrays import BoolArray, FloatArray, IntArray, JudgedArrays
from .notebook_display import FIRST_ROWS, SIMULATED, html_table
from .rows import Row
from .scale import DecisionRule, OutputScale
from .verdict import Answer, Unscored, Verdict, apply_rule, decided_probability

if TYPE_CHECKING:
    import pandas as pd


def group_codes(rows: Iterable[Row]) -> IntArray:
    """Return codes 0..G-1 of the rows' groups in order of first appearance; a row without one is
    its own.

    Shape (n,).
    """
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(row.group_key, len(codes)) for row in rows], np.int64)


DISTRIBUTION_FIELDS = ("distribution", "expected_grade", "argmax_grade")
"""What `JudgedDataset.distribution_fields` returns."""


@dataclass(frozen=True, kw_only=True)
class JudgedDataset(JudgedArrays):
    """A dataset and one answer per row, in the same order.

    The arrays cover the *scored* rows: those with a human label and a verdict. Unscored rows are
    counted in `unscored` and enter no mean.
    """

    answers: tuple[Answer, ...]
    rule: DecisionRule | None = None
    """The rule that decided; None where it was the threshold of the judge's own scale."""
    outputs: tuple[str, ...] = ()
    """Columns of the metadata that are known to hold what a judge said of the rows, this one or
    another.
    """
    asked_scale: OutputScale | None = None
    """The judge's own scale, of which a decision model's distributions are; None of a chat model.
    """
    build: str | None = None
    """The name under which a decision model answered, or several."""

    def __post_init__(self) -> None:
        if len(self.answers) != len(self.dataset.rows):
            raise InputError(f"{len(self.answers)} answers for {len(self.dataset.rows)} rows")
        # Answers shifted by one row would look like nothing worse than a bad judge.
        for row, answer in zip(self.dataset.rows, self.answers, strict=True):
            if row.id != answer.row_id:
                raise InputError(f"the answer for row {row.id!r} belongs to row {answer.row_id!r}")

    @cached_property
    def scored(self) -> IntArray:
        """Positions of the rows with a label and a verdict; shape (n,)."""
        positions = []
        for i, (row, answer) in enumerate(zip(self.dataset.rows, self.answers, strict=True)):
            if row.label is not None and isinstance(answer, Verdict):
                positions.append(i)
        return np.array(positions, np.int64)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of the scored rows."""
        answers = (self.answers[i] for i in self.scored)
        return tuple(answer for answer in answers if isinstance(answer, Verdict))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The scored rows."""
        return tuple(self.dataset.rows[i] for i in self.scored)

    @property
    def weight(self) -> None:
        """None, as each position is one row."""
        return None

    @cached_property
    def label(self) -> FloatArray:
        """Human grades; shape (n,)."""
        return np.array([r.label for r in self.rows], np.float64)

    @cached_property
    def score(self) -> FloatArray:
        """The judge's grades; shape (n,)."""
        return np.array([v.score for v in self.verdicts], np.float64)

    @cached_property
    def predicted(self) -> BoolArray:
        """Whether the judge calls the row positive; shape (n,)."""
        return np.array([v.positive for v in self.verdicts], np.bool_)

    def is_right(self, row: Row, verdict: Verdict) -> bool:
        """Whether a verdict on a labelled row agrees with people, as `wrong` has it."""
        if self.scale.kind == "choice":
            return verdict.score == row.label
        return verdict.positive == self.dataset.positive(row)

    @cached_property
    def confidence(self) -> FloatArray:
        """Confidence in the verdict, NaN where none was given; shape (n,)."""
        return np.array(
            [np.nan if v.confidence is None else v.confidence for v in self.verdicts], np.float64
        )

    @cached_property
    def probability(self) -> FloatArray:
        """Probability of the positive label, calibrated where the rule is; shape (n,).

        On a probability scale it is the score; elsewhere NaN where no confidence was given.
        """
        if self.scale.kind == "probability":
            decided = [decided_probability(verdict, self.scale) for verdict in self.verdicts]
            return np.array(decided, np.float64)
        return np.where(self.predicted, self.confidence, 1.0 - self.confidence)

    @property
    def disagreements(self) -> list[int]:
        """Positions among the scored rows that the judge decided differently from people, the
        surest first.

        Such a row is either a bad error of the judge or an error in its label. Rows of equal
        certainty, or of none, come by the distance of their grades where both sides grade on one
        scale, then in their order.
        """
        wrong = np.flatnonzero(self.wrong)
        distance = np.zeros(len(self.scored))
        if self.same_scale and self.scale.kind != "choice":
            distance = np.abs(self.label - self.score)
        sure = np.nan_to_num(self.certainty, nan=-1.0)
        return wrong[np.lexsort((-distance[wrong], -sure[wrong]))].tolist()

    @cached_property
    def groups(self) -> IntArray:
        """Codes of the groups, 0..G-1 in order of first appearance; shape (n,). A row without a
        group is its own.
        """
        return group_codes(self.rows)

    @property
    def shared_groups(self) -> IntArray | None:
        """Codes of the groups as `groups`, None where every scored row is its own."""
        return self.groups if int(self.groups.max(initial=-1)) + 1 < len(self.groups) else None

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the first scored row."""
        return tuple(self.rows[0].inputs) if self.rows else ()

    @property
    def total(self) -> int:
        """All rows, scored or not."""
        return len(self.dataset.rows)

    @property
    def unanswered(self) -> tuple[int, int]:
        """How many labelled rows without a verdict people call negative, and how many positive."""
        missing = zip(self.dataset.rows, self.answers, strict=True)
        rows = [
            row for row, answer in missing if row.label is not None and isinstance(answer, Unscored)
        ]
        positive = sum(map(self.dataset.positive, rows))
        return len(rows) - positive, positive

    @property
    def unscored(self) -> dict[str, int]:
        """How many rows have no verdict, by reason."""
        return dict(
            sorted(Counter(a.reason for a in self.answers if isinstance(a, Unscored)).items())
        )

    @property
    def repaired(self) -> int:
        """How many verdicts were read from a reply that had to be mended."""
        return sum(
            isinstance(answer, Verdict) and answer.parser == "repaired" for answer in self.answers
        )

    @property
    def unlabelled(self) -> int:
        """How many rows have no human label."""
        return sum(row.label is None for row in self.dataset.rows)

    def only(self, positions: Sequence[int] | IntArray) -> JudgedDataset:
        """Return the table of the rows at these positions of the dataset."""
        dataset = replace(self.dataset, rows=tuple(self.dataset.rows[i] for i in positions))
        return replace(self, dataset=dataset, answers=tuple(self.answers[i] for i in positions))

    def under(self, rule: DecisionRule) -> JudgedDataset:
        """Return the table with every verdict decided by another rule, from what the judge gave;
        see `apply_rule`.
        """
        answers = tuple(apply_rule(answer, self.scale, rule) for answer in self.answers)
        return replace(
            self, answers=answers, scale=replace(self.scale, threshold=rule.threshold), rule=rule
        )

    def distribution_fields(self, answer: Answer) -> dict[str, Any]:  # Any: JSON
        """Return what files and pages say of a decision model's answer beside its score: the
        probability of each grade or label of the judge's own scale, the expected and the most
        probable grade; None where there is none. Nothing of a chat model's.
        """
        scale = self.asked_scale
        if scale is None:
            return {}
        fields: dict[str, Any] = dict.fromkeys(DISTRIBUTION_FIELDS)  # Any: JSON
        if isinstance(answer, Verdict) and (shares := answer.distribution):
            names = scale.labels or tuple(f"{grade:g}" for grade in scale.levels) or ("no", "yes")
            fields["distribution"] = dict(zip(names, shares, strict=True))
            if scale.levels and scale.kind != "choice":
                pairs = zip(scale.levels, shares, strict=True)
                fields["expected_grade"] = sum(grade * share for grade, share in pairs)
                fields["argmax_grade"] = scale.levels[shares.index(max(shares))]
        return fields

    def __repr__(self) -> str:
        answered = len(self.answers) - sum(self.unscored.values())
        counts = (
            f"{len(self.answers):,} rows, {answered:,} verdicts,"
            f" {len(self.answers) - self.unlabelled:,} labels"
        )
        return (
            f"JudgedDataset({self.judge!r}, model {self.model!r},"
            f" {counts}{SIMULATED * self.simulated})"
        )

    def _repr_html_(self) -> str:
        first = self.only(range(min(FIRST_ROWS, len(self.answers)))).to_frame()
        return html_table(
            first, title=repr(self), notes=self.dataset.notes, lines=len(self.answers)
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one line a row: id, group, label, score, positive, predicted, confidence,
        unscored, what a decision model's distribution says, metadata.
        """
        import pandas as pd

        lines = []
        for row, answer in zip(self.dataset.rows, self.answers, strict=True):
            line: dict[str, object] = {
                "id": row.id,
                "group": row.group,
                "label": row.label,
                "score": None,
            }
            line["positive"] = None if row.label is None else self.dataset.positive(row)
            line |= {"predicted": None, "confidence": None, "unscored": None}
            if isinstance(answer, Verdict):
                line |= {
                    "score": answer.score,
                    "predicted": answer.positive,
                    "confidence": answer.confidence,
                }
            else:
                line["unscored"] = answer.reason
            lines.append({**line, **self.distribution_fields(answer), **row.meta})
        return pd.DataFrame(lines)
