"""How many rows an undecided question would take, where a number of rows would decide it at all.

The change that was seen is taken for the true one, and groups to be of the size they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...judges import Change, rows_needed
from .guards import GUARD_ALPHA, MIN_GROUPS, GuardResult

MOST_TIMES = 10
"""A projection beyond so many times the rows at hand is not given. It rests on a change of less
than .9 standard errors, whose very sign is not known: the number would be as good as any other."""

UNKNOWN = "these rows cannot tell how many more would decide"


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The rows and groups that would decide; None where no number of rows is known to, and then
    why.
    """

    rows: int | None = None
    groups: int | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.rows is None or self.groups is None:
            return self.reason
        groups = "" if self.groups == self.rows else f" in {self.groups:,} groups"
        return f"about {self.rows:,} holdout rows{groups} would decide"


def project(target: Change, guards: Sequence[GuardResult], alpha: float) -> Projection:
    """Return what it would take for the target's test and for every guard that is undecided; the
    largest is the answer.

    Args:
        target: The change of the target metric, a gain.
        guards: All guards; those that do not hold yet for want of rows are counted.
        alpha: What the look may spend.
    """
    needs = [_rows_for_groups(target)]
    if target.p > alpha:
        rows = rows_needed(target, alpha)
        if target.gain <= 0:
            return Projection(reason=f"{UNKNOWN}: no gain was measured")
        if rows is None or rows > MOST_TIMES * target.n:
            return Projection(reason=f"{UNKNOWN}: the measured gain is small beside its error")
        needs.append(rows)
    for guard in guards:
        if guard.change is None or not guard.wants_rows:
            continue
        rows = _guard_rows(guard, guard.change)
        if rows is None or rows > MOST_TIMES * target.n:
            if guard.change.gain <= -guard.margin / 2:
                drop = f"the measured drop in {guard.metric} is about as large as the guard"
                return Projection(reason=f"{UNKNOWN}: {drop}")
            times = f"more than {MOST_TIMES} times these rows"
            return Projection(reason=f"{times} would be needed for the guard of {guard.metric}")
        needs.append(rows)
    per_group = target.n / target.groups
    groups = math.ceil(max(*needs, target.n + 1) / per_group)
    return Projection(rows=math.ceil(groups * per_group), groups=groups)


def _rows_for_groups(change: Change) -> int:
    """Return the rows whose groups in the metric's denominator are enough for a test; 0 where there
    are enough.
    """
    if change.bearing_groups >= MIN_GROUPS:
        return 0
    return math.ceil(change.n * MIN_GROUPS / max(change.bearing_groups, 1))


def _guard_rows(guard: GuardResult, change: Change) -> int | None:
    """Return the rows on which the guard would hold with 80 % power; None where the drop is as
    large as the guard.
    """
    room = change.gain + guard.margin
    if room <= 0:
        return None
    if change.changed_groups == 0:
        # The rule of three, by which a guard without a flip is held.
        in_denominator = 3.0 / guard.margin
        rows = math.floor(change.n * in_denominator / max(change.bearing_rows, 1)) + 1
    else:
        rows = rows_needed(replace(change, difference=room), GUARD_ALPHA)
    if rows is None:
        return None
    return max(rows, _rows_for_groups(change))
