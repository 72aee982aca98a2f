"""Confirmation by halves: slices proposed on one half of the groups are tested on the other,
corrected for all (Holm).

Two claims about the same rows, of which the weaker one counts, are told apart better so than by a
correction for every candidate of a search: what the gate's veto asks of a slice that got worse.
"""

from __future__ import annotations

import math

import numpy as np

from ..judges import holm
from .confirm import Confirmation, Search, TestedSlice
from .search import propose, still_poor
from .slice import Predicate
from .tokens import Vocabulary

MOST, LEAST = 5, -1.0
"""Slices that a half proposes at most, and the score that each must exceed.

The other half decides, so a weak one costs nothing but its part of the level.
"""


def confirm_on_halves(search: Search, vocabulary: Vocabulary | None) -> Confirmation:
    """Propose on one half and test on the other, both ways, and drop what a stronger slice
    explains.

    Words are not searched. The slices have no bound and no gain.
    """
    assert vocabulary is None, "halves are for columns"
    min_rows = max(2, search.min_support // 2)
    half = search.order % 2 == 1
    everything = search.rows()
    proposed: list[tuple[Predicate, float]] = []
    candidates = 0
    for side in (False, True):
        proposing = everything.only((half == side) & search.inside)
        proposals = propose(
            proposing, depth=search.depth, min_rows=min_rows, most=MOST, least=LEAST, strike=True
        )
        candidates = max(candidates, proposals.candidates)
        other = half != side
        rows = search.outcomes.only(other)
        for predicate in proposals.predicates:
            tested = search.target.test(rows, everything.member(predicate)[other])
            proposed.append((predicate, 1.0 if tested is None or tested.gap <= 0 else tested.p))
    adjusted = holm(np.array([p for _, p in proposed], np.float64))
    best: dict[Predicate, float] = {}
    for (predicate, _), p in zip(proposed, adjusted.tolist(), strict=True):
        # Both halves may propose the same slice: the surer test stands.
        best[predicate] = min(p, best.get(predicate, 1.0))
    ordered = sorted(best, key=lambda predicate: (best[predicate], str(predicate)))
    poor = still_poor(everything.only(search.inside), ordered, min_rows=search.min_support)
    slices: list[TestedSlice] = []
    for predicate, within in poor.items():
        if within is not None:
            continue
        one = TestedSlice(
            predicate=predicate,
            within=None,
            score=-math.log(max(best[predicate], np.finfo(np.float64).tiny)),
            p=best[predicate],
            bound=search.target.of_loss(0.0),
            gain=0.0,
            gain_low=0.0,
        )
        slices.append(one)
    return Confirmation(search=search, slices=tuple(slices), candidates=candidates, notes=())
