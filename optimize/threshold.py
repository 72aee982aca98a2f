"""What another threshold alone would give: the first thing that a new prompt has to beat.

A prompt often moves all scores a little; some of its gain, or of its loss, may be had by moving the
threshold instead. A threshold flatters the rows that it was chosen on, so what it gives is
cross-fitted over folds of groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..judges import (
    PROBABILITY_METRICS,
    DecisionRule,
    FloatArray,
    InputError,
    IntArray,
    JudgedDataset,
    point,
)
from ..judges.metrics import BINARY_METRICS
from ..judges.metrics.fitted_rule import FOLDS, best_threshold, thresholds_between
from ..judges.verdict import apply_rule
from .losses.objective import Objective

ONE_SIDED = ("precision", "recall", "specificity")
"""Targets that a threshold at one end of the scale would serve best, if nothing were guarded."""


@dataclass(frozen=True, slots=True)
class NoThreshold:
    """There is no threshold to choose, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenThreshold:
    """The threshold that serves a prompt best, and what it does on rows that it was not chosen
    on.
    """

    metric: str
    """What it was chosen for; the guards had to hold as well."""
    old: DecisionRule
    """What decided."""
    rule: DecisionRule
    """Chosen on all the rows."""
    judged: JudgedDataset
    """Every row decided by a threshold that its fold of groups did not help to choose."""
    notes: tuple[str, ...] = ()


def choose_threshold(
    before: JudgedDataset,
    judged: JudgedDataset,
    objective: Objective,
    *,
    claims: bool = False,
    seed: int = 0,
) -> ChosenThreshold | NoThreshold:
    """Choose the threshold of a prompt on open rows.

    Among thresholds under which no guarded metric is further below that of the prompt in use than
    its margin, the one with the best target wins, the nearest to the old one among equals. A
    calibration that was in force stays as it is: it is monotone, so that another one would decide
    no row otherwise.

    Args:
        before: The answers of the prompt in use, under the rule in force.
        judged: The prompt's answers to the same rows, under the same rule; `before` itself for the
            prompt in use.
        objective: Target and guards.
        claims: Whether responses are judged by claim.
        seed: Of the folds.

    Raises:
        InputError: The two tables differ in rows, scale or rule.
    """
    ids = [[row.id for row in side.dataset.rows] for side in (before, judged)]
    if ids[0] != ids[1] or before.rule != judged.rule or not before.scale.same_grades(judged.scale):
        raise InputError(
            "the tables before and after differ in their rows, their scale or the rule that decided"
        )
    if claims:
        return NoThreshold(
            "responses are judged by claim, and a threshold decides about a claim, which has no"
            " label"
        )
    if before.scale.kind == "choice":
        return NoThreshold(
            f"the judge chooses among labels without an order ({before.scale.describe()})"
        )
    if objective.target in PROBABILITY_METRICS:
        return NoThreshold(
            f"{objective.target} is of the probabilities, which no threshold changes"
        )
    if objective.target not in BINARY_METRICS:
        return NoThreshold(f"{objective.target} compares grades, which no threshold changes")
    free = objective.target in ONE_SIDED and not objective.guards and not objective.floors
    aim = replace(objective, target="f1") if free else objective
    notes = (
        [f"nothing is guarded, so the threshold was chosen for f1, not for {objective.target}"]
        if free
        else []
    )
    old = before.rule or DecisionRule(threshold=before.scale.threshold)
    if old.calibration is not None:
        notes.append(
            "the calibration is kept: it is monotone, and another one would decide no row otherwise"
        )
    answers = list(judged.answers)
    fold = _folds(before, seed)
    for k in range(int(fold.max()) + 1 if len(fold) else 0):
        others = np.flatnonzero(fold != k)
        rule = _choose(judged.only(others), aim, old, _floors(before.only(others), aim))
        for i in np.flatnonzero(fold == k):
            answers[i] = apply_rule(answers[i], judged.scale, rule)
    return ChosenThreshold(
        metric=aim.target,
        old=old,
        rule=_choose(judged, aim, old, _floors(before, aim)),
        judged=replace(judged, answers=tuple(answers)),
        notes=tuple(notes),
    )


def thresholds_of(judged: JudgedDataset, rule: DecisionRule) -> list[float]:
    """Return every threshold that could decide about a prompt's answers, the one of a rule among
    them; ascending.
    """
    return sorted(
        {rule.threshold, *thresholds_between(judged.scale, _decided_scores(judged, rule)).tolist()}
    )


def _decided_scores(judged: JudgedDataset, rule: DecisionRule) -> FloatArray:
    """Return what a threshold is compared with: the scores, calibrated where they are
    probabilities; shape (n,).
    """
    if judged.scale.kind == "probability" and rule.calibration is not None:
        return np.array([rule.calibration(value) for value in judged.score], np.float64)
    return judged.score


def _floors(before: JudgedDataset, aim: Objective) -> dict[str, float]:
    """How low each metric may be: a guarded one its value for the old prompt under the old rule,
    less the margin.
    """
    lowest = {floor.metric: floor.value for floor in aim.floors}
    for guard in aim.guards:
        value = point(guard.metric, *before.compared(guard.metric))
        if value is not None:
            lowest[guard.metric] = max(value - guard.margin, lowest.get(guard.metric, -1.0))
    return lowest


def _choose(
    judged: JudgedDataset, aim: Objective, old: DecisionRule, floors: Mapping[str, float]
) -> DecisionRule:
    """Return the rule of best target among those that keep the guards; the old one where there is
    none.
    """
    score = _decided_scores(judged, old)
    at_threshold = {name: floor for name, floor in floors.items() if name in BINARY_METRICS}
    allowed: list[float] = []
    for threshold in thresholds_of(judged, old):
        values = {name: point(name, judged.positive, score >= threshold) for name in at_threshold}
        if all(
            value is not None and value >= at_threshold[name] - 1e-12
            for name, value in values.items()
        ):
            allowed.append(threshold)
    if not allowed or judged.positive.all() or not judged.positive.any():
        return old
    candidates = np.array(allowed, np.float64)
    threshold = best_threshold(
        judged.positive, score, candidates, metric=aim.target, middle=old.threshold
    )
    return replace(old, threshold=threshold)


def _folds(judged: JudgedDataset, seed: int) -> IntArray:
    """Deal whole groups out into folds at random; the fold of every row, shape (rows,)."""
    keys = [row.group_key for row in judged.dataset.rows]
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    dealt = np.random.default_rng(seed).permutation(len(codes)) % min(FOLDS, max(2, len(codes)))
    return np.array([dealt[codes[key]] for key in keys], np.int64)
