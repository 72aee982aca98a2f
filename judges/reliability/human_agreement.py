"""How far people agree with each other, and the judge with each of them: the ceiling over every judge.

Where two people who read the same row often disagree, no judge can agree with both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import DataError, InputError
from ..files.columns import WORDS, read_grade
from ..files.problems import shorten
from ..files.records import parse_strictly
from ..judged import FloatArray, JudgedDataset
from ..metrics import Estimate
from ..metrics.benchmark import Benchmark, measure, require_column
from ..metrics.rater_agreement import Level, krippendorff_alpha
from ..rows import Dataset, Row, Scalar
from ..scale import OutputScale, infer_label_scale
from ..verdict import Verdict
from .cluster_bootstrap import group_codes, mean_over_rows
from .noise import Noise
from .self_agreement import mean_kappa

FEW = "no row carries two annotations"
NAMELESS = "the annotators of a list need not be the same from row to row; see alpha"


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
    """The judge measured against each annotator as if there were no other; empty without a judge."""
    judge_agreement: Estimate | None = None
    """Mean share of a row's annotators with whom the judge decides alike, on the n rows it answered."""
    gap: Estimate | None = None
    """On the same rows, the judge's agreement with the annotators minus theirs with each other."""

    def noise(self, metric: str) -> Noise | None:
        """Return how far the judge's metric depends on whom it is measured against; None for fewer than two."""
        found = [b.metrics[metric] for b in self.judge.values() if metric in b.metrics]
        values = [e.value for e in found if e.value is not None]
        if len(values) < 2:
            return None
        n = min(e.n for e in found)
        basis = f"how far this judge's {metric} depends on which of {len(values)} annotators it is held against"
        return Noise(metric=metric, size=max(values) - min(values), basis=f"{basis}, {n:,} rows", n=n)

    def sentence(self) -> str:
        """Say how the judge stands beside the annotators."""
        people = f"annotators decide alike on {self.agreement} of pairs (n = {self.n:,})"
        if self.judge_agreement is None or self.gap is None or self.gap.value is None:
            return people
        if self.gap.low is None or self.gap.high is None or self.gap.low <= 0 <= self.gap.high:
            said = "which cannot be told from how often they agree with each other"
        else:
            said = f"{'less' if self.gap.value < 0 else 'more'} often than they agree with each other"
        return f"{people}; the judge decides like an annotator on {self.judge_agreement}, {said}"

    def to_json(self) -> dict[str, object]:
        """Return every figure; of each benchmark against one annotator agreement, kappa and F1."""
        out: dict[str, object] = {"annotators": self.annotators, "n": self.n, "agreement": self.agreement.to_json()}
        out |= {"kappa": self.kappa.to_json(), "alpha": self.alpha.to_json(), "alpha_level": self.alpha_level}
        if self.judge_agreement is not None and self.gap is not None:
            out |= {"judge_agreement": self.judge_agreement.to_json(), "gap": self.gap.to_json()}
            out["judge"] = {
                name: {m: b.metrics[m].to_json() for m in ("accuracy", "kappa", "f1") if m in b.metrics}
                for name, b in self.judge.items()
            }
        return out


def human_agreement(
    source: JudgedDataset | Dataset,
    columns: Sequence[str],
    *,
    words: Mapping[str, float] | None = None,
    scale: OutputScale | None = None,
    seed: int = 0,
) -> HumanAgreement:
    """Measure annotators against each other, and the judge against each where there is one.

    Args:
        source: Rows, or rows with a judge's answers.
        columns: One metadata column an annotator; or a single column of lists as JSON, such as `[3, 4, 2]`.
        words: What stands for a grade besides numbers, yes/no and true/false, such as `{"partially": 0.5}`.
        scale: The annotators' scale and what is positive on it; inferred from the grades, beside the labels' scale.
        seed: Of the resamples, which draw groups.

    Raises:
        InputError: A column is missing, or the annotators' scale cannot be told.
        DataError: A cell is no grade.
    """
    dataset = source.dataset if isinstance(source, JudgedDataset) else source
    names, grades = _read(dataset, columns, {**WORDS, **{w.casefold(): v for w, v in (words or {}).items()}})
    scale = scale or _infer(grades, dataset.labels)
    said = np.where(np.isnan(grades), np.nan, grades >= scale.threshold)
    twice = np.flatnonzero((~np.isnan(said)).sum(axis=0) >= 2)
    groups = group_codes([dataset.rows[i] for i in twice.tolist()])
    shares = _shares(said[:, twice])
    known = grades[~np.isnan(grades)]
    level: Level = "nominal" if len(np.unique(known)) <= 2 else "ordinal"
    out = HumanAgreement(
        annotators=names,
        n=len(twice),
        agreement=mean_over_rows(shares, groups, missing=FEW, seed=seed),
        kappa=_kappa(dataset.rows, said, nameless=len(columns) == 1, seed=seed),
        alpha=krippendorff_alpha(grades[:, twice], level, groups=groups, seed=seed),
        alpha_level=level,
    )
    return _beside(out, source, scale, grades, said, seed=seed) if isinstance(source, JudgedDataset) else out


def _read(dataset: Dataset, columns: Sequence[str], words: Mapping[str, float]) -> tuple[tuple[str, ...], FloatArray]:
    """Return the annotators and their grades, NaN where one gave none; shape (annotators, rows)."""
    if not columns or len(set(columns)) < len(columns):
        raise InputError(f"annotators {list(columns)!r} are not one column each")
    for column in columns:
        require_column(dataset, column)
    if len(columns) > 1:
        _refuse_unknown(dataset, columns, words)
        lines = [[_grade(row, column, row.meta.get(column), words) for column in columns] for row in dataset.rows]
        return tuple(columns), np.array(lines, np.float64).T
    lists = [[_grade(row, columns[0], v, words) for v in _listed(row, columns[0])] for row in dataset.rows]
    most = max(map(len, lists))
    padded = [given + [math.nan] * (most - len(given)) for given in lists]
    return tuple(f"{columns[0]}[{i}]" for i in range(most)), np.array(padded, np.float64).T


def _refuse_unknown(dataset: Dataset, columns: Sequence[str], words: Mapping[str, float]) -> None:
    """Name every word that stands for no grade at once, so that one map mends them all."""
    unknown: dict[str, str] = {}
    for row in dataset.rows:
        for column in columns:
            try:
                read_grade(row.meta.get(column), words)
            except ValueError:
                unknown.setdefault(str(row.meta[column]).strip(), f"row {row.id!r}, {column!r}")
    if unknown:
        listed = ", ".join(f"{shorten(word)} ({where})" for word, where in list(unknown.items())[:10])
        example = ",".join(f"{word}=GRADE" for word in list(unknown)[:3])
        raise DataError(f"annotators' words without a grade: {listed}", hint=f"say what they stand for: {example}")


def _listed(row: Row, column: str) -> list[Scalar]:
    cell = row.meta.get(column)
    if cell is None or cell == "":
        return []
    try:
        found = parse_strictly(str(cell))
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise DataError(
            f"row {row.id!r}: {column!r} is {shorten(cell)}, not a list of grades",
            hint="name two columns or more, one an annotator",
        )
    return found


def _grade(row: Row, column: str, cell: Scalar, words: Mapping[str, float]) -> float:
    try:
        grade = read_grade(cell, words)
    except ValueError as error:
        raise DataError(f"row {row.id!r}: {column!r}: {error}", hint="say which word stands for which grade") from None
    return math.nan if grade is None else grade


def _infer(grades: FloatArray, labels: OutputScale) -> OutputScale:
    found = np.unique(grades[~np.isnan(grades)]).tolist()
    if not found:
        raise InputError("no annotator gave any grade")
    return infer_label_scale(found, labels)


def _shares(said: FloatArray) -> FloatArray:
    """Share of each row's pairs of annotators that decide alike; shape (rows,)."""
    m, positive = (~np.isnan(said)).sum(axis=0), np.nansum(said, axis=0)
    alike = positive * (positive - 1) + (m - positive) * (m - positive - 1)
    return alike / (m * (m - 1))


def _kappa(rows: Sequence[Row], said: FloatArray, *, nameless: bool, seed: int) -> Estimate:
    everyone = np.flatnonzero(~np.isnan(said).any(axis=0))
    if nameless:
        return Estimate.undefined(len(everyone), NAMELESS)
    return mean_kappa(said[:, everyone], group_codes([rows[i] for i in everyone.tolist()]), seed=seed)


def _beside(
    people: HumanAgreement,
    judged: JudgedDataset,
    scale: OutputScale,
    grades: FloatArray,
    said: FloatArray,
    *,
    seed: int,
) -> HumanAgreement:
    """Put the judge's figures beside the people's."""
    answered = np.array([isinstance(answer, Verdict) for answer in judged.answers], np.bool_)
    rows = np.flatnonzero(answered & ((~np.isnan(said)).sum(axis=0) >= 2))
    verdicts = [a.positive for i in rows.tolist() if isinstance(a := judged.answers[i], Verdict)]
    with_judge = np.nanmean(np.where(np.isnan(said[:, rows]), np.nan, said[:, rows] == verdicts), axis=0)
    groups = group_codes([judged.dataset.rows[i] for i in rows.tolist()])
    return replace(
        people,
        judge={
            name: measure(_against(judged, scale, line)) for name, line in zip(people.annotators, grades, strict=True)
        },
        judge_agreement=mean_over_rows(with_judge, groups, missing=FEW, seed=seed),
        gap=mean_over_rows(with_judge - _shares(said[:, rows]), groups, missing=FEW, seed=seed),
    )


def _against(judged: JudgedDataset, scale: OutputScale, grades: FloatArray) -> JudgedDataset:
    """Return the judge's table with one annotator's grades in the place of the labels."""
    labels = [None if math.isnan(grade) else float(grade) for grade in grades]
    rows = (replace(row, label=label) for row, label in zip(judged.dataset.rows, labels, strict=True))
    dataset = Dataset.of(rows, labels=scale, name=judged.dataset.name)
    return replace(judged, dataset=dataset)
