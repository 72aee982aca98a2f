"""The chance that the gate will accept a candidate, reckoned before the holdout is opened.

Of the holdout only its number of groups is used. What a candidate changes is measured on selection rows; there it is
flattered, because it is the best of several. So as many standard errors are taken off every measured change as the best
of so many is flattered by, from a guard as well as from the target. Then holdouts are drawn in two stages. First a
population: weights of the selection rows' groups, drawn from a Dirichlet distribution and tilted so that the population
has a change drawn from what is believed of the true one. Then groups from it, as many as the holdout has. The rules of
the gate are applied to each such holdout, all at once; the chance is the share that passes. So it counts the error of
the selection rows and that of the holdout's size. It does not count a veto for a slice that gets worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray, JudgedDataset, group_codes, influence, point
from ..judges.metrics import denominator
from ..judges.metrics.catalog import metric_of, sign_of
from ..judges.metrics.paired_comparison import UNMOVED, common_rows
from ..judges.metrics.permutation_test import FEW_GROUPS
from .holdout.gate import MIN_COVERAGE, SLICE_ALPHA
from .holdout.guards import GUARD_ALPHA, MIN_EFFECTIVE, MIN_GROUPS
from .holdout.unanswered import count_against
from .losses.objective import Floor, Objective

POPULATIONS, HOLDOUTS = 200, 5
"""Populations that are drawn for a candidate, and holdouts from each."""
FLATTERED = 0.5
"""Share of the largest of independent standard errors by which the best of several is flattered. Candidates share the
errors of the prompt in use, and are chosen by their loss rather than by one metric: measured on real rows, a half."""
NEWTON_STEPS, MOST_TILT = 12, 20.0
WIDTH = 13
"""Columns of `MetricByGroup.columns`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The chance that the gate accepts a candidate, and what it rests on."""

    accepted: float
    target: float
    """Chance that the target passes its test, whatever becomes of the rest."""
    guards: Mapping[str, float]
    """The same of each guard, and of each floor as `metric>=value`."""
    measured: Mapping[str, float]
    """The change of each metric on the selection rows."""
    expected: Mapping[str, float]
    """The true change that is believed in."""
    error: Mapping[str, float]
    """Standard deviation of that belief."""
    rows: int
    """Selection rows that both prompts answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricByGroup:
    """What one metric changes in each group of the selection rows; every array has shape (G,)."""

    name: str
    gain: FloatArray
    """Sum of the rows' shares of `Change.gain`; over all rows their mean is the gain, to second order."""
    rows: FloatArray
    moved: BoolArray
    """Whether the group's influence on the metric differs between the two prompts."""
    old_rows: FloatArray
    """Rows in the metric's denominator under the prompt in use."""
    new_rows: FloatArray
    sizes: FloatArray
    """Rows in either denominator."""

    @classmethod
    def of(
        cls, name: str, before: JudgedDataset, after: JudgedDataset, *, keep: BoolArray | None = None
    ) -> MetricByGroup | None:
        """Read the change of a metric; None where it is undefined on either side.

        Args:
            name: The metric.
            before, after: Answers to the same dataset.
            keep: Which rows of the dataset to compare, shape (rows,); all unless given.
        """
        codes = group_codes(before.dataset.rows)
        common = common_rows(before, after)
        if keep is not None:
            common = common[keep[common]]
        old, new = before.only(common), after.only(common)
        label, first = old.compared(name)
        _, second = new.compared(name)
        if point(name, label, first) is None or point(name, label, second) is None:
            return None
        # Taken at the tables of both prompts together, a row whose verdict stayed has no part in the change.
        people: Any = np.concatenate([label, label])  # Any: of booleans or of grades
        judges: Any = np.concatenate([first, second])
        pooled = influence(name, people, judges)
        moved = influence(name, label, second) - influence(name, label, first)
        denominators = denominator(name, old), denominator(name, new)

        def sums(values: FloatArray | BoolArray) -> FloatArray:
            weights = values.astype(np.float64)
            return np.bincount(codes[common], weights=weights, minlength=int(codes.max()) + 1).astype(np.float64)

        return cls(
            name=name,
            gain=sums(sign_of(name) * (pooled[len(label) :] - pooled[: len(label)])),
            rows=sums(np.ones(len(label))),
            moved=np.abs(sums(moved)) > UNMOVED,
            old_rows=sums(denominators[0]),
            new_rows=sums(denominators[1]),
            sizes=sums(denominators[0] | denominators[1]),
        )

    @property
    def change(self) -> float:
        """The gain over all groups."""
        return float(self.gain.sum() / self.rows.sum())

    def columns(self) -> FloatArray:
        """Return what `_Drawn` sums over the groups of a holdout; shape (G, WIDTH)."""
        parts = [
            self.gain,
            self.rows,
            self.gain**2,
            self.gain * self.rows,
            self.rows**2,
            self.moved,
            np.abs(self.gain) > UNMOVED,
            self.old_rows,
            self.new_rows,
            self.old_rows > 0,
            self.new_rows > 0,
            self.sizes,
            self.sizes**2,
        ]
        return np.stack([part.astype(np.float64) for part in parts], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a candidate changes on selection rows: each metric of the objective, with their errors together."""

    metrics: tuple[MetricByGroup, ...]
    """The target first."""
    in_slice: MetricByGroup | None
    """The target on the slice that was optimized."""
    floors: tuple[tuple[Floor, float, FloatArray], ...]
    """Each floor with the new prompt's value and its influences summed by group."""
    rows: int

    @classmethod
    def of(
        cls, before: JudgedDataset, after: JudgedDataset, objective: Objective, *, in_slice: BoolArray | None = None
    ) -> Changes | None:
        """Compare a candidate with the prompt in use; None where the gate could not decide about it.

        Rows that one side alone answered are counted against the new prompt, as the gate does at its strictest.

        Args:
            before, after: Answers to the same selection rows.
            objective: Target, guards and floors.
            in_slice: Which rows belong to the slice that was optimized, shape (rows,).
        """
        if min(before.coverage, after.coverage) < MIN_COVERAGE:
            return None
        metrics: list[MetricByGroup] = []
        for name in objective.metrics:
            worst = count_against(before, after, name)
            sides = (before, after) if worst is None else (worst.before, worst.after)
            metric = MetricByGroup.of(name, *sides)
            if metric is None:
                return None
            metrics.append(metric)
        floors: list[tuple[Floor, float, FloatArray]] = []
        codes = group_codes(after.dataset.rows)
        for floor in objective.floors:
            label, predicted = after.compared(floor.metric)
            value = point(floor.metric, label, predicted)
            assert value is not None  # or the change would not be defined
            moved = influence(floor.metric, label, predicted)
            sums = np.bincount(codes[after.scored], weights=moved, minlength=int(codes.max()) + 1)
            floors.append((floor, value, sums.astype(np.float64)))
        return cls(
            metrics=tuple(metrics),
            in_slice=None if in_slice is None else MetricByGroup.of(objective.target, before, after, keep=in_slice),
            floors=tuple(floors),
            rows=len(common_rows(before, after)),
        )

    @property
    def measured(self) -> FloatArray:
        """The gain in each metric; shape (M,)."""
        return np.array([metric.change for metric in self.metrics])

    @property
    def covariance(self) -> FloatArray:
        """Of the errors of `measured`, clustered by group; shape (M, M)."""
        spread = np.stack([(m.gain - m.change * m.rows) / m.rows.sum() for m in self.metrics], axis=1)
        groups = int((self.metrics[0].rows > 0).sum())
        # Where hardly a verdict changed, the next rows may hold one that does: as if one more had been seen.
        one_more = [1.0 / max(min(m.old_rows.sum(), m.new_rows.sum()), 1.0) ** 2 for m in self.metrics]
        return groups / max(groups - 1, 1) * spread.T @ spread + np.diag(one_more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed of a candidate's true changes."""

    mean: FloatArray
    """Of each metric of the objective; shape (M,)."""
    covariance: FloatArray
    """Shape (M, M)."""

    @classmethod
    def of(cls, changes: Changes, *, tried: int) -> Belief:
        """Take off what choosing flatters.

        Args:
            changes: What was measured.
            tried: Candidates that were tried on these rows, this one included; with the prompt in use they are the
                ones that it is the best of. 0 for what was not chosen on them.
        """
        largest = expected_largest(tried + 1)
        covariance = changes.covariance
        mean = changes.measured - FLATTERED * largest * np.sqrt(covariance.diagonal())
        return cls(mean=mean, covariance=covariance)


def expected_largest(count: int) -> float:
    """Return the expected largest of independent standard normal draws, by Blom (1958); 0 for one."""
    from scipy.special import ndtri

    return float(ndtri((count - 0.375) / (count + 0.25)))


def chance_of(
    changes: Changes, objective: Objective, belief: Belief, *, alpha: float, groups: int, seed: int = 0
) -> Chance:
    """Return the chance that the gate accepts a candidate.

    Args:
        changes: What it changes on the selection rows.
        objective: Target, guards and floors.
        belief: What is believed of its true changes.
        alpha: What the look may spend.
        groups: Of the holdout.
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    mean, covariance = belief.mean, belief.covariance
    kinds, counts = _kinds(changes)
    draws = rng.multivariate_normal(mean, covariance, size=POPULATIONS, method="eigh")
    weights = _tilt(rng.gamma(counts, size=(POPULATIONS, len(counts))), kinds, draws)
    holdouts = rng.multinomial(groups, np.repeat(weights, HOLDOUTS, axis=0)).astype(np.float64)
    drawn: list[_Drawn] = []
    for i in range(len(changes.metrics)):
        columns = kinds[:, WIDTH * i : WIDTH * (i + 1)]
        population = weights @ columns
        lacking = draws[:, i] - population[:, 0] / population[:, 1]
        drawn.append(_Drawn.of(_with_unseen(holdouts @ columns, np.repeat(lacking, HOLDOUTS), rng), groups))
    target = drawn[0].gains(alpha)
    passed, alone = target.copy(), {}
    names = [metric.name for metric in changes.metrics]
    for guard in objective.guards:
        held = drawn[names.index(guard.metric)].holds(guard.margin)
        alone[guard.metric] = float(held.mean())
        passed &= held
    at = WIDTH * len(changes.metrics)
    for number, (floor, value, _) in enumerate(changes.floors):
        column = drawn[names.index(floor.metric)]
        held = _reaches(floor, value, holdouts @ kinds[:, at + 2 * number : at + 2 * number + 2], column, groups)
        alone[f"{floor.metric}>={floor.value:g}"] = float(held.mean())
        passed &= held
    if changes.in_slice is not None:
        passed &= ~_Drawn.of(holdouts @ kinds[:, -WIDTH:], groups).falls()
    signs = np.array([sign_of(name) for name in names])
    measured, expected = (dict(zip(names, (signs * of).tolist(), strict=True)) for of in (changes.measured, mean))
    return Chance(
        accepted=float(passed.mean()),
        target=float(target.mean()),
        guards=alone,
        measured=measured,
        expected=expected,
        error={name: math.sqrt(max(value, 0.0)) for name, value in zip(names, covariance.diagonal(), strict=True)},
        rows=changes.rows,
    )


def _kinds(changes: Changes) -> tuple[FloatArray, IntArray]:
    """Return the different kinds of groups, and how many groups are of each; shapes (kinds, columns) and (kinds,)."""
    parts = [metric.columns() for metric in changes.metrics]
    parts += [np.stack([moved, moved**2], axis=1) for _, _, moved in changes.floors]
    if changes.in_slice is not None:
        parts.append(changes.in_slice.columns())
    table = np.hstack(parts)
    table = table[changes.metrics[0].rows > 0]
    # Equal groups may differ in the last digit, by the order in which their rows were summed.
    _, first, counts = np.unique(table.round(9), axis=0, return_index=True, return_counts=True)
    return table[first], counts


def _tilt(weights: FloatArray, kinds: FloatArray, changes: FloatArray) -> FloatArray:
    """Weigh groups anew so that each population has the change that was drawn for it, as nearly as they allow.

    Weights are multiplied by the exponential of a linear function of the groups' gains: of all weights that give the
    change these are the nearest (exponential tilting).

    Args:
        weights: Of populations by kinds of groups; shape (populations, kinds).
        kinds: As `_kinds` returns them.
        changes: Wanted of each population; shape (populations, M).
    """
    metrics = changes.shape[1]
    gain, rows = kinds[:, : WIDTH * metrics : WIDTH], kinds[:, 1 : WIDTH * metrics : WIDTH]
    away = gain - changes[:, None, :] * rows
    away = away / (float(np.abs(gain).max()) or 1.0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    slopes, tilted = np.zeros_like(changes), weights
    for _ in range(NEWTON_STEPS):
        mean = np.einsum("pk,pkm->pm", tilted, away)
        curve = np.einsum("pk,pkm,pkl->pml", tilted, away, away) - mean[:, :, None] * mean[:, None, :]
        curve += np.eye(metrics) * (1e-6 + 1e-4 * np.trace(curve, axis1=1, axis2=2)[:, None, None])
        step = np.linalg.solve(curve, mean[:, :, None])[:, :, 0]
        slopes = np.clip(slopes - np.clip(step, -1.0, 1.0), -MOST_TILT, MOST_TILT)
        exponent = np.einsum("pkm,pm->pk", away, slopes)
        tilted = weights * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        tilted /= tilted.sum(axis=1, keepdims=True)
    return tilted


def _with_unseen(sums: FloatArray, lacking: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Add changed verdicts of a kind that no selection row showed, where the drawn change asks for some.

    Args:
        sums: Of `MetricByGroup.columns` over holdouts; shape (holdouts, WIDTH).
        lacking: The part of the drawn change that no weights of the groups give; shape (holdouts,).
        rng: Draws how many there are.
    """
    sums = sums.copy()
    bearing = np.maximum(np.minimum(sums[:, 7], sums[:, 8]), 1.0)
    verdicts = rng.poisson(np.abs(lacking) * bearing)
    gain = np.sign(lacking) * sums[:, 1] / bearing
    sums[:, 0] += verdicts * gain
    sums[:, 2] += verdicts * gain**2
    sums[:, 3] += verdicts * gain
    sums[:, 5] += verdicts
    sums[:, 6] += verdicts
    return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """One metric on drawn holdouts, as the gate sees it; every array has shape (holdouts,)."""

    change: FloatArray
    se: FloatArray
    rows: FloatArray
    moved: FloatArray
    bearing_rows: FloatArray
    bearing_groups: FloatArray
    effective: FloatArray
    swap_z: FloatArray
    """Standard normal deviate of the swap test where few groups changed, else infinite."""

    @classmethod
    def of(cls, sums: FloatArray, groups: int) -> _Drawn:
        """Read it from the sums of `MetricByGroup.columns` over a holdout's groups; shape (holdouts, WIDTH)."""
        gain, rows, gain2, gain_rows, rows2, moved, changed, old, new, old_groups, new_groups, sizes, sizes2 = sums.T
        rows = np.maximum(rows, 1.0)
        change = gain / rows
        squares = np.maximum(gain2 - 2 * change * gain_rows + change**2 * rows2, 0.0)
        scatter = np.sqrt(np.maximum(gain2, UNMOVED))
        # Sums of swapped gains have steps, as large as two gains where all are alike; half a step is taken off.
        step = np.maximum(gain, 0.0) / np.maximum(changed, 1.0)
        return cls(
            change=change,
            se=np.sqrt(groups / max(groups - 1, 1) * squares) / rows,
            rows=rows,
            # Where the metric stayed the same, only groups with changed verdicts have moved.
            moved=np.where(np.abs(gain) < UNMOVED, changed, moved),
            bearing_rows=np.minimum(old, new),
            bearing_groups=np.minimum(old_groups, new_groups),
            effective=sizes**2 / np.maximum(sizes2, 1.0),
            swap_z=np.where(changed < FEW_GROUPS, (gain - step) / scatter, np.inf),
        )

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of the test, at least 1."""
        return np.maximum(np.minimum(self.moved, self.effective) - 1.0, 1.0)

    def gains(self, alpha: float) -> BoolArray:
        """Say where the gate finds a gain."""
        from scipy.special import ndtr, stdtr

        p = np.maximum(stdtr(self.freedom, -self.change / np.maximum(self.se, UNMOVED)), ndtr(-self.swap_z))
        enough = (self.bearing_groups >= MIN_GROUPS) & (self.effective >= MIN_EFFECTIVE) & (self.moved >= 2)
        return enough & (self.change > 0) & (p <= alpha)

    def holds(self, margin: float) -> BoolArray:
        """Say where a guard with this margin holds."""
        from scipy.special import stdtrit

        low = self.change - stdtrit(self.freedom, 1 - GUARD_ALPHA) * self.se
        low = np.where(self.moved == 0, self.change - 3.0 / np.maximum(self.bearing_rows, 1.0), low)
        return (low > -margin) & (self.bearing_groups >= MIN_GROUPS) & (self.moved != 1)

    def falls(self) -> BoolArray:
        """Say where a fall is beyond chance, as the gate asks of the slice that was optimized."""
        from scipy.special import stdtrit

        return (self.change + stdtrit(self.freedom, 1 - SLICE_ALPHA) * self.se < 0) & (self.moved >= 2)


def _reaches(floor: Floor, value: float, sums: FloatArray, drawn: _Drawn, groups: int) -> BoolArray:
    """Say on which drawn holdouts the new prompt's lower bound is at its floor; the bound is that of `lower_bound`."""
    from scipy.special import stdtrit

    lowest, highest = metric_of(floor.metric).bounds(2)
    width = highest - lowest
    rows = np.maximum(drawn.rows, 1.0)
    share = np.clip((value + sums[:, 0] / rows - lowest) / width, 0.0, 1.0)
    squares = np.maximum(sums[:, 1] - sums[:, 0] ** 2 / groups, 0.0)
    scaled = np.sqrt(squares) / rows / width
    spread = share * (1.0 - share)
    n = np.where((scaled > UNMOVED) & (spread > 0), spread / np.maximum(scaled, UNMOVED) ** 2, drawn.bearing_groups)
    n = np.maximum(n, 1.0)
    z = stdtrit(max(1.0, groups - 1.0), 1 - GUARD_ALPHA)
    centre, half = share + z**2 / (2 * n), z * np.sqrt(spread / n + z**2 / (4 * n**2))
    low = lowest + width * (centre - half) / (1 + z**2 / n)
    return (low >= floor.value) & (drawn.bearing_groups >= MIN_GROUPS)
