"""Find the slices where a judge errs, and say honestly which of them stood up to a second look.

The rows are cut in two by group. Slices proposed on one half are tested on the other, and the other way round;
the p-values are corrected for all proposals (Holm). What a slice would gain, and whether its errors go one
way, is judged on the half that did not propose it; `value` and `rest` describe all rows, so that anyone can
recompute them from the predicate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..judges import BoolArray, Estimate, FloatArray, InputError, JudgedDataset, holm
from .column import Column
from .consistency import Consistency, check_consistency, is_origin
from .effect import Cells, Direction, decompose, expected_gain
from .features import Features, choose_columns, read_features
from .outcomes import Outcomes, compress
from .outputs import describe_outputs
from .search import Rows, propose, still_poor
from .search_result import FoundSlice, HeldOut, SliceReport
from .significance import ALPHA, Comparison, compare, one_direction, rows_to_find
from .slice import Predicate
from .target import Target, target_of
from .text import TOPIC, feature_rank
from .tokens import Likely, Vocabulary, read_vocabulary
from .topics import add_topics, fit_topics

if TYPE_CHECKING:
    import pandas as pd

FEW_ROWS = 2000
"""Below so many rows in the denominator, slices have at most two conditions and eight columns are searched."""
FEW_COLUMNS = 8
MIN_SUPPORT = 30
LOWER = 1.645
"""Standard errors taken off an effect for its one-sided 95 % lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One search under way: the outcomes, the rows the metric is about and the halves."""

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
    words: Likely = field(default_factory=Likely)
    """The words that either half chose."""
    notes: list[str] = field(default_factory=list)

    def everything(self, words: Likely | None = None) -> Rows:
        return Rows(
            columns=self.columns,
            loss=self.loss,
            groups=self.outcomes.groups,
            words=self.words if words is None else words,
        )

    def rows(self, chosen: BoolArray, words: Likely | None = None) -> Rows:
        return self.everything(words).only(chosen & self.inside)

    def member(self, predicate: Predicate) -> BoolArray:
        return self.everything().member(predicate)

    def worse(self, value: float, rest: float) -> bool:
        return value < rest if self.target.lower_is_worse else value > rest


def find_slices(
    judged: JudgedDataset,
    *,
    metric: str = "precision",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    max_depth: int = 2,
    min_support: int | None = None,
    text: bool = False,
    topics: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SliceReport:
    """Find the slices on which a metric is poorer than elsewhere.

    Args:
        judged: The table; unscored rows are left out.
        metric: What to look for, a name of `TARGETS`.
        columns: The only columns to search: metadata, features of the texts such as `statement:words`, or texts such
            as `statement`, whose words are meant. All honest ones unless given.
        exclude: Columns to leave out.
        keep: Columns to search though their names sound like a label's or a judge's output.
        max_depth: The most conditions of a slice, 1 to 3.
        min_support: The fewest rows of the metric's denominator in a slice; 30 or half a per cent unless given.
        text: Whether to search what the texts are like and the words they contain.
        topics: How many topics to cut each text into; none for 0. A slice by topic needs `add_topics` to be looked up
            in the rows, so a caller who goes on with the slices calls that first.
        seed: Of the topics and the cut into halves, which depends on nothing else but the groups' names.
        progress: Called with how many rows' texts are read, and of how many.

    Raises:
        InputError: The metric, the depth or a column cannot be used.
    """
    target = target_of(metric)
    if topics:
        judged = add_topics(judged, fit_topics(judged.rows, topics, seed=seed))
    features = read_features(judged, columns=columns, exclude=exclude, keep=keep, text=text, progress=progress)
    least = max(2, (min_support or MIN_SUPPORT) // 2)
    vocabulary = read_vocabulary(judged.rows, features.fields, min_rows=least) if features.fields else None
    limits = Limits(max_depth=max_depth, min_support=min_support, seed=seed, named=columns is not None)
    notes = []
    if not any(row.group for row in judged.rows):
        notes.append("the rows have no group: each is taken to be independent of the others")
    if judged.unscored:
        notes.append(f"{sum(judged.unscored.values())} unscored rows are left out")
    return search_slices(Outcomes.of(judged), features, target, limits, vocabulary=vocabulary, notes=notes)


def find_in_frame(
    frame: pd.DataFrame,
    *,
    label: str = "label",
    predicted: str = "predicted",
    group: str | None = None,
    probability: str | None = None,
    metric: str = "precision",
    keep: Sequence[str] = (),
    max_depth: int = 2,
    seed: int = 0,
) -> SliceReport:
    """Find slices in a table of one line a verdict, such as `Judged.to_frame()` or one made elsewhere.

    Args:
        frame: The rows; every column that has no other part is searched.
        label: The column of people's decisions, true or 1 for positive.
        predicted: The column of the judge's.
        group: The column whose rows depend on each other; each row stands alone without one, which is said.
        probability: The column of the probability of the positive label, for the Brier score and ECE.
        metric: What to look for, a name of `TARGETS`.
        keep: Columns to search though their names sound like a label's or a judge's output.
        max_depth: The most conditions of a slice, 1 to 3.
        seed: Of the cut into halves.

    Raises:
        InputError: A column or the metric cannot be used.
    """
    import pandas as pd

    parts = [name for name in (label, predicted, group, probability) if name]
    missing = [name for name in parts if name not in frame.columns]
    if missing:
        raise InputError(f"the frame has no column {missing[0]!r}", hint=f"it has {', '.join(map(str, frame.columns))}")
    codes, names = pd.factorize(frame[group]) if group else (np.arange(len(frame)), frame.index)
    unknown = np.full(len(frame), np.nan)
    outcomes = Outcomes(
        positive=frame[label].to_numpy(np.bool_),
        predicted=frame[predicted].to_numpy(np.bool_),
        groups=np.asarray(codes, np.int64),
        group_names=[str(name) for name in names],
        probability=frame[probability].to_numpy(np.float64) if probability else unknown,
    )
    values = {str(name): pd.Series(frame[name]) for name in frame.columns if name not in parts}
    notes = [] if group else ["the rows have no group: each is taken to be independent of the others"]
    limits = Limits(max_depth=max_depth, min_support=None, seed=seed, named=False)
    own = {"probability": outcomes.probability} if probability else {}
    features = choose_columns(values, outcomes, keep=keep, own=own)
    return search_slices(outcomes, features, target_of(metric), limits, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a search goes."""

    max_depth: int
    min_support: int | None
    """The fewest rows of the denominator; None for 30 or half a per cent."""
    seed: int
    named: bool
    """Whether the columns were asked for by name, and none is dropped for want of rows."""

    def __post_init__(self) -> None:
        if self.max_depth not in (1, 2, 3):
            raise InputError(f"max_depth {self.max_depth!r} is not 1, 2 or 3")


def search_slices(
    outcomes: Outcomes,
    features: Features,
    target: Target,
    limits: Limits,
    *,
    vocabulary: Vocabulary | None = None,
    notes: Sequence[str] = (),
) -> SliceReport:
    """Search columns for the slices on which a metric is poorer; `find_slices` for a table of rows.

    Args:
        outcomes: What people and judge said.
        features: The columns.
        target: The metric.
        limits: How far to go.
        vocabulary: The words of the texts, where they are to be searched.
        notes: What is known before the search begins.

    Raises:
        InputError: The rows do not have what the metric needs.
    """
    inside, loss = target.losses(outcomes)
    said, left_out = [*notes, *features.notes], dict(features.left_out)
    support = max(limits.min_support or max(MIN_SUPPORT, math.ceil(0.005 * int(inside.sum()))), 2)
    kept, depth = _restrict(features, inside, support, limits, said, left_out)
    search = _Search(
        outcomes=outcomes,
        target=target,
        inside=inside,
        loss=loss,
        half=outcomes.halves(limits.seed),
        columns=kept,
        origins=tuple(c for c in features.columns if is_origin(c.name)),
        depth=depth,
        min_support=support,
        notes=said,
    )
    found = _cross_confirm(search, vocabulary)
    return SliceReport(
        slices=tuple(sorted(found, key=_merit)),
        left_out=left_out,
        notes=tuple(said),
        metric=target.name,
        overall=_overall(search),
        judge_outputs=describe_outputs(features.outputs, outcomes, features.own, target),
    )


def _merit(found: FoundSlice) -> tuple[bool, bool, float, float, str]:
    return (not found.prompt_target, not found.confirmed, -found.held_out.gain_low, found.p, str(found.predicate))


def _restrict(
    features: Features, inside: BoolArray, support: int, limits: Limits, notes: list[str], left_out: dict[str, str]
) -> tuple[tuple[Column, ...], int]:
    """Leave out columns without a frequent value, and search less deeply where rows are few.

    What is left out is added to `left_out` with the reason, and what else is to be said to `notes`.
    """
    spread: dict[str, float] = {}
    for column in features.columns:
        counts = np.bincount(column.codes[inside], minlength=len(column.conditions))
        usable = counts[[condition is not None for condition in column.conditions]]
        shares = usable[usable >= support] / max(1, int(inside.sum()))
        if len(shares):
            spread[column.name] = round(float(-(shares * np.log(shares)).sum()), 9)
        else:
            left_out[column.name] = f"no value covers {support} rows of the metric's denominator"
    kept = [column for column in features.columns if column.name in spread]
    total = int(inside.sum())
    if total >= FEW_ROWS:
        return tuple(kept), limits.max_depth
    if limits.max_depth > 2:
        notes.append(f"with {total} rows in the denominator, slices have at most two conditions")
    # Topics were asked for by their number.
    free = [column for column in kept if not column.name.endswith(TOPIC)]
    if len(free) > FEW_COLUMNS and not limits.named:
        # Metadata first, then what most often matters in texts; of metadata, what parts the rows most evenly. Chosen
        # without a look at the errors, so it costs no significance.
        ranked = sorted(free, key=lambda c: (feature_rank(c.name), -spread[c.name], c.name))
        dropped = [column.name for column in ranked[FEW_COLUMNS:]]
        reason = f"too few rows ({total}) to search more than {FEW_COLUMNS} columns"
        left_out.update(dict.fromkeys(sorted(name for name in dropped if not feature_rank(name)), reason))
        texts = [name for name in dropped if feature_rank(name)]
        notes.append(
            f"with {total} rows in the denominator, only {FEW_COLUMNS} columns are searched; name others to have them"
            + (f", such as {texts[0]}, one of {len(texts)} features of the texts left out" if texts else "")
        )
        kept = [column for column in kept if column.name not in dropped]
    return tuple(kept), min(limits.max_depth, 2)


def _cross_confirm(search: _Search, vocabulary: Vocabulary | None) -> list[FoundSlice]:
    """Propose on one half and test on the other, both ways, and correct for all proposals."""
    least = max(2, search.min_support // 2)
    by_half = [_likely_words(search, vocabulary, side, least) for side in (False, True)]
    either = {column.name: column for likely in by_half for column in likely.columns}
    search = replace(search, words=Likely(columns=tuple(either.values())))
    tested: list[tuple[Predicate, BoolArray, HeldOut]] = []
    looked_at = 0
    for side in (False, True):
        proposer = search.rows(search.half == side, by_half[side])
        proposed, count = propose(proposer, depth=search.depth, min_rows=least)
        looked_at = max(looked_at, count)
        for predicate in proposed:
            rows = search.half != side
            tested.append((predicate, rows, _test(search, predicate, rows)))
    adjusted = holm(np.array([held_out.p for _, _, held_out in tested], np.float64))
    best: dict[Predicate, tuple[float, BoolArray, HeldOut]] = {}
    for (predicate, rows, held_out), p in zip(tested, adjusted, strict=True):
        if predicate not in best or p < best[predicate][0]:
            best[predicate] = (float(p), rows, held_out)
    repeated = {name: kept for name, kept in best.items() if search.worse(kept[2].value, kept[2].rest)}
    if len(repeated) < len(best):
        search.notes.append(
            f"{_counted(len(best) - len(repeated))} proposed by one half, did not show on the other and not listed"
        )
    _note_power(search, looked_at)
    described = [_describe(search, predicate, *kept) for predicate, kept in _apart(search, repeated).items()]
    return [found for found in described if found is not None]


def _likely_words(search: _Search, vocabulary: Vocabulary | None, side: bool, least: int) -> Likely:
    """The words that the losses of one half point to."""
    if vocabulary is None:
        return Likely()
    return vocabulary.likely(search.loss, search.inside & (search.half == side), min_rows=least)


def _apart(
    search: _Search, proposed: Mapping[Predicate, tuple[float, BoolArray, HeldOut]]
) -> dict[Predicate, tuple[float, BoolArray, HeldOut]]:
    """Drop what is poor only for the rows it shares with a stronger slice: both halves may tell of one weakness."""
    everything = search.rows(np.ones(len(search.inside), np.bool_))
    confirmed = [predicate for predicate, kept in proposed.items() if kept[0] < ALPHA]
    kept = still_poor(everything, confirmed, min_rows=search.min_support)
    others = [predicate for predicate in proposed if predicate not in confirmed]
    kept += still_poor(everything, others, min_rows=search.min_support, after=kept)
    if len(kept) < len(proposed):
        search.notes.append(f"{_counted(len(proposed) - len(kept))} poor only for rows of stronger ones and not listed")
    return {predicate: proposed[predicate] for predicate in kept}


def _counted(slices: int) -> str:
    return "1 slice is" if slices == 1 else f"{slices} slices are"


def _test(search: _Search, predicate: Predicate, held_out: BoolArray) -> HeldOut:
    """Measure a slice on the half that did not propose it."""
    part, member = search.outcomes.only(held_out), search.member(predicate)[held_out]
    tested = search.target.test(part, member)
    inside, loss = search.target.losses(part)
    compared = compare(loss[inside], member[inside], compress(part.groups[inside]))
    values = [search.target.value(part, side) for side in (member, ~member)]
    if tested is None or compared is None or values[0] is None or values[1] is None:
        return HeldOut(n=0, value=1.0, rest=1.0, p=1.0, gain=0.0, gain_low=0.0)
    if search.target.name == "ece":
        # In its own units; what it was searched by is a Brier score, whose lower bound would say nothing of it.
        gain, gain_low = max(0.0, values[0] - values[1]) * compared.n / int(inside.sum()), 0.0
    else:
        gain, gain_low = _gains(search.target.name, part, member, inside, compared)
    return HeldOut(n=compared.n, value=values[0], rest=values[1], p=tested.p, gain=gain, gain_low=gain_low)


def _gains(
    metric: str, part: Outcomes, member: BoolArray, inside: BoolArray, compared: Comparison
) -> tuple[float, float]:
    """What mending the slice would gain on these rows, and the same by the gap's lower bound."""
    everything, here = Cells.of(part, np.ones(len(part), np.bool_)), Cells.of(part, member)
    cautious = compared.rest + max(0.0, compared.gap - LOWER * compared.se)
    n, total = compared.n, int(inside.sum())
    gain, low = (
        expected_gain(metric, everything, here, n, total, loss, compared.rest) for loss in (compared.inside, cautious)
    )
    return gain, low


def _describe(search: _Search, predicate: Predicate, p: float, rows: BoolArray, held_out: HeldOut) -> FoundSlice | None:
    outcomes, target = search.outcomes, search.target
    member = search.member(predicate)
    value, rest = target.value(outcomes, member), target.value(outcomes, ~member)
    if value is None or rest is None:
        return None
    interval = target.interval(outcomes, member)
    fp, fn = outcomes.predicted & ~outcomes.positive, ~outcomes.predicted & outcomes.positive
    seen = member & rows
    share, direction_p = one_direction(fp & seen, fn & seen, outcomes.groups)
    one_way: Direction | None = None
    if share is not None and direction_p < ALPHA:
        one_way = "fp" if share > 0.5 else "fn"
    return FoundSlice(
        predicate=predicate,
        n=int((member & search.inside).sum()),
        support=int(member.sum()),
        metric=target.name,
        value=value,
        rest=rest,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        p=p,
        direction=one_way,
        fp_share=share,
        direction_p=direction_p,
        consistency=_consistency(search, member, one_way),
        parts=decompose(target.name, Cells.of(outcomes, member), Cells.of(outcomes, ~member)),
        held_out=held_out,
    )


def _consistency(search: _Search, member: BoolArray, direction: Direction | None) -> Consistency | None:
    return direction and check_consistency(search.outcomes, member, direction, search.half, search.origins)


def _overall(search: _Search) -> Estimate:
    n = len(search.inside)
    everything = np.ones(n, np.bool_)
    value = search.target.value(search.outcomes, everything)
    if value is None:
        return Estimate.undefined(n, f"no row is in the denominator of {search.target.name}")
    interval = search.target.interval(search.outcomes, everything)
    low, high = interval or (None, None)
    return Estimate(value=value, low=low, high=high, n=n, reason="" if interval else "all rows are one group")


def _note_power(search: _Search, candidates: int) -> None:
    """Say how large a slice must be to be found here."""
    loss = search.loss[search.inside]
    if loss.dtype != np.bool_:
        search.notes.append(f"{candidates} candidate slices on {len(loss)} rows")
        return
    base = float(loss.mean()) if len(loss) else 0.0
    if not 0 < base < 1:
        every = "no" if base == 0 else "every"
        search.notes.append(f"{search.target.name}: {every} row of the {len(loss)} in the denominator is an error")
        return
    share = min(2 * base, (1 + base) / 2)
    # Each half proposes on its own rows.
    needed = 2 * rows_to_find(share, base, candidates)
    verdict = "findable" if needed < len(loss) / 2 else "hardly findable"
    search.notes.append(
        f"{candidates} candidate slices on {len(loss)} rows with {base:.1%} errors: a slice with {share:.1%} errors "
        f"needs about {math.ceil(needed)} rows, so it is {verdict} here"
    )
