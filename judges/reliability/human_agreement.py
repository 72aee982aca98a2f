"""How far people agree with each other, and the judge with each of them.

Where two people who read the same row often disagree, no judge can agree with both: this bounds
every judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import DataError, InputError
from ..files.label_words import WORDS, map_hint, read_grade
from ..files.problems import shorten
from ..files.records import parse_strictly
from ..judged_dataset import BoolArray, FloatArray, JudgedDataset, group_codes
from ..metrics import Estimate, as_json
from ..metrics.benchmark import Benchmark, measure, require_column
from ..metrics.delta import SIGNED, mean_over_rows
from ..metrics.rater_agreement import Level, krippendorff_alpha
from ..rows import Dataset, Row, Scalar
from ..scale import OutputScale, infer_label_scale
from ..verdict import Verdict
from .noise import Noise
from .self_agreement import mean_kappa

NO_PAIR = "no row carries two annotations"
NAMELESS = "the annotators of a list need not be the same from row to row; see alpha"

JUDGE_METRICS = ("accuracy", "kappa", "f1")
"""Metrics of the judge against one annotator that are reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """How far annotators agree, and a judge with each of them where there is one."""

    annotators: tuple[str, ...]
    n: int
    """Rows with two annotations or more."""
    agreement: Estimate
    """Mean share of a row's pairs of annotators that decide alike."""
    kappa: Estimate
    """Mean of Cohen's kappa over pairs of annotators, on the rows that all of them annotated."""
    alpha: Estimate
    """Krippendorff's alpha of the grades."""
    alpha_level: str
    """How alpha counts a difference: `nominal` for two grades, `ordinal` for more."""
    judge: Mapping[str, Benchmark] = field(default_factory=dict)
    """The judge measured against each annotator as if there were no other; empty without a judge.
    """
    judge_agreement: Estimate | None = None
    """Mean share of a row's annotators with whom the judge decides alike, on the n rows it
    answered.
    """
    gap: Estimate | None = None
    """On the same rows, the judge's agreement with the annotators minus theirs with each other."""

    def noise(self, metric: str) -> Noise | None:
        """Return how far the judge's metric depends on whom it is measured against; None for fewer
        than two.
        """
        estimates = [each.metrics[metric] for each in self.judge.values() if metric in each.metrics]
        values = [estimate.value for estimate in estimates if estimate.value is not None]
        if len(values) < 2:
            return None
        n = min(estimate.n for estimate in estimates)
        basis = (
            f"how far this judge's {metric} depends on which of {len(values)} annotators it is"
            " compared with"
        )
        return Noise(
            metric=metric, size=max(values) - min(values), basis=f"{basis}, {n:,} rows", n=n
        )

    def sentence(self) -> str:
        """Say how the judge stands beside the annotators."""
        people = f"annotators decide alike on {self.agreement} of pairs (n = {self.n:,})"
        if self.judge_agreement is None or self.gap is None or self.gap.value is None:
            return people
        if self.gap.low is None or self.gap.high is None or self.gap.low <= 0 <= self.gap.high:
            comparison = "which cannot be told from how often they agree with each other"
        elif self.gap.value < 0:
            comparison = "less often than they agree with each other"
        else:
            comparison = "more often than they agree with each other"
        return (
            f"{people}; the judge decides like an annotator on {self.judge_agreement}, {comparison}"
        )

    def to_json(self) -> dict[str, object]:
        """Return every figure; of each benchmark against one annotator agreement, kappa and F1."""
        names = ["annotators", "n", "agreement", "kappa", "alpha", "alpha_level"]
        if self.judge_agreement is not None and self.gap is not None:
            names += ["judge_agreement", "gap"]
        body = {name: as_json(getattr(self, name)) for name in names}
        if "gap" in body:
            judge: dict[str, dict[str, object]] = {}
            for name, benchmark in self.judge.items():
                metrics = benchmark.metrics
                judge[name] = {
                    each: as_json(metrics[each]) for each in JUDGE_METRICS if each in metrics
                }
            body["judge"] = judge
        return body


def human_agreement(
    source: JudgedDataset | Dataset,
    columns: Sequence[str],
    *,
    words: Mapping[str, float] | None = None,
    scale: OutputScale | None = None,
) -> HumanAgreement:
    """Measure annotators against each other, and the judge against each where there is one.

    Args:
        source: Rows, or rows with a judge's answers.
        columns: One metadata column an annotator; or a single column of lists as JSON, such as `[3,
            4, 2]`.
        words: What stands for a grade besides numbers and words that are clear, such as
            `{"partially": 0.5}`.
        scale: The annotators' scale and what is positive on it; inferred from the grades, beside
            the labels' scale.

    Raises:
        InputError: A column is missing, or the annotators' scale cannot be inferred.
        DataError: A cell is no grade.
    """
    dataset = source.dataset if isinstance(source, JudgedDataset) else source
    meanings = {**WORDS, **{word.casefold(): grade for word, grade in (words or {}).items()}}
    names, grades = _read(dataset, columns, meanings)
    if scale is None:
        values = np.unique(grades[~np.isnan(grades)]).tolist()
        if not values:
            raise InputError("no annotator gave any grade")
        scale = infer_label_scale(values, dataset.labels)
    decisions = np.where(np.isnan(grades), np.nan, grades >= scale.threshold)
    twice = np.flatnonzero(_annotated_twice(decisions))
    groups = group_codes([dataset.rows[i] for i in twice.tolist()])
    values = np.unique(grades[~np.isnan(grades)])
    level: Level = "nominal" if len(values) <= 2 else "ordinal"
    by_everyone = np.flatnonzero(~np.isnan(decisions).any(axis=0))
    if len(columns) == 1:
        kappa = Estimate.undefined(len(by_everyone), NAMELESS)
    else:
        annotated = group_codes([dataset.rows[i] for i in by_everyone.tolist()])
        kappa = mean_kappa(decisions[:, by_everyone], annotated)
    people = HumanAgreement(
        annotators=names,
        n=len(twice),
        agreement=mean_over_rows(_shares(decisions[:, twice]), groups, missing=NO_PAIR),
        kappa=kappa,
        alpha=krippendorff_alpha(grades[:, twice], level, groups=groups),
        alpha_level=level,
    )
    if not isinstance(source, JudgedDataset):
        return people
    return _with_judge(people, source, scale, grades, decisions)


def _read(
    dataset: Dataset, columns: Sequence[str], words: Mapping[str, float]
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the annotators and their grades, NaN where one gave none; shape (annotators, rows)."""
    if not columns or len(set(columns)) < len(columns):
        raise InputError(f"annotators {list(columns)!r} are not one column each")
    for column in columns:
        require_column(dataset, column)
    if len(columns) > 1:
        names = tuple(columns)
        cells = [[row.meta.get(column) for column in columns] for row in dataset.rows]
    else:
        lists = [_listed(row, columns[0]) for row in dataset.rows]
        longest = max(map(len, lists))
        names = tuple(f"{columns[0]}[{i}]" for i in range(longest))
        cells = [grades + [None] * (longest - len(grades)) for grades in lists]
    grades = np.full((len(names), len(cells)), math.nan)
    # Every word that stands for no grade is named at once, so that one map mends them all.
    unknown: dict[str, str] = {}
    for j, (row, line) in enumerate(zip(dataset.rows, cells, strict=True)):
        for i, cell in enumerate(line):
            try:
                grade = read_grade(cell, words)
            except ValueError:
                unknown.setdefault(str(cell).strip(), f"row {row.id!r}, {names[i]!r}")
            else:
                grades[i, j] = math.nan if grade is None else grade
    if unknown:
        listed = ", ".join(f"{shorten(word)} ({at})" for word, at in list(unknown.items())[:10])
        raise DataError(
            f"annotators' words without a grade: {listed}", hint=map_hint(unknown, words)
        )
    return names, grades


def _listed(row: Row, column: str) -> list[Scalar]:
    cell = row.meta.get(column)
    if cell is None or cell == "":
        return []
    try:
        grades = parse_strictly(str(cell))
    except ValueError:
        grades = None
    if not isinstance(grades, list):
        raise DataError(
            f"row {row.id!r}: {column!r} is {shorten(cell)}, not a list of grades",
            hint="name two columns or more, one an annotator",
        )
    return grades


def _annotated_twice(decisions: FloatArray) -> BoolArray:
    return (~np.isnan(decisions)).sum(axis=0) >= 2


def _shares(decisions: FloatArray) -> FloatArray:
    """Return the share of each row's pairs of annotators that decide alike; shape (rows,)."""
    m, positive = (~np.isnan(decisions)).sum(axis=0), np.nansum(decisions, axis=0)
    alike = positive * (positive - 1) + (m - positive) * (m - positive - 1)
    return alike / (m * (m - 1))


def _with_judge(
    people: HumanAgreement,
    predictions: JudgedDataset,
    scale: OutputScale,
    grades: FloatArray,
    decisions: FloatArray,
) -> HumanAgreement:
    positions: list[int] = []
    verdicts: list[bool] = []
    for i, twice in enumerate(_annotated_twice(decisions).tolist()):
        answer = predictions.answers[i]
        if twice and isinstance(answer, Verdict):
            positions.append(i)
            verdicts.append(answer.positive)
    people_here = decisions[:, positions]
    with_judge = np.nanmean(
        np.where(np.isnan(people_here), np.nan, people_here == verdicts), axis=0
    )
    groups = group_codes([predictions.dataset.rows[i] for i in positions])
    return replace(
        people,
        judge={
            name: measure(_against(predictions, scale, annotator))
            for name, annotator in zip(people.annotators, grades, strict=True)
        },
        judge_agreement=mean_over_rows(with_judge, groups, missing=NO_PAIR),
        gap=mean_over_rows(
            with_judge - _shares(people_here), groups, missing=NO_PAIR, bounds=SIGNED
        ),
    )


def _against(predictions: JudgedDataset, scale: OutputScale, grades: FloatArray) -> JudgedDataset:
    """Return the judge's table with one annotator's grades in place of the labels."""
    rows = []
    for row, grade in zip(predictions.dataset.rows, grades.tolist(), strict=True):
        rows.append(replace(row, label=None if math.isnan(grade) else grade))
    dataset = Dataset.of(rows, labels=scale, name=predictions.dataset.name)
    return replace(predictions, dataset=dataset)
