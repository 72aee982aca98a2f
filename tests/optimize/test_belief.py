"""What is believed of a candidate: what was measured, less the luck of the choice, with the errors
of rows and of writing.
"""

import numpy as np
import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
)
from judgewright.optimize import Belief, Changes, read_objective
from judgewright.optimize.belief import writing_variance

GUARDED = read_objective("", target="precision", guards=("recall:-0.05",))
GRADES = OutputScale(kind="graded", low=0, high=3, threshold=2)


def rows_with_labels(labels: np.ndarray) -> Dataset:
    rows = (
        Row(id=str(i), inputs={}, label=float(label), group=f"g{i}")
        for i, label in enumerate(labels)
    )
    return Dataset(rows=tuple(rows), labels=BINARY)


def graded(dataset: Dataset, grades: np.ndarray) -> JudgedDataset:
    pairs = zip(dataset.rows, grades.tolist(), strict=True)
    answers = tuple(
        Verdict(row_id=row.id, score=float(grade), positive=grade >= 2) for row, grade in pairs
    )
    return JudgedDataset(dataset=dataset, answers=answers, scale=GRADES)


def a_judge(count: int, rng: np.random.Generator) -> JudgedDataset:
    """Grades that go with the labels, more or less."""
    labels = rng.random(count) < 0.5
    grades = np.clip(np.round(labels * 1.4 + rng.normal(1.0, 0.8, count)), 0, 3)
    return graded(rows_with_labels(labels), grades)


def stricter(judge: JudgedDataset, share: float, rng: np.random.Generator) -> JudgedDataset:
    """A candidate that gives a share of the grades of 2 a 1, whatever the label: a part of a higher
    threshold.
    """
    grades = judge.score.copy()
    grades[(grades == 2) & (rng.random(len(grades)) < share)] = 1
    return graded(judge.dataset, grades)


def changes_of(before: JudgedDataset, after: JudgedDataset) -> Changes:
    changes = Changes.of(before, after, GUARDED)
    assert changes is not None
    return changes


def test_a_gain_in_target_and_guard_at_once_is_believed_as_it_was_measured() -> None:
    """Nobody chose it, so nothing is taken off."""
    rng = np.random.default_rng(3)
    before = a_judge(400, rng)
    mended = before.score.copy()
    mended[np.flatnonzero((mended >= 2) & ~before.positive)[:10]] = 1
    mended[np.flatnonzero((mended < 2) & before.positive)[:10]] = 2
    changes = changes_of(before, graded(before.dataset, mended))
    assert (changes.measured > 0).all()
    belief = Belief.of(changes, tried=0)
    assert belief.mean.tolist() == changes.measured.tolist()
    assert belief.covariance.tolist() == changes.covariance.tolist()


def written_twice(apart: float, rng: np.random.Generator) -> list[Changes]:
    """What two writings of an arm change on rows of their own; `apart` is how far the shares lie
    apart of the wrong yes that they mend.
    """
    folds: list[Changes] = []
    for share in (0.3 - apart / 2, 0.3 + apart / 2):
        before = a_judge(300, rng)
        grades, wrong = before.score.copy(), (before.score >= 2) & ~before.positive
        grades[wrong & (rng.random(len(grades)) < share)] = 1
        folds.append(changes_of(before, graded(before.dataset, grades)))
    return folds


def test_what_writings_differ_by_is_told_from_the_errors_of_their_rows() -> None:
    """Equal writings have the least that is taken; unequal ones about what they are planted with.
    Of a guard that none moves it stays the least.
    """
    rng = np.random.default_rng(3)
    equal = [written_twice(0.0, rng) for _ in range(60)]
    assert writing_variance(equal, metrics=2, least=0.02).tolist() == pytest.approx([4e-4] * 2)
    unequal = [written_twice(0.6, rng) for _ in range(60)]
    gains = np.array([[changes.measured[0] for changes in folds] for folds in unequal])
    planted = float((gains[:, 1] - gains[:, 0]).mean()) ** 2 / 2
    found = writing_variance(unequal, metrics=2, least=0.02)
    assert found[0] == pytest.approx(planted, rel=0.25)
    assert found[1] == pytest.approx(4e-4)
    assert writing_variance([], metrics=2, least=0.0).tolist() == [0.0, 0.0]


def test_one_more_writing_is_less_sure_and_flattered_by_the_luck_of_the_others() -> None:
    """What is beyond the rows widens the belief whole; what the folds share in it also takes more
    off.
    """
    rng = np.random.default_rng(4)
    before = a_judge(400, rng)
    changes = changes_of(before, stricter(before, 0.4, rng))
    plain = Belief.of(changes, tried=4)
    apart = np.array([0.03, 0.02]) ** 2
    wider = Belief.of(changes, tried=4, beyond=apart)
    assert wider.mean.tolist() == plain.mean.tolist()
    assert (wider.covariance - plain.covariance).diagonal() == pytest.approx(apart)
    lucky = Belief.of(changes, tried=4, luck=apart / 2, beyond=apart)
    assert (lucky.mean < plain.mean).all()
    assert (lucky.covariance - plain.covariance).diagonal() == pytest.approx(1.5 * apart)
    moved = Belief.of(changes, tried=0, measured=changes.measured + 0.01)
    assert moved.mean == pytest.approx(changes.measured + 0.01)
