"""How far people agree with each other, and the judge with each of them.

Where two people who read the same row often disagree, no judge can agree with both: this bounds
every judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ..errors import DataError, InputError
from ..files.label_words import WORDS, map_hint, read_grade
from ..files.problems import shorten
from ..judged_dataset import FloatArray, JudgedDataset, group_codes
from ..metrics import Estimate, as_json
from ..metrics.benchmark import require_column
from ..metrics.delta import SIGNED, mean_over_rows
from ..metrics.rater_agreement import Level, krippendorff_alpha
from ..rows import Dataset
from ..scale import infer_label_scale
from ..verdict import Verdict
from .self_agreement import mean_kappa

NO_PAIR = "no row carries two annotations"


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
    judge_agreement: Estimate | None = None
    """Mean share of a row's annotators with whom the judge decides alike, on the n rows it
    answered.
    """
    gap: Estimate | None = None
    """On the same rows, the judge's agreement with the annotators minus theirs with each other."""

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
        """Return every figure; those of a judge only where there is one."""
        figures = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: as_json(figure) for name, figure in figures.items() if figure is not None}


def human_agreement(
    source: JudgedDataset | Dataset,
    columns: Sequence[str],
    *,
    words: Mapping[str, float] | None = None,
) -> HumanAgreement:
    """Measure annotators against each other, and the judge against them where there is one.

    Args:
        source: Rows, or rows with a judge's answers.
        columns: One metadata column an annotator. What is positive is inferred from the grades,
            beside the labels' scale.
        words: What stands for a grade besides numbers and words that are clear, such as
            `{"partially": 0.5}`.

    Raises:
        InputError: A column is missing, or the annotators' scale cannot be inferred.
        DataError: A cell is no grade.
    """
    dataset = source.dataset if isinstance(source, JudgedDataset) else source
    meanings = {**WORDS, **{word.casefold(): grade for word, grade in (words or {}).items()}}
    grades = _read(dataset, columns, meanings)
    values = np.unique(grades[~np.isnan(grades)])
    if not len(values):
        raise InputError("no annotator gave any grade")
    scale = infer_label_scale(values.tolist(), dataset.labels)
    decisions = np.where(np.isnan(grades), np.nan, grades >= scale.threshold)
    annotations = (~np.isnan(decisions)).sum(axis=0)
    twice, complete = np.flatnonzero(annotations >= 2), annotations == len(columns)
    groups = group_codes(dataset.rows)
    level: Level = "nominal" if len(values) <= 2 else "ordinal"
    people = HumanAgreement(
        annotators=tuple(columns),
        n=len(twice),
        agreement=mean_over_rows(_shares(decisions[:, twice]), groups[twice], missing=NO_PAIR),
        kappa=mean_kappa(decisions[:, complete], groups[complete]),
        alpha=krippendorff_alpha(grades[:, twice], level, groups=groups[twice]),
        alpha_level=level,
    )
    if not isinstance(source, JudgedDataset):
        return people
    answers = source.answers
    judged = [i for i in twice.tolist() if isinstance(answers[i], Verdict)]
    verdicts = [isinstance(one := answers[i], Verdict) and one.positive for i in judged]
    here, groups = decisions[:, judged], groups[judged]
    alike = np.nanmean(np.where(np.isnan(here), np.nan, here == verdicts), axis=0)
    return replace(
        people,
        judge_agreement=mean_over_rows(alike, groups, missing=NO_PAIR),
        gap=mean_over_rows(alike - _shares(here), groups, missing=NO_PAIR, bounds=SIGNED),
    )


def _read(dataset: Dataset, columns: Sequence[str], words: Mapping[str, float]) -> FloatArray:
    """Return the annotators' grades, NaN where one gave none; shape (annotators, rows)."""
    if len(set(columns)) < max(2, len(columns)):
        raise InputError(
            f"annotators {list(columns)!r} are not one column each",
            hint="name two columns or more, one an annotator",
        )
    for column in columns:
        require_column(dataset, column)
    grades = np.full((len(columns), len(dataset.rows)), math.nan)
    # Every word that stands for no grade is named at once, so that one map mends them all.
    unknown: dict[str, str] = {}
    for j, row in enumerate(dataset.rows):
        for i, column in enumerate(columns):
            cell = row.meta.get(column)
            try:
                grade = read_grade(cell, words)
            except ValueError:
                unknown.setdefault(str(cell).strip(), f"row {row.id!r}, {column!r}")
            else:
                grades[i, j] = math.nan if grade is None else grade
    if unknown:
        listed = ", ".join(f"{shorten(word)} ({at})" for word, at in list(unknown.items())[:10])
        raise DataError(
            f"annotators' words without a grade: {listed}", hint=map_hint(unknown, words)
        )
    return grades


def _shares(decisions: FloatArray) -> FloatArray:
    """Return the share of each row's pairs of annotators that decide alike; shape (rows,)."""
    m, positive = (~np.isnan(decisions)).sum(axis=0), np.nansum(decisions, axis=0)
    alike = positive * (positive - 1) + (m - positive) * (m - positive - 1)
    return alike / (m * (m - 1))
