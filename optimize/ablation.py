"""Which words earned it: what each hunk of an edit does on validation rows, left out and added
alone.

Left out, a hunk is missed in the whole edit; added alone, it stands in the old prompt. Both are
paired comparisons on the same rows, for the target metric and for the loss. A hunk is marked by the
mean of the two, which counts what it does early and late alike, as a Shapley value does at its two
ends; Student's t on group sums, two-sided, Holm over hunks times two measures. The rows are those
that the edit was chosen on, which flatters it as a whole: the marks say which words carry an edit,
and whether the words that are left are an improvement is for the gate to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..judges import (
    Change,
    Estimate,
    FloatArray,
    IntArray,
    JudgedDataset,
    JudgePrompt,
    clustered_se,
    compare,
    holm,
    influence,
)
from ..judges.metrics.catalog import sign_of
from ..judges.metrics.paired_comparison import UNMOVED
from ..judges.models import ask_together
from ..judges.notebook_display import SIMULATED, html_table
from .holdout.guards import MIN_GROUPS
from .hunks import Hunk, PromptDiff, compose

if TYPE_CHECKING:
    import pandas as pd

JudgeWith = Callable[[str, JudgePrompt], JudgedDataset]
"""Judges all validation rows with a prompt; the text says what is being done."""
LossOf = Callable[[JudgedDataset], FloatArray]
"""The loss of each scored row, in [0, 1]."""
Mark = Literal["helps", "harms", "no effect shown"]

ALPHA = 0.05
"""Over all hunks and both measures."""
_Pair = tuple[JudgedDataset, JudgedDataset]
"""Without the hunk, and with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a hunk adds to the target metric and to the loss; for the loss, less is better."""

    metric: Estimate
    loss: Estimate

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return both."""
        return {"metric": self.metric.to_json(), "loss": self.loss.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkEffect:
    """A hunk and what it does."""

    hunk: Hunk
    left_out: Effect
    """The whole edit against the edit without this hunk."""
    alone: Effect
    """The old prompt with this hunk against the old prompt."""
    mean: Effect
    """The mean of the two."""
    p_metric: float
    """Of the mean effect on the target metric, two-sided, adjusted."""
    p_loss: float
    mark: Mark

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return hunk, effects and mark."""
        effects = {name: getattr(self, name).to_json() for name in ("left_out", "alone", "mean")}
        marks = {"p_metric": self.p_metric, "p_loss": self.p_loss, "mark": self.mark}
        return {**asdict(self.hunk), "kind": self.hunk.kind, **effects, **marks}


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkReport:
    """Every hunk of an edit with its effect on validation rows."""

    metric: str
    effects: tuple[HunkEffect, ...]
    n: int
    groups: int
    prompts: int
    """Distinct prompts that were judged."""
    simulated: bool
    notes: tuple[str, ...] = ()

    @property
    def harmless(self) -> frozenset[int]:
        """Numbers of the hunks that are not marked as harming: what `compose` would take to send to
        the gate.
        """
        return frozenset(effect.hunk.number for effect in self.effects if effect.mark != "harms")

    def __repr__(self) -> str:
        rows = f"n={self.n:,} in {self.groups:,} groups{SIMULATED * self.simulated}"
        return f"HunkReport({len(self.effects)} hunks on {self.metric}, {rows})"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return two lines a hunk, its mean effect on the target metric and on the loss, with p
        adjusted over all.
        """
        import pandas as pd

        lines = [
            {"number": e.hunk.number, "kind": e.hunk.kind, "text": str(e.hunk), "mark": e.mark}
            | {"measure": measure, **asdict(effect), "p": p}
            for e in self.effects
            for measure, effect, p in (
                (self.metric, e.mean.metric, e.p_metric),
                ("loss", e.mean.loss, e.p_loss),
            )
        ]
        return pd.DataFrame(lines)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the report as JSON."""
        return {
            "metric": self.metric,
            "n": self.n,
            "groups": self.groups,
            "prompts": self.prompts,
            "simulated": self.simulated,
            "hunks": [effect.to_json() for effect in self.effects],
            "notes": list(self.notes),
        }


def measure_hunks(
    diff: PromptDiff, judge_with: JudgeWith, loss_of: LossOf, *, metric: str
) -> HunkReport:
    """Leave each hunk out and add it alone, and mark what helps and what harms.

    Args:
        diff: The edit.
        judge_with: Judges the same rows, in the same order, with any prompt.
        loss_of: The run's frozen loss.
        metric: The target metric.
    """

    def judge_part(chosen: frozenset[int]) -> JudgedDataset:
        named = ", ".join(map(str, sorted(chosen))) or "none"
        return judge_with(f"hunks: {named}", compose(diff, chosen))

    parts = [diff.numbers, frozenset[int]()]
    for hunk in diff.hunks:
        one = frozenset({hunk.number})
        parts += [diff.numbers - one, one]
    parts = list(dict.fromkeys(parts))
    tables = dict(
        zip(parts, ask_together([partial(judge_part, part) for part in parts]), strict=True)
    )
    everything, nothing = tables[diff.numbers], tables[frozenset()]
    ends: list[tuple[_Pair, _Pair]] = []
    for hunk in diff.hunks:
        one = frozenset({hunk.number})
        ends.append(((tables[diff.numbers - one], everything), (nothing, tables[one])))
    means = [_measure(pairs, loss_of, metric) for pairs in ends]
    adjusted = (
        holm(np.array([p for _, ps in means for p in ps], np.float64)).reshape(-1, 2).tolist()
    )
    effects = []
    for hunk, (left_out, alone), (mean, _), (p_metric, p_loss) in zip(
        diff.hunks, ends, means, adjusted, strict=True
    ):
        effect = HunkEffect(
            hunk=hunk,
            left_out=_measure([left_out], loss_of, metric)[0],
            alone=_measure([alone], loss_of, metric)[0],
            mean=mean,
            p_metric=p_metric,
            p_loss=p_loss,
            mark=_mark(mean, p_metric, p_loss, sign_of(metric)),
        )
        effects.append(effect)
    groups = len(np.unique(everything.groups))
    enough = groups >= MIN_GROUPS
    return HunkReport(
        metric=metric,
        effects=tuple(
            effect if enough else replace(effect, mark="no effect shown") for effect in effects
        ),
        n=len(everything.scored),
        groups=groups,
        prompts=len(tables),
        simulated=any(judged.simulated for judged in tables.values()),
        notes=()
        if enough
        else (f"nothing is marked: {groups} groups of rows, {MIN_GROUPS} are needed",),
    )


def _mark(mean: Effect, p_metric: float, p_loss: float, sign: float) -> Mark:
    """Mark what is shown; a hunk that is better by one measure and worse by the other harms.

    Args:
        mean: Of both measures.
        p_metric, p_loss: Of each.
        sign: 1 where the metric is better high, else -1.
    """
    shown = [(mean.metric.value, p_metric, sign), (mean.loss.value, p_loss, -1.0)]
    signs = [sign * value for value, p, sign in shown if value is not None and p <= ALPHA]
    if any(sign < 0 for sign in signs):
        return "harms"
    return "helps" if signs else "no effect shown"


def _measure(
    pairs: Sequence[_Pair], loss_of: LossOf, metric: str
) -> tuple[Effect, tuple[float, float]]:
    """Return the mean effect over the pairs on the rows that all their tables answered, and its two
    p-values.
    """
    rows = reduce(np.intersect1d, (judged.scored for pair in pairs for judged in pair))
    common = [(without.only(rows), with_hunk.only(rows)) for without, with_hunk in pairs]
    groups = common[0][0].groups
    if len(rows) == 0:
        nothing = Estimate.undefined(0, "no row was answered with every prompt")
        return Effect(metric=nothing, loss=nothing), (1.0, 1.0)
    losses = np.mean(
        [loss_of(with_hunk) - loss_of(without) for without, with_hunk in common], axis=0
    )
    sizes = np.bincount(groups).astype(np.float64)
    effective = float(sizes.sum()) ** 2 / float(sizes @ sizes)  # number of groups (Kish 1965)
    loss, p_loss = _interval(float(losses.mean()), losses, groups, effective)
    changes: list[Change] = []
    for without, with_hunk in common:
        change = compare(metric, without, with_hunk)
        if change is not None:
            changes.append(change)
    if len(changes) < len(common):
        undefined = Estimate.undefined(
            len(rows), f"{metric} is undefined with the hunk or without it"
        )
        return Effect(metric=undefined, loss=loss), (1.0, p_loss)
    influences = [
        influence(metric, *with_hunk.compared(metric))
        - influence(metric, *without.compared(metric))
        for without, with_hunk in common
    ]
    difference = float(np.mean([change.difference for change in changes]))
    effective = min(change.effective_groups for change in changes)
    estimate, p_metric = _interval(difference, np.mean(influences, axis=0), groups, effective)
    return Effect(metric=estimate, loss=loss), (p_metric, p_loss)


def _interval(
    difference: float, influences: FloatArray, groups: IntArray, effective: float
) -> tuple[Estimate, float]:
    """Return a difference with its clustered 95 % interval, and its two-sided p-value, as `compare`
    computes them.

    Args:
        difference: The value.
        influences: Each row's influence on it, shape (n,); their mean is subtracted.
        groups: Codes 0..G-1; shape (n,).
        effective: How many groups of equal size bear on it.
    """
    from scipy.stats import t as student

    se = clustered_se(influences - influences.mean(), groups)
    changed = int((np.abs(np.bincount(groups, weights=influences)) > UNMOVED).sum())
    if changed < 2 or not 0.0 < se < math.inf:
        reason = "the verdicts of fewer than two groups of rows changed"
        return Estimate(
            value=difference, low=None, high=None, n=len(influences), reason=reason
        ), 1.0
    freedom = max(1.0, min(float(changed), effective) - 1.0)
    reach = float(student.ppf(0.975, freedom)) * se
    p = 2.0 * float(student.sf(abs(difference) / se, freedom))
    return Estimate(
        value=difference, low=difference - reach, high=difference + reach, n=len(influences)
    ), p
