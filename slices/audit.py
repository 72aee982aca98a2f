"""Whether a slice's errors are the judge's: its most telling ones beside their labels, for a person
to mark.

People who label miss things too, and where they missed one kind of thing again and again, a good
judge makes a poor slice. So before a prompt is written against a slice, somebody looks at twenty of
its errors. Only rows that may be looked at are to be given to this file: of a run, the open ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..judges import BoolArray, Estimate, InputError, IntArray, JudgedDataset
from ..judges.metrics import mean_over_rows, wilson
from ..judges.metrics.catalog import NO_ROWS
from ..judges.notebook_display import html_table
from ..judges.reliability import (
    Finding,
    LabelAudit,
    Suspect,
    disagreements,
    remeasure,
)
from .effect import ERRORS, Direction
from .outcomes import Outcomes
from .slice import Predicate
from .target import Target, estimate_on, target_of

if TYPE_CHECKING:
    import pandas as pd

LIMIT = 20
_OWN: Mapping[str, Direction] = {"precision": "fp", "specificity": "fp", "recall": "fn"}
_INSTEAD: Mapping[str, str] = {"off_by_one": "accuracy", "ece": "brier"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceAudit:
    """The most telling errors of one slice, and how many wrong labels would explain its gap."""

    predicate: Predicate
    metric: str
    direction: Direction | None
    """Which errors are looked at; None for both kinds."""
    errors: LabelAudit
    """The errors to mark, each group's first before any second one; `write_audit` takes it."""
    value: Estimate
    """The metric on the slice, as labelled."""
    rest: Estimate
    """The metric on the other rows."""
    needed: float | None
    """Share of the slice's errors of this direction, the most telling first, whose labels would
    have to be wrong for the metric to be as good as on the other rows; 0 where it is anyway, None
    where all of them would not do."""

    def __repr__(self) -> str:
        return f"SliceAudit({str(self.predicate)!r}: {self.describe()})"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=str(self.predicate), notes=(self.describe(),))

    def to_frame(self) -> pd.DataFrame:
        """Return one line an error to mark, in the order in which they are to be looked at."""
        return self.errors.to_frame()

    def describe(self) -> str:
        """Say in a sentence how many wrong labels would explain the gap."""
        errors = f"{self.errors.found} {ERRORS[self.direction]}"
        gap = f"{self.metric} {_figure(self.value)} in the slice, {_figure(self.rest)} elsewhere"
        if self.needed == 0:
            return f"{gap}: there is no gap to explain"
        if self.needed is None:
            return f"{gap}: the gap would stay if the labels of all its {errors} were wrong"
        return (
            f"{gap}: {self.needed:.0%} of its {errors} would have to be wrong labels for the gap to"
            " vanish, the labels elsewhere being right"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedSlice:
    """A slice's metric with the labels that an audit has put right."""

    audit: SliceAudit
    before: Estimate
    after: Estimate
    """With the corrected labels; rows that nobody looked at, and unclear ones, keep theirs."""
    wrong: Estimate
    """Share of wrong labels among the errors marked, with Wilson's interval."""
    marks: Mapping[str, int]
    """Errors by mark."""
    notes: tuple[str, ...]

    def describe(self) -> str:
        """Describe the metric before and after, and what the marks say about the gap."""
        moved = f"{self.audit.metric} on {self.audit.predicate}: {_figure(self.before)} as labelled"
        marked = sum(self.marks.values())
        if not marked:
            return f"{moved}; nothing is marked. {self.audit.describe()}"
        share = f"{self.wrong.value:.0%}, {self.wrong.low:.0%} to {self.wrong.high:.0%}"
        return (
            f"{moved}, {_figure(self.after)} with the corrected labels; {self.marks['wrong label']}"
            f" of the {marked} errors marked are wrong labels ({share}). {self.audit.describe()}"
        )


def audit_slice(
    judged: JudgedDataset,
    predicate: Predicate,
    *,
    metric: str = "precision",
    direction: Direction | None = None,
    limit: int = LIMIT,
) -> SliceAudit:
    """Choose the errors of a slice that tell most, and say how many wrong labels its gap would
    take.

    The errors the judge is surest of come first, spread over groups: each group's first before any
    group's second.

    Args:
        judged: Rows that may be looked at, inside the slice and outside.
        predicate: The slice.
        metric: The metric that is poor on it; any but off_by_one and ECE.
        direction: Which errors to look at; those the metric counts unless given.
        limit: How many to list.

    Raises:
        InputError: The metric is undefined inside the slice or outside, or is not audited.
    """
    target = target_of(metric)
    if metric in _INSTEAD:
        raise InputError(
            "an audit turns labels that the judge's decision contradicts, which need not improve"
            f" {metric}",
            hint=f"audit the slice for {_INSTEAD[metric]}",
        )
    direction = direction or _OWN.get(metric)
    outcomes, member = Outcomes.of(judged), predicate.mask(judged.rows)
    value = estimate_on(target, outcomes, member, n=int(member.sum()))
    rest = estimate_on(target, outcomes, ~member, n=int((~member).sum()))
    if value.value is None or rest.value is None:
        side = "inside" if value.value is None else "outside"
        raise InputError(f"{metric} is undefined {side} the slice {str(predicate)!r}")
    positions = {row.id: i for i, row in enumerate(judged.rows)}
    errors: list[Suspect] = []
    for suspect in disagreements(judged):
        kind: Direction = "fp" if suspect.verdict.positive else "fn"
        if member[positions[suspect.row.id]] and direction in (None, kind):
            errors.append(suspect)
    turned = np.array([positions[suspect.row.id] for suspect in errors], np.int64)
    return SliceAudit(
        predicate=predicate,
        metric=metric,
        direction=direction,
        errors=_listed(judged, member, errors, limit),
        value=value,
        rest=rest,
        needed=_share_needed(target, outcomes, member, turned, rest.value),
    )


def _listed(
    judged: JudgedDataset, member: BoolArray, errors: list[Suspect], limit: int
) -> LabelAudit:
    """Each group's surest error first, then each group's second; as a list to be written and read
    back.
    """
    listed: Counter[str] = Counter()
    turns: list[tuple[int, Suspect]] = []
    for suspect in errors:
        group = suspect.row.group_key
        turns.append((listed[group], suspect))
        listed[group] += 1
    turns.sort(key=lambda turn: (turn[0], -turn[1].strength))
    ids = {suspect.row.id for suspect in errors}
    wrong = np.array([row.id in ids for row in judged.rows], np.float64)
    return LabelAudit(
        suspects=tuple(suspect for _, suspect in turns[:limit]),
        found=len(errors),
        n=int(member.sum()),
        at_most=mean_over_rows(wrong[member], judged.groups[member], missing=NO_ROWS),
        confident=None,
        notes=(),
    )


def _share_needed(
    target: Target, outcomes: Outcomes, member: BoolArray, errors: IntArray, goal: float
) -> float | None:
    """Return the smallest share of the errors whose turned labels lift the slice to a goal, in
    steps of 1 %.
    """
    # Every step is tried: a metric need not rise with each label that is turned.
    for count in np.unique(np.ceil(np.linspace(0, len(errors), 101)).astype(np.int64)).tolist():
        positive, turned = outcomes.positive.copy(), errors[:count]
        positive[turned] = outcomes.predicted[turned]
        value = target.value(replace(outcomes, positive=positive), member)
        if value is None:
            continue
        reached = value >= goal if target.lower_is_worse else value <= goal
        if reached:
            return count / len(errors) if count else 0.0
    return None


def apply_marks(
    judged: JudgedDataset, audit: SliceAudit, findings: Mapping[str, Finding]
) -> AuditedSlice:
    """Measure the slice with the labels that the audit has put right, beside those that people
    gave.

    Args:
        judged: The rows the audit was made from.
        audit: The audit.
        findings: Marks by row id, of `read_audit`.

    Raises:
        InputError: A marked row is not the slice's, or a right label is missing or off the scale.
    """
    inside = judged.only(np.flatnonzero(audit.predicate.mask(judged.dataset.rows)))
    again = remeasure(inside, findings)
    marked, wrong = sum(again.marks.values()), again.marks["wrong label"]
    notes = list(again.notes)
    if marked and marked < audit.errors.found:
        notes.append(
            f"{audit.errors.found - marked} of the slice's {audit.errors.found}"
            f" {ERRORS[audit.direction]} are not marked; those that are were the most telling, and"
            " likelier to be wrong labels than the others"
        )
    share = Estimate.undefined(0, "no error is marked")
    if marked:
        share = Estimate.of(wrong / marked, wilson(wrong, marked), marked)
    return AuditedSlice(
        audit=audit,
        before=again.before.metrics[audit.metric],
        after=again.after.metrics[audit.metric],
        wrong=share,
        marks=again.marks,
        notes=tuple(notes),
    )


def _figure(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"n/a ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f} (n = {estimate.n})"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}] (n = {estimate.n})"
