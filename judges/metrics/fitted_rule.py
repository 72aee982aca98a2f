"""Fit a decision rule on labelled rows: the threshold that serves a metric best, and calibrated
confidence.

What a rule does on the rows it was fitted on flatters it. So the figures after are cross-fitted:
for each fold of groups a rule is fitted on the others and applied to it. The rule that is returned
is fitted on all the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray, JudgedDataset, group_codes
from ..notebook_display import SIMULATED, html_table
from ..rows import Dataset
from ..scale import LOGIT_EDGE, Calibration, DecisionRule, Isotonic, OutputScale, Platt
from ..verdict import Answer, apply_rule, as_given
from .benchmark import Benchmark, measure
from .catalog import BINARY_METRICS, METRICS
from .estimate import Estimate, as_json
from .paired_comparison import Change, compare

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["isotonic", "platt", "none"]
METHODS: tuple[Method, ...] = ("isotonic", "platt", "none")

FOLDS = 5
LEAST_ROWS = 20
"""Labelled verdicts below which nothing is fitted."""
LEAST_OF_A_CLASS = 5
LEAST_SPREAD = 1e-6
"""Distance of the lowest and the highest logit under which confidence counts as constant."""
FEW_FOR_ISOTONIC = 200
"""Rows below which a note says that isotonic regression bends to chance, and Platt scaling less so.
"""
SHOWN = ("ece", "brier", "auroc")
"""Metrics that are shown before and after, beside the one the threshold is chosen for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterThreshold:
    """Another threshold, and what it decides on the very rows that it was chosen on."""

    current: float
    threshold: float
    """As replies have it, like the current one."""
    bad_called_good: int
    """Rows that people call negative and this threshold positive."""
    good_called_bad: int
    change: Change
    """Of kappa, cross-fitted: no row is decided by a threshold that its group helped to choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A fitted rule, and what it does to rows that it was not fitted on."""

    rule: DecisionRule
    """Fitted on all the rows."""
    metric: str
    method: Method
    folds: int
    before: Benchmark
    after: Benchmark
    """Cross-fitted: no row was judged by a rule that its group helped to fit."""
    change: Change | None
    """The metric's paired change from before to after; None where it is undefined."""
    judged_before: JudgedDataset
    judged_after: JudgedDataset
    """The tables behind `before` and `after`."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rule = f"positive at {self.rule.threshold:.4g}, {self.method}, chosen for {self.metric}"
        simulated = SIMULATED * self.before.simulated
        return (
            f"Calibrated({rule}; cross-fitted in {self.folds} folds,"
            f" n={self.before.n:,}{simulated})"
        )

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return two lines a metric, before the rule and after it, cross-fitted; each with its
        interval and n.
        """
        import pandas as pd

        lines = []
        for name, (before, after) in self.shown().items():
            for rule, estimate in (("before", before), ("after", after)):
                if estimate is not None:
                    lines.append({"metric": name, "rule": rule, **asdict(estimate)})
        return pd.DataFrame(lines)

    @property
    def sentence(self) -> str:
        """What the threshold before would do, and what the chosen one does on rows that did not
        help to choose it.
        """
        before, change = self.judged_before.scale.threshold, self.change
        if change is None:
            return f"{self.metric} cannot be compared before and after"
        chosen = f"{'calibrated ' * (self.rule.calibration is not None)}{self.rule.threshold:.3g}"
        return (
            f"a cut of {before:g} gives {self.metric} {change.before:.3f} on these {change.n:,}"
            f" rows; the chosen one, {chosen}, gives {change.after:.3f}, cross-fitted"
        )

    def shown(self) -> dict[str, tuple[Estimate | None, Estimate | None]]:
        """Return the metrics that matter here, before and after; None where no verdict has a
        probability.
        """
        names = dict.fromkeys((self.metric, *SHOWN))
        return {
            name: (self.before.metrics.get(name), self.after.metrics.get(name)) for name in names
        }

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return rule, metrics before and after, and notes."""
        change = self.change
        shown = ("difference", "low", "high", "n", "groups")
        return {
            "rule": {"version": self.rule.version, **self.rule.to_json()},
            "metric": self.metric,
            "method": self.method,
            "folds": self.folds,
            "summary": self.sentence,
            "n": self.before.n,
            "groups": self.before.groups,
            "simulated": self.before.simulated,
            "metrics": {
                name: {"before": as_json(before), "after": as_json(after)}
                for name, (before, after) in self.shown().items()
            },
            "change": change and {name: getattr(change, name) for name in shown},
            "notes": list(self.notes),
        }


def calibrate(
    judged: JudgedDataset,
    *,
    metric: str = "f1",
    method: Method = "isotonic",
) -> Calibrated:
    """Fit a decision rule, and show by cross-fitting what it changes.

    Args:
        judged: Labelled rows with their verdicts, none of them from a holdout. A rule applied
            before is undone.
        metric: What the threshold maximises, one of `BINARY_METRICS`.
        method: How confidence is calibrated; `none` leaves it as it is.

    Raises:
        InputError: There are too few rows, labels or groups of one class, or no confidence to
            calibrate.
    """
    before = replace(
        judged, answers=tuple(as_given(answer) for answer in judged.answers), rule=None
    )
    _require_enough(before, metric, method)
    after, folds = _cross_fit(before, metric, method)
    assert after.rule is not None
    return Calibrated(
        rule=after.rule,
        metric=metric,
        method=method,
        folds=folds,
        before=measure(before),
        after=measure(after),
        change=compare(metric, before, after),
        judged_before=before,
        judged_after=after,
        notes=tuple(_notes(before, method)),
    )


def _cross_fit(before: JudgedDataset, metric: str, method: Method) -> tuple[JudgedDataset, int]:
    """Return the rows decided by rules that their groups did not help to fit, and the number of
    folds.

    The rule of what is returned is the one that is fitted on all rows.
    """
    rule = fit_rule(before, metric=metric, method=method)
    folds = group_folds(before)
    answers: list[Answer] = list(before.answers)
    for inside, outside in folds:
        fold_rule = fit_rule(before.only(inside), metric=metric, method=method)
        for position in outside:
            answers[position] = apply_rule(answers[position], before.scale, fold_rule)
    return replace(before, answers=tuple(answers), rule=rule), len(folds)


def group_folds(judged: JudgedDataset) -> list[tuple[IntArray, IntArray]]:
    """Return for each fold of groups the positions of the scored rows outside it and in it."""
    groups = judged.groups
    n_groups = int(groups.max()) + 1
    share = np.bincount(groups, weights=judged.positive) / np.bincount(groups)
    # Dealt out in order of their share of positives, so that no fold takes all groups of one class.
    order = np.lexsort((np.random.default_rng(0).permutation(n_groups), share))
    fold = np.empty(n_groups, np.int64)
    fold[order] = np.arange(n_groups) % min(FOLDS, n_groups)
    member = fold[groups]
    return [
        (judged.scored[member != k], judged.scored[member == k])
        for k in range(min(FOLDS, n_groups))
    ]


def better_threshold(judged: JudgedDataset) -> BetterThreshold | None:
    """Return the threshold that would serve these rows better by more than noise; None where there
    is nothing to choose, too little to choose by, or no gain is shown.

    Args:
        judged: Labelled rows with their verdicts.
    """
    if judged.scale.kind == "choice" or (
        judged.rule is not None and judged.rule.calibration is not None
    ):
        return None
    metric = "kappa"
    current = judged.scale.threshold if judged.rule is None else judged.rule.threshold
    try:
        _require_enough(judged, metric, "none")
        after, _ = _cross_fit(judged, metric, "none")
    except InputError:
        return None
    assert after.rule is not None
    change = compare(metric, judged, after)
    if after.rule.threshold == current or change is None or change.low is None or change.low <= 0:
        return None
    people, passed = judged.positive, judged.score >= after.rule.threshold
    return BetterThreshold(
        current=judged.scale.written(current),
        threshold=judged.scale.written(after.rule.threshold),
        bad_called_good=int((~people & passed).sum()),
        good_called_bad=int((people & ~passed).sum()),
        change=change,
    )


def fit_rule(
    judged: JudgedDataset, *, metric: str = "f1", method: Method = "isotonic"
) -> DecisionRule:
    """Fit calibration and threshold on these rows; see `fit_calibration` and `best_threshold`.

    On a probability scale the threshold is chosen among the calibrated scores. The verdicts must be
    as the judge gave them.

    Raises:
        InputError: The labels hold one class, or there is nothing to choose among.
    """
    rows = np.isfinite(judged.probability)
    calibration = fit_calibration(judged.positive[rows], judged.probability[rows], method)
    score = judged.score
    if judged.scale.kind == "probability" and calibration is not None:
        score = np.array([calibration(value) for value in score], np.float64)
    candidates = thresholds_between(judged.scale, score)
    if len(candidates) == 0:
        candidates = np.array([judged.scale.threshold])
    middle = (judged.scale.low + judged.scale.high) / 2
    return DecisionRule(
        threshold=best_threshold(judged.positive, score, candidates, metric=metric, middle=middle),
        calibration=calibration,
    )


def best_threshold(
    label: BoolArray,
    score: FloatArray,
    candidates: FloatArray,
    *,
    metric: str = "f1",
    middle: float,
) -> float:
    """Return the threshold whose decisions agree best with people.

    All confusion tables come from one sort; a metric that does not exist counts as `point` has it
    (0 for precision, recall, F1 and MCC) or is passed over. Of equal ones the nearest to the middle
    wins, then the lower.

    Args:
        label: Whether people call the row positive; shape (n,).
        score: The judge's scores; shape (n,).
        candidates: Thresholds to try, rising; shape (T,).
        metric: One of `BINARY_METRICS`.
        middle: Where the scale has its middle.

    Raises:
        InputError: The metric is unknown, or exists at no threshold.
    """
    _require_decision_metric(metric)
    yes, no = np.sort(score[label]), np.sort(score[~label])
    fn, tn = np.searchsorted(yes, candidates), np.searchsorted(no, candidates)
    tables = np.stack((np.stack((tn, len(no) - tn), -1), np.stack((fn, len(yes) - fn), -1)), -2)
    values = BINARY_METRICS[metric](tables.astype(np.float64))
    undefined = 0.0 if METRICS[metric].zero_if_undefined else -np.inf
    values = np.where(np.isfinite(values), values, undefined)
    if not np.isfinite(values).any():
        raise InputError(f"{metric} exists at no threshold on these {len(score)} rows")
    # Up to rounding, so that equal tables cannot differ by the order of their sums.
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return float(candidates[best[np.argmin(np.abs(candidates[best] - middle))]])


def fit_calibration(
    label: BoolArray, probability: FloatArray, method: Method
) -> Calibration | None:
    """Fit a rising map from the judge's probability of the positive label to how often people say
    yes.

    `isotonic` is the least-squares map that never falls (Zadrozny and Elkan 2002). `platt` is a
    logistic on the logit of the probability, fitted with Platt's smoothed targets (Platt 1999);
    where it would fall, or where every probability is the same, it is flat: the smoothed share of
    yes.

    Args:
        label: Whether people call the row positive; shape (n,).
        probability: Of the positive label, as the judge gave it; shape (n,).
        method: `none` gives None.

    Raises:
        InputError: The labels hold one class, or there are none.
    """
    if method == "none":
        return None
    if len(np.unique(label)) < 2:
        raise InputError(
            f"the {len(label)} rows with a confidence hold only one class of labels: nothing to"
            " calibrate"
        )
    return (
        _fit_isotonic(label, probability)
        if method == "isotonic"
        else _fit_platt(label, probability)
    )


def _fit_isotonic(label: BoolArray, probability: FloatArray) -> Isotonic:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, increasing=True, out_of_bounds="clip")
    fitted.fit(probability, label.astype(np.float64))
    return Isotonic(x=tuple(fitted.X_thresholds_.tolist()), y=tuple(fitted.y_thresholds_.tolist()))


def _fit_platt(label: BoolArray, probability: FloatArray) -> Platt:
    from sklearn.linear_model import LogisticRegression

    inside = np.clip(probability, LOGIT_EDGE, 1.0 - LOGIT_EDGE)
    logit = np.log(inside / (1.0 - inside))
    positives, negatives = int(label.sum()), int((~label).sum())
    target = np.where(label, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    share = float(target.mean())
    flat = Platt(slope=0.0, intercept=float(np.log(share / (1.0 - share))))
    if np.ptp(logit) < LEAST_SPREAD:
        return flat  # a slope could not be told from an intercept
    # Fractional targets: each row stands once as a yes and once as a no, weighted.
    fitted = LogisticRegression(C=1e10, solver="newton-cholesky", tol=1e-10)
    both = np.concatenate((np.ones(len(label)), np.zeros(len(label))))
    fitted.fit(
        np.concatenate((logit, logit))[:, None],
        both,
        sample_weight=np.concatenate((target, 1.0 - target)),
    )
    slope, intercept = float(np.ravel(fitted.coef_)[0]), float(np.ravel(fitted.intercept_)[0])
    return Platt(slope=slope, intercept=intercept) if slope > 0 else flat


def thresholds_between(scale: OutputScale, score: FloatArray) -> FloatArray:
    """Return every threshold that tells two grades apart; on a probability scale, halfway between
    scores that occur.

    Shape (thresholds,), ascending; empty where all probabilities are equal.
    """
    if scale.levels:
        return np.array(scale.levels[1:], np.float64)
    values = np.unique(score)
    halfway = (values[:-1] + values[1:]) / 2
    # Halfway between neighbouring floats is the lower one, which would tell nothing apart.
    return np.where(halfway > values[:-1], halfway, values[1:])


def require_labels(dataset: Dataset, scale: OutputScale) -> None:
    """Make sure, before a judge is paid for, that its rows could carry a rule.

    Raises:
        InputError: There are too few labelled rows, or groups of one class, or the scale has no
            threshold.
    """
    if scale.kind == "choice":
        raise InputError(
            f"the judge chooses among labels without an order ({scale.describe()}): it has no"
            " threshold"
        )
    rows = [row for row in dataset.rows if row.label is not None]
    positive = np.array([dataset.positive(row) for row in rows], np.bool_)
    _require_classes(positive, group_codes(rows), "a label")


def _require_enough(judged: JudgedDataset, metric: str, method: Method) -> None:
    """Make sure that a rule can be fitted, before anything is."""
    _require_decision_metric(metric)
    require_labels(judged.dataset, judged.scale)
    _require_classes(judged.positive, judged.groups, "a label and a verdict")
    if method == "none":
        return
    rows = np.isfinite(judged.probability)
    if not rows.any():
        raise InputError(
            f"none of the {len(rows)} verdicts has a confidence, so there is nothing to calibrate",
            hint=(
                "--method none chooses the threshold alone; a judge that is asked for its"
                " confidence, or --confidence tok where the endpoint gives log-probabilities,"
                " has one"
            ),
        )
    _require_classes(
        judged.positive[rows], judged.groups[rows], "a label, a verdict and a confidence"
    )


def _require_classes(positive: BoolArray, groups: IntArray, having: str) -> None:
    hint, n = "label more rows, or give validation a larger share with --split", len(positive)
    if n < LEAST_ROWS:
        raise InputError(f"{n} rows have {having}; a rule needs at least {LEAST_ROWS}", hint=hint)
    for name, members in (("positive", positive), ("negative", ~positive)):
        count = int(members.sum())
        if count < LEAST_OF_A_CLASS:
            raise InputError(
                f"{count} of the {n} rows that have {having} are {name}; a rule needs"
                f" {LEAST_OF_A_CLASS} of each class",
                hint=hint,
            )
        if len(np.unique(groups[members])) < 2:
            raise InputError(
                f"all {count} {name} rows that have {having} are of one group: no rule can be"
                " tested on another",
                hint=hint,
            )


def _require_decision_metric(metric: str) -> None:
    if metric not in BINARY_METRICS:
        raise InputError(
            f"{metric!r} is not a metric of decisions",
            hint=f"thresholds are chosen for {', '.join(BINARY_METRICS)}",
        )


def _notes(judged: JudgedDataset, method: Method) -> Iterator[str]:
    n, fitted = len(judged.scored), int(np.isfinite(judged.probability).sum())
    if method != "none" and fitted < n:
        yield (
            f"{n - fitted} of {n} verdicts have no confidence; the calibration is fitted on the"
            f" other {fitted}"
        )
    if method == "isotonic" and fitted < FEW_FOR_ISOTONIC:
        yield (
            f"isotonic regression bends to chance on {fitted} rows; --method platt has two numbers"
            " to fit"
        )
    if unanswered := sum(judged.unscored.values()):
        yield f"{unanswered} rows have no verdict and were not used"
