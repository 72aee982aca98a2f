"""After an edit, choose the threshold again, for the old prompt as for the new one, on validation rows alone.

An edit often moves all scores a little; some of its gain, or of its loss, may be had by moving the threshold
instead. So before and after are compared twice: both at the old threshold, and each at the one that serves it best. A
threshold flatters the rows that it was chosen on; the second comparison is therefore cross-fitted over folds of
groups, the same for both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..judges import Change, DecisionRule, InputError, IntArray, JudgedDataset, Splits, compare, point
from ..judges.calibrate import FOLDS, best_threshold, thresholds_between
from ..judges.metrics import BINARY_METRICS
from ..judges.verdict import Answer, apply_rule, as_given
from .losses.objective import Objective

ONE_SIDED = ("precision", "recall", "specificity")
"""Targets that a threshold at one end of the scale would serve best, if nothing were guarded."""


@dataclass(frozen=True, slots=True)
class NoThreshold:
    """There is no threshold to choose again, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedThresholds:
    """The thresholds, and the change from before to after under either choice."""

    metric: str
    """What the thresholds were chosen for; the guards had to hold as well."""
    old: DecisionRule
    """What decided for both."""
    before: DecisionRule
    """What serves the old prompt best."""
    after: DecisionRule
    """What serves the new prompt best."""
    at_old: Mapping[str, Change | None]
    """The target and every guarded metric, both sides under the old rule; None where undefined."""
    retuned: Mapping[str, Change | None]
    """The same with each side under its own rule, cross-fitted."""
    n: int
    simulated: bool
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return rules, changes and notes."""
        rules = {name: getattr(self, name) for name in ("old", "before", "after")}
        stored = {name: {"version": rule.version, **rule.to_json()} for name, rule in rules.items()}
        figures = {name: value for name, value in asdict(self).items() if name not in rules}
        return figures | {"rules": stored, "notes": list(self.notes)}


def tune_threshold(
    before: JudgedDataset, after: JudgedDataset, parts: Splits, objective: Objective, *, seed: int = 0
) -> TunedThresholds | NoThreshold:
    """Choose the threshold of both prompts on validation rows, and compare them at the old and at the new ones.

    Among thresholds under which no guarded metric is further below the old prompt's than its margin, the one with
    the best target wins, the nearest to the old one among equals. A calibration that was in force stays as it is.

    Args:
        before, after: Both prompts' answers to the same validation rows, under one rule.
        parts: The run's splits; a row from elsewhere is refused.
        objective: Target and guards.
        seed: Of the folds.

    Raises:
        InputError: A row is not one of validation, or the two tables differ in rows, scale or rule.
    """
    _require_validation(before, after, parts)
    if before.scale.kind == "choice":
        return NoThreshold(f"the judge chooses among labels without an order ({before.scale.describe()})")
    if objective.target not in BINARY_METRICS:
        return NoThreshold(f"{objective.target} compares grades, which no threshold changes")
    free = objective.target in ONE_SIDED and not objective.guards and not objective.floors
    aim = replace(objective, target="f1") if free else objective
    notes = [f"nothing is guarded, so the thresholds were chosen for f1, not for {objective.target}"] if free else []
    old = before.rule or DecisionRule(threshold=before.scale.threshold)
    if old.calibration is not None:
        notes.append("the calibration was fitted to the old prompt and is kept; calibrate fits a new one")
    floors = _floors(before, aim)
    crossed = _cross_fit(before, after, aim, old, seed)
    return TunedThresholds(
        metric=aim.target,
        old=old,
        before=_choose(before, aim, old, floors),
        after=_choose(after, aim, old, floors),
        at_old=_changes(before, after, objective.metrics),
        retuned=_changes(*crossed, objective.metrics),
        n=len(np.intersect1d(before.scored, after.scored)),
        simulated=before.simulated or after.simulated,
        notes=tuple(notes),
    )


def _require_validation(before: JudgedDataset, after: JudgedDataset, parts: Splits) -> None:
    validation_ids = {row.id for row in parts.validation.rows}
    ids = [[row.id for row in judged.dataset.rows] for judged in (before, after)]
    if strangers := [row_id for row_id in ids[0] + ids[1] if row_id not in validation_ids]:
        raise InputError(f"row {strangers[0]!r} is not a validation row; thresholds are chosen on those alone")
    if ids[0] != ids[1] or (before.scale, before.rule) != (after.scale, after.rule):
        raise InputError("the tables before and after differ in their rows, their scale or the rule that decided")


def _floors(before: JudgedDataset, aim: Objective) -> dict[str, float]:
    """How low each metric may be: a guarded one its value for the old prompt under the old rule, less the margin."""
    lowest = {floor.metric: floor.value for floor in aim.floors}
    for guard in aim.guards:
        value = point(guard.metric, *before.compared(guard.metric))
        if value is not None:
            lowest[guard.metric] = max(value - guard.margin, lowest.get(guard.metric, -1.0))
    return lowest


def _choose(judged: JudgedDataset, aim: Objective, old: DecisionRule, floors: Mapping[str, float]) -> DecisionRule:
    """Return the rule of best target among those that keep the guards; the old one where there is none."""
    score = judged.score
    if judged.scale.kind == "probability" and old.calibration is not None:
        score = np.array([old.calibration(value) for value in score], np.float64)
    at_threshold = {name: floor for name, floor in floors.items() if name in BINARY_METRICS}
    allowed: list[float] = []
    for threshold in sorted({old.threshold, *thresholds_between(judged.scale, score).tolist()}):
        values = {name: point(name, judged.positive, score >= threshold) for name in at_threshold}
        if all(value is not None and value >= at_threshold[name] - 1e-12 for name, value in values.items()):
            allowed.append(threshold)
    if not allowed or judged.positive.all() or not judged.positive.any():
        return old
    candidates = np.array(allowed, np.float64)
    threshold = best_threshold(judged.positive, score, candidates, metric=aim.target, middle=old.threshold)
    return replace(old, threshold=threshold)


def _cross_fit(
    before: JudgedDataset, after: JudgedDataset, aim: Objective, old: DecisionRule, seed: int
) -> tuple[JudgedDataset, JudgedDataset]:
    """Decide every row by a rule that its fold of groups did not help to choose."""
    fold = _folds(before, seed)
    answers: list[list[Answer]] = [list(before.answers), list(after.answers)]
    for k in range(int(fold.max()) + 1):
        others = np.flatnonzero(fold != k)
        floors = _floors(before.only(others), aim)
        for side, decided in zip((before, after), answers, strict=True):
            rule = _choose(side.only(others), aim, old, floors)
            for i in np.flatnonzero(fold == k):
                decided[i] = apply_rule(as_given(decided[i]), side.scale, rule)
    return replace(before, answers=tuple(answers[0])), replace(after, answers=tuple(answers[1]))


def _folds(judged: JudgedDataset, seed: int) -> IntArray:
    """Deal whole groups out into folds at random; the fold of every row, shape (rows,)."""
    keys = [row.group_key for row in judged.dataset.rows]
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    dealt = np.random.default_rng(seed).permutation(len(codes)) % min(FOLDS, max(2, len(codes)))
    return np.array([dealt[codes[key]] for key in keys], np.int64)


def _changes(before: JudgedDataset, after: JudgedDataset, metrics: Sequence[str]) -> dict[str, Change | None]:
    return {metric: compare(metric, before, after) for metric in metrics}
