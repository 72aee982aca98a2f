"""The chance that the gate will accept a candidate, reckoned before the holdout is opened.

Of the holdout only its number of groups is used. What a candidate changes is measured on selection
rows, and what is believed of that is a `Belief`. Then holdouts are drawn in two stages. First a
population: weights of the selection rows' groups, drawn from a Dirichlet distribution and tilted so
that the population has a change drawn from the belief. Then groups from it, as many as the holdout
has. The rules of the gate are applied to each such holdout, all at once; the chance is the share
that passes. So it counts the error of the selection rows and that of the holdout's size. It does
not count a veto for a slice that gets worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from ..judges.metrics.catalog import metric_of, sign_of
from ..judges.metrics.paired_comparison import UNMOVED
from ..judges.metrics.permutation_test import FEW_GROUPS
from .belief import Belief
from .changes import WIDTH, Changes
from .holdout.guards import GUARD_ALPHA, MIN_EFFECTIVE, MIN_GROUPS
from .losses.objective import Floor, Objective

POPULATIONS, HOLDOUTS = 200, 5
"""Populations that are drawn for a candidate, and holdouts from each."""
NEWTON_STEPS, MOST_TILT = 12, 20.0


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


def chance_of(
    changes: Changes,
    objective: Objective,
    belief: Belief,
    *,
    alpha: float,
    groups: int,
    seed: int = 0,
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
        drawn.append(
            _Drawn.of(_with_unseen(holdouts @ columns, np.repeat(lacking, HOLDOUTS), rng), groups)
        )
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
        held = _reaches(
            floor, value, holdouts @ kinds[:, at + 2 * number : at + 2 * number + 2], column, groups
        )
        alone[f"{floor.metric}>={floor.value:g}"] = float(held.mean())
        passed &= held
    if changes.in_slice is not None:
        passed &= ~_Drawn.of(holdouts @ kinds[:, -WIDTH:], groups).falls()
    signs = np.array([sign_of(name) for name in names])
    measured, expected = (
        dict(zip(names, (signs * of).tolist(), strict=True)) for of in (changes.measured, mean)
    )
    return Chance(
        accepted=float(passed.mean()),
        target=float(target.mean()),
        guards=alone,
        measured=measured,
        expected=expected,
        error={
            name: math.sqrt(max(value, 0.0))
            for name, value in zip(names, covariance.diagonal(), strict=True)
        },
        rows=changes.rows,
    )


def _kinds(changes: Changes) -> tuple[FloatArray, IntArray]:
    """Return the different kinds of groups, and how many groups are of each; shapes (kinds,
    columns) and (kinds,).
    """
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
    """Weigh groups anew so that each population has the change that was drawn for it, as nearly as
    they allow.

    Weights are multiplied by the exponential of a linear function of the groups' gains: of all
    weights that give the change these are the nearest (exponential tilting).

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
        curve = (
            np.einsum("pk,pkm,pkl->pml", tilted, away, away) - mean[:, :, None] * mean[:, None, :]
        )
        curve += np.eye(metrics) * (1e-6 + 1e-4 * np.trace(curve, axis1=1, axis2=2)[:, None, None])
        step = np.linalg.solve(curve, mean[:, :, None])[:, :, 0]
        slopes = np.clip(slopes - np.clip(step, -1.0, 1.0), -MOST_TILT, MOST_TILT)
        exponent = np.einsum("pkm,pm->pk", away, slopes)
        tilted = weights * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        tilted /= tilted.sum(axis=1, keepdims=True)
    return tilted


def _with_unseen(sums: FloatArray, lacking: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Add changed verdicts of a kind that no selection row showed, where the drawn change asks for
    some.

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
        """Read it from the sums of `MetricByGroup.columns` over a holdout's groups; shape
        (holdouts, WIDTH).
        """
        (
            gain,
            rows,
            gain2,
            gain_rows,
            rows2,
            moved,
            changed,
            old,
            new,
            old_groups,
            new_groups,
            sizes,
            sizes2,
        ) = sums.T
        rows = np.maximum(rows, 1.0)
        change = gain / rows
        squares = np.maximum(gain2 - 2 * change * gain_rows + change**2 * rows2, 0.0)
        scatter = np.sqrt(np.maximum(gain2, UNMOVED))
        # Sums of swapped gains have steps, as large as two gains where all are alike; half a step
        # is taken off.
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

        p = np.maximum(
            stdtr(self.freedom, -self.change / np.maximum(self.se, UNMOVED)), ndtr(-self.swap_z)
        )
        enough = (
            (self.bearing_groups >= MIN_GROUPS)
            & (self.effective >= MIN_EFFECTIVE)
            & (self.moved >= 2)
        )
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

        return (self.change + stdtrit(self.freedom, 1 - GUARD_ALPHA) * self.se < 0) & (
            self.moved >= 2
        )


def _reaches(floor: Floor, value: float, sums: FloatArray, drawn: _Drawn, groups: int) -> BoolArray:
    """Say on which drawn holdouts the new prompt's lower bound is at its floor; the bound is that
    of `value_bounds`.
    """
    from scipy.special import stdtrit

    lowest, highest = metric_of(floor.metric).bounds(2)
    width = highest - lowest
    rows = np.maximum(drawn.rows, 1.0)
    share = np.clip((value + sums[:, 0] / rows - lowest) / width, 0.0, 1.0)
    squares = np.maximum(sums[:, 1] - sums[:, 0] ** 2 / groups, 0.0)
    scaled = np.sqrt(squares) / rows / width
    spread = share * (1.0 - share)
    n = np.where(
        (scaled > UNMOVED) & (spread > 0),
        spread / np.maximum(scaled, UNMOVED) ** 2,
        drawn.bearing_groups,
    )
    n = np.maximum(n, 1.0)
    z = stdtrit(max(1.0, groups - 1.0), 1 - GUARD_ALPHA)
    centre, half = share + z**2 / (2 * n), z * np.sqrt(spread / n + z**2 / (4 * n**2))
    low = lowest + width * (centre - half) / (1 + z**2 / n)
    return (low >= floor.value) & (drawn.bearing_groups >= MIN_GROUPS)
