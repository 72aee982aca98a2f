"""Propose slices on one half of the rows, test them on the other, and correct for all proposals (Holm)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..judges import BoolArray, FloatArray, holm
from .candidates import Rows
from .column import Column
from .effect import gain_of
from .outcomes import Outcomes, compress
from .search import propose, still_poor
from .search_result import HeldOut
from .significance import ALPHA, compare
from .slice import Predicate
from .target import Target
from .tokens import LikelyWords, Vocabulary

LOWER = 1.645
"""Standard errors taken off an effect for its one-sided 95 % lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search under way: the outcomes, the rows the metric is about, the halves, and what is searched."""

    outcomes: Outcomes
    target: Target
    inside: BoolArray
    """Which scored rows the metric is about; shape (n,)."""
    loss: BoolArray | FloatArray
    half: BoolArray
    """In which half each scored row lies; shape (n,)."""
    columns: tuple[Column, ...]
    origins: tuple[Column, ...]
    """Columns that say where rows come from, whether or not they are searched."""
    depth: int
    min_support: int
    words: LikelyWords = field(default_factory=LikelyWords)
    """The words that either half chose."""

    def rows(self, words: LikelyWords | None = None) -> Rows:
        """Return all scored rows, with other words than the search's own where some are given."""
        words = self.words if words is None else words
        return Rows(columns=self.columns, loss=self.loss, groups=self.outcomes.groups, words=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSlice:
    """A slice that one half proposed, with its test on the other."""

    predicate: Predicate
    tested_on: BoolArray
    """The half that did not propose it; shape (n,)."""
    held_out: HeldOut
    p: float
    """Corrected for all proposals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """What the two halves came to."""

    search: Search
    """With the words that either half chose."""
    slices: tuple[CheckedSlice, ...]
    candidates: int
    """Cells that the more searching half looked at."""
    notes: tuple[str, ...]


def cross_check(search: Search, vocabulary: Vocabulary | None) -> CrossCheck:
    """Propose on one half and test on the other, both ways, and drop what a stronger slice explains."""
    min_rows = max(2, search.min_support // 2)
    words = [LikelyWords(), LikelyWords()]
    if vocabulary is not None:
        halves = (search.inside & ~search.half, search.inside & search.half)
        words = [vocabulary.likely(search.loss, half, min_rows=min_rows) for half in halves]
    either = {column.name: column for likely in words for column in likely.columns}
    search = replace(search, words=LikelyWords(columns=tuple(either.values())))
    tested: list[CheckedSlice] = []
    candidates = 0
    for side in (False, True):
        proposing = search.rows(words[side]).only((search.half == side) & search.inside)
        proposed, count = propose(proposing, depth=search.depth, min_rows=min_rows)
        candidates = max(candidates, count)
        other = search.half != side
        for predicate in proposed:
            held_out = _test(search, predicate, other)
            tested.append(CheckedSlice(predicate=predicate, tested_on=other, held_out=held_out, p=held_out.p))
    adjusted = holm(np.array([one.p for one in tested], np.float64))
    best: dict[Predicate, CheckedSlice] = {}
    for one, p in zip(tested, adjusted.tolist(), strict=True):
        # Both halves may propose the same slice: the surer test stands.
        if one.predicate not in best or p < best[one.predicate].p:
            best[one.predicate] = replace(one, p=p)
    repeated: dict[Predicate, CheckedSlice] = {}
    for predicate, one in best.items():
        value, rest = one.held_out.value, one.held_out.rest
        if value < rest if search.target.lower_is_worse else value > rest:
            repeated[predicate] = one
    notes: list[str] = []
    if len(repeated) < len(best):
        slices = _counted(len(best) - len(repeated))
        notes.append(f"{slices} proposed by one half, did not show on the other and not listed")
    apart = _apart(search, repeated)
    if len(apart) < len(repeated):
        slices = _counted(len(repeated) - len(apart))
        notes.append(f"{slices} poor only for rows of stronger ones and not listed")
    return CrossCheck(search=search, slices=tuple(apart), candidates=candidates, notes=tuple(notes))


def _apart(search: Search, proposed: Mapping[Predicate, CheckedSlice]) -> list[CheckedSlice]:
    """Drop what is poor only for the rows it shares with a stronger slice: both halves may tell of one weakness."""
    rows = search.rows().only(search.inside)
    confirmed = [predicate for predicate, one in proposed.items() if one.p < ALPHA]
    others = [predicate for predicate in proposed if predicate not in confirmed]
    predicates = still_poor(rows, confirmed, min_rows=search.min_support)
    predicates += still_poor(rows, others, min_rows=search.min_support, after=predicates)
    return [proposed[predicate] for predicate in predicates]


def _counted(slices: int) -> str:
    return "1 slice is" if slices == 1 else f"{slices} slices are"


def _test(search: Search, predicate: Predicate, held_out: BoolArray) -> HeldOut:
    """Measure a slice on the half that did not propose it."""
    target = search.target
    part, member = search.outcomes.only(held_out), search.rows().member(predicate)[held_out]
    tested = target.test(part, member)
    inside, loss = target.losses(part)
    compared = compare(loss[inside], member[inside], compress(part.groups[inside]))
    value, rest = target.value(part, member), target.value(part, ~member)
    if tested is None or compared is None or value is None or rest is None:
        return HeldOut(n=0, value=1.0, rest=1.0, p=1.0, gain=0.0, gain_low=0.0)
    if target.name == "ece":
        # In its own units: the lower bound of the Brier score it was searched by says nothing of it.
        gain, gain_low = max(0.0, value - rest) * compared.n / int(inside.sum()), 0.0
    else:
        cautious = compared.rest + max(0.0, compared.gap - LOWER * compared.se)
        gain = gain_of(target.name, part, member, inside, compared.inside, compared.rest)
        gain_low = gain_of(target.name, part, member, inside, cautious, compared.rest)
    return HeldOut(n=compared.n, value=value, rest=rest, p=tested.p, gain=gain, gain_low=gain_low)
