"""Slices that a new prompt made worse: rows that were judged right before and are judged wrong now,
gathered.

A slice counts as a regression where two things are confirmed on rows that did not propose it: it
lost more than the other rows did, and within it more verdicts went wrong than were mended. So a
slice that merely gains less is none. It is looked for where newly wrong rows gather, and not by the
net loss: a prompt that fixes one slice would make all that lies outside it look like a loss, and
hide what was really lost there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judges import (
    BoolArray,
    Change,
    FloatArray,
    InputError,
    IntArray,
    JudgedDataset,
    clustered_se,
    holm,
)
from ..judges import compare as compare_judged
from .candidates import Rows
from .features import read_features
from .limits import Limits, narrow
from .outcomes import Outcomes, compress, count_groups
from .search import propose, still_poor
from .significance import ALPHA, MIN_GROUPS
from .significance import compare as compare_loss
from .slice import Predicate

MOST, LEAST = 5, -1.0
"""Slices that a half proposes at most, and the score that each must exceed.

The other half decides, so a weak one costs nothing but its part of the level.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A slice in which a new prompt does worse than the old one."""

    predicate: Predicate
    change: Change
    """Accuracy on all of the slice's rows, those that proposed it included."""
    broken: int
    """Rows that were right before and are wrong now."""
    mended: int
    """Rows that were wrong before and are right now."""
    p: float
    """That it lost, and more than the rest: on held-out rows, corrected for all proposals."""


def find_regressions(
    before: JudgedDataset,
    after: JudgedDataset,
    *,
    exclude: Sequence[str] = (),
    max_depth: int = 2,
) -> tuple[Regression, ...]:
    """Find the slices in which `after` is wrong where `before` was right, the surest first.

    A row loses (before right) - (after right); only rows that both answered count.

    Args:
        before, after: Two answers to the same dataset, rows in the same order.
        exclude: Metadata columns to leave out; those that leak the label are left out anyway.
        max_depth: The most conditions of a slice, 1 to 3.

    Raises:
        InputError: The two do not answer the same rows, or a column or the depth cannot be used.
    """
    if [row.id for row in before.dataset.rows] != [row.id for row in after.dataset.rows]:
        raise InputError("the two sets of answers are not of the same rows in the same order")
    limits = Limits(max_depth=max_depth, min_support=None, seed=0, named=False)
    common = np.intersect1d(before.scored, after.scored)
    if len(common) == 0:
        return ()
    old, new = before.only(common), after.only(common)
    metric = "accuracy_grades" if old.scale.kind == "choice" else "accuracy"
    was, now = ~old.wrong, ~new.wrong
    regressions: list[Regression] = []
    for predicate, p in _confirmed(old, new, exclude, limits).items():
        member = predicate.mask(old.dataset.rows)
        change = compare_judged(metric, old, new, keep=member)
        broken, mended = int((was & ~now & member).sum()), int((~was & now & member).sum())
        if change is not None and p < ALPHA and broken > mended and not member.all():
            regressions.append(
                Regression(predicate=predicate, change=change, broken=broken, mended=mended, p=p)
            )
    return tuple(sorted(regressions, key=lambda one: (one.p, str(one.predicate))))


def _confirmed(
    old: JudgedDataset, new: JudgedDataset, exclude: Sequence[str], limits: Limits
) -> dict[Predicate, float]:
    """Propose on one half of the groups where newly wrong rows gather and test on the other, both
    ways; drop what a stronger slice explains, and return the p-values, corrected for all (Holm).

    Two claims about the same rows, of which the weaker one counts, are told apart better so than by
    a correction for every candidate of a search.
    """
    outcomes = Outcomes.of(old)
    loss = new.wrong.astype(np.float64) - old.wrong
    everyone = np.ones(len(loss), np.bool_)
    support = limits.support(len(loss))
    scope = narrow(read_features(old, exclude=exclude), everyone, support, limits)
    everything = Rows(columns=scope.columns, loss=new.wrong & ~old.wrong, groups=outcomes.groups)
    half = outcomes.order(limits.seed) % 2 == 1
    proposed: list[tuple[Predicate, float]] = []
    for side in (False, True):
        proposals = propose(
            everything.only(half == side),
            depth=scope.depth,
            min_rows=max(2, support // 2),
            most=MOST,
            least=LEAST,
            strike=True,
        )
        other = half != side
        for predicate in proposals.predicates:
            member = everything.member(predicate)[other]
            proposed.append((predicate, _p(loss[other], member, compress(outcomes.groups[other]))))
    adjusted = holm(np.array([p for _, p in proposed], np.float64))
    best: dict[Predicate, float] = {}
    for (predicate, _), p in zip(proposed, adjusted.tolist(), strict=True):
        # Both halves may propose the same slice: the surer test stands.
        best[predicate] = min(p, best.get(predicate, 1.0))
    ordered = sorted(best, key=lambda predicate: (best[predicate], str(predicate)))
    poor = still_poor(everything, ordered, min_rows=support)
    return {predicate: best[predicate] for predicate, within in poor.items() if within is None}


def _p(loss: FloatArray, member: BoolArray, groups: IntArray) -> float:
    """Return the larger p of two claims, that the slice lost, and more than the rest did; 1 where
    it did not.
    """
    compared = compare_loss(loss, member, groups)
    if compared is None or compared.gap <= 0:
        return 1.0
    more = _lost_more(loss, member, groups, compared.gap)
    lost = sign_flip_tail(np.bincount(groups[member], loss[member]).round().astype(np.int64))
    return max(compared.p, more, lost)


def _lost_more(loss: FloatArray, member: BoolArray, groups: IntArray, gap: float) -> float:
    """One-sided p that the slice lost more than the rest, by Student's t with a variance of its own
    on either side.

    Noise may be louder inside than outside, which the pooled variance of `significance.compare`
    takes for a loss. The standard error is clustered and never below that of independent rows; the
    degrees of freedom are the slice's groups that changed, or the effective number of all its
    groups where a few dominate, less one.
    """
    from scipy.special import stdtr

    n, inside = len(loss), int(member.sum())
    centred = np.where(member, loss - loss[member].mean(), loss[~member].mean() - loss)
    influence = n * centred / np.where(member, inside, n - inside)
    se = max(clustered_se(influence, groups), clustered_se(influence, np.arange(n)))
    sizes = np.bincount(groups[member]).astype(np.float64)
    effective = float(sizes.sum()) ** 2 / float((sizes**2).sum())
    freedom = min(float(count_groups(groups[member & (loss != 0)])), effective) - 1.0
    if freedom < MIN_GROUPS - 1 or not math.isfinite(se):
        return 1.0
    if se == 0:  # all rows inside fared alike, and all outside: the two other tests decide
        return float(gap <= 0)
    return float(stdtr(freedom, -gap / se))


def sign_flip_tail(losses: IntArray) -> float:
    """Return the chance of a sum at least as high if every group's loss had its sign from the toss
    of a coin.

    Exact where the two prompts are alike: before and after could then change places in any group.
    With one row a group it is McNemar's exact test, one-sided.

    Args:
        losses: Net loss of each group, whole numbers; shape (G,).
    """
    from scipy.signal import fftconvolve
    from scipy.stats import binom

    sizes, counts = np.unique(np.abs(losses[losses != 0]), return_counts=True)
    # Groups of one size toss together: a binomial each, and the sum of all sizes by convolution.
    chance = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        tosses = np.zeros(size * count + 1)
        tosses[::size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chance = fftconvolve(chance, tosses)
    # `chance` is that of each sum of the groups that lost; all but those gained.
    least = (int(losses.sum()) + int(np.abs(losses).sum())) // 2
    return float(np.clip(chance[least:].sum(), 0.0, 1.0))
