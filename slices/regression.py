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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judges import (
    BoolArray,
    Change,
    FloatArray,
    InputError,
    IntArray,
    JudgedDataset,
    clustered_se,
)
from ..judges import compare as compare_judged
from ..judges.notebook_display import html_table
from .confirm import confirm_on_halves
from .features import read_features
from .find import search_slices
from .limits import Limits
from .outcomes import NO_GROUPS, Outcomes, compress, count_groups
from .significance import MIN_GROUPS, Comparison
from .significance import compare as compare_loss
from .slice import Predicate

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A slice in which a new prompt does worse than the old one."""

    predicate: Predicate
    change: Change
    """Accuracy on all of the slice's rows, those that proposed it included."""
    elsewhere: Change
    """The same on the other rows."""
    broken: int
    """Rows that were right before and are wrong now."""
    mended: int
    """Rows that were wrong before and are right now."""
    p: float
    """That it lost, and more than the rest: on held-out rows, corrected for all proposals."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the slice with its counts, and the change of accuracy inside and elsewhere."""
        return {
            "predicate": str(self.predicate),
            "n": self.change.n,
            "groups": self.change.groups,
            "broken": self.broken,
            "mended": self.mended,
            "change": _change_json(self.change),
            "elsewhere": _change_json(self.elsewhere),
            "p": self.p,
        }

    def describe(self) -> str:
        """Describe the regression in a sentence."""
        inside = (
            f"accuracy {self.change.before:.3f} -> {self.change.after:.3f}"
            f" ({_interval(self.change)})"
        )
        return (
            f"{self.predicate}: {inside}, {self.broken} rows newly wrong and {self.mended} mended"
            f" of {self.change.n}; elsewhere {self.elsewhere.difference:+.3f}"
            f" ({_interval(self.elsewhere)}); confirmed on held-out rows, p = {self.p:.2g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionReport:
    """The confirmed regressions between two sets of answers to the same rows, the surest first."""

    slices: tuple[Regression, ...]
    overall: Change | None
    """Accuracy on every row that both answered; None where there is no such row."""
    left_out: Mapping[str, str]
    """Columns that were not searched, each with the reason."""
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        worse = f"{len(self.slices)} slices got worse"
        if self.overall is None:
            return f"RegressionReport(accuracy undefined, n=0; {worse})"
        overall = (
            f"{self.overall.difference:+.3f} ({_interval(self.overall)}), n={self.overall.n:,}"
        )
        return f"RegressionReport(accuracy {overall}; {worse})"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one line a slice: accuracy before and after, the change with its interval, and
        elsewhere.
        """
        import pandas as pd

        columns = (
            "predicate",
            "before",
            "after",
            "difference",
            "low",
            "high",
            "n",
            "groups",
            "broken",
            "mended",
        )
        lines = [
            {**one.to_json(), **_change_json(one.change), "elsewhere": one.elsewhere.difference}
            for one in self.slices
        ]
        return pd.DataFrame(lines, columns=[*columns, "elsewhere", "p"])

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the report as a command prints it."""
        return {
            "schema_version": 1,
            "overall": self.overall and _change_json(self.overall),
            "slices": [one.to_json() for one in self.slices],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }


def find_regressions(
    before: JudgedDataset,
    after: JudgedDataset,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    max_depth: int = 2,
    seed: int = 0,
) -> RegressionReport:
    """Find the slices in which `after` is wrong where `before` was right.

    A row loses (before right) - (after right); only rows that both answered count.

    Args:
        before, after: Two answers to the same dataset, rows in the same order.
        columns: Metadata columns to search; all that do not leak the label unless given.
        exclude: Metadata columns to leave out.
        max_depth: The most conditions of a slice, 1 to 3.
        seed: Of the cut into halves.

    Raises:
        InputError: The two do not answer the same rows, or a column or the depth cannot be used.
    """
    if [row.id for row in before.dataset.rows] != [row.id for row in after.dataset.rows]:
        raise InputError("the two sets of answers are not of the same rows in the same order")
    limits = Limits(max_depth=max_depth, min_support=None, seed=seed, named=columns is not None)
    common = np.intersect1d(before.scored, after.scored)
    if len(common) == 0:
        return RegressionReport(
            slices=(), overall=None, left_out={}, notes=("no row was answered by both",)
        )
    old, new = before.only(common), after.only(common)
    features = read_features(old, columns=columns, exclude=exclude)
    notes = _notes(before, after, old)
    report = search_slices(
        _rights(old, new), features, _TARGET, limits, notes=notes, confirm=confirm_on_halves
    )
    overall = compare_judged(_accuracy_of(old), old, new)
    regressions: list[Regression] = []
    for one in report.slices:
        regression = _describe(one.predicate, one.p, old, new) if one.confirmed else None
        if regression is not None and regression.broken > regression.mended:
            regressions.append(regression)
    regressions.sort(key=lambda one: (one.p, str(one.predicate)))
    return RegressionReport(
        slices=tuple(regressions), overall=overall, left_out=report.left_out, notes=report.notes
    )


def _notes(before: JudgedDataset, after: JudgedDataset, old: JudgedDataset) -> list[str]:
    notes = ["an error is here a row that was judged right before and is judged wrong now"]
    if not any(row.group for row in old.rows):
        notes.append(NO_GROUPS)
    alone = max(len(before.scored), len(after.scored)) - len(old.scored)
    if alone:
        notes.append(f"{alone} rows that only one side answered are left out")
    return notes


def _rights(old: JudgedDataset, new: JudgedDataset) -> Outcomes:
    """Put "was right before" in people's place and "is right now" in the judge's, so that a miss is
    a newly wrong row.

    The search then reads a loss off the two as it does off any verdicts.
    """
    plain = Outcomes.of(old)
    return Outcomes(
        positive=~old.wrong,
        predicted=~new.wrong,
        groups=plain.groups,
        group_names=plain.group_names,
        probability=np.full(len(plain), np.nan),
    )


def _describe(
    predicate: Predicate, p: float, old: JudgedDataset, new: JudgedDataset
) -> Regression | None:
    """Measure a slice before and after; None where either side of it has no rows."""
    member = predicate.mask(old.dataset.rows)
    inside = compare_judged(_accuracy_of(old), old, new, keep=member)
    elsewhere = compare_judged(_accuracy_of(old), old, new, keep=~member)
    if inside is None or elsewhere is None:
        return None
    was, now = ~old.wrong, ~new.wrong
    return Regression(
        predicate=predicate,
        change=inside,
        elsewhere=elsewhere,
        broken=int((was & ~now & member).sum()),
        mended=int((~was & now & member).sum()),
        p=p,
    )


def _accuracy_of(judged: JudgedDataset) -> str:
    """Return the name of the share of right verdicts: of decisions, or of classes for a choice."""
    return "accuracy_grades" if judged.scale.kind == "choice" else "accuracy"


def _change_json(change: Change) -> dict[str, float | int | None]:
    return {
        name: getattr(change, name)
        for name in ("before", "after", "difference", "low", "high", "n", "groups")
    }


def _interval(change: Change) -> str:
    return "no interval" if change.low is None else f"{change.low:+.3f} .. {change.high:+.3f}"


@dataclass(frozen=True, slots=True)
class _NetLoss:
    """The share of rows newly wrong less the share mended, searched by the first; see
    `target.Target`.
    """

    name: str = "net loss"
    lower_is_worse: bool = False

    def losses(self, outcomes: Outcomes) -> tuple[BoolArray, BoolArray]:
        """See `Target.losses`; a bad row is one newly wrong."""
        return np.ones(len(outcomes), np.bool_), outcomes.positive & ~outcomes.predicted

    def value(self, outcomes: Outcomes, member: BoolArray) -> float | None:
        if not member.any():
            return None
        return float(_loss(outcomes)[member].mean())

    def interval(self, outcomes: Outcomes, member: BoolArray) -> Interval | None:
        """See `Target.interval`; the report has its own."""
        return None

    def of_loss(self, mean: float) -> float:
        return mean

    def test(self, outcomes: Outcomes, member: BoolArray) -> Comparison | None:
        """See `Target.test`: the larger p of two claims, that the slice lost, and more than the
        rest did.
        """
        loss, groups = _loss(outcomes), compress(outcomes.groups)
        compared = compare_loss(loss, member, groups)
        if compared is None:
            return None
        more = _lost_more(loss, member, groups, compared.gap)
        lost = sign_flip_tail(np.bincount(groups[member], loss[member]).round().astype(np.int64))
        return replace(compared, p=max(compared.p, more, lost))


_TARGET = _NetLoss()


def _loss(outcomes: Outcomes) -> FloatArray:
    """(before right) - (after right); shape (n,)."""
    return outcomes.positive.astype(np.float64) - outcomes.predicted


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
