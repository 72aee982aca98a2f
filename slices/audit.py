"""Whether a slice's errors are the judge's: its most telling ones beside their labels, for a person to mark.

People who label miss things too, and where they missed one kind of thing again and again, a good judge makes a
poor slice. So before a prompt is written against a slice, somebody looks at twenty of its errors. Only rows that may
be looked at are to be given to this file: of a run, the open ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..judges import BoolArray, Estimate, InputError, IntArray, JudgedDataset
from ..judges.metrics import wilson
from ..judges.metrics.catalog import NO_ROWS
from ..judges.notebook_display import html_table
from ..judges.reliability import Finding, LabelAudit, Suspect, disagreements, mean_over_rows, remeasure
from .effect import Direction
from .outcomes import Outcomes
from .slice import Predicate
from .target import Target, target_of

if TYPE_CHECKING:
    import pandas as pd

LIMIT = 20
_OWN: Mapping[str, Direction] = {"precision": "fp", "specificity": "fp", "recall": "fn"}
_INSTEAD: Mapping[str, str] = {"off_by_one": "accuracy", "ece": "brier"}
_NAMES: Mapping[Direction | None, str] = {"fp": "false positives", "fn": "false negatives", None: "errors"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceAudit:
    """The most telling errors of one slice, and how many wrong labels would explain its gap."""

    predicate: Predicate
    metric: str
    direction: Direction | None
    """Which errors are looked at; None for both kinds."""
    errors: LabelAudit
    """The errors to mark, at most one of a group before a second one of any; `write_audit` takes it."""
    value: Estimate
    """The metric on the slice, as labelled."""
    rest: Estimate
    """The metric on the other rows."""
    needed: float | None
    """Share of the slice's errors of this direction, the most telling first, whose labels would have to be wrong for
    the metric to be as good as on the other rows; 0 where it is anyway, None where all of them would not do."""

    def __repr__(self) -> str:
        return f"SliceAudit({str(self.predicate)!r}: {self.describe()})"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=str(self.predicate), notes=(self.describe(),))

    def to_frame(self) -> pd.DataFrame:
        """Return one line an error to mark, in the order in which they are to be looked at."""
        return self.errors.to_frame()

    def describe(self) -> str:
        """Say in a sentence how many wrong labels would explain the gap."""
        kind, found = _NAMES[self.direction], self.errors.found
        there = f"{self.metric} {_figure(self.value)} in the slice, {_figure(self.rest)} elsewhere"
        if self.needed == 0:
            return f"{there}: there is no gap to explain"
        if self.needed is None:
            return f"{there}: the gap would stay if the labels of all its {found} {kind} were wrong"
        return (
            f"{there}: {self.needed:.0%} of its {found} {kind} would have to be wrong labels for the gap to vanish, "
            "the labels elsewhere being right"
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
        """Tell the metric before and after, and what the marks say about the gap."""
        moved = f"{self.audit.metric} on {self.audit.predicate}: {_figure(self.before)} as labelled"
        marked = sum(self.marks.values())
        if not marked:
            return f"{moved}; nothing is marked. {self.audit.describe()}"
        return (
            f"{moved}, {_figure(self.after)} with the corrected labels; {self.marks['wrong label']} of the {marked} "
            f"errors marked are wrong labels ({_share(self.wrong)}). {self.audit.describe()}"
        )


def audit_slice(
    judged: JudgedDataset,
    predicate: Predicate,
    *,
    metric: str = "precision",
    direction: Direction | None = None,
    limit: int = LIMIT,
    seed: int = 0,
) -> SliceAudit:
    """Choose the errors of a slice that tell most, and say how many wrong labels its gap would take.

    The errors the judge is surest of come first, spread over groups: each group's first before any group's second.

    Args:
        judged: Rows that may be looked at, inside the slice and outside.
        predicate: The slice.
        metric: The metric that is poor on it; any but off_by_one and ECE.
        direction: Which errors to look at; those the metric counts unless given.
        limit: How many to list.
        seed: Of the resamples behind an interval.

    Raises:
        InputError: The metric is undefined inside the slice or outside, or is not audited.
    """
    target = target_of(metric)
    if metric in _INSTEAD:
        raise InputError(
            f"an audit turns labels that the judge's decision contradicts, which need not mend {metric}",
            hint=f"audit the slice for {_INSTEAD[metric]}",
        )
    direction = direction or _OWN.get(metric)
    outcomes, member = Outcomes.of(judged), predicate.mask(judged.rows)
    value, rest = (_estimate(target, outcomes, side) for side in (member, ~member))
    if value.value is None or rest.value is None:
        where = "inside" if value.value is None else "outside"
        raise InputError(f"{metric} is undefined {where} the slice {str(predicate)!r}")
    inside = {row.id for row, within in zip(judged.rows, member, strict=True) if within}
    errors = [s for s in disagreements(judged) if s.row.id in inside and _goes(s, direction)]
    return SliceAudit(
        predicate=predicate,
        metric=metric,
        direction=direction,
        errors=_listed(judged, member, errors, limit, seed),
        value=value,
        rest=rest,
        needed=_share_needed(target, outcomes, member, _places(judged, errors), rest.value),
    )


def _goes(suspect: Suspect, direction: Direction | None) -> bool:
    return direction is None or suspect.verdict.positive == (direction == "fp")


def _listed(judged: JudgedDataset, member: BoolArray, errors: list[Suspect], limit: int, seed: int) -> LabelAudit:
    """Each group's surest error first, then each group's second; as a list to be written and read back."""
    seen: Counter[str] = Counter()
    turns = []
    for suspect in errors:
        group = suspect.row.group or f"\0{suspect.row.id}"
        turns.append(seen[group])
        seen[group] += 1
    spread = sorted(zip(turns, errors, strict=True), key=lambda turn: (turn[0], -turn[1].strength))
    ids = {suspect.row.id for suspect in errors}
    wrong = np.array([row.id in ids for row in judged.rows], np.float64)
    share = mean_over_rows(wrong[member], judged.groups[member], missing=NO_ROWS, seed=seed)
    return LabelAudit(
        suspects=tuple(suspect for _, suspect in spread[:limit]),
        found=len(errors),
        n=int(member.sum()),
        at_most=share,
        confident=None,
        notes=(),
    )


def _estimate(target: Target, outcomes: Outcomes, member: BoolArray) -> Estimate:
    n, value = int(member.sum()), target.value(outcomes, member)
    if value is None:
        return Estimate.undefined(n, f"no row is in the denominator of {target.name}")
    low, high = target.interval(outcomes, member) or (None, None)
    return Estimate(value=value, low=low, high=high, n=n, reason="" if low is not None else "the rows are one group")


def _places(judged: JudgedDataset, errors: Sequence[Suspect]) -> IntArray:
    """Where the errors stand among the scored rows, in their own order."""
    place = {row.id: i for i, row in enumerate(judged.rows)}
    return np.array([place[suspect.row.id] for suspect in errors], np.int64)


def _share_needed(target: Target, outcomes: Outcomes, member: BoolArray, errors: IntArray, goal: float) -> float | None:
    """The smallest share of the errors whose turned labels lift the slice to a goal, to one part in a hundred."""
    for count in np.unique(np.ceil(np.linspace(0, len(errors), 101)).astype(np.int64)).tolist():
        positive, turned = outcomes.positive.copy(), errors[:count]
        positive[turned] = outcomes.predicted[turned]
        value = target.value(replace(outcomes, positive=positive), member)
        if value is not None and (value >= goal if target.lower_is_worse else value <= goal):
            return count / len(errors) if count else 0.0
    return None


def apply_marks(
    judged: JudgedDataset, audit: SliceAudit, findings: Mapping[str, Finding], *, seed: int = 0
) -> AuditedSlice:
    """Measure the slice with the labels that the audit has put right, beside those that people gave.

    Args:
        judged: The rows the audit was made from.
        audit: The audit.
        findings: Marks by row id, of `annotate_errors` or `read_audit`.
        seed: Of the resamples behind the intervals.

    Raises:
        InputError: A marked row is not one of the slice's, or a right label is missing or not on the scale.
    """
    inside = judged.only(np.flatnonzero(audit.predicate.mask(judged.dataset.rows)))
    again = remeasure(inside, findings, seed=seed)
    marked, wrong = sum(again.marks.values()), again.marks["wrong label"]
    notes = list(again.notes)
    if marked and marked < audit.errors.found:
        notes.append(
            f"{audit.errors.found - marked} of the slice's {audit.errors.found} {_NAMES[audit.direction]} are not "
            "marked; those that are were the most telling, and likelier to be wrong labels than the others"
        )
    return AuditedSlice(
        audit=audit,
        before=again.before.metrics[audit.metric],
        after=again.after.metrics[audit.metric],
        wrong=_wrong_share(wrong, marked),
        marks=again.marks,
        notes=tuple(notes),
    )


def _wrong_share(wrong: int, marked: int) -> Estimate:
    interval = wilson(wrong, marked)
    if interval is None:
        return Estimate.undefined(0, "no error is marked")
    return Estimate(value=wrong / marked, low=interval[0], high=interval[1], n=marked)


def _figure(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"n/a ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f} (n = {estimate.n})"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}] (n = {estimate.n})"


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"n/a ({estimate.reason})"
    return f"{estimate.value:.0%}, {estimate.low:.0%} to {estimate.high:.0%}"
