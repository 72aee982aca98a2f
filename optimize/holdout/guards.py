"""Guards: metrics that a new prompt may not lose, tested for non-inferiority at their margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...judges import Change, JudgedDataset, compare
from ..losses.objective import Guard
from .unanswered import count_against

MIN_GROUPS = 20
"""Under this many groups a clustered standard error is not to be trusted."""
MIN_EFFECTIVE = 10
"""Nor where a few large groups dominate, which weigh as much as fewer equal ones than this."""
GUARD_ALPHA = 0.05
GuardState = Literal["held", "broken", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardResult:
    """How one guard came out."""

    metric: str
    margin: float
    """The loss that is tolerated, as a positive number."""
    change: Change | None
    low: float | None
    """One-sided 95 % lower bound of `Change.gain`; it must lie above minus the margin."""
    state: GuardState
    """Held, broken (by more than chance explains), or undecided."""
    high: float | None = None
    """One-sided 95 % upper bound of `Change.gain`; under minus the margin the guard is broken."""
    p: float | None = None
    """One-sided, against a loss of the margin or more; None where there is no standard error."""
    worst_low: float | None = None
    """The bound with every row that one side alone answered counted against the new prompt, which
    must lie above minus the margin too; None where there is no such row."""

    @property
    def wants_rows(self) -> bool:
        """Whether the guard is undecided for want of rows, and not for what was left unanswered."""
        return self.state == "undecided" and (
            self.change is None or not _is_clear(self.change, self.low, self.margin)
        )


def hold_guard(guard: Guard, before: JudgedDataset, after: JudgedDataset) -> GuardResult:
    """Test non-inferiority: the guarded metric must not fall by the margin or more.

    Where rows were left unanswered, it must hold as well with those counted against the new prompt.

    Args:
        guard: The metric and its margin.
        before, after: Answers to the same dataset.
    """
    change = compare(guard.metric, before, after)
    # Broken by what both sides answered: silence counts against an accept, and for no refusal.
    if change is None:
        return GuardResult(
            metric=guard.metric, margin=guard.margin, change=None, low=None, state="undecided"
        )
    low, p = _non_inferiority(change, guard.margin)
    worst_low: float | None = None
    clear = _is_clear(change, low, guard.margin)
    worst = count_against(before, after, guard.metric)
    if worst is not None:
        against = compare(guard.metric, worst.before, worst.after)
        if against is None:
            clear = False
        else:
            worst_low, _ = _non_inferiority(against, guard.margin)
            clear = clear and _is_clear(against, worst_low, guard.margin)
    high = upper_bound(change)
    state: GuardState = "held" if clear else "undecided"
    if high is not None and high < -guard.margin and has_enough_groups(change):
        state = "broken"
    return GuardResult(
        metric=guard.metric,
        margin=guard.margin,
        change=change,
        low=low,
        state=state,
        high=high,
        p=p,
        worst_low=worst_low,
    )


def _non_inferiority(change: Change, margin: float) -> tuple[float | None, float | None]:
    """Return the one-sided 95 % lower bound of a gain, and p against a loss of the margin; None
    where unknown.
    """
    from scipy.stats import t as student

    if change.changed_groups == 0:
        # The rule of three: where none of n rows flipped, up to 3 / n of all rows still may.
        return change.gain - 3.0 / max(change.bearing_rows, 1), None
    if change.freedom <= 0 or change.se is None:
        return None, None
    low = change.gain - float(student.ppf(1 - GUARD_ALPHA, change.freedom)) * change.se
    if change.se == 0:
        return low, None
    return low, float(student.sf((change.gain + margin) / change.se, change.freedom))


def has_enough_groups(change: Change) -> bool:
    """Whether enough groups bear on a change, none of them too heavy, for its bounds to be
    trusted.
    """
    return change.bearing_groups >= MIN_GROUPS and change.effective_groups >= MIN_EFFECTIVE


def upper_bound(change: Change, alpha: float = GUARD_ALPHA) -> float | None:
    """Return the one-sided upper bound of a gain, 95 % unless said; None where fewer than two
    groups changed.
    """
    from scipy.stats import t as student

    if change.se is None or change.freedom <= 0:
        return None
    return change.gain + float(student.isf(alpha, change.freedom)) * change.se


def _is_clear(change: Change, low: float | None, margin: float) -> bool:
    return low is not None and low > -margin and change.bearing_groups >= MIN_GROUPS
