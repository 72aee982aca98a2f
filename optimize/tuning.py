"""What the loop's own settings are worth: walks with other settings, judged on rows that their choice did not see.

A trial goes the walk's way as far as its survivor, on training and validation rows alone: no look is asked for and
nothing sealed is opened. The validation rows are cut into halves by group. On the choosing half, candidates are
validated and settings compared; it flatters both (the winner's curse). The held half meets none of this and is judged
once, at the end. Steps are no setting to search: a climb keeps what is better, so that more steps always look better.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..judges import (
    Dataset,
    Estimate,
    FloatArray,
    InputError,
    IntArray,
    JudgedDataset,
    JudgePrompt,
    Splits,
    clustered_se,
)
from ..judges.duplicates import Clusters, join_near_duplicates
from .context import Goal, RunSettings, Services, judge_rows, require_columns
from .improve import improve
from .journal import MemoryJournal
from .loop import benchmark, construct_loss, find_target, split_rows
from .losses.loss import row_losses
from .losses.objective import Objective
from .proposers import Proposer, Rewrite, TextGrad

SAVING = 0.1
"""Share of the calls below which asking for less is no reason to prefer a trial."""
_ROUNDING = 1e-12
"""A single row that differs lies exactly one standard error away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """The settings of the loop that a study searches."""

    batch: int
    temperature: float | None
    """Of the optimizer model; None leaves it to the endpoint, and out of the search."""
    gradients: int | None
    """None for a proposer that has none."""

    @classmethod
    def of(cls, proposer: Proposer, settings: RunSettings) -> Knobs:
        """Read them off a walk.

        Raises:
            InputError: The proposer has no such settings.
        """
        match proposer:
            case TextGrad():
                gradients: int | None = proposer.gradients
            case Rewrite():
                gradients = None
            case _:
                raise InputError(
                    f"proposer {proposer.name!r} has none of the settings that are tuned",
                    hint="tune searches batch size, temperature and gradients: those of textgrad or rewrite",
                )
        return cls(batch=settings.batch, temperature=proposer.temperature, gradients=gradients)

    def proposer(self, proposer: Proposer) -> Proposer:
        """Return a proposer with these settings."""
        match proposer:
            case TextGrad():
                return replace(proposer, temperature=self.temperature, gradients=self.gradients or 1)
            case Rewrite():
                return replace(proposer, temperature=self.temperature)
            case _:
                return proposer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all trials have in common."""

    prompt: JudgePrompt
    parts: Splits
    """The split; its validation rows are the choosing half."""
    held: Dataset
    """The other half of the validation rows, which no trial sees."""
    baseline: JudgedDataset
    """Training rows, then the choosing half."""
    goal: Goal


def lay_ground(
    prompt: JudgePrompt, dataset: Dataset, objective: Objective, services: Services, settings: RunSettings
) -> Ground:
    """Split, halve the validation rows, benchmark, find the slice and write the loss, as the walk does.

    Raises:
        InputError: The data cannot be split or halved, or the slice named does not exist.
        ModelError, BudgetSpent, Interrupted: It stopped; asked again, it goes on.
    """
    require_columns(dataset, settings)
    whole = split_rows(dataset, services, settings)
    choosing, held = halve(whole.validation)
    parts = replace(whole, validation=choosing)
    baseline = benchmark(prompt, parts, services, settings)
    target = find_target(baseline, objective, services, settings)
    loss = construct_loss(objective, target, baseline, services, settings)
    goal = Goal(objective=objective, target=target, loss=loss)
    return Ground(prompt=prompt, parts=parts, held=held, baseline=baseline, goal=goal)


def walk_with(knobs: Knobs, ground: Ground, services: Services, settings: RunSettings) -> JudgePrompt | None:
    """Take the steps with these settings, and return the survivor; None where nothing beat the prompt.

    Every trial draws from the same seed, so that trials differ in their settings and not in their luck with
    minibatches as well.
    """
    chosen = replace(services, proposer=knobs.proposer(services.proposer), journal=MemoryJournal())
    return improve(
        ground.prompt, ground.parts, ground.baseline, ground.goal, chosen, replace(settings, batch=knobs.batch)
    )


def halve(rows: Dataset) -> tuple[Dataset, Dataset]:
    """Cut rows into two halves that are alike in size and labels and share no group, whatever the order of rows.

    Groups with nearly the same rows stay together.

    Raises:
        InputError: All rows belong together.
    """
    blocks = _blocks(rows)
    if len(blocks) < 2:
        raise InputError(
            "the validation rows are one group, so that nothing can be held back from tuning",
            hint="label rows of more groups, or name a finer column with --group",
        )
    filled: tuple[Counter[bool | None], Counter[bool | None]] = (Counter(), Counter())
    taken: tuple[list[int], list[int]] = ([], [])
    for block in blocks:
        kinds = Counter(None if rows.rows[i].label is None else rows.positive(rows.rows[i]) for i in block)
        # The half that has fewer rows of the kinds that the block holds.
        side = min(
            (0, 1), key=lambda side: (sum(n * filled[side][kind] for kind, n in kinds.items()), len(taken[side]))
        )
        filled[side].update(kinds)
        taken[side].extend(block)
    choosing, held = (
        Dataset.of([rows.rows[i] for i in sorted(side)], labels=rows.labels, name=rows.name) for side in taken
    )
    return choosing, held


def _blocks(rows: Dataset) -> list[list[int]]:
    """Return the positions of rows that belong together, the largest block first; ties by a hash of the ids."""
    clusters = Clusters(len(rows))
    first: dict[str, int] = {}
    for position, row in enumerate(rows.rows):
        clusters.join(first.setdefault(row.group or f"\0{row.id}", position), position)
    join_near_duplicates(rows.rows, clusters, each_input=True)
    members: dict[int, list[int]] = {}
    for position in range(len(rows)):
        members.setdefault(clusters.find(position), []).append(position)

    def place(block: Sequence[int]) -> tuple[int, bytes]:
        named = "\0".join(sorted(rows.rows[i].id for i in block))
        return -len(block), hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return sorted(members.values(), key=place)


def choosing_half(ground: Ground, prompt: JudgePrompt, services: Services, settings: RunSettings) -> JudgedDataset:
    """Judge the choosing half; what a trial validated there comes from the record."""
    return judge_rows("validation", prompt, ground.parts.validation, services, settings)


def held_half(ground: Ground, prompt: JudgePrompt, services: Services, settings: RunSettings) -> JudgedDataset:
    """Judge the held half."""
    return judge_rows("held validation rows", prompt, ground.held, services, settings)


def mean_loss(goal: Goal, judged: JudgedDataset) -> float:
    """Return the mean loss over the scored rows.

    Raises:
        InputError: No row is scored.
    """
    losses = row_losses(goal.loss, judged, goal.target.members(judged))
    if not len(losses):
        raise InputError(f"{judged.judge} gave no verdict on {len(judged.dataset)} labelled validation rows")
    return float(losses.mean())


def best_for_less(goal: Goal, tables: Sequence[JudgedDataset], calls: Sequence[int]) -> int:
    """Return the position of the trial of least loss, or of one as good, as far as rows can tell, that asks for less.

    As good is: behind the lowest mean loss by no more than one standard error of the paired difference, clustered by
    group (the one-standard-error rule of Breiman, Friedman, Olshen and Stone 1984). So calls count without a price
    in loss, which nobody could name.

    Args:
        aim: Whose loss it is.
        tables: What each trial's survivor said on the choosing half.
        calls: What each trial asked.
    """
    best = min(range(len(tables)), key=lambda i: (mean_loss(goal, tables[i]), calls[i]))
    close = []
    for i, judged in enumerate(tables):
        falls, groups = _falls(goal, judged, tables[best])
        if len(falls) and falls.mean() <= clustered_se(falls - falls.mean(), groups) + _ROUNDING:
            close.append(i)
    cheapest = min(close, key=lambda i: (calls[i], mean_loss(goal, tables[i])), default=best)
    return cheapest if calls[cheapest] <= (1 - SAVING) * calls[best] else best


def loss_fall(goal: Goal, before: JudgedDataset, after: JudgedDataset) -> Estimate:
    """Return how far the mean loss falls on the rows that both answered, with a 95 % interval over groups."""
    from scipy.stats import t as student

    falls, groups = _falls(goal, before, after)
    if not len(falls):
        return Estimate.undefined(0, "no row was answered with both prompts")
    value, se, units = float(falls.mean()), clustered_se(falls - falls.mean(), groups), int(groups.max()) + 1
    if not 0.0 < se < math.inf:
        why = "the loss of every row changed alike, or of none" if units > 1 else "one group cannot show the spread"
        return Estimate(value=value, low=None, high=None, n=len(falls), reason=why)
    reach = float(student.ppf(0.975, units - 1)) * se
    return Estimate(value=value, low=value - reach, high=value + reach, n=len(falls))


def _falls(goal: Goal, before: JudgedDataset, after: JudgedDataset) -> tuple[FloatArray, IntArray]:
    """Return each row's fall of loss and its group's code, over the rows that both answered; shapes (n,)."""
    common = np.intersect1d(before.scored, after.scored)
    sides = [judged.only(common) for judged in (before, after)]
    losses = [row_losses(goal.loss, judged, goal.target.members(judged)) for judged in sides]
    return losses[0] - losses[1], sides[0].groups
