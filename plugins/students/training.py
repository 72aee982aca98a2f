"""Train a student on a teacher's verdicts, and measure it on rows whose groups it never saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...judges.errors import InputError
from ...judges.judged_dataset import BoolArray, FloatArray, IntArray, JudgedDataset, group_codes
from ...judges.metrics.fitted_rule import Method, fit_rule, require_labels
from ...judges.rows import Dataset, Row
from ...judges.scale import BINARY, PROBABILITY, DecisionRule
from ...judges.splits.parts import hash_of
from ...judges.verdict import Answer, Unscored, Verdict
from .student import Student, verdict_of
from .text_features import TextPair, WordWeights

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Inverse strengths of the ridge penalty that are tried."""

Count = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentSettings:
    """How a student is trained."""

    inputs: tuple[str, str] | None = None
    """The longer and the shorter text; None where rows have just two."""
    folds: int = 5
    metric: str = "f1"
    """What the threshold maximises, on the teacher's decisions."""
    method: Method = "platt"
    """How its probability is calibrated."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method == "none":
            raise InputError("a student is calibrated: by platt or isotonic")
        if self.folds < 2:
            raise InputError("a student needs two folds at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A student and how it did on held-out rows."""

    student: Student
    """Trained on all rows with a verdict of the teacher."""
    held_out: JudgedDataset
    """Every row, judged by a student of the folds that its group is not in; labels are people's."""
    teacher: JudgedDataset
    """The teacher on the same rows."""
    agreement: JudgedDataset
    """The student with the teacher's decisions for labels."""
    folds: int


def train_student(
    teacher: JudgedDataset, settings: StudentSettings | None = None, *, count: Count | None = None
) -> Trained:
    """Train on the teacher's decisions, which are never people's labels.

    For each fold of groups a student is trained on the others: words, regression, calibration and
    threshold, the last two on probabilities that are themselves cross-fitted. The student that is
    returned is trained on all.

    Args:
        teacher: Rows with texts and the teacher's verdicts.
        settings: How.
        count: Told how many students have been trained, and of how many.

    Raises:
        InputError: The texts are not there, or there are too few rows, groups or decisions of one
            kind.
    """
    settings = settings or StudentSettings()
    rows = [i for i, answer in enumerate(teacher.answers) if isinstance(answer, Verdict)]
    if not rows:
        raise InputError("no row has a verdict of the teacher")
    long, short = _inputs(teacher.dataset.rows, settings)
    usable = [i for i in rows if {long, short} <= teacher.dataset.rows[i].inputs.keys()]
    if not usable:
        raise InputError(
            f"no row with a verdict has the texts {long!r} and {short!r}",
            hint=(
                "give the rows that were judged with --rows, or name the texts with --inputs"
                " LONGER,SHORTER"
            ),
        )
    teacher = teacher.only(usable)
    answers = [answer for answer in teacher.answers if isinstance(answer, Verdict)]
    learned = np.array([answer.positive for answer in answers], np.bool_)
    taught = _taught(teacher, learned)
    require_labels(taught, BINARY)
    pairs = [TextPair.of(row.inputs[long], row.inputs[short]) for row in teacher.dataset.rows]
    groups = group_codes(teacher.dataset.rows)
    folds = min(settings.folds, int(groups.max()) + 1)
    member = _folds(teacher.dataset.rows, groups, folds, settings.seed)
    held_out: list[Answer | None] = [None] * len(pairs)
    for i in range(folds):
        inside, outside = np.flatnonzero(member != i), np.flatnonzero(member == i)
        student = _train(teacher, taught.rows, pairs, learned, member, inside, settings)
        fold_probabilities = student.probabilities([pairs[j] for j in outside])
        for j, probability in zip(outside.tolist(), fold_probabilities.tolist(), strict=True):
            held_out[j] = verdict_of(teacher.dataset.rows[j].id, probability, student.rule)
        if count is not None:
            count(i + 1, folds + 1)
    student = _train(teacher, taught.rows, pairs, learned, member, np.arange(len(pairs)), settings)
    if count is not None:
        count(folds + 1, folds + 1)
    judged = JudgedDataset(
        dataset=teacher.dataset,
        answers=tuple(_answered(held_out, teacher.dataset.rows)),
        scale=replace(PROBABILITY, threshold=student.rule.threshold),
        judge=student.name,
        model="student",
        simulated=teacher.simulated,
        rule=student.rule,
    )
    return Trained(
        student=student,
        held_out=judged,
        teacher=teacher,
        agreement=replace(judged, dataset=taught),
        folds=folds,
    )


def _answered(answers: Sequence[Answer | None], rows: Sequence[Row]) -> Iterator[Answer]:
    for row, answer in zip(rows, answers, strict=True):
        yield answer or Unscored(row_id=row.id, reason="parse", detail="no fold held it out")


def _taught(teacher: JudgedDataset, learned: BoolArray) -> Dataset:
    """Return the rows with the teacher's decisions in place of people's labels."""
    rows = (
        replace(row, label=float(yes))
        for row, yes in zip(teacher.dataset.rows, learned, strict=True)
    )
    return Dataset.of(rows, labels=BINARY, name=teacher.dataset.name, notes=teacher.dataset.notes)


def _inputs(rows: Sequence[Row], settings: StudentSettings) -> tuple[str, str]:
    if settings.inputs is not None:
        return settings.inputs
    names = list(dict.fromkeys(name for row in rows for name in row.inputs))
    if len(names) != 2:
        raise InputError(
            f"rows have the texts {', '.join(names) or 'none'}, and a student reads two",
            hint=(
                "name them, the one that should bear the other out first: --inputs source,statement"
            ),
        )
    length = {name: sum(len(row.inputs.get(name, "")) for row in rows) for name in names}
    long, short = sorted(names, key=lambda name: -length[name])
    return long, short


def _folds(rows: Sequence[Row], groups: IntArray, folds: int, seed: int) -> IntArray:
    """Return the fold of each row: whole groups, the largest first, each to the fold with the
    fewest rows.
    """
    names: dict[int, str] = {}
    for row, group in zip(rows, groups.tolist(), strict=True):
        names.setdefault(group, row.group_key)
    sizes = np.bincount(groups)
    fold, filled = np.zeros(len(sizes), np.int64), np.zeros(folds, np.int64)
    for group in sorted(
        names, key=lambda group: (-sizes[group], hash_of(seed, "student", names[group]))
    ):
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return fold[groups]


def _train(
    teacher: JudgedDataset,
    taught: Sequence[Row],
    pairs: Sequence[TextPair],
    learned: BoolArray,
    member: IntArray,
    inside: IntArray,
    settings: StudentSettings,
) -> Student:
    """Train on some rows; their own folds give the probabilities that calibration and threshold are
    fitted on.
    """
    chosen: list[int] = inside.tolist()
    seen = [pairs[i] for i in chosen]
    words = WordWeights.of(seen)
    features = words.features(seen)
    label, fold = learned[inside], member[inside]
    # Chosen by held-out groups: what rows of one query have in common is learned by heart under a
    # weak penalty.
    tried = {penalty: _cross_fitted(features, label, fold, penalty) for penalty in PENALTIES}
    penalty = min(tried, key=lambda one: _log_loss(label, tried[one]))
    raw = tried[penalty]
    rows = [taught[i] for i in chosen]
    answers = [
        verdict_of(row.id, probability, DecisionRule(threshold=PROBABILITY.threshold))
        for row, probability in zip(rows, raw.tolist(), strict=True)
    ]
    crossed = JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY), answers=tuple(answers), scale=PROBABILITY
    )
    centre, spread, weights, intercept = _fit(features, label, penalty)
    return Student(
        inputs=_inputs(teacher.dataset.rows, settings),
        words=words,
        centre=centre,
        spread=spread,
        weights=weights,
        intercept=intercept,
        rule=fit_rule(crossed, metric=settings.metric, method=settings.method),
        teacher=" ".join(dict.fromkeys(filter(None, (teacher.judge, teacher.model)))) or "a judge",
        simulated=teacher.simulated,
        rows=len(inside),
    )


_Fit = tuple[FloatArray, FloatArray, FloatArray, float]


def _cross_fitted(
    features: FloatArray, label: BoolArray, fold: IntArray, penalty: float
) -> FloatArray:
    """Return the probability of each row by a regression that its fold did not help to fit."""
    raw = np.zeros(len(label))
    for i in np.unique(fold):
        seen = fold != i
        raw[~seen] = _probability(_fit(features[seen], label[seen], penalty), features[~seen])
    return raw


def _log_loss(label: BoolArray, probability: FloatArray) -> float:
    inside = np.clip(probability, 1e-12, 1.0 - 1e-12)
    return -float(np.where(label, np.log(inside), np.log1p(-inside)).mean())


def _fit(features: FloatArray, label: BoolArray, penalty: float) -> _Fit:
    from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs]

    if len(np.unique(label)) < 2:
        raise InputError(
            "the teacher decided all rows of some folds alike, so that nothing can be learned"
            " there",
            hint="give more groups with decisions of both kinds, or take fewer --folds",
        )
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread < 1e-9] = 1.0
    model: Any = LogisticRegression(C=penalty, max_iter=5000)  # Any: scikit-learn has no types
    model.fit((features - centre) / spread, label)
    return centre, spread, np.asarray(model.coef_[0], np.float64), float(model.intercept_[0])


def _probability(fit: _Fit, features: FloatArray) -> FloatArray:
    centre, spread, weights, intercept = fit
    return 1.0 / (
        1.0 + np.exp(-np.clip((features - centre) / spread @ weights + intercept, -30.0, 30.0))
    )
