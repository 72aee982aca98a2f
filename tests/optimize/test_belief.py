"""What is believed of a candidate: its quality is drawn towards zero, its place on the trade-off is
left alone.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Dataset,
    DecisionRule,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
    compare,
)
from judgewright.optimize import Belief, Changes, quality_weights, read_objective
from judgewright.optimize.belief import QUALITY_SCALES, writing_variance

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


def test_weights_are_the_rate_at_which_the_next_threshold_trades() -> None:
    rng = np.random.default_rng(1)
    before = a_judge(2_000, rng)
    weights = quality_weights(before, stricter(before, 0.3, rng), GUARDED)
    higher = before.under(DecisionRule(threshold=3))
    precision, recall = (compare(name, before, higher) for name in ("precision", "recall"))
    assert weights is not None
    assert precision is not None
    assert recall is not None
    rate = -precision.difference / recall.difference
    assert weights.tolist() == pytest.approx([1 / (1 + rate), rate / (1 + rate)])
    # What says yes more often is held against the next lower threshold.
    lenient = graded(before.dataset, np.where(before.score == 1, 2, before.score))
    lower = before.under(DecisionRule(threshold=1))
    precision, recall = (compare(name, before, lower) for name in ("precision", "recall"))
    weights = quality_weights(before, lenient, GUARDED)
    assert weights is not None
    assert precision is not None
    assert recall is not None
    rate = -precision.difference / recall.difference
    assert weights.tolist() == pytest.approx([1 / (1 + rate), rate / (1 + rate)])


def test_without_another_threshold_nothing_is_drawn_towards_zero() -> None:
    """A judge of yes and no has no other threshold, and neither has a scale at its end."""
    rng = np.random.default_rng(2)
    labels = rng.random(300) < 0.5
    dataset = rows_with_labels(labels)
    sides: list[JudgedDataset] = []
    for wrong in (0.3, 0.2):
        said = labels ^ (rng.random(300) < wrong)
        answers = tuple(
            Verdict(row_id=row.id, score=float(yes), positive=bool(yes))
            for row, yes in zip(dataset.rows, said, strict=True)
        )
        sides.append(JudgedDataset(dataset=dataset, answers=answers, scale=BINARY))
    before, after = sides
    assert quality_weights(before, after, GUARDED) is None
    changes = changes_of(before, after)
    belief = Belief.of(changes, tried=0)
    assert belief.mean.tolist() == changes.measured.tolist()
    assert belief.covariance.tolist() == changes.covariance.tolist()
    top = a_judge(300, rng).under(DecisionRule(threshold=3))
    fewer = graded(top.dataset, np.where(top.score == 3, 0, top.score)).under(
        DecisionRule(threshold=3)
    )
    assert quality_weights(top, fewer, GUARDED) is None


def test_luck_in_target_and_guard_at_once_is_believed_less_than_a_trade() -> None:
    """Two candidates of as large a gain: one pays with recall as a threshold does, one gains recall
    as well.
    """
    rng = np.random.default_rng(3)
    before = a_judge(400, rng)
    trade = stricter(before, 0.25, rng)
    weights = quality_weights(before, trade, GUARDED)
    assert weights is not None
    paid = changes_of(before, trade)
    kept = Belief.of(paid, tried=0, weights=weights).mean / paid.measured
    assert kept[0] > 0.8
    mended = before.score.copy()
    false_positives = np.flatnonzero((mended >= 2) & ~before.positive)
    mended[false_positives[: len(false_positives) // 20]] = 1
    missed = np.flatnonzero((mended < 2) & before.positive)
    mended[missed[: len(missed) // 10]] = 2
    lucky = changes_of(before, graded(before.dataset, mended))
    assert (lucky.measured > 0).all()
    believed = Belief.of(lucky, tried=0, weights=weights)
    assert (believed.mean < 0.8 * lucky.measured).all()
    assert believed.covariance[0, 0] < lucky.covariance[0, 0]


@given(
    seed=st.integers(0, 500),
    count=st.integers(60, 600),
    share=st.floats(0.05, 0.9),
    weight=st.floats(0, 2),
)
def test_the_belief_is_the_posterior_of_its_prior(
    seed: int, count: int, share: float, weight: float
) -> None:
    """Against a posterior that is summed over a grid of qualities."""
    rng = np.random.default_rng(seed)
    before = a_judge(count, rng)
    changes = Changes.of(before, stricter(before, share, rng), GUARDED)
    if changes is None:
        return
    weights = np.array([1.0, weight])
    belief = Belief.of(changes, tried=0, weights=weights)
    error = float(np.sqrt(weights @ changes.covariance @ weights))
    measured = float(weights @ changes.measured)
    grid = np.linspace(-1.5, 1.5, 60_001)
    prior = sum(np.exp(-0.5 * (grid / scale) ** 2) / scale**2 for scale in QUALITY_SCALES)
    density = prior * np.exp(-0.5 * ((grid - measured) / error) ** 2)
    density /= density.sum()
    mean = float(density @ grid)
    variance = float(density @ (grid - mean) ** 2)
    assert weights @ belief.mean == pytest.approx(mean, abs=2e-4)
    assert weights @ belief.covariance @ weights == pytest.approx(variance, rel=2e-3, abs=1e-7)
    # What the quality says nothing about stays as it was measured.
    free = np.array([-changes.covariance[1] @ weights, changes.covariance[0] @ weights])
    assert free @ belief.mean == pytest.approx(free @ changes.measured, abs=1e-9)
    assert (np.linalg.eigvalsh(belief.covariance) > -1e-12).all()


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
