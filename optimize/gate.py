"""The holdout gate: the only place where sealed rows are opened, and the decision about a prompt.

The test is the metric itself, paired by row: the influence function of the metric is taken for both
prompts on the rows both answered, its difference is summed by group, and the difference of the metrics is
compared with its group-clustered standard error. Student's t with one degree of freedom less than the
groups that changed keeps a handful of flips from looking certain. Guards are tests of non-inferiority.
"Undecided" is an answer of its own, with the number of rows it would take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ..judges import BoolArray, Dataset, FloatArray, IntArray, Judged, JudgePrompt, SealedRows, Splits, influence, point
from .ledger import Ledger
from .objective import Guard, Objective

DecisionOutcome = Literal["accepted", "refused", "undecided"]

MIN_GROUPS = 20
"""Under this many groups a clustered standard error is not to be trusted."""
MIN_COVERAGE = 0.95
"""Under this share of answered rows on either side a comparison is undecided."""
GUARD_ALPHA = 0.05
POWER = 0.80


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric before and after on the same rows, with the evidence for the difference."""

    metric: str
    before: float
    after: float
    difference: float
    se: float | None
    """Standard error of the difference, clustered by group; None for fewer than two groups."""
    low: float | None
    high: float | None
    """Two-sided 95 % interval of the difference; None where fewer than two groups changed."""
    p: float
    """One-sided p-value against no improvement."""
    n: int
    groups: int
    changed_groups: int
    """Groups in which the two prompts' verdicts pull the metric differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardResult:
    """What became of one guard."""

    metric: str
    margin: float
    """The loss that is tolerated, as a positive number."""
    change: Change | None
    low: float | None
    """One-sided 95 % lower bound of the change; it must lie above minus the margin."""
    state: Literal["held", "broken", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Accepted, refused or undecided, with the paired evidence and one sentence why."""

    outcome: DecisionOutcome
    reason: str
    target: Change | None
    guards: tuple[GuardResult, ...]
    slice_change: Change | None
    """The target metric's change on the slice that was optimized; reported, and must not be negative."""
    alpha: float
    look: int
    """Which look at this holdout since the last accept this was."""
    n: int
    coverage_before: float
    coverage_after: float
    worst_case: tuple[float, float] | None
    """The change of the metric if every row one side left unscored had gone against it, or for it."""
    rows_needed: int | None
    simulated: bool

    @property
    def accepted(self) -> bool:
        """Whether the new prompt may replace the old one."""
        return self.outcome == "accepted"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the decision as JSON, `accepted` first."""
        return {
            "accepted": self.accepted,
            **asdict(self),
            "worst_case": list(self.worst_case) if self.worst_case else None,
        }


def compare(metric: str, before: Judged, after: Judged, *, keep: BoolArray | None = None) -> Change | None:
    """Compare one metric on the rows both sides answered.

    The variance is that of the influence functions' difference summed by group, with the factor G/(G-1);
    p comes from Student's t with (groups that changed - 1) degrees of freedom.

    Args:
        metric: A metric that has an influence function.
        before, after: Two answers to the same dataset, rows in the same order.
        keep: Which rows of the dataset to compare, shape (rows,); all unless given.

    Returns:
        The change, or None where the metric is undefined on either side.
    """
    rows = _common(before, after)
    if keep is not None:
        rows = rows[keep[rows]]
    if len(rows) == 0:
        return None
    a, b = before.only(rows), after.only(rows)
    old, new = point(metric, *a.compared(metric)), point(metric, *b.compared(metric))
    if old is None or new is None:
        return None
    pull = influence(metric, *b.compared(metric)) - influence(metric, *a.compared(metric))
    by_group = np.bincount(a.groups, weights=pull)
    groups, changed = len(by_group), int((np.abs(by_group) > 1e-12).sum())
    difference = new - old
    se = clustered_se(pull, a.groups)
    p, reach = _one_sided(difference, se, changed)
    spread = None if reach is None else reach * se
    return Change(
        metric=metric,
        before=old,
        after=new,
        difference=difference,
        se=se if math.isfinite(se) else None,
        low=None if spread is None else difference - spread,
        high=None if spread is None else difference + spread,
        p=p,
        n=len(rows),
        groups=groups,
        changed_groups=changed,
    )


def _common(before: Judged, after: Judged) -> IntArray:
    """Positions of the rows that both sides answered, in order."""
    return np.intersect1d(before.scored, after.scored)


def clustered_se(pull: FloatArray, groups: IntArray) -> float:
    """Standard error of a mean from each row's pull on it, rows of a group depending on each other.

    The pulls are summed by group and their variance taken over groups with the factor G/(G-1); infinite for
    fewer than two groups.

    Args:
        pull: Influence of each row, centred; shape (n,).
        groups: Group codes 0..G-1; shape (n,).
    """
    by_group = np.bincount(groups, weights=pull)
    n_groups = len(by_group)
    if n_groups < 2:
        return math.inf
    spread = by_group - by_group.mean()
    return math.sqrt(n_groups / (n_groups - 1) * float(spread @ spread)) / len(pull)


def _one_sided(difference: float, se: float, changed: int) -> tuple[float, float | None]:
    """Return the one-sided p-value and the t quantile of a two-sided 95 % interval, None where there is none."""
    from scipy.stats import t as student

    if changed < 2 or not 0.0 < se < math.inf:
        return 1.0, None
    df = changed - 1
    return float(student.sf(difference / se, df)), float(student.ppf(0.975, df))


def decide(
    before: Judged,
    after: Judged,
    objective: Objective,
    *,
    alpha: float,
    look: int = 1,
    in_slice: BoolArray | None = None,
) -> Decision:
    """Decide between two prompts from their answers to the same rows; reads nothing else.

    Args:
        before, after: Answers to the same dataset.
        objective: The target metric and the guards.
        alpha: What this look may spend.
        look: Its number, for the record.
        in_slice: Which rows belong to the slice that was optimized, shape (rows,).
    """
    target = compare(objective.target, before, after)
    guards = tuple(_hold(guard, before, after) for guard in objective.guards)
    slice_change = None if in_slice is None else compare(objective.target, before, after, keep=in_slice)
    outcome, reason, needed = _weigh(target, guards, slice_change, alpha, before, after)
    return Decision(
        outcome=outcome,
        reason=reason,
        target=target,
        guards=guards,
        slice_change=slice_change,
        alpha=alpha,
        look=look,
        n=target.n if target else 0,
        coverage_before=before.coverage,
        coverage_after=after.coverage,
        worst_case=_worst_case(objective.target, before, after),
        rows_needed=needed,
        simulated=before.simulated or after.simulated,
    )


def _hold(guard: Guard, before: Judged, after: Judged) -> GuardResult:
    """Test non-inferiority: the guarded metric must not fall by the margin or more."""
    from scipy.stats import t as student

    change = compare(guard.metric, before, after)
    if change is None:
        return GuardResult(metric=guard.metric, margin=guard.margin, change=None, low=None, state="undecided")
    low: float | None = None
    if change.changed_groups == 0:
        low = 0.0
    elif change.changed_groups > 1 and change.se is not None:
        low = change.difference - float(student.ppf(1 - GUARD_ALPHA, change.changed_groups - 1)) * change.se
    if change.difference <= -guard.margin:
        state = "broken"
    else:
        state = "held" if low is not None and low > -guard.margin else "undecided"
    return GuardResult(metric=guard.metric, margin=guard.margin, change=change, low=low, state=state)


def guard_could_hold(change: Change, guard: Guard, *, rows: int) -> bool:
    """Say whether a change of this size would pass its guard's test on `rows` rows.

    The standard error is scaled from the rows it was seen on; used to keep hopeless candidates from the gate.
    """
    from scipy.stats import norm

    if change.se is None:
        return False
    se = change.se * math.sqrt(change.n / rows)
    return change.difference - float(norm.isf(GUARD_ALPHA)) * se > -guard.margin


def _weigh(
    target: Change | None,
    guards: Sequence[GuardResult],
    slice_change: Change | None,
    alpha: float,
    before: Judged,
    after: Judged,
) -> tuple[DecisionOutcome, str, int | None]:
    """Weigh the evidence, the weightiest objection first; each line is one rule of the gate."""
    if target is None:
        return "undecided", "the target metric is undefined on the holdout (no positive rows or verdicts)", None
    name, moved = target.metric, f"{target.before:.3f} -> {target.after:.3f}"
    coverage = min(before.coverage, after.coverage)
    if coverage < MIN_COVERAGE:
        return "undecided", f"only {coverage:.1%} of the rows were answered; {MIN_COVERAGE:.0%} are needed", None
    if target.changed_groups == 0:
        return "refused", f"no verdict that matters to {name} changed on the holdout", None
    if target.difference <= 0:
        return "refused", f"{name} did not improve on the holdout ({moved})", None
    for guard in guards:
        if guard.state == "broken" and guard.change is not None:
            fall = f"{guard.metric} moved by {guard.change.difference:+.3f}"
            return "refused", f"{fall}, the guard allows a loss under {guard.margin:.3f}", None
    if target.groups < MIN_GROUPS:
        return "undecided", f"the holdout has {target.groups} groups; fewer than {MIN_GROUPS} cannot decide", None
    if target.p > alpha:
        needed = rows_needed(target, alpha)
        why = f"{name} rose {moved}, but p = {target.p:.3f} is above the {alpha:.3f} this look may spend"
        return "undecided", why + _more(needed), needed
    if slice_change is not None and slice_change.difference < 0:
        return (
            "refused",
            f"{name} fell on the slice that was optimized ({slice_change.before:.3f} -> {slice_change.after:.3f})",
            None,
        )
    for guard in guards:
        if guard.state == "undecided":
            needed = _guard_rows(guard)
            more = _more(needed)
            return (
                "undecided",
                f"{name} rose {moved}, but a loss of {guard.margin:.3f} in {guard.metric} is not ruled out{more}",
                needed,
            )
    kept = "".join(f"; {g.metric} held within {g.margin:.3f}" for g in guards)
    return "accepted", f"{name} rose {moved} on the holdout (p = {target.p:.4f}, alpha {alpha:.4f}){kept}", None


def _more(needed: int | None) -> str:
    return f"; about {needed:,} holdout rows would decide" if needed else ""


def rows_needed(change: Change, alpha: float) -> int | None:
    """Rows at which a change of this size would be found with 80 % power: n ((z_alpha + z_power) se / difference)^2."""
    from scipy.stats import norm

    if change.se is None or change.difference == 0:
        return None
    z = float(norm.isf(alpha) + norm.ppf(POWER))
    return math.ceil(change.n * (z * change.se / change.difference) ** 2)


def _guard_rows(guard: GuardResult) -> int | None:
    from scipy.stats import norm

    if guard.change is None or guard.change.se is None or guard.change.difference <= -guard.margin:
        return None
    z = float(norm.isf(GUARD_ALPHA) + norm.ppf(POWER))
    return math.ceil(guard.change.n * (z * guard.change.se / (guard.change.difference + guard.margin)) ** 2)


def _worst_case(metric: str, before: Judged, after: Judged) -> tuple[float, float] | None:
    """Bound the change when each row that one side left unscored is counted against that side, then for it."""
    labelled = np.array([i for i, row in enumerate(before.dataset.rows) if row.label is not None], np.int64)
    if len(labelled) == 0 or metric == "off_by_one":
        return None
    truth = np.array([before.dataset.positive(before.dataset.rows[i]) for i in labelled], np.bool_)

    def value(side: Judged, *, right: bool) -> float | None:
        predicted = truth.copy() if right else ~truth
        place = {int(row): k for k, row in enumerate(labelled)}
        for row, said in zip(side.scored, side.predicted, strict=True):
            predicted[place[int(row)]] = said
        return point(metric, truth, predicted)

    ends = value(after, right=False), value(before, right=True), value(after, right=True), value(before, right=False)
    if None in ends:
        return None
    low_after, high_before, high_after, low_before = (float(v) for v in ends if v is not None)
    return low_after - high_before, high_after - low_before


def open_for_report(
    parts: Splits, before: JudgePrompt, after: JudgePrompt, decision: Decision, *, ledger: Ledger, run_id: str
) -> tuple[Dataset, int]:
    """Open every row for the closing report, the final rows last, and say how often those were opened so far.

    It comes after the decision of a walk, and what leaves it are aggregates: no proposer runs after it. On the
    holdout it goes on with the gate's look; opening the final rows is a look of its own in the ledger.
    """
    rows = [*parts.train.rows, *parts.validation.rows]
    for part in (parts.holdout, parts.final):
        if len(part):
            look = ledger.begin(part.content_hash, run_id=run_id, before=before.version, after=after.version)
            rows += part.open(look).rows
            ledger.conclude(look, outcome=decision.outcome, reason=decision.reason)
    return replace(parts.train, rows=tuple(rows)), len(ledger.looks(parts.final.content_hash))


def gate(
    before: JudgePrompt,
    after: JudgePrompt,
    holdout: SealedRows,
    objective: Objective,
    *,
    judge: Callable[[JudgePrompt, Dataset], Judged],
    ledger: Ledger,
    run_id: str,
    member: Callable[[Dataset], BoolArray] | None = None,
) -> Decision:
    """Enter a look in the ledger, open the holdout, judge both prompts on it, and decide.

    Args:
        judge: Asks one prompt about rows; it is called for `before`, then for `after`.
        member: Says which rows belong to the optimized slice.

    Raises:
        InputError: The holdout's looks are spent; fresh labels are needed.
    """
    look = ledger.begin(holdout.content_hash, run_id=run_id, before=before.version, after=after.version)
    rows = holdout.open(look)
    decision = decide(
        judge(before, rows),
        judge(after, rows),
        objective,
        alpha=look.alpha,
        look=look.number,
        in_slice=None if member is None else member(rows),
    )
    ledger.conclude(look, outcome=decision.outcome, reason=decision.reason)
    return decision
