"""Find the slices where a judge errs, and say honestly which of them stood up to a second look.

The rows are cut in two by group. Slices proposed on one half are tested on the other, and the other way round;
the p-values are corrected for all proposals (Holm). What a slice would gain, and whether its errors go one
way, is judged on the half that did not propose it; `value` and `rest` describe all rows, so that anyone can
recompute them from the predicate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..judges import BoolArray, Estimate, InputError, IntArray, Judged
from .effect import SEARCHED, Cells, Direction, decompose, denominator, expected_gain, metric_value
from .features import Column, Features, read_features
from .found import FoundSlice, HeldOut, SliceReport
from .search import Rows, count_candidates, propose
from .significance import ALPHA, compare, holm, one_direction, rows_to_find, share_interval
from .slice import Predicate

FEW_ROWS = 2000
"""Below so many rows in the denominator, slices have at most two conditions and eight columns are searched."""
FEW_COLUMNS = 8
LOWER = 1.645
"""Standard errors taken off an effect for its one-sided 95 % lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One search under way: the table, the denominator rows and the halves."""

    judged: Judged
    metric: str
    inside: BoolArray
    """Which scored rows are in the denominator; shape (n,)."""
    bad: BoolArray
    half: BoolArray
    """In which half each scored row lies; shape (n,)."""
    columns: tuple[Column, ...]
    depth: int
    min_support: int
    notes: list[str] = field(default_factory=list)

    def rows(self, chosen: BoolArray) -> Rows:
        everything = Rows(columns=self.columns, bad=self.bad, groups=self.judged.groups)
        return everything.only(chosen & self.inside)


def find_slices(
    judged: Judged,
    *,
    metric: str = "precision",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    max_depth: int = 2,
    min_support: int | None = None,
    seed: int = 0,
) -> SliceReport:
    """Find the slices on which a metric is lower than elsewhere.

    Args:
        judged: The table; unscored rows are left out.
        metric: What to look for. Kappa, MCC and balanced accuracy are searched through accuracy, which is said.
        columns: Metadata columns to search; all honest ones unless given.
        exclude: Metadata columns to leave out.
        max_depth: The most conditions of a slice, 1 to 3.
        min_support: The fewest rows of the metric's denominator in a slice; 30 or half a per cent unless given.
        seed: Of the cut into halves, which depends on nothing else but the groups' names.

    Raises:
        InputError: The metric, the depth or a column cannot be used.
    """
    if metric not in SEARCHED:
        raise InputError(f"slices cannot be searched for {metric!r}", hint="metrics: " + ", ".join(SEARCHED))
    if max_depth not in (1, 2, 3):
        raise InputError(f"max_depth {max_depth!r} is not 1, 2 or 3")
    searched = SEARCHED[metric]
    inside, bad = denominator(searched, judged)
    features = read_features(judged, columns=columns, exclude=exclude)
    notes = _notes(judged, metric)
    total = int(inside.sum())
    support = max(min_support or max(30, math.ceil(0.005 * total)), 2)
    kept, depth = _restrict(features, inside, support, max_depth, columns is not None, notes)
    half = _halves(judged, seed)
    search = _Search(
        judged=judged,
        metric=searched,
        inside=inside,
        bad=bad,
        half=half,
        columns=kept,
        depth=depth,
        min_support=support,
        notes=notes,
    )
    found = _cross_confirm(search)
    _note_power(search, notes)
    return SliceReport(
        slices=tuple(sorted(found, key=_merit)),
        left_out=features.left_out,
        notes=tuple(notes),
        metric=searched,
        overall=_overall(search),
    )


def choose_target(report: SliceReport, direction: Direction | None) -> tuple[FoundSlice | None, str]:
    """Choose the slice to optimize on, and say why in a sentence.

    Preferred is the prompt target with the largest lower bound of the gain whose errors go the objective's way; then
    the unconfirmed slice with the smallest p whose errors lean that way, named as unconfirmed; then none.

    Args:
        report: The slices found.
        direction: Which errors the objective fights; None for either.
    """
    fitting = [s for s in report.slices if direction is None or s.direction == direction]
    targets = [s for s in fitting if s.prompt_target]
    if targets:
        best = max(targets, key=lambda s: (s.held_out.gain_low, -s.p))
        return (
            best,
            f"the confirmed slice that promises the largest gain; {best.describe()}{_passed_over(report, best)}",
        )
    leaning = [s for s in report.slices if _leans(s, direction)]
    if leaning:
        best = min(leaning, key=lambda s: (s.p, -s.expected_gain))
        return best, f"no slice is a confirmed target; the likeliest is taken, {best.describe()}"
    if report.slices:
        return None, f"no slice's errors go the objective's way by the judge's own doing; {report.slices[0].describe()}"
    return None, f"no slice stands out with {report.metric} lower than elsewhere"


def _leans(found: FoundSlice, direction: Direction | None) -> bool:
    """Whether most errors of a slice go the objective's way and are what lowers the metric."""
    if found.fp_share is None or found.fp_share == 0.5:
        return False
    own: Direction = "fp" if found.fp_share > 0.5 else "fn"
    return direction in (None, own) and (found.parts is None or found.parts.judges_doing(own))


def _passed_over(report: SliceReport, best: FoundSlice) -> str:
    """Say why a slice with a lower headline number was not chosen."""
    lower = [s for s in report.slices if s.confirmed and not s.prompt_target and s.value < best.value]
    if not lower:
        return ""
    worst = min(lower, key=lambda s: s.value)
    if worst.direction is None:
        reason = "its errors have no one direction"
    elif worst.parts is not None and worst.parts.prevalence <= min(worst.parts.tpr, worst.parts.fpr):
        reason = "that gap is mostly the base rate's, not the judge's"
    else:
        reason = f"its {'false positives' if worst.direction == 'fp' else 'false negatives'} are not what lowers it"
    return f". {worst.predicate} is lower at {worst.value:.3f}, but {reason}"


def _merit(found: FoundSlice) -> tuple[bool, bool, float, float, str]:
    return (not found.prompt_target, not found.confirmed, -found.held_out.gain_low, found.p, str(found.predicate))


def _notes(judged: Judged, metric: str) -> list[str]:
    notes = []
    if SEARCHED[metric] != metric:
        notes.append(f"{metric} has no slices of its own yet: slices of {SEARCHED[metric]} are searched")
    if not any(row.group for row in judged.rows):
        notes.append("the rows have no group: each is taken to be independent of the others")
    if judged.unscored:
        notes.append(f"{sum(judged.unscored.values())} unscored rows are left out")
    return notes


def _restrict(
    features: Features, inside: BoolArray, support: int, max_depth: int, named: bool, notes: list[str]
) -> tuple[tuple[Column, ...], int]:
    """Leave out columns without a frequent value, and search less deeply where rows are few."""
    spread: dict[str, float] = {}
    for column in features.columns:
        counts = np.bincount(column.codes[inside], minlength=len(column.conditions))
        usable = counts[[condition is not None for condition in column.conditions]]
        shares = usable[usable >= support] / max(1, int(inside.sum()))
        if len(shares):
            spread[column.name] = round(float(-(shares * np.log(shares)).sum()), 9)
        else:
            features.left_out[column.name] = f"no value covers {support} rows of the metric's denominator"
    kept = [column for column in features.columns if column.name in spread]
    total = int(inside.sum())
    if total >= FEW_ROWS:
        return tuple(kept), max_depth
    if max_depth > 2:
        notes.append(f"with {total} rows in the denominator, slices have at most two conditions")
    if len(kept) > FEW_COLUMNS and not named:
        # Those that part the rows most evenly; chosen without a look at the errors, so it costs no significance.
        ranked = sorted(kept, key=lambda column: (-spread[column.name], column.name))
        dropped = sorted(column.name for column in ranked[FEW_COLUMNS:])
        features.left_out.update(
            dict.fromkeys(dropped, f"too few rows ({total}) to search more than {FEW_COLUMNS} columns")
        )
        notes.append(
            f"with {total} rows in the denominator, only {FEW_COLUMNS} columns are searched; name others to have them"
        )
        kept = [column for column in kept if column.name not in dropped]
    return tuple(kept), min(max_depth, 2)


def _halves(judged: Judged, seed: int) -> BoolArray:
    """Cut the groups in two, by a hash of their names, so that the order of rows does not matter."""
    names = [row.group or f"\0{row.id}" for row in judged.rows]
    ranked = sorted(set(names), key=lambda name: hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest())
    side = {name: bool(rank % 2) for rank, name in enumerate(ranked)}
    return np.array([side[name] for name in names], np.bool_)


def _cross_confirm(search: _Search) -> list[FoundSlice]:
    """Propose on one half and test on the other, both ways, and correct for all proposals."""
    tested: list[tuple[Predicate, BoolArray, HeldOut]] = []
    for side in (False, True):
        proposer = search.rows(search.half == side)
        for predicate in propose(proposer, depth=search.depth, min_rows=max(2, search.min_support // 2)):
            held_out = _test(search, predicate, search.half != side)
            tested.append((predicate, search.half != side, held_out))
    adjusted = holm(np.array([held_out.p for _, _, held_out in tested], np.float64))
    best: dict[Predicate, tuple[float, BoolArray, HeldOut]] = {}
    for (predicate, rows, held_out), p in zip(tested, adjusted, strict=True):
        if predicate not in best or p < best[predicate][0]:
            best[predicate] = (float(p), rows, held_out)
    repeated = {predicate: kept for predicate, kept in best.items() if kept[2].value < kept[2].rest}
    if len(repeated) < len(best):
        search.notes.append(
            f"{len(best) - len(repeated)} slices of one half did not show on the other and are not listed"
        )
    return [_describe(search, predicate, *kept) for predicate, kept in repeated.items()]


def _test(search: _Search, predicate: Predicate, held_out: BoolArray) -> HeldOut:
    """Measure a slice on the half that did not propose it."""
    rows = search.rows(held_out)
    compared = compare(rows.bad, rows.member(predicate), rows.groups)
    if compared is None:
        return HeldOut(n=0, value=1.0, rest=1.0, p=1.0, gain=0.0, gain_low=0.0)
    cautious = compared.rest + max(0.0, compared.gap - LOWER * compared.se)
    gain, gain_low = (_gain(search, predicate, held_out, share, compared.rest) for share in (compared.inside, cautious))
    return HeldOut(
        n=compared.n,
        value=metric_value(search.metric, compared.inside),
        rest=metric_value(search.metric, compared.rest),
        p=compared.p,
        gain=gain,
        gain_low=gain_low,
    )


def _gain(search: _Search, predicate: Predicate, chosen: BoolArray, share: float, rest: float) -> float:
    inside = _member(search, predicate) & chosen
    return expected_gain(
        search.metric,
        Cells.of(search.judged, chosen),
        Cells.of(search.judged, inside),
        int((inside & search.inside).sum()),
        int((chosen & search.inside).sum()),
        share,
        rest,
    )


def _describe(search: _Search, predicate: Predicate, p: float, rows: BoolArray, held_out: HeldOut) -> FoundSlice:
    judged, inside, bad = search.judged, search.inside, search.bad
    member = _member(search, predicate)
    value, low, high = _interval(search, member & inside)
    seen = member & rows
    fp, fn = judged.predicted & ~judged.positive & seen, ~judged.predicted & judged.positive & seen
    share, direction_p = one_direction(fp, fn, judged.groups)
    one_way = share is not None and direction_p < ALPHA
    return FoundSlice(
        predicate=predicate,
        n=int((member & inside).sum()),
        support=int(member.sum()),
        metric=search.metric,
        value=value,
        rest=metric_value(search.metric, float(bad[inside & ~member].mean())),
        low=low,
        high=high,
        p=p,
        direction=("fp" if share > 0.5 else "fn") if one_way and share is not None else None,
        fp_share=share,
        direction_p=direction_p,
        parts=decompose(search.metric, Cells.of(judged, member), Cells.of(judged, ~member)),
        held_out=held_out,
    )


def _member(search: _Search, predicate: Predicate) -> BoolArray:
    return Rows(columns=search.columns, bad=search.bad, groups=search.judged.groups).member(predicate)


def _interval(search: _Search, chosen: BoolArray) -> tuple[float, float | None, float | None]:
    bad, groups = search.bad[chosen], _compress(search.judged.groups[chosen])
    found = share_interval(~bad, groups)
    value = metric_value(search.metric, float(bad.mean()))
    if found is None:
        return value, None, None
    return value, metric_value(search.metric, 1 - found[0]), metric_value(search.metric, 1 - found[1])


def _compress(groups: IntArray) -> IntArray:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _overall(search: _Search) -> Estimate:
    n = len(search.inside)
    if not search.inside.any():
        return Estimate.undefined(n, f"no row is in the denominator of {search.metric}")
    value, low, high = _interval(search, search.inside)
    return Estimate(value=value, low=low, high=high, n=n, reason="" if low is not None else "all rows are one group")


def _note_power(search: _Search, notes: list[str]) -> None:
    """Say how large a slice must be to be found here."""
    rows = search.rows(np.ones(len(search.inside), np.bool_))
    base = float(rows.bad.mean()) if len(rows) else 0.0
    if not 0 < base < 1:
        notes.append(
            f"{search.metric}: {'no' if base == 0 else 'every'} row of the {len(rows)} in the denominator is an error"
        )
        return
    candidates = count_candidates(rows, depth=search.depth, min_rows=search.min_support)
    share = min(2 * base, (1 + base) / 2)
    # Each half proposes on its own rows.
    needed = 2 * rows_to_find(share, base, candidates)
    verdict = "findable" if needed < len(rows) / 2 else "hardly findable"
    notes.append(
        f"{candidates} candidate slices on {len(rows)} rows with {base:.1%} errors: a slice with {share:.1%} errors "
        f"needs about {math.ceil(needed)} rows, so it is {verdict} here"
    )
