"""The smallest gain that the gate would show on so many rows, and the rows that guards want.

Made-up edits of the judge's verdicts on open rows are compared with it as the gate compares two
prompts. Their standard error, scaled to the groups of the holdout, says how often its test passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...judges import (
    CLASS_METRICS,
    POWER,
    PROBABILITY_METRICS,
    Change,
    InputError,
    JudgedDataset,
    Verdict,
    compare,
    split_class_metric,
)
from ...judges.metrics import BINARY_METRICS
from ...judges.metrics.permutation_test import FEW_GROUPS
from ..losses.objective import Guard
from .guards import GUARD_ALPHA, MIN_EFFECTIVE, MIN_GROUPS

EDITS = 10
"""Made-up edits of one size that are averaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardNeed:
    """The rows that a guard wants, where an edit flips as many verdicts as assumed."""

    metric: str
    margin: float
    rows: int | None
    """Rows that let the guard hold in 80 % of cases if nothing is lost; None where nothing flips.
    """
    rows_at_half: int | None
    """Where half of the margin is lost."""


def smallest_gain(
    metric: str,
    judged: JudgedDataset,
    *,
    churn: float,
    alpha: float,
    rows: int,
    groups: int | None = None,
    seed: int = 0,
) -> float | None:
    """Return the smallest gain that the gate's test on rows like these shows with 80 % power.

    An edit is drawn that fixes a share of the wrong verdicts and breaks as many right ones, and
    fixes some more on top: the gain. A verdict that is turned keeps its confidence.

    Args:
        metric: A metric of decisions or probabilities, or of the classes of a choice.
        judged: The judge as it is, on open rows.
        churn: Share of the wrong verdicts that are fixed while as many right ones are broken.
        alpha: Of the one-sided test.
        rows: As many rows as the test will have.
        groups: As many groups; in proportion to the rows unless given.
        seed: Of the edits.

    Returns:
        None where the metric is undefined, or not even fixing every wrong verdict is shown.

    Raises:
        InputError: The metric is neither.
    """
    if not _is_planned(metric, judged):
        raise InputError(
            f"the detectable gain is known for metrics of decisions or classes, and {metric} is"
            " not one"
        )
    times = _times(judged, rows, groups)

    def try_edits(fixed: int) -> tuple[float, float]:
        """Return the mean gain and power of edits that fix so many more."""
        # The same seed for every size, so that power rises with the number fixed and not by luck.
        changes = _draw_changes(metric, judged, churn, fixed, seed)
        if not changes:
            return 0.0, 0.0
        powers = [_power(change, alpha, times) for change in changes]
        return float(np.mean([change.gain for change in changes])), float(np.mean(powers))

    low, high = 0, int(judged.wrong.sum()) - _flips(judged, churn)
    if high == 0:
        return None
    over = try_edits(high)
    if over[1] < POWER:
        return None
    under = try_edits(low)
    while high - low > 1:
        middle = (low + high) // 2
        result = try_edits(middle)
        if result[1] < POWER:
            low, under = middle, result
        else:
            high, over = middle, result
    if under[1] >= POWER:
        return over[0]
    # Between two whole numbers of verdicts the gain is interpolated.
    return float(np.interp(POWER, (under[1], over[1]), (under[0], over[0])))


def perfect_gain(
    metric: str,
    judged: JudgedDataset,
    *,
    alpha: float,
    rows: int,
    groups: int | None = None,
) -> float | None:
    """Return the gain of an edit that fixes every wrong verdict and breaks none; None where not
    even that is shown.
    """
    changes = _draw_changes(metric, judged, 0.0, int(judged.wrong.sum()), seed=0)
    if not changes or _power(changes[0], alpha, _times(judged, rows, groups)) < POWER:
        return None
    return changes[0].gain


def guard_needs(
    guards: Sequence[Guard], judged: JudgedDataset, *, churn: float, seed: int = 0
) -> tuple[GuardNeed, ...]:
    """Return the rows that each guard wants to hold with 80 % power, by the scatter of edits with
    this churn.

    Guards on the order of grades are left out, and those whose metric is undefined on the open
    rows.

    Args:
        guards: Metrics with their margins.
        judged: The judge as it is, on open rows.
        churn: Share of the wrong verdicts that an edit fixes while it breaks as many right ones.
        seed: Of the edits.
    """
    from scipy.stats import norm

    z = float(norm.isf(GUARD_ALPHA) + norm.ppf(POWER))
    needs: list[GuardNeed] = []
    for guard in guards:
        if not _is_planned(guard.metric, judged):
            continue
        changes = _draw_changes(guard.metric, judged, churn, 0, seed)
        variances = [change.se**2 for change in changes if change.se is not None]
        if not variances:
            continue
        rows = len(judged.scored) * (z / guard.margin) ** 2 * float(np.mean(variances))
        needs.append(
            GuardNeed(
                metric=guard.metric,
                margin=guard.margin,
                rows=math.ceil(rows) or None,
                rows_at_half=math.ceil(4 * rows) or None,
            )
        )
    return tuple(needs)


def _is_planned(metric: str, judged: JudgedDataset) -> bool:
    """Whether made-up edits are known for a metric of such a judge."""
    if judged.scale.kind == "choice":
        return metric in CLASS_METRICS or split_class_metric(metric)[1] is not None
    return metric in BINARY_METRICS or (metric in PROBABILITY_METRICS and judged.states_probability)


def _times(judged: JudgedDataset, rows: int, groups: int | None) -> float:
    """Return how many times the groups of the open rows the test will have."""
    if groups is None:
        return rows / max(len(judged.scored), 1)
    return groups / max(len(np.unique(judged.groups)), 1)


def _power(change: Change, alpha: float, times: float) -> float:
    """Return how often the gate's test of the target passes on so many times the groups, if a
    change is the true one.
    """
    from scipy.stats import norm
    from scipy.stats import t as student

    if change.se is None or change.gain <= 0:
        return 0.0
    enough = times * change.bearing_groups >= MIN_GROUPS
    enough &= times * change.effective_groups >= MIN_EFFECTIVE
    moved = times * change.changed_groups
    if not enough or moved < 2:
        return 0.0
    se = change.se / math.sqrt(times)
    freedom = max(1.0, min(moved, times * change.effective_groups) - 1.0)
    least = float(student.isf(alpha, freedom)) * se
    if moved < FEW_GROUPS or change.metric == "f1_macro_grades":
        # Sums of swapped gains are about zero, in steps of two gains; half a step is taken off.
        scatter = math.sqrt(se**2 + change.gain**2 / (times * change.groups))
        least = max(least, float(norm.isf(alpha)) * scatter + change.gain / moved)
    return float(norm.cdf((change.gain - least) / se)) if se > 0 else float(change.gain > least)


def _flips(judged: JudgedDataset, churn: float) -> int:
    """Return how many wrong verdicts an edit fixes while it breaks as many right ones."""
    wrong = int(judged.wrong.sum())
    if churn <= 0:
        return 0
    return min(max(1, round(churn * wrong)), wrong, len(judged.scored) - wrong)


def _draw_changes(
    metric: str, judged: JudgedDataset, churn: float, fixed: int, seed: int
) -> list[Change]:
    """Return the changes by made-up edits, those that leave the metric undefined left out."""
    rng = np.random.default_rng(seed)
    flips = _flips(judged, churn)
    wrong, right = np.flatnonzero(judged.wrong), np.flatnonzero(~judged.wrong)
    verdicts, labels = judged.verdicts, judged.label
    changes: list[Change] = []
    for _ in range(EDITS if flips else 1):
        answers = list(judged.answers)
        for i in rng.permutation(wrong)[: flips + fixed]:
            answers[judged.scored[i]] = _turned(judged, verdicts[i], float(labels[i]))
        for i in rng.permutation(right)[:flips]:
            # Any other class; of two there is one.
            code = (labels[i] + rng.integers(1, max(2, len(judged.scale.labels)))) % max(
                1, len(judged.scale.labels)
            )
            answers[judged.scored[i]] = _turned(judged, verdicts[i], float(code))
        change = compare(metric, judged, replace(judged, answers=tuple(answers)))
        if change is not None:
            changes.append(change)
    return changes


def _turned(judged: JudgedDataset, verdict: Verdict, code: float) -> Verdict:
    """Return a verdict that decides otherwise; of a choice it names the class of that code."""
    if judged.scale.kind == "choice":
        return replace(verdict, score=code)
    positive = not verdict.positive
    score = judged.scale.high if positive else judged.scale.low
    return replace(verdict, score=float(score), positive=positive)
