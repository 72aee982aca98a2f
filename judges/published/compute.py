"""One figure of a verdict file, computed by a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files.verdicts import load_judges
from ..judged_dataset import FloatArray, JudgedDataset
from ..metrics import agreement, calibration, rater_agreement
from ..metrics.benchmark import Benchmark, measure
from ..metrics.catalog import GRADE_METRICS, METRICS
from ..metrics.estimate import Estimate
from ..metrics.macro_average import AVERAGED, macro_means
from .diras import DIRAS, diras
from .rules import Rule

Value = float | tuple[int, ...]
"""A figure as it is computed; counts of grades are several numbers."""

ORDERED = ("auroc", "average_precision")
"""Metrics that any score can be ranked by; `measure` wants probabilities, as its other metrics of
them do.
"""
AS_PUBLISHED = "_as_published"
"""What follows the name of a DIRAS metric whose published way of ranking is repeated."""
OF_GRADES = (*GRADE_METRICS, "pearson", "spearman", "kendall_tau")
"""Metrics that need no threshold."""
OF_PROBABILITIES = (*calibration.CALIBRATION_METRICS, "map")
"""Metrics that need a threshold of the label alone."""


@dataclass(kw_only=True)
class VerdictFile:
    """One verdict file, read and measured once for each way of reading it."""

    path: Path
    _judges: dict[str, dict[str, JudgedDataset]] = field(default_factory=dict)
    """By how the columns are written out, as the maps among them cannot be keys."""
    _benchmarks: dict[tuple[object, ...], Benchmark] = field(default_factory=dict)

    def compute(self, rule: Rule, *, stated: bool = True) -> tuple[Value, int]:
        """Return a figure, and the rows with a label and a verdict that it is of.

        Args:
            rule: How it is computed.
            stated: Whether somebody stated the rule; of a mere name no threshold is known, and it
                is refused where it would need one.

        Raises:
            InputError: The file cannot be read in this way, or the figure has no value there.
        """
        if "\0" in str(self.path):
            raise InputError(f"no file can be called so: {self.path.name!r}")
        judged = self._judged(rule)
        if not stated:
            _refuse_guess(rule.name, judged)
        value = self._value(rule, judged)
        return value * rule.times if isinstance(value, float) else value, len(judged.scored)

    def _judged(self, rule: Rule) -> JudgedDataset:
        columns = rule.columns()
        key = repr(columns)
        if key not in self._judges:
            self._judges[key] = load_judges(self.path, columns)
        judges = self._judges[key]
        if rule.judge is not None:
            if rule.judge not in judges:
                raise InputError(
                    f"the file has no judge {rule.judge!r}; there are {', '.join(judges)}"
                )
            return judges[rule.judge]
        if len(judges) > 1:
            raise InputError(
                f"{rule.score!r} names {len(judges)} judges; say which one with 'judge'"
            )
        return next(iter(judges.values()))

    def _value(self, rule: Rule, judged: JudgedDataset) -> Value:
        name = rule.name
        if rule.by and not rule.aggregate:
            if rule.name not in AVERAGED:
                means = ", ".join(AVERAGED)
                raise InputError(
                    f"'by' goes with 'aggregate' or with one of {means}, not with {rule.metric!r}"
                    " alone"
                )
            if len(rule.by) != 1:
                raise InputError(
                    f"{rule.name} is a mean over one column, and 'by' names {len(rule.by)}"
                )
            return _defined(rule.name, macro_means(judged, rule.by[0])[rule.name].estimate)
        if name in AVERAGED:
            raise InputError(f"{name} is a mean over the values of a column; name it with 'by'")
        if name == "score_counts":
            if not judged.scale.levels:
                raise InputError(
                    "score_counts needs grades, and the scores are probabilities; state the 'scale'"
                )
            return tuple(int((judged.score == grade).sum()) for grade in judged.scale.levels)
        if name == "krippendorff_alpha_binary":
            table = agreement.confusion(judged.positive, judged.predicted).astype(np.float64)
            alpha = rater_agreement.alpha_of_tables(table, level="nominal")
            return _finite(name, alpha, METRICS["krippendorff_alpha"].undefined)
        if name.removesuffix(AS_PUBLISHED) in (*DIRAS, "diras_uncertainty"):
            return _diras(rule, judged)
        benchmark = self._benchmark(rule, judged)
        if name in benchmark.confusion and judged.scale.kind != "choice":
            return float(benchmark.confusion[name])
        if name in benchmark.metrics:
            return _defined(name, benchmark.metrics[name])
        if name in ORDERED:
            value = calibration.value_of(name, judged.positive, judged.score)
            return _finite(name, value, METRICS[name].undefined)
        metrics = ", ".join(benchmark.metrics)
        raise InputError(
            f"there is no metric {rule.metric!r} on these verdicts; there are {metrics}"
        )

    def _benchmark(self, rule: Rule, judged: JudgedDataset) -> Benchmark:
        _, _, cutoff = rule.name.partition("@")
        # Python refuses to read numbers of thousands of digits.
        at = (int(cutoff),) if cutoff.isdecimal() and len(cutoff) < 6 else (10,)
        key = (repr(rule.columns()), rule.judge, at)
        if key not in self._benchmarks:
            self._benchmarks[key] = measure(judged, at=at)
        return self._benchmarks[key]


def _refuse_guess(name: str, judged: JudgedDataset) -> None:
    """Refuse a metric by its mere name where it needs a threshold that nobody stated.

    Raises:
        InputError: It does.
    """
    if name in OF_GRADES or name.startswith("ndcg"):
        return
    sides = {"labels": judged.dataset.labels}
    if name not in OF_PROBABILITIES:
        sides["scores"] = judged.scale
    graded = [
        f"{side} are {scale.describe()}" for side, scale in sides.items() if scale.kind != "binary"
    ]
    if graded:
        raise InputError(
            f"{name} needs a threshold and nothing states it ({', '.join(graded)} by default);"
            f' add "rule": {{"metric": "{name}", "threshold": T}}'
        )


def _diras(rule: Rule, judged: JudgedDataset) -> Value:
    if rule.uncertain is None:
        raise InputError(
            f"{rule.name} needs 'uncertain', the column that says where people were uncertain"
        )
    name = rule.name.removesuffix(AS_PUBLISHED)
    return diras(judged, name, rule.uncertain, as_published=name != rule.name)


def _defined(name: str, estimate: Estimate) -> float:
    if estimate.value is None:
        raise InputError(f"{name} is undefined: {estimate.reason}")
    return estimate.value


def _finite(name: str, value: FloatArray | float, reason: str) -> float:
    if not np.isfinite(value):
        raise InputError(f"{name} is undefined: {reason}")
    return float(value)
