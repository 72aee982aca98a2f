"""How published figures are computed: for each kind of verdict file, how it is read and what each figure means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..files.verdict_columns import VerdictColumns
from ..judged import BoolArray, FloatArray, Judged
from ..metrics import agreement, calibration, correlation, reliability
from ..metrics.diras import RelevanceRows, diras
from ..metrics.influence import point
from ..scale import OutputScale

Value = float | tuple[int, ...] | None
"""A figure as it is computed; counts of grades are several numbers, and None is undefined."""
Compute = Callable[[Judged], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one figure is computed."""

    compute: Compute
    columns: VerdictColumns
    """How the file is read for it."""
    times: float = 1.0
    """100 where the figure was printed as a percentage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The recipes for files of one kind."""

    files: str
    """A pattern of file names."""
    columns: VerdictColumns
    """How a figure without a recipe is read: it is then looked up by its name among the metrics of `measure`."""
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    """By the figure's name in lower case."""
    matrix: bool = False
    """Whether figures are called `JUDGE: FIGURE`, and the file holds many judges."""


def _agreed(metric: str) -> Compute:
    """A metric of the decisions at the threshold."""
    return lambda judged: point(metric, judged.positive, judged.predicted)


def _cut(metric: str, grade: int) -> Compute:
    """A metric of the decisions once both sides are cut at a grade."""
    return lambda judged: point(metric, judged.label >= grade, judged.score >= grade)


def _on_grades(metric: str) -> Compute:
    return lambda judged: agreement.point(metric, _table(judged.label, judged.score, judged.scale.levels))[0]


def _alpha_on_grades(judged: Judged) -> Value:
    return _alpha(_table(judged.label, judged.score, judged.scale.levels), "ordinal")


def _alpha_cut(grade: int) -> Compute:
    return lambda judged: _alpha(_table(judged.label >= grade, judged.score >= grade, (0.0, 1.0)), "nominal")


def _alpha(table: FloatArray, level: reliability.Level) -> Value:
    return _finite(reliability.alpha_of_tables(table, level=level))


def _table(label: FloatArray | BoolArray, score: FloatArray | BoolArray, levels: Sequence[float]) -> FloatArray:
    return agreement.confusion(label, score, levels).astype(np.float64)


def _counts(judged: Judged) -> Value:
    """How often the judge gave each grade from 0 to 3."""
    return tuple(int((judged.score == grade).sum()) for grade in range(4))


def _diras(group: str) -> Compute:
    """One of the four groups of DIRAS or their mean, with the accidents of the published ranking."""
    return lambda judged: diras(_relevance(judged), as_published=True)[f"diras_{group}"].value


def _relevance(judged: Judged) -> RelevanceRows:
    meta = [row.meta for row in judged.rows]
    grades = [
        GRADED_GOLD.get(str(m.get("metadata.gold_3way")), float(p)) for m, p in zip(meta, judged.positive, strict=True)
    ]
    return RelevanceRows(
        grade=np.array(grades, np.float64),
        relevant=judged.positive,
        predicted=judged.predicted,
        confidence=judged.confidence,
        probability=judged.probability,
        uncertain=np.array([bool(m.get("metadata.human_uncertain")) for m in meta], np.bool_),
        query=judged.groups,
    )


def _with_mean_of(column: str) -> Compute:
    """Spearman of the score with the mean of several annotators, kept as a list in a column."""

    def compute(judged: Judged) -> Value:
        people = [float(np.mean(json.loads(str(row.meta[column])))) for row in judged.rows]
        return correlation.spearman(np.array(people), judged.score).value

    return compute


def _auroc(judged: Judged) -> Value:
    return _finite(calibration.auroc(judged.positive, judged.score))


def _finite(value: FloatArray) -> float | None:
    return float(value) if np.isfinite(value) else None


GRADED_GOLD = {"no": 0.0, "partially": 0.5, "yes": 1.0}
DIRAS = VerdictColumns(score="verdict", confidence="confidence", group="inputs.query")
WICE = VerdictColumns(
    label="label_binary",
    threshold=float(np.nextafter(0.5, 1.0)),  # supported is a score above 0.5: partial support is not enough
    aggregate="max",
    by=("metadata.claim_id",),
)
MTRAG = VerdictColumns(threshold=0.5)
GRADES = VerdictColumns(threshold=2.0)
ON_SCALE = replace(GRADES, scale=OutputScale(low=0, high=3, threshold=2.0), clip=True)
CUTS = {"0|123": 1, "01|23": 2, "012|3": 3}
"""Grades below and above a cut, as the leaderboard of LLMJudge names them."""


def _of_grades(score: str) -> dict[str, Recipe]:
    raw, held = replace(GRADES, score=score), replace(ON_SCALE, score=score)
    found = {
        "label counts 0..3": Recipe(compute=_counts, columns=raw),
        "kappa 4-point": Recipe(compute=_on_grades("kappa_grades"), columns=held),
        "kappa (repo precision)": Recipe(compute=_on_grades("kappa_grades"), columns=held),
        "alpha 4-point": Recipe(compute=_alpha_on_grades, columns=held),
    }
    for name, grade in CUTS.items():
        found[f"kappa {name}"] = Recipe(compute=_cut("kappa", grade), columns=held)
        found[f"alpha {name}"] = Recipe(compute=_alpha_cut(grade), columns=held)
    return found


def _percent(columns: VerdictColumns, **figures: Compute) -> dict[str, Recipe]:
    return {name: Recipe(compute=compute, columns=columns, times=100.0) for name, compute in figures.items()}


_BINARY: Mapping[str, Compute] = {name: _agreed(name) for name in ("precision", "recall", "accuracy", "f1", "kappa")}

SHEETS = (
    Sheet(
        files="diras_*",
        columns=DIRAS,
        recipes=_percent(
            DIRAS,
            **_BINARY,
            binary_f1=_agreed("f1"),
            uncertainty_ap=_diras("uncertainty"),
            calibration=_diras("calibration"),
            **{
                f"diras_{group}": _diras(group) for group in ("binary", "calibration", "ranking", "uncertainty", "mean")
            },
        ),
    ),
    Sheet(
        files="wice_*",
        columns=WICE,
        recipes={f"claim {name}": Recipe(compute=c, columns=WICE, times=100.0) for name, c in _BINARY.items()},
    ),
    Sheet(
        files="mtrag_*",
        columns=MTRAG,
        recipes={
            "spearman with mean human": Recipe(compute=_with_mean_of("metadata.human.faithfulness"), columns=MTRAG),
            "auroc (median human>=3)": Recipe(compute=_auroc, columns=MTRAG),
            "kappa at 0.5": Recipe(compute=_agreed("kappa"), columns=MTRAG),
        },
    ),
    Sheet(files="*_matrix*", columns=replace(ON_SCALE, score="verdicts"), recipes=_of_grades("verdicts"), matrix=True),
    Sheet(files="*", columns=VerdictColumns(), recipes=_of_grades("score")),
)
"""Which files are computed how; the first pattern that fits counts."""
