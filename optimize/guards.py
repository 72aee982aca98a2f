"""Guards: metrics that a new prompt may not lose, tested for non-inferiority at their margins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..judges import Change, Judged, compare
from .losses.objective import Guard

MIN_GROUPS = 20
"""Under this many groups a clustered standard error is not to be trusted."""
GUARD_ALPHA = 0.05


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
    p: float | None = None
    """One-sided p-value against a loss of the margin or more; None where there is no standard error."""

    @property
    def wants_rows(self) -> bool:
        """Whether the guard is undecided for want of rows."""
        return self.state == "undecided"


def hold_guard(guard: Guard, before: Judged, after: Judged) -> GuardResult:
    """Test non-inferiority: the guarded metric must not fall by the margin or more."""
    from scipy.stats import t as student

    change = compare(guard.metric, before, after)
    if change is None:
        return GuardResult(metric=guard.metric, margin=guard.margin, change=None, low=None, state="undecided")
    low: float | None = None
    p: float | None = None
    if change.changed_groups == 0:
        low = change.difference - 3.0 / max(change.bearing_rows, 1)  # the rule of three: no flip seen among so many
    elif change.freedom > 0 and change.se is not None:
        low = change.difference - float(student.ppf(1 - GUARD_ALPHA, change.freedom)) * change.se
        if change.se > 0:
            p = float(student.sf((change.difference + guard.margin) / change.se, change.freedom))
    if change.difference <= -guard.margin:
        state = "broken"
    else:
        clear = low is not None and low > -guard.margin and change.bearing_groups >= MIN_GROUPS
        state = "held" if clear else "undecided"
    return GuardResult(metric=guard.metric, margin=guard.margin, change=change, low=low, state=state, p=p)


def guard_could_hold(change: Change, guard: Guard, *, rows: int) -> bool:
    """Say whether a change of this size would pass its guard's test on `rows` rows.

    The standard error is scaled from the rows it was seen on; used to keep hopeless candidates from the gate.
    """
    from scipy.stats import norm

    if change.se is None:
        return False
    se = change.se * math.sqrt(change.n / rows)
    return change.difference - float(norm.isf(GUARD_ALPHA)) * se > -guard.margin
