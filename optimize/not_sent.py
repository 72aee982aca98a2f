"""Why no look is spent on a candidate, in plain words: what the rows can show, what it promises,
and three ways on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

from .chance import Chance, in_words
from .changes import Changes
from .holdout.guards import MIN_GROUPS
from .losses.objective import Objective

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
        word = in_words(self.chance.accepted)
        numbered = "; ".join(
            f"({number}) {way}" for number, way in enumerate(self._ways(), start=1)
        )
        return (
            f"the chance of acceptance is too small ({word}), so no look was spent and the holdout"
            f" stays fresh. What these rows can show: {self._shown()}. What {self.version}"
            f" promises: {self._promise()}. Ways on: {numbered}"
        )

    def _shown(self) -> str:
        metric, where = (
            self.objective.target,
            f"{self.rows:,} holdout rows in {self.groups:,} groups",
        )
        if self.groups < MIN_GROUPS:
            return (
                f"nothing yet, as {where} are too few (at least {MIN_GROUPS} groups have to bear on"
                f" {metric})"
            )
        seen = int((self.changes.metrics[0].rows > 0).sum())
        error = math.sqrt(float(self.changes.covariance[0, 0]) * seen / self.groups)
        quantiles = NormalDist().inv_cdf(1 - self.alpha) + NormalDist().inv_cdf(POWER)
        return (
            f"on {where}, a gain of {metric} from about {quantiles * error:.3f} on, in four of five"
            " cases"
        )

    def _promise(self) -> str:
        target, expected = self.objective.target, self.chance.expected
        parts = [f"{target} {expected[target]:+.3f} ± {self.chance.error[target]:.3f}"]
        for guard in self.objective.guards:
            parts.append(
                f"{guard.metric} {expected[guard.metric]:+.3f} (a loss under {guard.margin:g} is"
                " allowed)"
            )
        return ", ".join(parts)

    def _ways(self) -> list[str]:
        """Return what would make an accept about as likely as not, and the look that can be had in
        any case.
        """
        anyway = "look all the same: --look-anyway"
        more, guard = self._labels(), self._looser(self.groups)
        if more or guard:
            return [*filter(None, (more, guard)), anyway]
        for times in TIMES:
            if guard := self._looser(self.groups * times):
                return [
                    f"label about {(times - 1) * self.labelled:,} more rows and {guard}",
                    anyway,
                ]
        another = "find a prompt that promises more, with more --steps or another --optimizer-model"
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
