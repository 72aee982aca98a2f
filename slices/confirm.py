"""Test the slices that a search proposed on the same rows, corrected for every candidate that was
searched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ..judges import BoolArray, FloatArray, IntArray
from .candidates import Kind, Rows
from .column import Column
from .effect import gains_of
from .familywise import Familywise, correct_for_all
from .outcomes import Outcomes
from .search import propose, still_poor
from .significance import ALPHA, effect_without_selection
from .slice import Predicate
from .target import Target
from .tokens import LikelyWords, Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search under way: the outcomes, the rows the metric is about, and what is searched."""

    outcomes: Outcomes
    target: Target
    inside: BoolArray
    """Which scored rows the metric is about; shape (n,)."""
    loss: BoolArray | FloatArray
    order: IntArray
    """A rank of each scored row's group that depends on no loss; shape (n,)."""
    columns: tuple[Column, ...]
    origins: tuple[Column, ...]
    """Columns that say where rows come from, whether or not they are searched."""
    depth: int
    min_support: int
    words: LikelyWords = field(default_factory=LikelyWords)
    """The words that losses point to."""

    def rows(self) -> Rows:
        """Return all scored rows."""
        return Rows(
            columns=self.columns, loss=self.loss, groups=self.outcomes.groups, words=self.words
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedSlice:
    """A slice with its test, corrected for every candidate, and what selection did not flatter."""

    predicate: Predicate
    within: Predicate | None
    """The wider slice that it lies inside and is poorer than."""
    score: float
    p: float
    bound: float
    """The metric is at least so poor, by the simultaneous lower bound of the gap."""
    gain: float
    """How much the whole metric would rise if the slice did as well as the rest, by the likely gap.
    """
    gain_low: float
    """The same by the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What a search came to."""

    search: Search
    """With the words that losses point to."""
    slices: tuple[TestedSlice, ...]
    """The strongest first, and a wide slice before its parts."""
    candidates: int
    notes: tuple[str, ...]


def search_and_test(search: Search, vocabulary: Vocabulary | None) -> Confirmation:
    """Propose slices on all rows, test them there, and drop what a stronger or wider slice
    explains.
    """
    if vocabulary is not None:
        words = vocabulary.likely(search.loss, search.inside, min_rows=search.min_support)
        search = replace(search, words=words)
    everything = search.rows()
    rows = everything.only(search.inside)
    proposals = propose(rows, depth=search.depth, min_rows=search.min_support)
    if not proposals.predicates:
        return Confirmation(search=search, slices=(), candidates=proposals.candidates, notes=())
    familywise = correct_for_all(
        rows, search.order[search.inside], proposals.prices, min_rows=search.min_support
    )
    proposed: list[TestedSlice] = []
    for predicate in proposals.predicates:
        one = _test(search, predicate, everything.member(predicate), familywise)
        if one is not None:
            proposed.append(one)
    proposed.sort(key=lambda one: (-one.score, str(one.predicate)))
    tested: dict[Predicate, TestedSlice] = {}
    for one in proposed:
        # The poorest part of a wide slice was picked for being so, and the rest of that seems
        # harmless without it.
        for condition in one.predicate.conditions:
            wider = Predicate([condition])
            if (
                len(one.predicate.conditions) > 1
                and wider not in tested
                and Kind.of(wider) in proposals.prices
            ):
                wide = _test(search, wider, everything.member(wider), familywise)
                if wide is None or wide.p >= ALPHA:
                    continue
                # A wide slice that is poor only for this part of it is none, unless it is the surer
                # of the two.
                beside = still_poor(rows, [one.predicate, wider], min_rows=search.min_support)
                if wide.score > one.score or wider in beside:
                    tested[wider] = wide
        tested.setdefault(one.predicate, one)
    poor = still_poor(rows, list(tested), min_rows=search.min_support)
    notes: list[str] = []
    dropped = sum(one.predicate not in poor for one in proposed)
    if dropped:
        slices = "1 slice is" if dropped == 1 else f"{dropped} slices are"
        notes.append(f"{slices} poor only for rows of stronger ones and not listed")
    listed = tuple(replace(tested[predicate], within=within) for predicate, within in poor.items())
    return Confirmation(
        search=search, slices=listed, candidates=proposals.candidates, notes=tuple(notes)
    )


def _test(
    search: Search, predicate: Predicate, member: BoolArray, familywise: Familywise
) -> TestedSlice | None:
    """Test a slice against the other rows; None where it is not poorer or cannot be tested."""
    from scipy.special import ndtri

    outcomes, target = search.outcomes, search.target
    tested = target.test(outcomes, member)
    if tested is None or tested.gap <= 0:
        return None
    kind = Kind.of(predicate)
    z = max(0.0, -float(ndtri(max(tested.p, np.finfo(np.float64).tiny))))
    score = familywise.score(z, kind)
    # The share of the gap that is left after as many standard errors as chance alone may give the
    # best candidate.
    certain, likely = -math.inf, 0.0
    if z > 0:
        certain = 1 - familywise.z(familywise.critical(ALPHA), kind) / z
        likely = effect_without_selection(z, familywise.z(familywise.critical(0.5), kind)) / z
    shares = (max(likely, certain, 0.0), max(0.0, certain))
    if target.name == "ece":  # in its own units
        gains = [share * tested.gap * tested.n / int(search.inside.sum()) for share in shares]
    else:
        gains = gains_of(target.name, outcomes, member, search.inside, search.loss, shares)
    return TestedSlice(
        predicate=predicate,
        within=None,
        score=score,
        p=familywise.p(score),
        bound=target.of_loss(tested.rest + certain * tested.gap),
        gain=gains[0],
        gain_low=gains[1],
    )
