"""Why a candidate is not sent to the gate, in plain words: what was measured, what the holdout can
show, and what to do next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

from .chance import Chance
from .changes import Changes
from .holdout.guards import MIN_GROUPS
from .losses.objective import Objective
from .outcome import in_words

ENOUGH = 0.5
"""A way on is named where it would make an accept about as likely as not."""
TIMES = (2, 3, 5, 10)
"""So many times the labels are tried; beyond that no number is worth naming."""
LOOSER = (1.5, 2.0, 3.0)
"""So many times a guard's margin."""
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """What a candidate that is not sent comes to."""

    version: str
    chance: Chance
    objective: Objective
    changes: Changes
    alpha: float
    """What the look might have spent."""
    rows: int
    groups: int
    """Of the holdout."""
    labelled: int
    """Rows of the whole file."""
    retry: Callable[[Objective, int], float]
    """The chance with another objective, or on so many groups."""

    def explain(self) -> str:
        """Say it in sentences."""
        numbered = "; ".join(
            f"({number}) {way}" for number, way in enumerate(self._ways(), start=1)
        )
        return (
            f"the best new prompt, {self.version}, changed {self._measured()} on the open rows, but"
            f" {self._shown()}: acceptance is {in_words(self.chance.accepted)}, so the holdout was"
            f" not opened and its next test is as strict as before. What to do next: {numbered}"
        )

    def _shown(self) -> str:
        metric, where = (
            self.objective.target,
            f"{self.rows:,} holdout rows in {self.groups:,} groups",
        )
        if self.groups < MIN_GROUPS:
            return f"{where} are too few to show anything (at least {MIN_GROUPS} groups are needed)"
        seen = int((self.changes.metrics[0].rows > 0).sum())
        error = math.sqrt(float(self.changes.covariance[0, 0]) * seen / self.groups)
        quantiles = NormalDist().inv_cdf(1 - self.alpha) + NormalDist().inv_cdf(POWER)
        return (
            f"{where} show a gain of {metric} reliably only from about {quantiles * error:.3f} on"
        )

    def _measured(self) -> str:
        target, chance = self.objective.target, self.chance
        parts = [
            f"{target} by {chance.measured[target]:+.3f} (estimate for new rows"
            f" {chance.expected[target]:+.3f} ± {chance.error[target]:.3f})"
        ]
        for guard in self.objective.guards:
            parts.append(
                f"{guard.metric} by {chance.measured[guard.metric]:+.3f} (estimate"
                f" {chance.expected[guard.metric]:+.3f}; a loss under {guard.margin:g} is allowed)"
            )
        return " and ".join(parts)

    def _ways(self) -> list[str]:
        """Return what would make an accept about as likely as not, and the test that can be had in
        any case.
        """
        anyway = "test it on the holdout all the same: --gate-anyway"
        more, guard = self._labels(), self._looser(self.groups)
        if more or guard:
            return [*filter(None, (more, guard)), anyway]
        for times in TIMES:
            if guard := self._looser(self.groups * times):
                return [
                    f"label about {(times - 1) * self.labelled:,} more rows and {guard}",
                    anyway,
                ]
        another = "find a better prompt, with more --steps or another --optimizer-model"
        enough = f"{TIMES[-1]} times these labels would not be enough for this one"
        return [
            f"{another}; {enough}{', nor a looser guard' if self.objective.guards else ''}",
            anyway,
        ]

    def _labels(self) -> str:
        for times in TIMES:
            if self.retry(self.objective, self.groups * times) >= ENOUGH:
                more = (times - 1) * self.labelled
                return (
                    f"label about {more:,} more rows: judgewright label --rows FILE --next {more}"
                )
        return ""

    def _looser(self, groups: int) -> str:
        """Loosen the guard that is least likely to hold, on so many groups of the holdout."""
        guards = self.objective.guards
        if not guards:
            return ""
        weakest = min(guards, key=lambda guard: self.chance.guards[guard.metric])
        for times in LOOSER:
            looser = replace(weakest, margin=round(weakest.margin * times, 3))
            changed = tuple(looser if guard is weakest else guard for guard in guards)
            if self.retry(replace(self.objective, guards=changed), groups) >= ENOUGH:
                return f"loosen a guard, if you can: --guard {weakest.metric}={looser.margin:g}"
        return ""
